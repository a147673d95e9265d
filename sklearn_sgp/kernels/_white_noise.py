"""White noise: the WhiteKernel terms of a kernel and the noise variance that they stand for."""

import numpy as np
from sklearn.gaussian_process.kernels import Sum, WhiteKernel

START_NOISE = 0.1  # of the variance of the scaled targets
DEFAULT_BOUNDS = (1e-6, 1e3)  # likewise


def split_noise(kernel):
    """Split a kernel into process and noise.

    Returns
    -------
    process : Kernel
        The kernel without the ``WhiteKernel`` terms of its outermost sum.
    whites : list of WhiteKernel
        The ``WhiteKernel`` terms; the noise variance is the sum of their levels.
    """
    process = [term for term in _terms(kernel) if not isinstance(term, WhiteKernel)]
    whites = white_terms(kernel)
    if not process:
        raise ValueError(
            f"The 'kernel' parameter must have a term besides WhiteKernel. Got {kernel!r}."
        )
    return _without_whites(kernel, iter(process)) if whites else kernel, whites


def white_terms(kernel):
    """List the ``WhiteKernel`` terms of the outermost sum of a kernel; none of None."""
    return [term for term in _terms(kernel) if isinstance(term, WhiteKernel)]


def join_noise(kernel, process, noise_variance):
    """Replace the process and the noise of the sum ``kernel`` by learned ones.

    Parameters
    ----------
    kernel : Kernel
        The kernel that ``split_noise`` has split.
    process : Kernel
        The learned process, of the same structure as the process of ``kernel``.
    noise_variance : float
        The learned noise variance.

    Returns
    -------
    kernel : Kernel
        It has the structure of the given kernel. Fixed noise levels keep their values and the free
        levels share the rest. Without ``WhiteKernel`` terms the result is ``process``.
    """
    whites = white_terms(kernel)
    if not whites:
        return process
    levels = iter(_shared_noise(whites, noise_variance))
    return _rebuilt(kernel, _terms(process), levels)


def join_gradient(kernel, process_gradient, noise_gradient):
    """Join the gradients in the process and in the noise to that in theta of the whole kernel.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel, noise included.
    process_gradient : ndarray of shape (n_process,)
        In theta of the process.
    noise_gradient : float or ndarray
        In the logarithm of the noise variance, the sum of the levels of the ``WhiteKernel`` terms,
        a float; of no effect where there are none.
    """
    terms = list(_terms(kernel))
    noise = sum(term.noise_level for term in terms if isinstance(term, WhiteKernel))
    parts, lo = [], 0
    for term in terms:
        if isinstance(term, WhiteKernel):
            parts.append(np.full(term.n_dims, noise_gradient * term.noise_level / noise))
        else:
            parts.append(process_gradient[lo : lo + term.n_dims])
            lo += term.n_dims
    return np.concatenate(parts)


def free_parameters(kernel):
    """Return the free hyperparameters of the process of a kernel, and those of its noise terms.

    Returns
    -------
    process, noise : list of Hyperparameter
        In the order of theta, with the names that they have in the whole kernel.
    """
    process, noise = [], []
    names = iter(kernel.hyperparameters)
    for term in _terms(kernel):
        of_term = [next(names) for _ in term.hyperparameters]
        free = [parameter for parameter in of_term if not parameter.fixed]
        (noise if isinstance(term, WhiteKernel) else process).extend(free)
    return process, noise


def _terms(kernel):
    """Yield the terms of the outermost sum, in the order of theta."""
    if type(kernel) is Sum:
        yield from _terms(kernel.k1)
        yield from _terms(kernel.k2)
    else:
        yield kernel


def _without_whites(kernel, process):
    """Return the sum ``kernel`` without its white terms, from an iterator over the other terms."""
    if type(kernel) is Sum:
        left, right = _without_whites(kernel.k1, process), _without_whites(kernel.k2, process)
        if left is None or right is None:
            return right if left is None else left
        return Sum(left, right)
    return None if isinstance(kernel, WhiteKernel) else next(process)


def _rebuilt(kernel, processes, levels):
    """Rebuild the sum ``kernel`` from iterators over its other terms and over its noise levels."""
    if type(kernel) is Sum:
        return Sum(_rebuilt(kernel.k1, processes, levels), _rebuilt(kernel.k2, processes, levels))
    if isinstance(kernel, WhiteKernel):
        return WhiteKernel(next(levels), kernel.noise_level_bounds)
    return next(processes)


def _shared_noise(whites, noise_variance):
    """Return levels with the sum ``noise_variance``: free ones share what fixed ones leave."""
    levels = np.array([white.noise_level for white in whites], dtype=np.float64)
    free = np.array([not white.hyperparameter_noise_level.fixed for white in whites])
    if free.any():
        rest = max(noise_variance - levels[~free].sum(), 0.0)
        levels[free] *= rest / levels[free].sum()
    return levels.tolist()


def starting_noise(
    whites, noise_variance, noise_variance_bounds, n_outputs=1, unit=1.0, learns=True
):
    """Return starting value and bounds of the noise variance, from the kernel or the parameters.

    Several outputs have a noise variance each, unless noise terms say what all of them share.

    Parameters
    ----------
    whites : list of WhiteKernel
        Noise terms of the kernel. If there are any, their levels and bounds are used.
    noise_variance : float, array-like of shape (n_outputs,) or None
        Starting value without noise terms; None means 0.1 units. Must be None with noise terms.
    noise_variance_bounds : tuple of float or "fixed"
        Bounds without noise terms.
    n_outputs : int, default=1
    unit : float or ndarray of shape (n_outputs,)
        Variance of the targets, in which default bounds are. They are wide enough for a start that
        is given.
    learns : bool
        Whether the noise is learned, from a start within its bounds; else it stays as it is given.

    Returns
    -------
    noise_variance : float or ndarray of shape (n_outputs,)
    bounds : ndarray of shape (1, 2) or (n_outputs, 2), or None
        None if the noise variance is fixed.
    """
    if whites:
        if noise_variance is not None:
            raise ValueError(
                "The noise must be given once: the kernel has a WhiteKernel term and "
                f"noise_variance={noise_variance!r} was given as well. Drop one of the two."
            )
        return _noise_from_whites(whites, learns)
    value = START_NOISE * unit
    if noise_variance is not None:
        value = checked_noise(noise_variance, n_outputs)
    if isinstance(noise_variance_bounds, str):
        return (float(np.ravel(value)[0]) if n_outputs == 1 else value), None
    pair = check_bounds("noise_variance_bounds", noise_variance_bounds)
    bounds, value = np.tile(pair, (n_outputs, 1)), np.broadcast_to(value, n_outputs)
    if np.ndim(unit) and has_default_bounds(noise_variance_bounds):
        bounds = bounds * unit[:, None]
        bounds = np.column_stack([np.minimum(bounds[:, 0], value), np.maximum(bounds[:, 1], value)])
    value = np.clip(value, *bounds.T) if learns else value
    return (float(value[0]) if n_outputs == 1 else value), bounds


def holds_noise(kernel, noise_variance_bounds):
    """Return whether the user holds the noise: by its bounds, or by fixed terms of the kernel.

    The kernel is None where the user gave none.
    """
    are_fixed = [white.hyperparameter_noise_level.fixed for white in white_terms(kernel)]
    is_fixed = isinstance(noise_variance_bounds, str) and noise_variance_bounds == "fixed"
    return is_fixed or (len(are_fixed) > 0 and all(are_fixed))


def has_default_bounds(noise_variance_bounds):
    """Return whether bounds of the noise variance are those that nobody has to choose."""
    try:
        return tuple(np.ravel(noise_variance_bounds)) == DEFAULT_BOUNDS
    except (TypeError, ValueError):
        return False


def checked_noise(noise_variance, n_outputs):
    """Return a positive number, or one for each output, or raise a ValueError."""
    try:
        value = np.asarray(noise_variance, dtype=np.float64)
    except (TypeError, ValueError):
        value = np.empty((0, 0))
    if value.shape not in ((), (n_outputs,)) or not ((value > 0) & np.isfinite(value)).all():
        raise ValueError(
            "The 'noise_variance' parameter must be a positive number, or one for each of the "
            f"{n_outputs} outputs. Got {noise_variance!r}."
        )
    if value.ndim and n_outputs > 1:
        return value
    return float(value.ravel()[0])


def fixed_unit_noise(whites, kernel, likelihood):
    """Return noise variance and bounds of a likelihood without noise: 1, of no effect, and None."""
    if whites:
        raise ValueError(
            f"The 'kernel' parameter must have no WhiteKernel with the likelihood {likelihood!r}, "
            f"as no noise is added there. Got {kernel!r}."
        )
    return 1.0, None


def _noise_from_whites(whites, learns):
    """Sum of the noise levels, and its bounds, None if all levels are fixed."""
    level = float(sum(white.noise_level for white in whites))
    if not level > 0:
        raise ValueError(f"The noise_level of WhiteKernel must be positive. Got {level}.")
    fixed = [white.hyperparameter_noise_level.fixed for white in whites]
    if all(fixed):
        return level, None
    ends = [
        [white.noise_level] * 2 if is_fixed else np.ravel(white.noise_level_bounds)
        for white, is_fixed in zip(whites, fixed, strict=True)
    ]
    lower, upper = check_bounds("noise_level_bounds", np.sum(ends, axis=0))
    level = float(np.clip(level, lower, upper)) if learns else level
    return level, np.array([[lower, upper]])


def check_bounds(name, bounds):
    """Return the pair 0 < lower <= upper as floats, or raise a ValueError naming the parameter."""
    try:
        pair = np.asarray(bounds, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        pair = np.empty(0)
    if pair.shape != (2,) or not (np.isfinite(pair).all() and 0 < pair[0] <= pair[1]):
        raise ValueError(
            f"The '{name}' parameter must be a pair 0 < lower <= upper or 'fixed'. Got {bounds!r}."
        )
    return float(pair[0]), float(pair[1])
