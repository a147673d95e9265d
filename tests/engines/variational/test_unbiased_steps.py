"""Minibatches of rows of unequal weight give unbiased estimates: all batches are enumerated."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from dense import make_case, make_settings
from numpy.testing import assert_allclose

from sklearn_sgp.engines.base import Problem, Start
from sklearn_sgp.engines.fitted import Fitted
from sklearn_sgp.engines.variational import partial_fit
from sklearn_sgp.engines.variational.inference import inference_for
from sklearn_sgp.engines.variational.partial_fit import RowState, add_rows, scaled_to_total
from sklearn_sgp.engines.variational.stochastic import StochasticSteps
from sklearn_sgp.likelihoods import Gaussian, Poisson
from sklearn_sgp.optimize.progress import Clock, Trace

LIKELIHOODS = pytest.mark.parametrize("likelihood", [Gaussian(), Poisson()], ids=str)
SIZES = pytest.mark.parametrize("size", [1, 2, 5])


def weighted_case(likelihood):
    """Six rows, one of them with ten times the weight of the others."""
    case = make_case(n=6)
    if not likelihood.conjugate:
        case = replace(case, y=np.random.default_rng(0).poisson(2.0, (6, 1)).astype(float))
    return case, replace(case.rows, weight=np.array([1.0, 1.0, 10.0, 1.0, 1.0, 1.0]))


def batches(rows, size):
    return [rows.select(np.array(index)) for index in combinations(range(len(rows)), size)]


def assert_mean(found, whole):
    """Value, gradient and target of the batches are those of all rows on average."""
    assert_allclose(np.mean([t.value for t in found]), whole.value, rtol=1e-9)
    for name in ("theta", "Z"):
        mean = np.mean([t.gradient[name] for t in found], axis=0)
        assert_allclose(mean, whole.gradient[name], rtol=1e-8, atol=1e-8)


@LIKELIHOODS
@SIZES
def test_steps_of_a_fit(likelihood, size, monkeypatch):
    """Bound, gradient and natural step of adam's batches average to those of all rows."""
    case, rows = weighted_case(likelihood)
    start = Start(case.kernel, likelihood, case.parameters, case.space())
    inference = inference_for(likelihood, 1)
    settings = make_settings(optimizer="adam", natural_step=0.3)
    rng = np.random.RandomState(0)
    problem = Problem(rows, start, inference, settings, Trace(Clock()), rng)
    found, made = [], inference.minibatch

    def minibatch(*args):
        found.append(made(*args))
        return found[-1]

    monkeypatch.setattr(inference, "minibatch", minibatch)

    def step(batch):
        steps = StochasticSteps(problem, case.parameters)
        steps.step(batch, moves=False)
        return steps.q

    whole_q = step(rows)
    whole = found.pop()
    after = [step(batch) for batch in batches(rows, size)]
    assert_mean(found, whole)
    for name in ("H", "h"):
        mean = np.mean([np.asarray(getattr(q, name)) for q in after], axis=0)
        assert_allclose(mean, np.asarray(getattr(whole_q, name)), rtol=1e-8, atol=1e-8)


@LIKELIHOODS
@SIZES
def test_steps_of_later_batches(likelihood, size, monkeypatch):
    """With total_samples, the gradient and the natural step of batches average to all rows'."""
    case, rows = weighted_case(likelihood)
    inference = inference_for(likelihood, 1)
    settings = make_settings(optimizer="adam", natural_step=0.3)
    prior = settings.prior(case.parameters)
    posterior, value, scalars = inference.posterior(prior, case.parameters, rows, None, np.inf)
    start = Start(case.kernel, likelihood, case.parameters, case.space())
    predictor = inference.predictor(posterior, case.parameters.noise_variance)
    parts = (start, case.parameters, predictor, value, prior.jitter, 1, 0, rows.total_weight)
    state = RowState.after_fit(scalars, rows.total_weight, True)
    result = scaled_to_total(Fitted(*parts, n_samples=len(rows), state=state), len(rows))
    gradients, made = [], partial_fit.adam_step

    def adam_step(adam, space, parameters, gradient, delta):
        gradients.append(gradient)
        return made(adam, space, parameters, gradient, delta)

    monkeypatch.setattr(partial_fit, "adam_step", adam_step)

    def added(batch):
        held = replace(settings, learning_rate=0.0)
        options = {"settings": held, "inference": inference, "total_samples": 6}
        return add_rows(result, batch, **options).posterior

    whole = added(rows)
    gradient = gradients.pop()
    after = [added(batch) for batch in batches(rows, size)]
    assert_allclose(np.mean([q.H[0] for q in after], axis=0), whole.H[0], rtol=1e-6, atol=1e-8)
    assert_allclose(np.mean([q.h for q in after], axis=0), whole.h, rtol=1e-6, atol=1e-8)
    if not likelihood.conjugate:  # the gradients of Gaussian noise are those at the new q(u)
        for name in ("theta", "Z"):
            mean = np.mean([g[name] for g in gradients], axis=0)
            assert_allclose(mean, gradient[name], rtol=1e-8, atol=1e-8)
