"""p(u) and q(u) against dense definitions, the jitter ladder, and growing Z online."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from dense import (
    KERNELS,
    exact_gp,
    make_case,
    moments_of_information,
    optimal_q,
    predict,
    random_information,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.fitting.partial_fit import OnlineState, absorb, new_inducing_inputs
from sklearn_sgp.fitting.stages import Learned, Settings
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.optimize.learning import ParameterSpace
from sklearn_sgp.likelihoods import Gaussian
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.objectives.collapsed import collapsed_value, optimal_state
from sklearn_sgp.gp.posterior import (
    MAX_JITTER,
    Prior,
    jitter_scale,
    settle_jitter,
    warn_about_jitter,
)
from sklearn_sgp.gp.coordinates import DirectState, WhitenedState

XS = np.random.default_rng(9).uniform(-3.0, 3.0, (8, 2))


def _optimum(case, form=WhitenedState):
    return optimal_state(case.prior, case.rows, case.noise, form=form)[0].posterior


def _optimum_and_bound(prior, case):
    state, sums = optimal_state(prior, case.rows, case.noise)
    return state.posterior, collapsed_value(state, sums, case.noise)


# p(u)


@pytest.mark.parametrize("kernel", KERNELS)
def test_prior_is_its_definition(kernel):
    """K is k(Z, Z) + delta I, L its Cholesky factor, whitened(X) is inv(L) K(Z, X)."""
    case = make_case(kernel)
    Kuu, Kuf, _ = case.matrices()
    L = np.linalg.cholesky(Kuu)
    prior = case.prior
    assert_allclose(prior.K, Kuu, atol=1e-12)
    assert_allclose(prior.L, L, atol=1e-10)
    assert_allclose(prior.L_inv, np.linalg.inv(L), atol=1e-8)
    assert_allclose(prior.K_inv, np.linalg.inv(Kuu), atol=1e-7)
    assert_allclose(prior.log_det, np.linalg.slogdet(Kuu)[1])
    assert_allclose(prior.whitened(case.X), np.linalg.solve(L, Kuf), atol=1e-9)


@pytest.mark.parametrize("length_scale", [0.3, 3.0, 30.0])
def test_condition(length_scale):
    """The estimated condition number is within a factor of 10 of NumPy's."""
    case = replace(make_case(m=12, delta=1e-8), kernel=ConstantKernel(5.0) * RBF(length_scale))
    prior = case.prior
    assert 0.1 < prior.condition / np.linalg.cond(prior.K, 1) < 10.0


@pytest.mark.parametrize("length_scale", [0.3, 3.0])
def test_direct_is_safe_follows_its_rule(length_scale):
    """The direct form is safe while eps cond(K) bound < 1e-3, on either side of that bound."""
    prior = replace(make_case(m=12, delta=1e-8), kernel=RBF(length_scale)).prior
    limit = 1e-3 / (np.finfo(float).eps * prior.condition)
    assert prior.direct_is_safe(0.99 * limit)
    assert not prior.direct_is_safe(1.01 * limit)


def test_where_direct_is_called_unsafe_it_is():
    """The rule refuses a case in which the direct form gives I + H a negative eigenvalue."""
    rng = np.random.default_rng(0)
    case = replace(
        make_case(n=200),
        kernel=RBF(0.5),
        Z=np.linspace(-1.0, 1.0, 15)[:, None],
        X=rng.uniform(-1.0, 1.0, (200, 1)),
        y=rng.standard_normal((200, 1)),
        weight=np.full(200, 1e6),  # as many rows as it takes
        delta=1e-10,
    )
    direct, whitened = (_optimum(case, form).H for form in (DirectState, WhitenedState))
    assert not case.prior.direct_is_safe(200 * 1e6 / case.noise)
    assert np.linalg.eigvalsh(np.eye(15) + direct).min() < 0.0
    assert np.linalg.eigvalsh(np.eye(15) + whitened).min() > 0.99


# the jitter ladder


def test_jitter_scale():
    """Jitter is relative to the mean variance at the inducing inputs."""
    case = make_case("columns")
    expected = case.kernel.diag(case.Z).mean()
    assert_allclose(jitter_scale(case.prior.kernel, case.Z), expected)


def test_first_rung_holds_where_it_can():
    """Nothing is added beyond the jitter asked for if that is enough."""
    case = make_case("columns")
    prior, rung = settle_jitter(case.prior.kernel, case.Z, 1e-8)
    assert rung == 1e-8
    assert_allclose(prior.delta, 1e-8 * case.kernel.diag(case.Z).mean())


class Off(RBF):
    """Covariances of 1 + excess off the diagonal and variances of 1: needs that much jitter."""

    excess = 0.0

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        return 1.0 + self.excess * (X[:, :1] != Y[:, 0])


@pytest.mark.parametrize("start", [0.0, 1e-8, 1e-5])
@pytest.mark.parametrize("excess, expected", [(3e-5, 1e-4), (5e-4, MAX_JITTER)])
def test_ladder_climbs_to_the_first_rung_that_holds(start, excess, expected):
    """Jitter is raised tenfold until K(Z, Z) factorises, and no further."""
    kernel = type("Off", (Off,), {"excess": excess})()
    kernel = compile_kernel(kernel, np.zeros(1)).bind([0.0])
    prior, rung = settle_jitter(kernel, np.array([[0.0], [1.0]]), start)
    assert_allclose([rung, prior.delta], expected)


def test_duplicated_inducing_inputs():
    """Duplicates need jitter, a small one, in units of the kernel's variance."""
    case = replace(make_case(delta=0.0), kernel=ConstantKernel(300.0) * RBF(2.0))
    kernel, Z = case.parameters.kernel, np.repeat(case.Z, 3, axis=0)
    with pytest.raises(NotPositiveDefiniteError):
        Prior.build(kernel, Z, 0.0)
    prior, rung = settle_jitter(kernel, Z, 0.0)
    assert 0.0 < rung < 1e-10
    assert_allclose(prior.delta, 300.0 * rung)


def test_top_of_the_ladder():
    """Where no jitter helps, the error names the cause, the kernel and the cure."""
    kernel = type("Indefinite", (Off,), {"excess": 1.0})()
    kernel = compile_kernel(kernel, np.zeros(1)).bind([0.0])
    Z = np.array([[0.0], [1.0], [1.0]])
    with pytest.raises(ValueError, match="must be positive definite") as error:
        settle_jitter(kernel, Z, 1e-8)
    parts = ["3 inducing inputs (2 of them distinct)", "Indefinite(", "1e-08", f"{MAX_JITTER:.0e}"]
    parts += ["Remove duplicated inducing inputs", "units of X", "lower n_inducing"]
    assert [part for part in parts if part not in str(error.value)] == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_kernel_that_is_not_finite(bad):
    """NaN or infinite hyperparameters end in the ladder's error, not in a NaN factor."""
    case = make_case()
    kernel = case.parameters.expression.bind(np.array([bad, 0.0, 0.0]))
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="positive definite"):
        settle_jitter(kernel, case.Z, 1e-8)


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
    assert len(record) == 1


# q(u)


@pytest.mark.parametrize("form", [DirectState, WhitenedState])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", [1, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_optimum_predicts_as_defined(kernel, t, weighted, form):
    """Means, variances and covariances at the optimum are the dense ones, in both forms."""
    case = make_case(kernel, t=t, weighted=weighted)
    posterior = _optimum(case, form)
    Kuu, Kuf, _ = case.matrices()
    q = optimal_q(Kuu, Kuf, case.y, case.noise, case.weight)
    mean, covariance = predict(*case.test_matrices(XS), *q)
    assert_allclose(posterior.mean(XS), mean, atol=1e-7)
    assert_allclose(posterior.mean_variance(XS)[0], mean, atol=1e-7)
    assert_allclose(posterior.mean_variance(XS)[1], np.diagonal(covariance), atol=1e-7)
    for actual, expected in zip(posterior.mean_covariance(XS), (mean, covariance), strict=True):
        assert_allclose(actual, expected, atol=1e-7)


@pytest.mark.parametrize("t", [1, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_any_information_predicts_as_defined(kernel, t):
    """For H and h of no data as well, predictions are those of u = L v, v ~ q(v)."""
    case = make_case(kernel)
    H, h = random_information(5, t)
    posterior = case.posterior(H, h)
    q = moments_of_information(case.matrices()[0], H, h)
    mean, covariance = predict(*case.test_matrices(XS), *q)
    assert_allclose(posterior.mean_covariance(XS)[0], mean, atol=1e-8)
    assert_allclose(posterior.mean_covariance(XS)[1], covariance, atol=1e-8)
    assert_allclose(posterior.B_inv, np.linalg.inv(np.eye(5) + H), atol=1e-12)
    assert_allclose(posterior.log_det_B, np.linalg.slogdet(np.eye(5) + H)[1])


def test_no_information_is_the_prior():
    """With H = 0 and h = 0 the posterior is the prior process."""
    case = make_case()
    mean, covariance = case.posterior(np.zeros((5, 5)), np.zeros((5, 1))).mean_covariance(XS)
    assert_array_equal(mean, 0.0)
    assert_allclose(covariance, case.kernel(XS), atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_variance_is_the_diagonal_of_the_covariance(kernel):
    """Squared standard deviations and the diagonal of the joint covariance are the same."""
    posterior = _optimum(make_case(kernel, noise=1e-3))
    X = np.vstack([XS, posterior.prior.Z])
    covariance = posterior.mean_covariance(X)[1]
    assert_allclose(posterior.mean_variance(X)[1], np.diagonal(covariance), rtol=1e-9, atol=1e-12)
    assert_array_equal(covariance, covariance.T)


def test_variance_is_never_negative():
    """Where Z and the data leave nothing open, rounding does not make a variance negative."""
    unclipped = []
    for scale in np.linspace(1.0, 2.0, 20):
        case = replace(make_case(m=1, delta=0.0), kernel=ConstantKernel(scale) * RBF(1.0))
        posterior = case.posterior(np.full((1, 1), 1e40), np.zeros((1, 1)))
        unclipped.append(
            posterior.prior.kernel.diag(case.Z) - posterior.prior.whitened(case.Z) ** 2
        )
        assert posterior.mean_variance(case.Z)[1] > 0.0
        assert posterior.mean_covariance(case.Z)[1] > 0.0
    assert np.min(unclipped) < 0.0


@pytest.mark.parametrize("t", [1, 2])
def test_inducing_inputs_at_the_data_are_the_exact_gp(t):
    """With Z = X evidence and predictions are those of the exact GP."""
    case = make_case(n=25, t=t)
    case = replace(case, kernel=ConstantKernel(1.5) * Matern(0.8, nu=1.5), Z=case.X, delta=1e-10)
    posterior, bound = _optimum_and_bound(case.prior, case)
    Kss, Kfs = case.kernel(XS), case.kernel(case.X, XS)
    evidence, mean, cov = exact_gp(case.kernel(case.X), case.y, case.noise, Kfs, Kss)
    assert_allclose(bound, evidence, rtol=1e-7)
    assert_allclose(posterior.mean_covariance(XS)[0], mean, atol=1e-7)
    assert_allclose(posterior.mean_covariance(XS)[1], cov, atol=1e-7)


# growing Z online

SETTINGS = Settings(
    optimizer=None,
    init_size=100,
    batch_size=100,
    max_iter=1,
    max_steps=None,
    tol=0.0,
    n_iter_no_change=1,
    learning_rate=0.01,
    natural_step=0.1,
    jitter=1e-8,
    n_jobs=None,
)


def _absorb(case, learned, online, rows, new_Z=None, **options):
    return absorb(
        online,
        learned,
        rows,
        settings=SETTINGS,
        likelihood=Gaussian(),
        total_samples=options.pop("total_samples", None),
        choose=None if new_Z is None else lambda rows, parameters: new_Z,
    )


def _learned(case):
    prior, rung = settle_jitter(case.parameters.kernel, case.Z, SETTINGS.jitter)
    posterior, value = _optimum_and_bound(prior, case)
    space = ParameterSpace(np.empty((0, 2)), None, None)
    learned = Learned(case.parameters, posterior, value, rung, 1, 0)
    return learned, OnlineState.from_fit(learned, case.rows, space)


@pytest.mark.parametrize("far", [1.0, 1e3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_growing_changes_no_prediction(kernel, far):
    """New inducing inputs pad H and h with zeros; predictions and objective stay as they were.

    Also where far-off ones raise the mean variance, in whose units jitter is given.
    """
    case = make_case(kernel, t=2)
    learned, online = _learned(case)
    new = far * XS[:3]
    nothing = replace(case.rows.select(slice(0, 1)), weight=np.zeros(1))
    _, grown = _absorb(case, learned, online, nothing, new)
    assert_array_equal(grown.posterior.H, np.pad(learned.posterior.H, (0, 3)))
    assert_array_equal(grown.posterior.h, np.pad(learned.posterior.h, ((0, 3), (0, 0))))
    assert_array_equal(grown.parameters.Z, np.vstack([case.Z, new]))
    for old, new in zip(
        learned.posterior.mean_covariance(XS), grown.posterior.mean_covariance(XS), strict=True
    ):
        assert_allclose(new, old, atol=1e-9)
    assert_allclose(grown.objective, learned.objective, rtol=1e-10)


def test_batches_add_up_to_all_rows():
    """At fixed hyperparameters, rows absorbed in parts give the optimum and bound of all."""
    case = make_case(n=40, t=2, weighted=True)
    learned, online = _learned(replace(case, X=case.X[:9], y=case.y[:9], weight=case.weight[:9]))
    for part in (slice(9, 10), slice(10, 33), slice(33, None)):
        online, learned = _absorb(case, learned, online, case.rows.select(part))
    posterior, bound = _optimum_and_bound(learned.posterior.prior, case)
    assert_allclose(learned.posterior.H, posterior.H, atol=1e-8)
    assert_allclose(learned.posterior.h, posterior.h, atol=1e-8)
    assert_allclose(learned.objective, bound, rtol=1e-9)


def test_absorbing_leaves_the_old_model_alone():
    """The model that was given is not written to, so that a failure leaves it as it was."""
    case = make_case()
    learned, online = _learned(case)
    H, h = learned.posterior.H.copy(), learned.posterior.h.copy()
    _absorb(case, learned, online, case.rows, XS[:2])
    assert_array_equal(learned.posterior.H, H)
    assert_array_equal(learned.posterior.h, h)


def test_new_inducing_inputs_are_new():
    """Rows that are inducing inputs already are not chosen again; nothing new gives none."""
    case = make_case()
    case = replace(case, X=np.vstack([case.Z, XS[:2]]), y=np.zeros((7, 1)))
    rng = np.random.RandomState(0)
    new = new_inducing_inputs("random", case.rows, case.parameters, 5, np.ones(2), rng)
    assert_array_equal(new, XS[:2][np.lexsort(XS[:2].T[::-1])])
    known = case.rows.select(slice(0, 5))
    assert new_inducing_inputs("kmeans", known, case.parameters, 5, np.ones(2), rng).shape == (0, 2)
