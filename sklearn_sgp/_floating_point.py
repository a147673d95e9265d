"""Floating-point errors are handled as numpy does by itself, whatever a program has chosen.

Kernels and probabilities underflow to zero, which is right; `np.seterr(all="raise")` of the caller
would end a fit there. Workers, threads and processes, begin with numpy's own choices anyway.
"""

from functools import wraps
from inspect import isfunction

import numpy as np


def with_numpys_errors(cls):
    """Have the public methods that a class defines run under numpy's own choices; return it."""
    for name, method in list(vars(cls).items()):
        if isfunction(method) and (name == "__call__" or not name.startswith("_")):
            setattr(cls, name, _with_numpys_errors(method))
    return cls


def _with_numpys_errors(method):
    @wraps(method)
    def calm(*args, **kwargs):
        with np.errstate(divide="warn", over="warn", invalid="warn", under="ignore"):
            return method(*args, **kwargs)

    return calm
