"""Whether something that a user gave has changed: fingerprints that `==` compares.

They hold no array and no object of the user's, so they can be kept and pickled.
"""

import hashlib

import numpy as np
from sklearn.gaussian_process.kernels import Kernel


def fingerprint(value):
    """Return a nested tuple that is equal for equal kernels, likelihoods, arrays or numbers."""
    if hasattr(value, "get_params"):
        return _of_params(value, value.get_params(deep=False))
    if value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, dict):
        return tuple(sorted((repr(name), fingerprint(part)) for name, part in value.items()))
    if hasattr(value, "kwds"):  # a frozen distribution
        return value.dist.name, fingerprint(value.args), fingerprint(value.kwds)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return _of_things(value)
    is_mask = np.asarray(value).dtype.kind == "b"  # of columns, not of their places
    return array.shape, is_mask, hashlib.sha256(np.ascontiguousarray(array)).hexdigest()


def _of_things(value):
    """Return the fingerprint of what is no number: its type, its name, and what it consists of."""
    kind, name = type(value).__qualname__, getattr(value, "__name__", "")
    if isinstance(value, list | tuple):
        return kind, *map(fingerprint, value)
    if hasattr(value, "tolist"):  # an array of strings, such as names of columns
        return kind, fingerprint(value.tolist())
    if isinstance(value, slice):
        return repr(value)
    if callable(value) or not hasattr(value, "__dict__"):
        return kind, getattr(value, "__module__", ""), name
    public = {part: of_part for part, of_part in vars(value).items() if part[:1] != "_"}
    return kind, fingerprint(public)


def structure(kernel):
    """Return the fingerprint of a kernel without values and bounds of its free parameters.

    Kernels of one structure have the same theta, entry by entry.
    """
    params = dict(kernel.get_params(deep=False))
    for parameter in kernel.hyperparameters:
        if parameter.name in params:
            params.pop(f"{parameter.name}_bounds", None)
            if not parameter.fixed:
                params[parameter.name] = f"{parameter.n_elements} free"
    return _of_params(kernel, params, structure)


def _of_params(owner, params, of_kernel=fingerprint):
    parts = (
        (name, of_kernel(value) if isinstance(value, Kernel) else fingerprint(value))
        for name, value in sorted(params.items())
    )
    return type(owner).__qualname__, *parts
