"""From a scikit-learn kernel object to a compiled kernel."""

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Kernel,
    KernelOperator,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from . import nodes
from ._columns import Columns, column_indices
from ._compiled import KernelExpression
from ._linear import Linear
from ._white_noise import split_noise
from .categories._kernel import Categorical
from .categories._node import CategoricalNode

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
        Sums, products and powers of the kernels that scikit-learn ships, ``Columns``,
        ``Categorical``, or any other ``Kernel``, whose gradients are central differences.
    center : ndarray of shape (n_features,)
        Subtracted from the inputs of stationary parts, so that inputs far from 0 lose no digits.
    """
    builder, center = _Builder(), np.asarray(center, dtype=np.float64)
    node = builder.build(kernel, center)
    values, free, signed = (
        np.array(part, dtype=kind)
        for part, kind in ((builder.values, float), (builder.free, bool), (builder.signed, bool))
    )
    return KernelExpression(kernel, node, values, free, len(center), signed)


def compile_without_noise(kernel, center):
    """Check a kernel, split its white noise off and compile the rest.

    For ``center`` see `compile_kernel`.

    Returns
    -------
    expression : KernelExpression
        The compiled kernel without noise.
    whites : list of WhiteKernel
        The noise terms, see ``split_noise``.
    theta_bounds : ndarray of shape (n_theta, 2)
        Bounds of the free log parameters of the expression.

    Raises
    ------
    ValueError
        If a parameter is not positive and finite or a pair of bounds is not in order.
    """
    process, whites = split_noise(kernel)
    _check_kernel(process)
    return compile_kernel(process, center), whites, _theta_bounds(process)


@np.errstate(divide="ignore", invalid="ignore")  # the repr of a kernel takes roots and logarithms
def _check_kernel(kernel):
    """Refuse parameters that are not positive and finite, or from which nothing is learned."""
    values = kernel.get_params()
    for part in (kernel, *values.values()):
        if isinstance(part, Columns):
            part.check_start()
    for parameter in kernel.hyperparameters:
        if values[parameter.name] is None:
            continue  # starting values that the kernel finds itself
        value = np.asarray(values[parameter.name], dtype=np.float64)
        owner = values.get(parameter.name.rpartition("__")[0], kernel)
        # one that is held, of a kernel of the user's own, means what that kernel says
        is_own = parameter.fixed and type(owner) not in _BUILDERS
        # a fixed sigma_0 of 0 gives a linear kernel through the origin
        may_vanish = parameter.fixed and parameter.name.endswith("sigma_0")
        may_be_any = is_own or parameter.value_type == "signed"
        is_valid = (value > 0) | (may_vanish & (value == 0)) | may_be_any
        if not (np.isfinite(value) & is_valid).all():
            raise ValueError(
                f"The {parameter.name} of the 'kernel' parameter must be positive and finite. Got "
                f"{value.tolist()} in {kernel!r}."
            )


@np.errstate(divide="ignore", invalid="ignore")  # logarithms of bad bounds
def _theta_bounds(kernel):
    """Return the bounds of theta, shape (n_theta, 2), or raise a ValueError."""
    try:
        bounds = _bounds(kernel)
    except TypeError:
        bounds = np.full((1, 2), np.nan)
    lower, upper = bounds.T
    if not ((lower > -np.inf) & (lower <= upper)).all():
        raise ValueError(
            "The bounds of the hyperparameters of the 'kernel' parameter must be pairs 0 < lower "
            f"<= upper or 'fixed'. Got {[h.bounds for h in kernel.hyperparameters]} for {kernel!r}."
        )
    return bounds


def _bounds(kernel):
    """Return ``kernel.bounds``, which asks the first operand twice: 2**18 times of 18 columns."""
    if isinstance(kernel, Exponentiation) or (
        isinstance(kernel, Columns) and not kernel.learns_directions
    ):
        return _bounds(kernel.kernel)
    if isinstance(kernel, KernelOperator):
        return np.vstack([_bounds(kernel.k1), _bounds(kernel.k2)])
    return np.asarray(kernel.bounds, dtype=np.float64).reshape(-1, 2)


class _Builder:
    """Builds nodes in scikit-learn's order of ``theta`` and collects the values of parameters."""

    def __init__(self):
        self.values, self.free, self.signed = [], [], []

    def _slots(self, kernel, name):
        """Append the values of a hyperparameter; return their slots."""
        value = np.atleast_1d(np.asarray(getattr(kernel, name), dtype=np.float64))
        return self._appended(value, not getattr(kernel, f"hyperparameter_{name}").fixed)

    def _appended(self, value, free, signed=False):
        """Append values; return their slots."""
        start = len(self.values)
        self.values.extend(value)
        self.free.extend([free] * len(value))
        self.signed.extend([signed] * len(value))
        return slice(start, start + len(value))

    def build(self, kernel, center):
        """Build the node of a kernel that sees columns with the given center."""
        if isinstance(kernel, WhiteKernel):
            raise ValueError(
                "WhiteKernel must stand as a term of the outermost sum, where it is the noise of "
                "the observations; here it stands inside a product, a power or Columns. Write "
                "`... + WhiteKernel(noise_level)` around the whole kernel instead."
            )
        return _BUILDERS.get(type(kernel), _Builder._opaque)(self, kernel, center)

    def _pair(self, kernel, center):
        left, right = self.build(kernel.k1, center), self.build(kernel.k2, center)
        if isinstance(kernel, Sum):
            return nodes.Sum(left, right)
        for factor, other in ((left, right), (right, left)):
            # a constant becomes a factor of the leaf beside it, which saves a pass over the block
            if isinstance(factor, nodes.Constant) and hasattr(other, "amplitudes"):
                other.amplitudes += factor.amplitudes
                return other
        return nodes.Product(left, right)

    def _power(self, kernel, center):
        return nodes.Power(self.build(kernel.kernel, center), kernel.exponent)

    def _columns(self, kernel, center):
        columns = np.array(column_indices(kernel.columns, len(center)))
        center, A = center[columns], kernel.matrix(len(columns))
        is_plain = A is None
        child = self.build(kernel.kernel, center) if is_plain else self._turned(kernel, A, center)
        return nodes.Selection(child, columns)

    def _turned(self, kernel, A, center):
        is_learned = kernel.learns_directions
        is_stationary = kernel.is_stationary()
        center = center if is_stationary else np.zeros_like(center)
        child = self.build(kernel.kernel, np.zeros(len(A)))
        slots = self._appended(A.ravel(), is_learned, signed=True)
        node = nodes.Directions(child, center, slots, len(A), is_learned, is_stationary)
        if any(leaf.holds_inputs for leaf, _ in node.inner):
            raise ValueError(
                "Categorical must see codes of categories, not directions, which are linear "
                f"combinations of columns. Got {kernel!r}."
            )
        if is_learned and not node.differentiable_inputs:
            raise ValueError(
                "The directions of Columns can be learned of kernels whose formulas are known. "
                f'Got {kernel!r}: hold them with directions_bounds="fixed".'
            )
        return node

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
        return self._stationary("squared_exponential", kernel, center, length_scale=scale)

    def _matern(self, kernel, center):
        if kernel.nu not in _MATERN_PROFILES:
            return self._opaque(kernel, center)
        scale = self._length_scale(kernel, center)
        return self._stationary(_MATERN_PROFILES[kernel.nu], kernel, center, length_scale=scale)

    def _rational_quadratic(self, kernel, center):
        alpha = self._slots(kernel, "alpha").start
        scale = self._length_scale(kernel, center)
        return self._stationary(
            "rational_quadratic", kernel, center, length_scale=scale, shape=[alpha]
        )

    def _periodic(self, kernel, center):
        shape = [self._slots(kernel, name).start for name in ("length_scale", "periodicity")]
        return self._stationary("periodic", kernel, center, shape=shape)

    def _stationary(self, profile, kernel, center, **slots):
        return nodes.Stationary(profile, center, kernel_name=type(kernel).__name__, **slots)

    def _dot_product(self, kernel, center):
        return nodes.Linear(self._slots(kernel, "sigma_0").start)

    def _lines(self, kernel, center):
        through = np.zeros_like(center) if kernel.center is None else np.ravel(kernel.center)
        if len(through) != len(center):
            raise ValueError(
                f"The center of Linear must have one entry for each of the {len(center)} columns. "
                f"Got {len(through)} entries."
            )
        return nodes.Lines(through.astype(np.float64), self._length_scale(kernel, center))

    def _categorical(self, kernel, center):
        if len(center) != 1:
            raise ValueError(
                "Categorical must see one column, as in Columns(Categorical(), [0]). Got "
                f"{len(center)} columns: multiply or add one Categorical for each."
            )
        covariance, free = kernel.covariance, kernel.is_learned
        diagonal = self._appended(covariance.diagonal, free[0])
        factor = self._appended(covariance.factor.ravel(), free[1], signed=True)
        return CategoricalNode(diagonal, factor, kernel.rank, self._appended([0.0], False))

    def _opaque(self, kernel, center):
        if not isinstance(kernel, Kernel) or isinstance(kernel, CompoundKernel):
            raise ValueError(
                f"The 'kernel' parameter must be a scikit-learn kernel with one covariance "
                f"(sklearn.gaussian_process.kernels). Got {kernel!r}."
            )
        return nodes.Opaque(kernel, self._appended(np.exp(kernel.theta), True))


_BUILDERS = {
    Sum: _Builder._pair,
    Product: _Builder._pair,
    Exponentiation: _Builder._power,
    Columns: _Builder._columns,
    ConstantKernel: _Builder._constant,
    RBF: _Builder._rbf,
    Matern: _Builder._matern,
    RationalQuadratic: _Builder._rational_quadratic,
    ExpSineSquared: _Builder._periodic,
    DotProduct: _Builder._dot_product,
    Linear: _Builder._lines,
    Categorical: _Builder._categorical,
}
