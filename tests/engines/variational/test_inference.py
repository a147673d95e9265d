"""Both kinds of inference answer the same questions, and agree where both can answer."""

import time

import numpy as np
import pytest
from dense import central_difference, make_parameters, make_settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.variational import inference as inference_module
from sklearn_sgp.engines.variational.inference import (
    ConjugateInference,
    SiteInference,
    inference_for,
)
from sklearn_sgp.gp.coordinates import Direct, Whitened
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.likelihoods import Gaussian, Logit, Poisson, Softmax, StudentT
from sklearn_sgp.objectives.sites import SiteProblem
from sklearn_sgp.optimize.parameters import Group, ParameterSpace

DELTA = 1e-8


class GaussianBySites(Gaussian):
    """Gaussian noise whose closed form is not used."""

    conjugate = False


def rows_of(n=60, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.sin(3.0 * X[:, :1]) + 0.3 * rng.standard_normal((n, 1))
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    return Rows(X, y, weight, np.zeros(1), np.ones(1))


def parameters_of(**others):
    Z = np.random.default_rng(1).uniform(-2.0, 2.0, (7, 2))
    return make_parameters(ConstantKernel(1.0) * RBF([0.9, 1.2]), Z, 0.1, **others)


def prior_of(parameters):
    return Prior.build(parameters.kernel, parameters.Z, DELTA)


def space_of(*more):
    bounds = np.tile([-9.0, 9.0], (3, 1))
    groups = Group("theta", bounds), Group("log_noise", bounds[:1]), *more, Group("Z", None, 1.0)
    return ParameterSpace(groups)


def objective_of(inference, parameters, rows, space=None, has_learned=False):
    space = space or space_of()
    return inference.objective(space, parameters, rows, DELTA, has_learned, None, np.inf)[:2]


def both():
    return ConjugateInference(Gaussian(), 1), SiteInference(GaussianBySites(), 1)


@pytest.mark.parametrize(
    "likelihood, n_outputs, kind, cost",
    [
        (Gaussian(), 3, ConjugateInference, 1),
        (GaussianBySites(), 3, SiteInference, 3),
        (StudentT(), 1, SiteInference, 1),
        (Poisson(), 2, SiteInference, 2),
        (Logit(), 2, SiteInference, 1),
        (Softmax(), 4, SiteInference, 4),
    ],
)
def test_the_likelihood_decides(likelihood, n_outputs, kind, cost):
    """A conjugate likelihood has one H for all outputs, any other one for each function."""
    inference = inference_for(likelihood, n_outputs)
    assert type(inference) is kind
    assert inference.likelihood is likelihood
    assert inference.cost == cost


@pytest.mark.parametrize("weighted", [False, True])
def test_objectives_agree(weighted):
    """Bound and gradient of both are the same for Gaussian noise, at the start and beyond."""
    rows, start = rows_of(weighted=weighted), parameters_of()
    (space, exact), (_, by_sites) = (objective_of(one, start, rows) for one in both())
    for shift in (0.0, 0.1, -0.2):
        at = space.unpack(space.pack(start) + shift, start)
        (value, gradient), (other, its) = exact(at), by_sites(at)
        assert_allclose(other, value, rtol=1e-5)
        scale = np.abs(space.pack_gradient(gradient)).max()
        assert_allclose(space.pack_gradient(its), space.pack_gradient(gradient), atol=1e-3 * scale)


@pytest.mark.parametrize("weighted", [False, True])
def test_last_posteriors_agree(weighted):
    """The q(u) that is kept, and its bound, are the same for Gaussian noise."""
    rows, parameters = rows_of(weighted=weighted), parameters_of()
    (q, bound, scalars), (other, its, none) = (
        one.posterior(prior_of(parameters), parameters, rows, None, np.inf) for one in both()
    )
    assert_allclose(its, bound, rtol=1e-8)
    assert_allclose(other.H[0], q.H[0], rtol=1e-5, atol=1e-6 * np.abs(q.H[0]).max())
    assert_allclose(other.h, q.h, rtol=1e-5, atol=1e-6 * np.abs(q.h).max())
    assert none is None
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    assert_allclose(scalars.weight, rows.total_weight)
    assert_allclose(scalars.targets, weight @ rows.targets[:, 0] ** 2)
    assert_allclose(scalars.diagonal, rows.total_weight)


def test_minibatches_agree():
    """Value, gradient and target of a batch that counts three times are the same."""
    rows, parameters, space = rows_of(weighted=True), parameters_of(), space_of()
    # with long steps of Adam both hold q(u) in whitened coordinates
    prior, settings = prior_of(parameters), make_settings(learning_rate=1e9)
    found = []
    for inference in both():
        q = inference.first_q(prior, parameters, rows, settings)
        for _ in range(2):  # at the prior, and where a step leads
            terms = inference.minibatch(q, parameters, rows, 3.0, True)
            q = q.towards(terms.target, 0.5)
        found.append((terms, getattr(q, "posterior", q)))
    (one, q), (other, its) = found
    assert_allclose(other.value, one.value, rtol=1e-10)
    packed = space.pack_gradient(one.gradient)
    assert_allclose(
        space.pack_gradient(other.gradient), packed, rtol=1e-7, atol=1e-9 * np.abs(packed).max()
    )
    assert_allclose(its.H[0], q.H[0], rtol=1e-8, atol=1e-9 * np.abs(q.H[0]).max())
    assert_allclose(its.h, q.h, rtol=1e-8, atol=1e-9 * np.abs(q.h).max())


@pytest.mark.parametrize("is_new", [True, False])
def test_more_rows_agree(is_new):
    """q(u) with more rows, and the estimate of the bound, are the same for Gaussian noise."""
    rows, parameters = rows_of(40), parameters_of()
    more, prior = rows_of(20, seed=5), prior_of(parameters)
    found = []
    for inference in both():
        q = inference.posterior(prior, parameters, rows, None, np.inf)[0]
        added = inference.add(
            q,
            parameters,
            more,
            scale=3.0,
            is_new=is_new,
            natural_step=0.3,
            gradient=True,
            n_jobs=None,
        )
        estimate = inference.estimate(added.q, parameters, more, 3.0, added.terms)
        found.append((added.q, estimate))
    (q, estimate), (other, its) = found
    assert_allclose(other.H[0], q.H[0], rtol=1e-4, atol=1e-5 * np.abs(q.H[0]).max())
    assert_allclose(other.h, q.h, rtol=1e-4, atol=1e-5 * np.abs(q.h).max())
    if is_new:  # else the estimate is that before the step
        assert_allclose(its, estimate, rtol=1e-4)


def test_rows_in_two_parts_are_the_rows_at_once():
    """With Gaussian noise, what more rows add is exactly their information."""
    rows, parameters = rows_of(60), parameters_of()
    inference, prior = ConjugateInference(Gaussian(), 1), prior_of(parameters)
    whole, bound, _ = inference.posterior(prior, parameters, rows, None, np.inf)
    q, _, scalars = inference.posterior(prior, parameters, rows.select(slice(40)), None, np.inf)
    added = inference.add(
        q, parameters, rows.select(slice(40, 60)), scale=3.0, is_new=True, natural_step=0.1,
        gradient=None, n_jobs=None,
    )  # fmt: skip
    assert added.terms is None
    assert_allclose(added.q.H[0], whole.H[0], rtol=1e-8, atol=1e-8 * np.abs(whole.H[0]).max())
    assert_allclose(
        inference.bound(added.q, parameters, scalars.plus(added.scalars)), bound, rtol=1e-10
    )


def test_gradient_in_the_parameters_of_a_likelihood(monkeypatch):
    """The objective's gradient in all groups, df of Student-t noise too, is that of its values."""
    # with the usual tolerance of the iterations it is off by the root of that
    monkeypatch.setattr(inference_module, "FINAL_TOL", 1e-13)
    rows, likelihood = rows_of(), StudentT(df=None)
    # so much noise that every site has a positive precision: others are cut off at zero, and the
    # end of the iterations then is only nearly the optimum
    start = parameters_of(likelihood=likelihood.theta).with_values(log_noise=np.log(0.5))
    space = space_of(Group("likelihood", likelihood.theta_bounds))

    def bound(x):
        at = space.unpack(x, start)
        return SiteInference(likelihood, 1).posterior(prior_of(at), at, rows, None, np.inf)[1]

    space, objective = objective_of(SiteInference(likelihood, 1, 1e-13), start, rows, space)
    value, gradient = objective(start)
    x = space.pack(start)
    assert set(gradient) == {"theta", "log_noise", "likelihood", "Z"}
    assert_allclose(value, bound(x), rtol=1e-9)
    expected = central_difference(bound, x, 1e-3)
    assert_allclose(space.pack_gradient(gradient), expected, atol=2e-4 * np.abs(expected).max())


def test_minibatches_have_the_gradient_in_the_parameters_of_a_likelihood():
    """At a fixed q(u) the estimate's derivative in log(df - 2) is the difference quotient."""
    rows, likelihood = rows_of(weighted=True), StudentT(df=None)
    parameters = parameters_of(likelihood=likelihood.theta)
    inference, prior = SiteInference(likelihood, 1), prior_of(parameters)
    q = inference.first_q(prior, parameters, rows, make_settings())
    q = q.towards(inference.minibatch(q, parameters, rows, 2.0, False).target, 0.7)

    def value(theta):
        at = parameters.with_values(likelihood=theta)
        return inference.minibatch(q, at, rows, 2.0, False).value

    gradient = inference.minibatch(q, parameters, rows, 2.0, False).gradient
    assert_allclose(
        gradient["likelihood"], central_difference(value, likelihood.theta, 1e-4), rtol=1e-6
    )


def test_without_parameters_a_likelihood_has_no_gradient():
    """A likelihood with no free parameters adds no group to the gradient."""
    _, objective = objective_of(SiteInference(StudentT(4.0), 1), parameters_of(), rows_of())
    assert "likelihood" not in objective(parameters_of())[1]


@pytest.mark.parametrize("has_learned", [False, True])
def test_units_follow_the_coefficients_once_something_was_learned(has_learned):
    """Both give every inducing input a unit of its own then, and the same for Gaussian noise."""
    rows, parameters = rows_of(), parameters_of()
    units = [
        objective_of(one, parameters, rows, has_learned=has_learned)[0].group("Z").unit
        for one in both()
    ]
    assert_allclose(units[0], units[1], rtol=1e-4)
    assert np.shape(units[0]) == ((7, 2) if has_learned else ())


@pytest.mark.parametrize("share, coordinates", [(0.5, Direct), (2.0, Whitened)])
def test_coordinates_of_minibatch_steps(share, coordinates):
    """q(u) is held direct only where a step in the kernel cannot throw it off."""
    rows, parameters = rows_of(), parameters_of()
    prior, inference = prior_of(parameters), ConjugateInference(Gaussian(), 1)
    settings = make_settings(learning_rate=share / prior.condition)
    q = inference.first_q(prior, parameters, rows, settings)
    assert type(q) is coordinates
    q = q.towards(inference.minibatch(q, parameters, rows, 1.0, False).target, 0.5)
    for held in (Whitened.from_posterior(q.posterior), Direct.from_posterior(q.posterior)):
        again = inference.under(held, prior, parameters, rows, settings)
        assert type(again) is coordinates
        assert_allclose(again.posterior.h, q.posterior.h, rtol=1e-8)


def test_iterations_begin_where_they_were_left():
    """The last q(u) of a run, scaled to the rows at hand, is where the next run begins."""
    rows, parameters = rows_of(), parameters_of()
    inference = SiteInference(StudentT(4.0), 1)
    prior = prior_of(parameters)
    q, _, _ = inference.posterior(prior, parameters, rows, None, np.inf)
    inference = inference.knowing((q, rows.total_weight))
    first = inference._first(prior, parameters, rows.select(slice(30)))
    assert_allclose(first.H[0], 0.5 * q.H[0])
    assert_allclose(first.h, 0.5 * q.h)
    again, _, _ = inference.posterior(prior, parameters, rows, None, np.inf)
    assert_allclose(again.h, q.h, atol=1e-3 * np.abs(q.h).max())


def test_conjugate_inference_has_nothing_to_know():
    """No run begins at another q(u) where the last one has a closed form."""
    inference = ConjugateInference(Gaussian(), 1)
    assert inference.knowing((None, 3.0)) is inference and inference.known is None


def test_a_run_says_what_it_came_to_know_and_changes_nothing():
    """The inference that a run began with knows no more after it."""
    rows, parameters = rows_of(), parameters_of()
    inference = SiteInference(StudentT(4.0), 1)
    space = ParameterSpace(())
    options = space, parameters, rows, DELTA, False, None, np.inf
    _, objective, known_now = inference.objective(*options)
    assert known_now() is None
    objective(parameters)
    assert known_now()[1] == rows.total_weight and inference.known is None


@pytest.mark.parametrize(
    "inference", [*both(), SiteInference(StudentT(), 1)], ids=lambda i: i.__class__.__name__
)
def test_the_cost_of_the_finish_can_be_measured(inference):
    """A task on a sample can be run again and again, and changes nothing."""
    rows, parameters = rows_of(), parameters_of()
    prior = prior_of(parameters)
    expected = inference.posterior(prior, parameters, rows, None, np.inf)[0]
    task, n_passes = inference.pass_task(prior, parameters, rows, rows.select(slice(20)), None)
    begin = time.perf_counter()
    task()
    task()
    assert time.perf_counter() > begin
    assert n_passes >= 1
    again = inference.posterior(prior, parameters, rows, None, np.inf)[0]
    assert_array_equal(again.h, expected.h)


def test_q_before_any_data_is_the_prior():
    """The first q(u) has no information, one H for all outputs or one for each function."""
    rows, parameters = rows_of(), parameters_of()
    prior, settings = prior_of(parameters), make_settings(learning_rate=1e9)
    for inference, count in (
        (ConjugateInference(Gaussian(), 3), 1),
        (SiteInference(Softmax(), 3), 3),
    ):
        q = inference.first_q(prior, parameters, rows, settings)
        q = getattr(q, "posterior", q)
        assert isinstance(q, Posterior)
        assert len(q.H) == count and not any(H.any() for H in q.H)
        assert q.h.shape == (7, 3) and not q.h.any()


@pytest.mark.parametrize("missed, times", [(1e-7, 1), (1e-4, 2)])
def test_the_last_q_is_found_again_only_where_steps_still_gained(missed, times, monkeypatch):
    """From the prior, too, where the last step gained more than 1e-6 nats a row, else once."""
    rows, parameters, ascend, calls = rows_of(), parameters_of(), SiteProblem.ascend, []

    def counted(self, *args, **options):
        found = ascend(self, *args, **options)
        self.missed = missed * rows.total_weight
        calls.append(found)
        return found

    inference = SiteInference(StudentT(4.0), 1)
    prior = Prior.build(parameters.kernel, parameters.Z, 1e-8)
    inference = inference.knowing((Posterior.at_prior(prior, 1, 1), rows.total_weight))
    monkeypatch.setattr(SiteProblem, "ascend", counted)
    inference.posterior(prior, parameters, rows, 1, np.inf)
    assert len(calls) == times
