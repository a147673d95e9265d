"""Objectives of outputs with a noise variance each are the sums of those of the outputs alone."""

from dataclasses import replace

import numpy as np
import pytest
from block_helpers import near_pieces
from dense import MODELS, make_case, make_space
from numpy.testing import assert_allclose

from sklearn_sgp.engines.streams.old_posterior import OldPosterior
from sklearn_sgp.engines.streams.online_bound import ConjugateOnlineBound
from sklearn_sgp.engines.variational.inference import ConjugateInference, inference_for
from sklearn_sgp.factors.block_factors import Mixture
from sklearn_sgp.gp.coordinates import Direct, Whitened
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.likelihoods import Gaussian, StudentT
from sklearn_sgp.objectives.block_evidence import block_evidence
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.objectives.composite_likelihood import CompositeLikelihood

NOISE = np.array([0.05, 0.3, 2.0])
PARTS = ("theta", "Z")


def outputs_of(case):
    """The case of each output alone."""
    own = [None] * len(case.noise) if case.precision is None else case.precision.T
    return [
        replace(case, y=case.y[:, [c]], noise=float(noise), precision=own[c])
        for c, noise in enumerate(case.noise)
    ]


def assert_sum_of_outputs(evaluate, case, rtol=1e-8):
    """Value, gradients in kernel and Z add up over outputs; each noise has its own derivative."""
    value, gradient = evaluate(case)
    alone = [evaluate(one) for one in outputs_of(case)]
    assert_allclose(value, sum(found for found, _ in alone), rtol=rtol)
    for name in PARTS:
        expected = sum(part[name] for _, part in alone)
        assert_allclose(gradient[name], expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    expected = [part["log_noise"] for _, part in alone]
    assert_allclose(gradient["log_noise"], expected, rtol=rtol, atol=1e-10)


@pytest.fixture(params=["unweighted", "weighted", "precisions"])
def case(request):
    """With precisions each row and output has a noise variance of its own."""
    made = make_case(t=3, noise=NOISE, weighted=request.param != "unweighted")
    if request.param != "precisions":
        return made
    precision = np.random.default_rng(5).gamma(2.0, 0.5, made.y.shape)
    return replace(made, precision=precision)


@pytest.mark.parametrize("coordinates", [Whitened, Direct])
def test_collapsed_bound(case, coordinates):
    """The bound of Titsias and its gradient, in both coordinates."""

    def evaluate(one):
        return collapsed_bound(one.parameters, one.rows, one.delta, coordinates=coordinates)

    assert_sum_of_outputs(evaluate, case)


@pytest.mark.parametrize(
    "model",
    [
        *MODELS.values(),
        Mixture(((MODELS["dtc"], 0.3), (MODELS["pitc"], 0.5), (MODELS["fitc"], 0.2))),
    ],
    ids=[*MODELS, "mixture"],
)
def test_block_evidence(case, model):
    """The evidence of every model and mixture, and its gradient."""

    def evaluate(one):
        return block_evidence(one.parameters, one.blocks(), one.delta, model, copies=1.5)

    assert_sum_of_outputs(evaluate, case)


def test_minibatches(case):
    """The estimate of the uncollapsed bound at the same q(u), and its natural-gradient target."""
    rows = case.rows.select(case.weight > 0) if case.weight is not None else case.rows
    before = ConjugateInference(Gaussian(), 3).add(
        Posterior.at_prior(case.prior, 3, 3),
        case.parameters,
        rows.select(slice(0, 12)),
        scale=2.0,
        is_new=True,
        natural_step=0.5,
        gradient=None,
        n_jobs=1,
    )
    targets = []

    def evaluate(one):
        n_outputs = one.y.shape[1]
        inference, own = ConjugateInference(Gaussian(), n_outputs), before.q
        if n_outputs == 1:
            own = Whitened(before.q.outputs[int(np.flatnonzero(NOISE == one.noise)[0])])
        used = one.rows.select(one.weight > 0) if one.weight is not None else one.rows
        terms = inference.minibatch(own, one.parameters, used, 1.7, True, 1)
        targets.append(terms.target)
        return terms.value, terms.gradient

    assert_sum_of_outputs(evaluate, case)
    together, *alone = targets
    for c, target in enumerate(alone):
        assert_allclose(together.H[c], target.posterior.H[0], rtol=1e-9, atol=1e-9)
        assert_allclose(together.h[:, [c]], target.posterior.h, rtol=1e-9, atol=1e-9)


def test_sites(case):
    """The bound of Student-t noise at its optimum, and its gradient."""
    case = replace(case, precision=None)
    rows = case.rows.select(case.rows.weight > 0) if case.weight is not None else case.rows

    def evaluate(one):
        used = one.rows.select(rows_of(one))
        inference = inference_for(StudentT(5.0), one.y.shape[1])
        space = make_space(len(one.parameters.theta), np.ones(2))
        options = space, one.parameters, used, one.delta, False, 1, np.inf
        _, objective, _ = inference.objective(*options)
        return objective(one.parameters)

    def rows_of(one):
        return slice(None) if one.weight is None else one.weight > 0

    assert len(rows) > 20
    assert_sum_of_outputs(evaluate, case, rtol=1e-3)


def test_online_bound(case):
    """The online bound of a batch after an old posterior, and its gradient."""

    def evaluate(one):
        inference = ConjugateInference(Gaussian(), one.y.shape[1])
        first, later = one.blocks(2)
        q, _, _ = inference.posterior(one.prior, one.parameters, first, 1, np.inf)
        old, kept = OldPosterior.of(q), np.array([[0, 0], [2, 1]])
        moved = one.parameters.with_values(Z=one.Z + 0.1, theta=one.parameters.theta + 0.05)
        bound = ConjugateOnlineBound(later, old, kept, one.delta, alpha=0.5, power=0.5)
        return bound(moved)

    assert_sum_of_outputs(evaluate, case)


def test_near_rows():
    """The density of groups of rows given those around them, and its gradient."""
    precision = np.random.default_rng(5).gamma(2.0, 0.5, (24, 3))
    case = replace(make_case(t=3, noise=NOISE), precision=precision)

    def evaluate(one):
        value, gradient = CompositeLikelihood(near_pieces(one.rows))(one.parameters)
        return value, {**gradient, "Z": np.zeros(1)}

    assert_sum_of_outputs(evaluate, case)
