"""Parameters that cannot be are refused, with their name, what must hold and what came."""

from functools import partial

import numpy as np
import pytest
from failures import assert_unchanged, state_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    RationalQuadratic,
    WhiteKernel,
)
from svgp_regressors import assert_finite, quick

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.kernels import Columns

White = WhiteKernel


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "rbf"),
        ("kernel", RBF),
        ("likelihood", "gauss"),
        ("total_samples", 0),
        ("n_inducing", 0),
        ("n_inducing", 2.5),
        ("inducing", "best"),
        ("inducing", 5),
        ("optimize_inducing", "yes"),
        ("noise_variance", 0.0),
        ("noise_variance", -1.0),
        ("noise_variance_bounds", "free"),
        ("optimizer", "momentum"),
        ("init_size", 0),
        ("batch_size", 0),
        ("max_iter", 0),
        ("max_steps", 0),
        ("max_time", 0),
        ("tol", -1.0),
        ("n_iter_no_change", 0),
        ("learning_rate", 0.0),
        ("natural_step", 0.0),
        ("natural_step", 1.5),
        ("normalize_y", "yes"),
        ("jitter", -1e-8),
        ("jitter", 1.0),
        ("warm_start", "yes"),
        ("n_jobs", 1.5),
        ("random_state", "seed"),
        ("verbose", -1),
    ],
)
def test_parameters_outside_their_range(toy, name, value):
    """Each parameter is checked in fit and partial_fit; the message has name, range and value."""
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=f"The '{name}' parameter .* must be .*Got .* instead"):
            getattr(quick().set_params(**{name: value}), method)(*toy)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("noise_variance_bounds", bounds)
            for bounds in [(1.0,), (1, 2, 3), (2, 1), (0, 1), (-1, 1), (np.nan, 1), ("a", "b"), ()]
        ),
        *(
            ("normalize_y", pair)
            for pair in [(0,), (0, 1, 2), (0, 0), (0, -1), (np.nan, 1), (0, np.inf), ("a", 1)]
        ),
        ("normalize_y", ((0, 0), (1, 1))),
        ("normalize_y", (0, 1e-200)),
        *(
            ("inducing", Z)
            for Z in [np.zeros((0, 2)), np.zeros((3, 3)), np.zeros(3), np.zeros((2, 2, 2))]
        ),
        ("inducing", np.full((3, 2), np.nan)),
        ("inducing", [["a", "b"]]),
        ("inducing", {}),
    ],
    ids=repr,
)
def test_parameters_that_the_data_refute(toy, name, value):
    """Pairs and arrays are checked too; the message has name, what must hold and what came."""
    with pytest.raises(ValueError, match=rf"(?s)'{name}' parameter must .*Got "):
        quick().set_params(**{name: value}).fit(*toy)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(0.0), "length_scale .*positive and finite.*Got 0.0"),
        (RBF(-1.0), "length_scale .*positive and finite.*Got -1.0"),
        (RBF(-1.0, "fixed"), "length_scale .*positive and finite.*Got -1.0"),
        (RBF(np.nan), "length_scale .*positive and finite.*Got nan"),
        (RBF([1.0, np.inf]), r"length_scale .*positive and finite.*Got \[1.0, inf\]"),
        (ConstantKernel(0.0) * RBF(), "constant_value .*positive and finite.*Got 0.0"),
        (ConstantKernel(-1.0, "fixed") * RBF(), "constant_value .*positive.*Got -1.0"),
        (RationalQuadratic(alpha=0.0), "alpha .*positive and finite.*Got 0.0"),
        (DotProduct(0.0), "sigma_0 .*positive and finite.*Got 0.0"),
        (Columns(RBF(0.0), [0]), "kernel__length_scale .*positive.*Got 0.0"),
        (RBF(1.0, (2.0, 0.5)), "bounds .*0 < lower <= upper.*Got .*2.* 0.5"),
        (RBF(1.0, (0.0, 1.0)), "bounds .*0 < lower <= upper.*Got .*0.* 1."),
        (RBF(1.0, (-1.0, 1.0)), "bounds .*0 < lower <= upper.*Got .*-1.* 1."),
        (RBF(1.0, (np.nan, 1.0)), "bounds .*0 < lower <= upper.*Got .*nan"),
        (RBF(1.0, "free"), "bounds .*0 < lower <= upper.*Got .*free"),
        (RBF([1.0, 1.0], [(1, 2)] * 3), "(?i)bounds on length_scale"),
        (RBF([1.0, 1.0, 1.0]), "length_scale of RBF .* 2 columns.*Got 3"),
        (Columns(RBF([1.0, 1.0]), [0]), "length_scale of RBF .* 1 columns.*Got 2"),
        (Columns(RBF(), [2]), r"columns.*between 0 and n_features - 1 = 1.*Got \[2\]"),
        (Columns(RBF(), [-5]), r"columns.*Got \[-5\]"),
        (Columns(RBF(), []), r"columns.*Got \[\]"),
        (Columns(RBF(), [0.5]), r"columns.*Got \[0.5\]"),
        (CompoundKernel([RBF(), RBF()]), "'kernel' parameter must .*one covariance.*Got Compound"),
        (White(), "'kernel' parameter must .*besides WhiteKernel.*Got White"),
        (White() + White(), "'kernel' parameter must .*besides WhiteKernel.*Got White"),
        (RBF() * White(), "WhiteKernel must stand as a term of the outermost sum"),
        (2.0 * (RBF() + White()), "WhiteKernel must stand as a term of the outermost sum"),
        ((RBF() + White()) ** 2, "WhiteKernel must stand as a term of the outermost sum"),
        (Columns(RBF() + White(), [0]), "WhiteKernel must stand as a term of the outermost sum"),
        (RBF() + White(0.0), "noise_level .*must be positive.*Got 0.0"),
        (RBF() + White(1.0, (2.0, 0.5)), "noise_level_bounds.*0 < lower <= upper.*Got"),
        (RBF() ** -1, r"positive definite.*\*\* -1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_kernels_that_cannot_be(toy, kernel, message):
    """A kernel with bad values, bounds or structure is refused, with what came."""
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=f"(?s){message}"):
            getattr(quick(kernel), method)(*toy)


def test_kernel_that_is_no_covariance(toy):
    """A kernel that is not positive definite ends in ValueError, never in a bare LinAlgError."""
    with pytest.warns(ConvergenceWarning, match="finite differences"):
        with pytest.raises(ValueError, match=r"(?s)covariance of the .* inducing inputs"):
            quick(NegativeKernel()).fit(*toy)


class NegativeKernel(RBF):
    """Not a covariance function: negative on the diagonal."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return -super().__call__(X, Y)

    def diag(self, X):
        return -super().diag(X)


def test_noise_is_given_once(toy):
    """A WhiteKernel and noise_variance together are refused."""
    with pytest.raises(ValueError, match=r"noise must be given once.*noise_variance=0.1"):
        quick(RBF() + White(), noise_variance=0.1).fit(*toy)


def test_starting_values_outside_their_bounds(toy):
    """Starting values outside their bounds start at the nearest bound."""
    kernel = RBF(1e-3, (1.0, 2.0)) + White(1e-9, (1e-3, 1.0))
    model = quick(kernel).fit(*toy)
    assert 1.0 <= model.kernel_.k1.length_scale <= 2.0
    assert model.noise_variance_ >= 1e-3
    assert_finite(model, toy[0])


@pytest.mark.filterwarnings("ignore:The fit explains 0.0%")
def test_linear_kernel_through_the_origin(toy):
    """DotProduct with sigma_0 fixed at zero is a valid kernel, of rank 2 here."""
    model = quick(DotProduct(0.0, "fixed"), normalize_y=False).fit(*toy)
    assert_finite(model, toy[0])
    assert_allclose(model.predict([[0.0, 0.0]]), 0.0, atol=1e-6)


@pytest.mark.parametrize("levels", [[0.0], [1.0], [0.5, 1.5], [-0.1], [np.nan], [[0.1, 0.9]]])
def test_quantiles_that_cannot_be(toy, levels):
    """Levels must be strictly between 0 and 1."""
    with pytest.raises(ValueError, match=r"'quantiles' parameter must .*Got"):
        quick().fit(*toy).predict_quantiles(toy[0], levels)


def test_unknown_sampling_method(toy):
    """An unknown method of sample_y is refused with the known ones."""
    with pytest.raises(
        ValueError, match="'method' parameter must be 'auto', 'joint' or 'pathwise'"
    ):
        quick().fit(*toy).sample_y(toy[0], method="exact")


@pytest.mark.parametrize("n_samples", [-1, 1.5, True, "2", None])
def test_counts_of_draws_that_cannot_be(toy, n_samples):
    """Draws are counted by whole numbers; none of them is a count, too."""
    model = quick().fit(*toy)
    for draw in (partial(model.sample_y, toy[0]), model.sample_functions):
        with pytest.raises(ValueError, match=r"'n_samples' parameter must be an int .* Got "):
            draw(n_samples=n_samples)
    assert model.sample_y(toy[0], 0).shape == (len(toy[0]), 0)
    assert model.sample_functions(0)(toy[0]).shape == (len(toy[0]), 0)


def test_true_is_one():
    """scikit-learn takes booleans as whole numbers, wherever these count."""
    X = np.linspace(0.0, 1.0, 20)[:, None]
    for name in ("n_inducing", "n_neighbors"):
        options = {"random_state": 0, "max_iter": 2, "model": "vif"}
        pair = [AnytimeSGPRegressor(**options | {name: one}).fit(X, X[:, 0]) for one in (True, 1)]
        assert_array_equal(*(model.predict(X) for model in pair))


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (SVGPRegressor, "batch_size", -3),
        (SVGPRegressor, "learning_rate", -1.0),
        (AnytimeSGPRegressor, "n_jobs", "a"),
        (StreamingSGPRegressor, "forget_factor", 1.5),
        (SVGPClassifier, "batch_size", 0),
        (AnytimeSGPClassifier, "max_iter", -3),
        (StreamingSGPClassifier, "trust_region", -1.0),
        (BayesianGPLVM, "tol", "a"),
    ],
)
def test_parameters_of_a_later_batch_are_checked(toy, kind, name, value):
    """Steps went downhill (R2 .98 to -.6), batches were dropped, or inner code failed."""
    X, y = toy
    args = (X,) if kind is BayesianGPLVM else (X, y > np.median(y) if is_classifier(kind()) else y)
    model = kind(n_inducing=5, max_iter=2, random_state=0).partial_fit(*args)
    before = state_of(model)
    model.set_params(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter .* must be .*Got .* instead"):
        model.partial_fit(*args)
    model.set_params(**{name: getattr(kind(max_iter=2, n_inducing=5, random_state=0), name)})
    assert_unchanged(model, before)
    model.partial_fit(*args)
