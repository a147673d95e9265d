"""From a scikit-learn kernel object to an expression tree; the noise taken out on the way."""

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from . import _nodes as nodes
from ._columns import Columns
from ._compiled import KernelExpression

_MATERN_PROFILES = {
    0.5: "matern12",
    1.5: "matern32",
    2.5: "matern52",
    np.inf: "squared_exponential",
}


def compile_kernel(kernel, center):
    """Compile a scikit-learn kernel without white noise.

    Parameters
    ----------
    kernel : Kernel
        Sums, products and powers of the kernels that scikit-learn ships, ``Columns``, or any other
        ``Kernel``, whose gradients are then taken by differences.
    center : ndarray of shape (n_features,)
        Subtracted from the inputs of stationary parts, so that far-off inputs lose no digits.

    Returns
    -------
    expression : KernelExpression
    """
    builder = _Builder()
    node = builder.build(kernel, np.asarray(center, dtype=np.float64))
    values, free = np.array(builder.values), np.array(builder.free, dtype=bool)
    return KernelExpression(kernel, node, values, free)


class _Builder:
    """Walks a kernel in scikit-learn's order of ``theta`` and hands out slots of the values."""

    def __init__(self):
        self.values, self.free = [], []

    def _slots(self, kernel, name):
        """Slots of a kernel's hyperparameter, appended with its values."""
        start = len(self.values)
        value = np.atleast_1d(np.asarray(getattr(kernel, name), dtype=np.float64))
        self.values.extend(value)
        fixed = getattr(kernel, f"hyperparameter_{name}").fixed
        self.free.extend([not fixed] * len(value))
        return slice(start, start + len(value))

    def build(self, kernel, center):
        if isinstance(kernel, WhiteKernel):
            raise ValueError(
                "WhiteKernel must stand as a term of the outermost sum, where it is the noise of "
                "the observations; here it stands inside a product, a power or Columns. Write "
                "`... + WhiteKernel(noise_level)` around the whole kernel instead."
            )
        builders = {
            Sum: self._pair,
            Product: self._pair,
            Exponentiation: self._power,
            Columns: self._columns,
            ConstantKernel: self._constant,
            RBF: self._rbf,
            Matern: self._matern,
            RationalQuadratic: self._rational_quadratic,
            ExpSineSquared: self._periodic,
            DotProduct: self._linear,
        }
        return builders.get(type(kernel), self._opaque)(kernel, center)

    def _pair(self, kernel, center):
        left, right = self.build(kernel.k1, center), self.build(kernel.k2, center)
        if isinstance(kernel, Sum):
            return nodes.Sum(left, right)
        for factor, other in ((left, right), (right, left)):
            # constants are folded into the leaf beside them: one pass fewer over the block
            if isinstance(factor, nodes.Constant) and hasattr(other, "amplitudes"):
                other.amplitudes += factor.amplitudes
                return other
        return nodes.Product(left, right)

    def _power(self, kernel, center):
        return nodes.Power(self.build(kernel.kernel, center), kernel.exponent)

    def _columns(self, kernel, center):
        columns = np.asarray(kernel.columns)
        valid = columns.ndim == 1 and columns.size and np.issubdtype(columns.dtype, np.integer)
        if not valid or columns.min() < 0 or columns.max() >= len(center):
            raise ValueError(
                f"The 'columns' of Columns must be indices between 0 and n_features - 1 = "
                f"{len(center) - 1}. Got {kernel.columns!r}."
            )
        return nodes.Selection(self.build(kernel.kernel, center[columns]), columns)

    def _constant(self, kernel, center):
        slot = self._slots(kernel, "constant_value").start
        return nodes.Constant([slot])

    def _length_scale(self, kernel, center):
        slots = self._slots(kernel, "length_scale")
        count = slots.stop - slots.start
        if count not in (1, len(center)):
            raise ValueError(
                f"The length_scale of {type(kernel).__name__} must be a number or have one entry "
                f"for each of the {len(center)} columns. Got {count} entries."
            )
        return slots

    def _rbf(self, kernel, center):
        scale = self._length_scale(kernel, center)
        return nodes.Stationary("squared_exponential", center, length_scale=scale)

    def _matern(self, kernel, center):
        if kernel.nu not in _MATERN_PROFILES:
            return self._opaque(kernel, center)
        scale = self._length_scale(kernel, center)
        return nodes.Stationary(_MATERN_PROFILES[kernel.nu], center, length_scale=scale)

    def _rational_quadratic(self, kernel, center):
        alpha = self._slots(kernel, "alpha").start
        scale = self._length_scale(kernel, center)
        return nodes.Stationary("rational_quadratic", center, length_scale=scale, shape=[alpha])

    def _periodic(self, kernel, center):
        shape = [self._slots(kernel, name).start for name in ("length_scale", "periodicity")]
        return nodes.Stationary("periodic", center, shape=shape)

    def _linear(self, kernel, center):
        return nodes.Linear(self._slots(kernel, "sigma_0").start, len(center))

    def _opaque(self, kernel, center):
        if not isinstance(kernel, Kernel) or isinstance(kernel, CompoundKernel):
            raise ValueError(
                f"The 'kernel' parameter must be a scikit-learn kernel with one covariance "
                f"(sklearn.gaussian_process.kernels). Got {kernel!r}."
            )
        start = len(self.values)
        self.values.extend(np.exp(kernel.theta))
        self.free.extend([True] * kernel.n_dims)
        return nodes.Opaque(kernel, slice(start, start + kernel.n_dims))


def split_noise(kernel):
    """Split a kernel into process and noise.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel.

    Returns
    -------
    process : Kernel
        The kernel without the ``WhiteKernel`` terms of its outermost sum.
    whites : list of WhiteKernel
        Those terms; their sum is the variance of the noise.

    Raises
    ------
    ValueError
        If nothing but noise is left.
    """
    terms = list(_terms(kernel))
    process = [term for term in terms if not isinstance(term, WhiteKernel)]
    whites = [term for term in terms if isinstance(term, WhiteKernel)]
    if not process:
        raise ValueError(
            f"The 'kernel' parameter must have a term besides WhiteKernel. Got {kernel!r}."
        )
    return _joined(kernel, iter(process)) if whites else kernel, whites


def join_noise(kernel, process, noise_variance):
    """Put a learned process and noise variance back into the shape of the given kernel."""
    whites = [term for term in _terms(kernel) if isinstance(term, WhiteKernel)]
    if not whites:
        return process
    levels = iter(_shared_noise(whites, noise_variance))
    return _rebuilt(kernel, _terms(process), levels)


def _terms(kernel):
    """Terms of the outermost sum, in the order of theta."""
    if type(kernel) is Sum:
        yield from _terms(kernel.k1)
        yield from _terms(kernel.k2)
    else:
        yield kernel


def _joined(kernel, process):
    """The tree of sums of ``kernel`` with its white leaves dropped."""
    if type(kernel) is Sum:
        left, right = _joined(kernel.k1, process), _joined(kernel.k2, process)
        if left is None or right is None:
            return right if left is None else left
        return Sum(left, right)
    return None if isinstance(kernel, WhiteKernel) else next(process)


def _rebuilt(kernel, processes, levels):
    if type(kernel) is Sum:
        return Sum(_rebuilt(kernel.k1, processes, levels), _rebuilt(kernel.k2, processes, levels))
    if isinstance(kernel, WhiteKernel):
        return WhiteKernel(next(levels), kernel.noise_level_bounds)
    return next(processes)


def _shared_noise(whites, noise_variance):
    """Noise levels that sum to ``noise_variance``; fixed ones stay, the others share the rest."""
    levels = np.array([white.noise_level for white in whites], dtype=np.float64)
    free = np.array([not white.hyperparameter_noise_level.fixed for white in whites])
    if free.any():
        rest = max(noise_variance - levels[~free].sum(), 0.0)
        levels[free] *= rest / levels[free].sum()
    return levels.tolist()
