"""One more batch into a fitted model: sums that add up, growing Z, and one step of Adam."""

from dataclasses import replace

import numpy as np
import pytest
from dense import EVERY_KERNEL, make_case, make_settings, minibatch
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.base import Start
from sklearn_sgp.engines.fitted import Fitted
from sklearn_sgp.engines.variational.inference import ConjugateInference, SiteInference
from sklearn_sgp.engines.variational.partial_fit import (
    RowState,
    _minibatches,
    add_rows,
    more_inducing_inputs,
    scaled_to_total,
)
from sklearn_sgp.gp.coordinates import Whitened
from sklearn_sgp.likelihoods import Gaussian, Poisson
from sklearn_sgp.objectives.sites import SiteProblem
from sklearn_sgp.optimize.parameters import ParameterSpace

XS = np.random.default_rng(9).uniform(-3.0, 3.0, (8, 2))
SETTINGS = make_settings()


def fitted(case, space=None, inference=None):
    """The result of a fit to the case's rows at its parameters."""
    inference = inference or ConjugateInference(Gaussian(), case.y.shape[1])
    space = ParameterSpace(()) if space is None else space
    prior = SETTINGS.prior(case.parameters)
    posterior, value, scalars = inference.posterior(prior, case.parameters, case.rows, None, np.inf)
    start = Start(case.kernel, inference.likelihood, case.parameters, space)
    predictor = inference.predictor(posterior, case.parameters.noise_variance)
    weight = case.rows.total_weight
    state = RowState.after_fit(scalars, weight, True)
    found = (predictor, value, prior.jitter, 1, 0, weight)
    return Fitted(start, case.parameters, *found, n_samples=len(case.rows), state=state)


def add(case, result, rows, settings=SETTINGS, inference=None, **options):
    inference = inference or ConjugateInference(Gaussian(), case.y.shape[1])
    return add_rows(result, rows, settings=settings, inference=inference, **options)


@pytest.mark.parametrize("far", [1.0, 1e3])
@EVERY_KERNEL
def test_growing_changes_no_prediction(kernel, far):
    """New inducing inputs pad H and h with zeros; predictions and objective stay as they were.

    Also where far-off ones raise the mean variance, in whose units jitter is given.
    """
    case = make_case(kernel, t=2)
    result = fitted(case)
    new = far * XS[:3]
    nothing = replace(case.rows.select(slice(0, 1)), weight=np.zeros(1))
    grown = add(case, result, nothing, new_Z=new)
    assert_array_equal(grown.posterior.H[0], np.pad(result.posterior.H[0], (0, 3)))
    assert_array_equal(grown.posterior.h, np.pad(result.posterior.h, ((0, 3), (0, 0))))
    assert_array_equal(grown.parameters.Z, np.vstack([case.Z, new]))
    for old, new in zip(
        result.posterior.mean_covariance(XS), grown.posterior.mean_covariance(XS), strict=True
    ):
        assert_allclose(new, old, atol=1e-9)
    assert_allclose(grown.objective, result.objective, rtol=1e-10)


@pytest.mark.parametrize("batch_size", [100, 7])
def test_batches_add_up_to_all_rows(batch_size):
    """At fixed hyperparameters, rows added in parts give the optimum and bound of all."""
    case = make_case(n=40, t=2, weighted=True)
    first = replace(case, X=case.X[:9], y=case.y[:9], weight=case.weight[:9])
    result = fitted(first)
    settings = make_settings(batch_size=batch_size)
    for part in (slice(9, 10), slice(10, 33), slice(33, None)):
        result = add(case, result, case.rows.select(part), settings)
    q, bound = case.optimum_and_bound(prior=result.posterior.prior)
    assert_allclose(result.posterior.H[0], q.posterior.H[0], atol=1e-8)
    assert_allclose(result.posterior.h, q.posterior.h, atol=1e-8)
    assert_allclose(result.objective, bound, rtol=1e-9)
    assert result.state.exact
    assert_allclose([result.weight, result.state.scalars.weight], case.weight.sum())


def test_adding_leaves_the_old_model_alone():
    """The model that was given is not written to, so that a failure leaves it as it was."""
    case = make_case()
    result = fitted(case)
    H, h = result.posterior.H[0].copy(), result.posterior.h.copy()
    add(case, result, case.rows, new_Z=XS[:2])
    assert_array_equal(result.posterior.H[0], H)
    assert_array_equal(result.posterior.h, h)


def test_new_inducing_inputs_are_new():
    """Rows that are inducing inputs already are not chosen again; nothing new gives none."""
    case = make_case()
    case = replace(case, X=np.vstack([case.Z, XS[:2]]), y=np.zeros((7, 1)))
    rng = np.random.RandomState(0)
    new = more_inducing_inputs("random", 10, case.rows, case.parameters, rng)
    assert_array_equal(new, XS[:2][np.lexsort(XS[:2].T[::-1])])
    known = case.rows.select(slice(0, 5))
    assert more_inducing_inputs("kmeans", 10, known, case.parameters, rng).shape == (0, 2)


@pytest.mark.parametrize("method, n_inducing", [("kmeans", 5), ("random", 3), (XS, 10)])
def test_no_more_inducing_inputs_than_asked_for(method, n_inducing):
    """None are added where there are enough, or where the user gave them."""
    case = make_case()
    rng = np.random.RandomState(0)
    new = more_inducing_inputs(method, n_inducing, case.rows, case.parameters, rng)
    assert new.shape == (0, 2)


def test_with_a_total_q_moves_towards_the_rows():
    """With total_samples, (H, h) go the share natural_step towards the rows' own, scaled up."""
    case = make_case(t=2)
    result = fitted(case)
    rows = case.rows.select(slice(0, 6))
    moved = add(case, result, rows, total_samples=60)
    asked = replace(case, X=case.X[:6], y=case.y[:6]).optimum(Whitened, result.posterior.prior)
    expected = result.posterior.towards(asked.posterior, 0.1, scale=10.0)
    assert_allclose(moved.posterior.H[0], expected.H[0], rtol=1e-10, atol=1e-10)
    assert_allclose(moved.posterior.h, expected.h, rtol=1e-10, atol=1e-10)
    assert not moved.state.exact
    assert moved.weight == 60.0
    terms = minibatch(Whitened(moved.posterior), case, rows=rows, scale=10.0)
    assert_allclose(moved.objective, terms.value, rtol=1e-12)


@pytest.mark.parametrize("total_samples", [None, 60])
def test_adam_moves_the_parameters_once_a_batch(total_samples):
    """A step goes up the gradient at the new q(u), which is projected; Adam is carried on."""
    case = make_case(t=2)
    result = fitted(case, case.space())
    settings, rows = make_settings(optimizer="adam"), case.rows.select(slice(0, 6))
    still = add(case, result, rows, total_samples=total_samples)
    moved = add(case, result, rows, settings, total_samples=total_samples)
    scale = (30.0 if total_samples is None else 60.0) / 6.0
    gradient = minibatch(Whitened(still.posterior), case, rows=rows, scale=scale).gradient
    pack = case.space().pack
    step = pack(moved.parameters) - pack(result.parameters)
    assert_allclose(step, 0.01 * np.sign(case.space().pack_gradient(gradient)), rtol=1e-6)
    expected = still.posterior.projected(moved.posterior.prior)
    assert_allclose(moved.posterior.H[0], expected.H[0], rtol=1e-9, atol=1e-9)
    assert_allclose(moved.posterior.h, expected.h, rtol=1e-9, atol=1e-9)
    assert moved.posterior.prior.Z is moved.parameters.Z
    assert not moved.state.exact and moved.state.adam.t == 1
    again = add(case, moved, rows, settings, total_samples=total_samples)
    assert again.state.adam.t == 2 and moved.state.adam.t == 1  # which is not written to


def test_scaling_to_a_total():
    """The information of all rows is scaled to a total weight, and nothing else changes."""
    case = make_case(t=2)
    result = fitted(case)
    scaled = scaled_to_total(result, 60.0)
    assert_allclose(scaled.posterior.H[0], 2.5 * result.posterior.H[0])
    assert_allclose(scaled.posterior.h, 2.5 * result.posterior.h)
    assert scaled.parameters is result.parameters and scaled.objective == result.objective
    half = scaled_to_total(result, 60.0, natural_step=0.5)
    assert_allclose(half.posterior.h, 1.25 * result.posterior.h)


def counts():
    """40 rows of counts, and the result of a fit to the first 30."""
    case = make_case(n=40)
    case = replace(case, y=np.random.default_rng(0).poisson(2.0, (40, 1)).astype(float))
    first = replace(case, X=case.X[:30], y=case.y[:30])
    return case, case.rows.select(slice(30, None)), fitted(first, inference=count_inference())


def count_inference():
    return SiteInference(Poisson(), 1)


def test_rows_of_counts():
    """Added rows get sites of their own beside the old ones, which brings q(u) to that of all."""
    case, rows, result = counts()
    state = result.state
    assert not state.exact and state.scalars.weight == result.weight == 30.0
    grown = add(case, result, rows, inference=count_inference())
    assert grown.weight == 40.0 and not grown.state.exact
    mean = fitted(case, inference=count_inference()).posterior.mean(XS)
    before, after = (np.abs(r.posterior.mean(XS) - mean).max() for r in (result, grown))
    assert after < 0.2 * before


def test_rows_of_counts_with_a_total():
    """With total_samples, q(u) goes the share natural_step towards what the rows ask for."""
    case, rows, result = counts()
    moved = add(case, result, rows, inference=count_inference(), total_samples=40)
    problem = SiteProblem(result.posterior.prior, rows.weighted(4.0), Poisson(), case.noise)
    target = problem.site_pass(result.posterior).target
    expected = result.posterior.towards(target, 0.1)
    assert_allclose(moved.posterior.H[0], expected.H[0], rtol=1e-10)
    assert_allclose(moved.posterior.h, expected.h, rtol=1e-10)
    assert moved.weight == 40.0 and not moved.state.exact


def test_minibatches_are_random_rows():
    """Each row of a sorted batch comes once, and each minibatch has rows from end to end."""
    X = np.arange(4000.0)[:, None]
    rows = Rows(X, X, None, np.zeros(1), np.ones(1))
    parts = [select() for select in _minibatches(rows, 1000)]
    assert [len(part) for part in parts] == [1000] * 4
    assert_array_equal(np.sort(np.concatenate([part.X[:, 0] for part in parts])), X[:, 0])
    for part in parts:
        assert_allclose(part.X.mean(), X.mean(), rtol=0.1)
    parts = [select() for select in _minibatches(rows, 3999)]
    assert [len(part) for part in parts] == [2000] * 2
    (whole,) = _minibatches(rows, 4000)
    assert_array_equal(whole().X, X)
