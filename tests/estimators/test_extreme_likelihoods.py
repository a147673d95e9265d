"""Likelihoods under wide priors, huge weights and impossible targets: right, or a ValueError."""

import time

import numpy as np
import pytest
from failures import assert_unchanged, state_of
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF
from sklearn.gaussian_process.kernels import ConstantKernel as C
from slow_variants import slow

from sklearn_sgp import StreamingSGPRegressor, SVGPClassifier, SVGPRegressor
from sklearn_sgp.likelihoods import Poisson, StudentT

OPTIONS = {"n_inducing": 20, "max_iter": 5, "random_state": 0, "n_jobs": 1}
WIDE = C(1e11, (1e-5, 1e12)) * RBF(1.0)


@pytest.fixture
def inputs(rng):
    """240 inputs between 0 and 6."""
    return rng.uniform(0.0, 6.0, (240, 1))


@pytest.fixture
def rate(inputs):
    """A rate at each input."""
    return np.exp(1.0 + np.sin(inputs[:, 0]))


@pytest.fixture
def counts(rng, rate):
    """Counts of that rate."""
    return rng.poisson(rate).astype(float)


@pytest.mark.parametrize(
    "more",
    [{}, {"optimizer": None}, {"max_time": 30.0}, {"optimizer": "lbfgs"}],
    ids=["defaults", "fixed", "max_time", "lbfgs"],
)
def test_counts_under_a_wide_prior(inputs, rate, counts, more):
    """Counts are learned where rates at the prior are above the largest float."""
    model = SVGPRegressor(C(2000.0) * RBF(1.0), likelihood="poisson", **OPTIONS, **more)
    mean = model.fit(inputs, counts).predict(inputs)
    assert np.corrcoef(mean, rate)[0, 1] > 0.97
    assert np.isfinite(model.objective_)


def test_a_stream_of_counts_under_a_wide_prior(inputs, rate, counts):
    """So are those of a stream, batch by batch."""
    model = StreamingSGPRegressor(C(2000.0) * RBF(1.0), likelihood="poisson", random_state=0)
    for part in np.array_split(np.arange(240), 3):
        model.partial_fit(inputs[part], counts[part])
    assert np.corrcoef(model.predict(inputs), rate)[0, 1] > 0.95


@pytest.mark.parametrize("more", [{"n_inducing": 2}, {"optimizer": "adam"}], ids=["few", "adam"])
def test_rates_that_cannot_be_held(inputs, counts, more):
    """Where no step can be held the error is a ValueError with the variance and a cure."""
    model = SVGPRegressor(C(9000.0) * RBF(0.01), likelihood="poisson", **{**OPTIONS, **more})
    with pytest.raises(ValueError, match=r"prior variance of up to 9000.*Lower the variance"):
        model.fit(inputs, counts)
    assert not hasattr(model, "kernel_")


@pytest.mark.quick_cases("*-None", "probit-auto")
@pytest.mark.parametrize("optimizer", [None, "auto"])
@pytest.mark.parametrize("likelihood", ["probit", slow("logit"), "softmax"])
def test_classes_under_a_wide_prior(inputs, likelihood, optimizer):
    """Functions with a variance of 1e11 classify, with probabilities that are numbers."""
    y = np.digitize(np.sin(inputs[:, 0]), [0.0] if likelihood != "softmax" else [-0.5, 0.5])
    begin = time.perf_counter()
    model = SVGPClassifier(WIDE, likelihood=likelihood, optimizer=optimizer, **OPTIONS)
    model.fit(inputs, y)
    assert model.score(inputs, y) > 0.7
    p = model.predict_proba(np.vstack([inputs, [[50.0]]]))
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-10)
    assert np.isfinite(model.log_density(inputs, y)).all()
    assert time.perf_counter() - begin < 60.0


@pytest.mark.parametrize("likelihood", ["poisson", "student_t", "probit", "logit", "softmax"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.filterwarnings("ignore:sample_weight should count rows")
def test_huge_weights(inputs, counts, likelihood, method):
    """Weights that leave nothing of the prior in floating point are a ValueError that says so."""
    regression = likelihood in ("poisson", "student_t")
    estimator, y = (SVGPRegressor, counts) if regression else (SVGPClassifier, counts > 3)
    model = estimator(likelihood=likelihood, **OPTIONS)
    if method == "partial_fit":
        model.partial_fit(inputs[:50], y[:50])
    before = state_of(model)
    with pytest.raises(ValueError, match=r"sample weights of up to 1e\+16.*scale sample_weight"):
        getattr(model, method)(inputs, y, sample_weight=np.full(240, 1e16))
    assert_unchanged(model, before)


@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor])
@pytest.mark.parametrize("likelihood", ["poisson", Poisson()], ids=["name", "instance"])
@pytest.mark.parametrize("bad", [-1.0, 0.5])
def test_counts_are_checked_in_every_batch(inputs, counts, estimator, likelihood, bad):
    """Fractions and negative counts are refused in any batch, by name or not."""
    model = estimator(likelihood=likelihood, n_inducing=10, max_iter=2, random_state=0)
    with pytest.raises(ValueError, match=r"y must hold counts"):
        model.partial_fit(inputs, counts + bad - 1.0)
    model.partial_fit(inputs[:100], counts[:100])
    before = state_of(model)
    with pytest.raises(ValueError, match=r"y must hold counts"):
        model.partial_fit(inputs[100:], -counts[100:] + bad)
    assert_unchanged(model, before)


@pytest.mark.filterwarnings("ignore:Intervals of 90%:UserWarning")
def test_an_instance_is_as_good_as_its_name(inputs, counts):
    """Poisson() takes its prior mean from the counts, as "poisson" does, and predicts the same."""
    name, instance = (
        SVGPRegressor(likelihood=likelihood, **OPTIONS).fit(inputs, 1000.0 * counts)
        for likelihood in ("poisson", Poisson())
    )
    far = [[1e3]]
    assert_allclose(instance.predict(inputs), name.predict(inputs))
    assert_allclose(instance.likelihood_.offset, np.log(1000.0 * counts.mean()), rtol=1e-4)
    assert_allclose(instance.predict(far), name.predict(far))


@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("df", [1.5, 2, -1])
def test_degrees_of_freedom_without_a_variance(inputs, counts, estimator, method, df):
    """df of 2 or less is refused before anything is learned."""
    model = estimator(likelihood=StudentT(df))
    with pytest.raises(ValueError, match=rf"'df' parameter of StudentT must be .* Got {df}"):
        getattr(model, method)(inputs, counts)


def test_student_t_with_hardly_any_noise_is_quick(inputs):
    """240 noise-free rows take seconds; they took minutes."""
    begin, y = time.perf_counter(), np.sin(inputs[:, 0])
    model = SVGPRegressor(
        likelihood="student_t", optimize_inducing=False, n_inducing=15, max_iter=5, random_state=0
    )
    model.fit(inputs, y)
    assert time.perf_counter() - begin < 20.0
    assert np.abs(model.predict(inputs) - y).max() < 0.2


def test_predictions_of_counts_far_from_the_data(inputs, counts):
    """Quantiles and draws end, and are counts, where the variance is that of a wide prior."""
    model = SVGPRegressor(C(1e4) * RBF(1.0), likelihood="poisson", optimizer=None, **OPTIONS)
    model.fit(inputs, counts)
    X = np.vstack([inputs[:20], np.linspace(7.0, 60.0, 20)[:, None]])
    begin = time.perf_counter()
    quantiles = model.predict_quantiles(X, [0.05, 0.5, 0.95])
    assert time.perf_counter() - begin < 20.0
    assert np.isfinite(quantiles).all() and (np.diff(quantiles, axis=1) >= 0).all()
    draws = model.sample_y(X, 50, random_state=0)
    assert np.isfinite(draws).all() and (draws == np.floor(draws)).all()


@pytest.mark.parametrize("likelihood", ["student_t", StudentT(df=None)], ids=str)
def test_the_last_posterior_is_the_best_one_for_what_was_learned(rng, likelihood):
    """The q(u) of another step of learning is a poor place to begin, and is not gone on from."""
    X = rng.uniform(-2.0, 2.0, (500, 2))
    f = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1]
    y = f + 0.2 * rng.standard_t(3.0, len(f))
    model = SVGPRegressor(likelihood=likelihood, n_inducing=20, random_state=0).fit(X, y)
    again = SVGPRegressor(
        model.kernel_,
        likelihood=model.likelihood_,
        noise_variance=model.noise_variance_,
        inducing=model.inducing_points_,
        optimizer=None,
    ).fit(X, y)
    assert model.objective_ > again.objective_ - 0.1
    assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.06
