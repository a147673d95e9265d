"""q(u) against dense definitions, of one H or of several."""

from dataclasses import replace

import numpy as np
import pytest
from dense import (
    COORDINATES,
    EVERY_KERNEL,
    OUTPUTS,
    exact_gp,
    make_case,
    moments_of_information,
    optimal_q,
    predict,
    random_information,
    random_informations,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp.gp.posterior import Posterior, without_own
from sklearn_sgp.gp.prior import Prior

XS = np.random.default_rng(9).uniform(-3.0, 3.0, (8, 2))


@COORDINATES
@pytest.mark.parametrize("weighted", [False, True])
@OUTPUTS
@EVERY_KERNEL
def test_optimum_predicts_as_defined(kernel, t, weighted, coordinates):
    """Means, variances and covariances at the optimum are the dense ones, in both coordinates."""
    case = make_case(kernel, t=t, weighted=weighted)
    posterior = case.optimum(coordinates).posterior
    Kuu, Kuf, _ = case.matrices()
    q = optimal_q(Kuu, Kuf, case.y, case.noise, case.weight)
    mean, covariance = predict(*case.test_matrices(XS), *q)
    assert_allclose(posterior.mean(XS), mean, atol=1e-7)
    assert_allclose(posterior.mean_variance(XS)[0], mean, atol=1e-7)
    variance = posterior.mean_variance(XS)[1]
    assert variance.shape == (len(XS), 1)
    assert_allclose(variance[:, 0], np.diagonal(covariance), atol=1e-7)
    got = posterior.mean_covariance(XS)
    assert_allclose(got[0], mean, atol=1e-7)
    assert got[1].shape == (len(XS), len(XS), 1)
    assert_allclose(got[1][:, :, 0], covariance, atol=1e-7)


@OUTPUTS
@EVERY_KERNEL
def test_any_information_predicts_as_defined(kernel, t):
    """For H and h of no data as well, predictions are those of u = L v, v ~ q(v)."""
    case = make_case(kernel)
    H, h = random_information(5, t)
    posterior = case.posterior(H, h)
    q = moments_of_information(case.matrices()[0], H, h)
    mean, covariance = predict(*case.test_matrices(XS), *q)
    assert_allclose(posterior.mean_covariance(XS)[0], mean, atol=1e-8)
    assert_allclose(posterior.mean_covariance(XS)[1][:, :, 0], covariance, atol=1e-8)
    precision = posterior.precisions[0]
    assert_allclose(precision.covariance, np.linalg.inv(np.eye(5) + H), atol=1e-12)
    assert_allclose(precision.log_det, np.linalg.slogdet(np.eye(5) + H)[1])
    assert_allclose(precision.L, np.linalg.cholesky(np.eye(5) + H), atol=1e-12)
    assert_allclose(precision.L_inv @ precision.L, np.eye(5), atol=1e-12)
    assert_allclose(precision.covariance_change, precision.covariance - np.eye(5), atol=1e-15)


def test_no_information_is_the_prior():
    """With H = 0 and h = 0 the posterior is the prior process."""
    case = make_case()
    mean, covariance = Posterior.at_prior(case.prior, 1).mean_covariance(XS)
    assert_array_equal(mean, 0.0)
    assert_allclose(covariance[:, :, 0], case.kernel(XS), atol=1e-9)


@EVERY_KERNEL
def test_variance_is_the_diagonal_of_the_covariance(kernel):
    """Squared standard deviations and the diagonal of the joint covariance are the same."""
    posterior = make_case(kernel, noise=1e-3).optimum().posterior
    X = np.vstack([XS, posterior.prior.Z])
    covariance = posterior.mean_covariance(X)[1][:, :, 0]
    variance = posterior.mean_variance(X)[1][:, 0]
    assert_allclose(variance, np.diagonal(covariance), rtol=1e-9, atol=1e-12)
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


@OUTPUTS
def test_inducing_inputs_at_the_data_are_the_exact_gp(t):
    """With Z = X evidence and predictions are those of the exact GP."""
    case = make_case(n=25, t=t)
    case = replace(case, kernel=ConstantKernel(1.5) * Matern(0.8, nu=1.5), Z=case.X, delta=1e-10)
    q, bound = case.optimum_and_bound()
    Kss, Kfs = case.kernel(XS), case.kernel(case.X, XS)
    evidence, mean, cov = exact_gp(case.kernel(case.X), case.y, case.noise, Kfs, Kss)
    assert_allclose(bound, evidence, rtol=1e-7)
    assert_allclose(q.posterior.mean_covariance(XS)[0], mean, atol=1e-7)
    assert_allclose(q.posterior.mean_covariance(XS)[1][:, :, 0], cov, atol=1e-7)


# Scalars


@OUTPUTS
def test_log_evidence_is_its_integral(t):
    """It is the log of the mean of exp(h^T v - v^T H v / 2 + c) under the prior, as a Gaussian."""
    case = make_case()
    H, h = random_information(5, t)
    # the factor is N(x; v, inv(H)) with H x = h, but for its constant
    x = np.linalg.solve(H, h)
    covariance = np.eye(5) + np.linalg.inv(H)
    quadratic = np.sum(h * x) - np.sum(x * np.linalg.solve(covariance, x))
    log_dets = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(H)[1]
    expected = 0.5 * (quadratic - t * log_dets) + 0.7
    assert_allclose(case.posterior(H, h).log_evidence(0.7), expected, rtol=1e-9)


@OUTPUTS
def test_log_evidence_is_the_bound_at_the_optimum(t):
    """E_q[log factor] - KL(q || p) is largest at the factor's own posterior: the log evidence."""
    case = make_case()
    posterior = case.posterior(*random_information(5, t))
    value = posterior.log_evidence()
    assert_allclose(posterior.expected_log_factor(posterior) - posterior.kl(), value, rtol=1e-9)
    other = case.posterior(*random_information(5, t, seed=1))
    assert posterior.expected_log_factor(other) - other.kl() < value - 1e-3


# Several H


def several_and_each(case, t=3, seed=0):
    """A posterior with an H for each output, and the posterior of each output."""
    H, h = random_informations(len(case.Z), t, seed)
    own = [case.posterior(H[c], h[:, c : c + 1].copy()) for c in range(t)]
    return case.posterior(H, h), own


def assert_is_each(several, each, atol=1e-12):
    """A posterior has the information of separate ones, output by output."""
    assert len(several.H) == len(each)
    for c, own in enumerate(each):
        assert_allclose(several.H[c], own.H[0], rtol=1e-12, atol=atol)
        assert_allclose(several.h[:, c : c + 1], own.h, rtol=1e-12, atol=atol)


@EVERY_KERNEL
def test_several_precisions_predict_as_separate_posteriors(kernel):
    """Means, variances and covariances of each output are those of a posterior of its own."""
    several, each = several_and_each(make_case(kernel))
    mean, variance = several.mean_variance(XS)
    joint_mean, covariance = several.mean_covariance(XS)
    assert variance.shape == (8, 3) and covariance.shape == (8, 8, 3)
    for c, own in enumerate(each):
        for got in (mean, joint_mean, several.mean(XS)):
            assert_allclose(got[:, c], own.mean(XS)[:, 0], rtol=1e-10, atol=1e-12)
        assert_allclose(variance[:, c], own.mean_variance(XS)[1][:, 0], rtol=1e-12)
        expected = own.mean_covariance(XS)[1][:, :, 0]
        assert_allclose(covariance[:, :, c], expected, rtol=1e-12, atol=1e-14)


def test_outputs_share_their_factors():
    """The posterior of one output has the precision of the whole one: it is factorised once."""
    several, _ = several_and_each(make_case())
    for c, own in enumerate(several.outputs):
        assert own.precisions[0] is several.precisions[c]
        assert_allclose(own.v_mean[:, 0], several.v_mean[:, c], rtol=1e-12)


def test_several_precisions_have_the_scalars_of_separate_posteriors():
    """kl, log_evidence and expected_log_factor are sums over the outputs."""
    case = make_case()
    (several, each), (q, q_each) = several_and_each(case), several_and_each(case, seed=7)
    assert_allclose(several.kl(), sum(own.kl() for own in each), rtol=1e-12)
    evidence = sum(own.log_evidence() for own in each)
    assert_allclose(several.log_evidence(2.5), evidence + 2.5, rtol=1e-12)
    expected = sum(own.expected_log_factor(p) for own, p in zip(each, q_each, strict=True))
    assert_allclose(several.expected_log_factor(q), expected, rtol=1e-12)


@pytest.mark.parametrize("rho, scale", [(0.0, 1.0), (0.3, 1.0), (0.3, 4.0), (1.0, 1.0)])
def test_several_precisions_step_as_separate_posteriors(rho, scale):
    """A natural-gradient step moves each H and h for itself, by its share of the way."""
    case = make_case()
    (several, each), (target, targets) = several_and_each(case), several_and_each(case, seed=7)
    moved = several.towards(target, rho, scale)
    parts = zip(each, targets, strict=True)
    assert_is_each(moved, [own.towards(other, rho, scale) for own, other in parts])
    for H, own, other in zip(moved.H, several.H, target.H, strict=True):
        assert_allclose(H, (1.0 - rho) * own + rho * scale * other, rtol=1e-12, atol=1e-12)
    assert_is_each(several, each, atol=0.0)  # is left alone


def test_several_precisions_are_projected_as_separate_posteriors():
    """Carried to other inducing inputs, each output's information is that of its own posterior."""
    several, each = several_and_each(make_case())
    other = make_case(m=7, seed=3)
    assert_is_each(several.projected(other.prior), [p.projected(other.prior) for p in each])


def test_projection_keeps_what_is_known_of_the_functions():
    """Projected to the same inducing inputs and more, predictions stay; to the same, all does."""
    case = make_case()
    several, each = several_and_each(case)
    assert_is_each(several.projected(case.prior), each, atol=1e-8)
    Z = np.vstack([case.Z, XS[:2]])
    larger = Prior.build(case.prior.kernel, Z, 0.0)
    carried = case.posterior(several.H, several.h).projected(larger)
    for got, expected in zip(carried.mean_variance(XS), several.mean_variance(XS), strict=True):
        assert_allclose(got, expected, atol=1e-4)


def test_posteriors_made_from_others():
    """joined adds, scaled multiplies, under keeps (H, h), padded appends zeros."""
    case, larger = make_case(), make_case(m=7, seed=3)
    (several, each), (other, others) = several_and_each(case), several_and_each(case, seed=7)
    pairs = zip(each, others, strict=True)
    assert_is_each(several.joined(other), [own.joined(more) for own, more in pairs])
    assert_is_each(several.scaled(2.5), [own.scaled(2.5) for own in each])
    assert_is_each(several.joined(several), [own.scaled(2.0) for own in each])
    under = several.under(larger.prior)
    assert under.prior.Z is larger.Z
    assert_is_each(under, each, atol=0.0)
    padded = several.padded(larger.prior)
    for c, own in enumerate(each):
        assert_array_equal(padded.H[c], np.pad(own.H[0], (0, 2)))
        assert_array_equal(padded.h[:, c], np.pad(own.h[:, 0], (0, 2)))


def test_centred_means_add_up_to_zero():
    """centred keeps covariances, with their factors, and takes the mean over outputs from means."""
    several, _ = several_and_each(make_case())
    centred = several.centred()
    mean = several.mean(XS)
    assert_allclose(centred.mean(XS), mean - mean.mean(axis=1, keepdims=True), atol=1e-9)
    for own, other in zip(centred.H, several.H, strict=True):
        assert_array_equal(own, other)
    for own, other in zip(centred.precisions, several.precisions, strict=True):
        assert own.L is other.L


@pytest.mark.parametrize("n_factors", [1, 3])
def test_at_prior(n_factors):
    """Before any data there is no information in any H, and no divergence from the prior."""
    posterior = Posterior.at_prior(make_case().prior, 3, n_factors)
    assert [H.shape for H in posterior.H] == [(5, 5)] * n_factors
    assert posterior.h.shape == (5, 3)
    assert posterior.kl() == posterior.log_evidence() == 0.0
    assert len(posterior.by_precision) == n_factors


@pytest.mark.parametrize("picked", [[0, 2, 4], [3, 1, 0, 2, 4]])
def test_leaving_inducing_inputs_out(picked):
    """The new inducing values are the old ones: what is known of them alone stays as it is."""
    case = make_case(t=2)
    some = case.posterior(np.zeros((5, 5)), np.zeros((5, 2))).restricted(picked)
    assert_array_equal(some.prior.Z, case.Z[picked])
    size = len(picked)
    H, h = random_information(size, 2)
    rest = np.setdiff1d(np.arange(5), picked)
    order = np.append(picked, rest)
    known = Posterior(some.prior, (H,), h)
    whole = Prior.build(some.prior.kernel, case.Z[order], some.prior.delta)
    again = known.padded(whole).restricted(np.arange(size))
    assert_allclose(again.H[0], H, atol=1e-8)
    assert_allclose(again.h, h, atol=1e-8)
    assert_allclose(again.mean(XS), known.mean(XS), atol=1e-8)


def test_rows_that_are_all_that_is_known_have_no_moments_without_them():
    """Where a row leaves no noise unexplained, what others say of it is NaN, not rounding."""
    mean, variance = np.ones((3, 1)), np.array([[0.05], [0.1], [0.1 - 1e-9]])
    found = without_own(mean, variance, np.full((3, 1), 2.0), np.full((3, 1), 0.1))
    assert_allclose(found[1][0], 1.0 / (1.0 / 0.05 - 1.0 / 0.1))
    assert_allclose(found[0][0], found[1][0] * (1.0 / 0.05 - 2.0 / 0.1))
    assert np.isnan(found[0][1:]).all() and np.isnan(found[1][1:]).all()
