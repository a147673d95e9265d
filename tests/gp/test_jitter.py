"""How much jitter is chosen, and when that is said."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from dense import make_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp import SVGPRegressor
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.gp.jitter import (
    MAX_JITTER,
    SingularCovarianceError,
    factorise_above,
    factorise_again,
    factorise_finally,
    factorise_larger,
    factorise_with_jitter,
    rounding_error,
    warn_about_jitter,
)
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.kernels import compile_kernel


def test_jitter_is_relative_to_the_mean_variance():
    """Jitter is relative to the mean variance at the inducing inputs."""
    case = make_case("columns")
    expected = case.kernel.diag(case.Z).mean()
    prior = factorise_with_jitter(case.prior.kernel, case.Z, 1e-8)
    assert_allclose(prior.delta / prior.jitter, expected)


def test_first_rung_holds_where_it_can():
    """Nothing is added beyond the jitter asked for if that is enough."""
    case = make_case("columns")
    prior = factorise_with_jitter(case.prior.kernel, case.Z, 1e-8)
    assert prior.jitter == 1e-8
    assert_allclose(prior.delta, 1e-8 * case.kernel.diag(case.Z).mean())


@pytest.mark.parametrize("factorise", [factorise_with_jitter, factorise_finally])
def test_the_first_rung_is_small_beside_the_noise(factorise):
    """A jitter of more than a hundredth of the noise is not begun with, whatever was asked for."""
    case = make_case("columns")
    prior = factorise(case.prior.kernel, case.Z, 1e-3, 1e-7)
    assert prior.delta <= 1.0001e-9
    assert factorise(case.prior.kernel, case.Z, 1e-8, 10.0).jitter <= 1e-8


def test_more_jitter_as_long_as_it_is_small():
    """The next rung is above the last one, and none where it is above noise and wish."""
    case = make_case("columns")
    kernel, scale = case.prior.kernel, case.kernel.diag(case.Z).mean()
    prior = factorise_above(kernel, case.Z, 1e-9, 1e-12, 1e-3)
    assert_allclose(prior.delta, 1e-8)
    assert factorise_above(kernel, case.Z, 1e-4, 1e-12, 1e-4) is None
    assert_allclose(factorise_above(kernel, case.Z, 1e-6 * scale, 1e-5, 1e-9).jitter, 1e-5)


class Off(RBF):
    """Covariances of 1 + excess off the diagonal and variances of 1: needs that much jitter."""

    excess = 0.0

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        return 1.0 + self.excess * (X[:, :1] != Y[:, 0])


def off_kernel(excess, name="Off"):
    kernel = type(name, (Off,), {"excess": excess})()
    return compile_kernel(kernel, np.zeros(1)).bind([0.0])


@pytest.mark.parametrize("start", [0.0, 1e-8, 1e-5])
@pytest.mark.parametrize("excess, expected", [(3e-5, 1e-4), (5e-4, MAX_JITTER)])
def test_ladder_climbs_to_the_first_rung_that_holds(start, excess, expected):
    """Jitter is raised tenfold until K(Z, Z) factorises, and no further."""
    prior = factorise_with_jitter(off_kernel(excess), np.array([[0.0], [1.0]]), start)
    assert_allclose([prior.jitter, prior.delta], expected)


def test_duplicated_inducing_inputs():
    """Duplicates need jitter, a small one, in units of the kernel's variance."""
    case = replace(make_case(delta=0.0), kernel=ConstantKernel(300.0) * RBF(2.0))
    kernel, Z = case.parameters.kernel, np.repeat(case.Z, 3, axis=0)
    with pytest.raises(NotPositiveDefiniteError):
        Prior.build(kernel, Z, 0.0)
    prior = factorise_with_jitter(kernel, Z, 0.0)
    assert 0.0 < prior.jitter < 1e-10
    assert_allclose(prior.delta, 300.0 * prior.jitter)


def test_top_of_the_ladder():
    """Where no jitter helps, the error names the cause, the kernel and the cure."""
    Z = np.array([[0.0], [1.0], [1.0]])
    with pytest.raises(ValueError, match="must be positive definite") as error:
        factorise_with_jitter(off_kernel(1.0, "Indefinite"), Z, 1e-8)
    assert isinstance(error.value, SingularCovarianceError)
    parts = ["3 inducing inputs (2 of them distinct)", "Indefinite(", "1e-08", f"{MAX_JITTER:.0e}"]
    parts += ["Remove duplicated inducing inputs", "units of X", "lower n_inducing"]
    assert [part for part in parts if part not in str(error.value)] == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_kernel_that_is_not_finite(bad):
    """NaN or infinite hyperparameters end in the ladder's error, not in a NaN factor."""
    case = make_case()
    kernel = case.parameters.expression.bind(np.array([bad, 0.0, 0.0]))
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="positive definite"):
        factorise_with_jitter(kernel, case.Z, 1e-8)


def test_the_last_factorisation_first_tries_less_jitter():
    """The prior that is kept has 1e-5 of the jitter asked for where that is enough."""
    case = make_case()
    prior = factorise_finally(case.prior.kernel, case.Z, 1e-8)
    assert_allclose(prior.jitter, 1e-13)


@pytest.mark.parametrize("far", [1.0, 1e3])
def test_more_inducing_inputs_keep_the_jitter(far):
    """The jitter of the old inducing inputs stays, whatever the mean variance of all is."""
    case = make_case("columns")
    prior = factorise_with_jitter(case.prior.kernel, case.Z, 1e-8)
    Z = np.vstack([case.Z, far * case.X[:3]])
    larger = factorise_larger(prior, Z, 1e-8)
    assert (larger.delta, larger.jitter) == (prior.delta, 1e-8)
    assert_array_equal(larger.Z, Z)


def test_more_inducing_inputs_that_need_more_jitter():
    """Where the old jitter is not enough the ladder is climbed, with a warning."""
    kernel, Z = off_kernel(3e-5), np.array([[0.0], [1.0]])
    prior = factorise_with_jitter(kernel, Z[:1], 1e-8)
    with pytest.warns(ConvergenceWarning, match="jitter of 1e-04"):
        larger = factorise_larger(prior, Z, 1e-8)
    assert_allclose(larger.jitter, 1e-4)


def test_warning_only_if_jitter_was_raised():
    """One warning, which says how much was needed, if more than what was asked for; else none."""
    with pytest.warns(ConvergenceWarning, match=r"1e-05 .*jitter=1e-08 was asked") as record:
        warn_about_jitter(1e-5, 1e-8)
    assert len(record) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_jitter(1e-8, 1e-8)
        warn_about_jitter(1e-11, 1e-8)


def test_one_warning_in_a_fit():
    """A fit whose inducing inputs are duplicated warns once."""
    case = make_case(n=40)
    Z = np.repeat(case.Z, 3, axis=0)
    model = SVGPRegressor(inducing=Z, optimize_inducing=False, jitter=1e-17, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="jitter") as record:
        model.fit(case.X, case.y[:, 0])
    assert sum("jitter" in str(warning.message) for warning in record) == 1


def exact_residual(prior, rows):
    """K - A^T A at some rows, in extended precision."""
    wide = np.longdouble
    K, L = prior.kernel.gram(prior.Z).astype(wide), None
    K += wide(prior.delta) * np.eye(len(K), dtype=wide)
    L = np.zeros_like(K)
    for i in range(len(K)):
        L[i, i] = np.sqrt(K[i, i] - L[i, :i] @ L[i, :i])
        L[i + 1 :, i] = (K[i + 1 :, i] - L[i + 1 :, :i] @ L[i, :i]) / L[i, i]
    A = prior.kernel.block(prior.Z, rows).astype(wide)
    for i in range(len(A)):
        A[i] = (A[i] - L[i, :i] @ A[:i]) / L[i, i]
    return (prior.kernel.gram(rows).astype(wide) - A.T @ A).astype(float)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no extended precision here")
@pytest.mark.parametrize("jitter", [1e-13, 1e-11, 1e-9])
def test_rounding_error_is_that_of_other_rows(jitter):
    """The error measured at the inducing inputs is of the size of the error at other rows."""
    kernel = bound_kernel(RBF(2.0))
    prior = Prior.build(kernel, np.linspace(0.0, 6.0, 30)[:, None], jitter)
    rows = np.linspace(0.05, 5.95, 77)[:, None]
    A = prior.whitened(rows)
    error = np.abs(kernel.gram(rows) - A.T @ A - exact_residual(prior, rows)).max()
    measured = rounding_error(prior)
    assert 0.1 * error < measured < 10.0 * error + 1e-15


@pytest.mark.parametrize("kernel", [RBF(2.0), Matern(2.0, nu=2.5), Matern(2.0, nu=0.5)])
def test_the_last_jitter_is_above_rounding(kernel):
    """Rounding changes what the last prior leaves unexplained by less than its jitter does."""
    Z = np.linspace(0.0, 6.0, 40)[:, None]
    prior = factorise_finally(bound_kernel(kernel), Z, 1e-8)
    assert rounding_error(prior) <= prior.delta
    assert prior.jitter <= 1e-9


def test_more_jitter_after_a_failure():
    """The ladder goes on from a prior that something failed on, warns, and ends with an error."""
    kernel, Z = bound_kernel(RBF(2.0)), np.linspace(0.0, 6.0, 10)[:, None]
    prior = factorise_with_jitter(kernel, Z, 1e-8)
    with pytest.warns(ConvergenceWarning, match="needed a jitter of 1e-07"):
        assert factorise_again(prior, 1e-8).jitter == pytest.approx(1e-7)
    top = Prior.build(kernel, Z, MAX_JITTER, MAX_JITTER)
    with pytest.raises(SingularCovarianceError, match="lower n_inducing"):
        factorise_again(top, 1e-8)


def bound_kernel(kernel):
    expression = compile_kernel(kernel, np.zeros(1))
    return expression.bind(expression.theta)


def test_none_at_all_is_followed_by_some():
    """Jitter climbs from zero too, where something that rests on the prior failed."""
    case = make_case()
    prior = factorise_with_jitter(case.prior.kernel, case.Z, 0.0)
    assert prior.jitter == 0.0
    assert_allclose(factorise_again(prior, 1.0).jitter, 1e-12)
