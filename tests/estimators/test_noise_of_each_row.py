"""Noise of each row: heavy tails and noise that depends on the input, in every regressor."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from slow_variants import slow
from varying_noise import KERNEL, X_TEST, data, made, sd

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.data.rows import make_rows
from sklearn_sgp.likelihoods import (
    HeteroscedasticGaussian,
    HeteroscedasticStudentT,
    Poisson,
    StudentT,
)
from sklearn_sgp.noise import heteroscedastic as alternation

NAMES = ["student_t", "heteroscedastic", "heteroscedastic_student_t"]
KINDS = ["Gaussian", "StudentT", "HeteroscedasticGaussian", "HeteroscedasticStudentT"]
Z = np.linspace(0.0, 10.0, 20)[:, None]
ANYTIME = ["sor", "vfe", "fitc", "fic", "pitc", "pic", "lma", "vif"]


@pytest.mark.quick_cases("None", "fitc")
@pytest.mark.parametrize("model", [None, "fitc", "pic", "vif"])
def test_noise_that_depends_on_the_input_is_found(model):
    """The standard deviation of the noise is found, and 90 % bands hold 90 % everywhere."""
    n, error = (500, 0.25) if model in ("pic", "vif") else (2000, 0.12)
    fitted, (X, y) = made(model).fit(*data(n)), data(2000, seed=1)
    assert np.mean(np.abs(fitted.noise_std(X_TEST) / sd(X_TEST) - 1.0)) < error
    low, high = fitted.predict_quantiles(X, [0.05, 0.95]).T
    for part in (X[:, 0] < 4.0, np.abs(X[:, 0] - 6.0) < 1.0, X[:, 0] > 8.0):
        assert 0.84 < np.mean((low < y) & (y < high), where=part) < 0.96
    assert len(fitted.noise_inducing_points_) == 20
    assert fitted.noise_kernel_ != fitted.kernel_


@pytest.mark.quick_cases("fitc")
@pytest.mark.parametrize("model", ["fitc", "pic", "vif"])
def test_heavy_tails_are_found(model):
    """Degrees of freedom and scale, near those that sites find with the same kernel."""
    rng, n = np.random.default_rng(0), 500
    X = rng.uniform(0.0, 10.0, (n, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_t(3.0, n)
    fitted = made(model, StudentT(df=None)).fit(X, y)
    assert 2.2 < fitted.likelihood_.df < 6.0
    assert_allclose(fitted.noise_std(X_TEST), 0.1 * np.sqrt(3.0), rtol=0.3)
    sites = made(None, StudentT(df=None)).fit(X, y)
    assert_allclose(fitted.likelihood_.df, sites.likelihood_.df, rtol=0.15)
    assert_allclose(fitted.predict(X_TEST), sites.predict(X_TEST), atol=0.03)
    assert abs(fitted.objective_ - sites.objective_) < 0.01 * n


@pytest.mark.parametrize("model", [None, "vfe"])
@pytest.mark.parametrize("likelihood", ["student_t", "heteroscedastic"])
def test_the_bound_rises(model, likelihood, monkeypatch):
    """With kernel and inducing inputs fixed, each round of noise and function raises the bound."""
    if model is None and likelihood == "student_t":
        likelihood = HeteroscedasticStudentT(4.0, ConstantKernel(1e-12, "fixed") * RBF(1.0))
    monkeypatch.setattr(alternation, "_LEAST_NOISE_GAIN", -np.inf)
    bounds = []
    for rounds in (1, 2, 3, 5):
        monkeypatch.setattr(alternation, "_NOISE_ROUNDS", rounds)
        fixed = made(model, likelihood, optimizer=None, noise_variance=0.2, inducing=Z)
        bounds.append(fixed.fit(*data(400)).objective_)
    assert (np.diff(bounds) > -1e-6).all() and bounds[-1] > bounds[0]


def test_vfe_is_the_collapsed_bound(monkeypatch):
    """Few inducing inputs leave much of the function to the rows, which say nothing of it."""
    monkeypatch.setattr(alternation, "_LEAST_NOISE_GAIN", -np.inf)
    given = {
        "optimizer": None,
        "noise_variance": 0.2,
        "inducing": np.linspace(0.5, 9.5, 8)[:, None],
    }
    likelihood = HeteroscedasticGaussian(KERNEL, n_inducing=8)
    vfe, svgp = (made(model, likelihood, **given).fit(*data(400)) for model in ("vfe", None))
    assert abs(vfe.objective_ - svgp.objective_) < 1.0  # inducing inputs of g are other random ones
    assert_allclose(vfe.noise_std(X_TEST), svgp.noise_std(X_TEST), rtol=0.05)


@pytest.mark.parametrize("model", [None, *ANYTIME])
def test_constant_noise_is_the_gaussian_model(model):
    """With a log noise that cannot move, and with infinite degrees of freedom."""
    X, y = data(300)
    fixed = {"optimizer": None, "noise_variance": 0.05, "n_inducing": 8}
    expected = made(model, "gaussian", **fixed).fit(X, y)
    still = HeteroscedasticGaussian(ConstantKernel(1e-12, "fixed") * RBF(1.0))
    for likelihood in (still, HeteroscedasticStudentT(1e12, still.kernel)):
        fitted = made(model, likelihood, **fixed).fit(X, y)
        for method in ("predict", "predict_std"):
            found, same = (getattr(one, method)(X_TEST) for one in (fitted, expected))
            assert_allclose(found, same, rtol=1e-8, atol=1e-8)
        assert_allclose(fitted.objective_, expected.objective_, rtol=1e-6)


@pytest.mark.quick_cases(
    "heteroscedastic-vif",
    "heteroscedastic_student_t-None",
    "heteroscedastic-fitc",
    "student_t-fitc",
)
@pytest.mark.parametrize("model", [None, "fitc", "vif"])
@pytest.mark.parametrize("likelihood", NAMES)
def test_everything_that_predicts_knows_it(model, likelihood):
    """Quantiles, distributions, densities, draws and covariances are of one noise."""
    if model is None and likelihood == "student_t":
        pytest.skip("found by sites, and tested with them")
    X, y = data()
    fitted = made(model, likelihood, max_iter=15).fit(X, y)
    some, of_some = X[:7], y[:7]
    distribution, std = fitted.predict_distribution(some), fitted.predict_std(some)
    assert_allclose(distribution.std(), std)
    assert_allclose(distribution.ppf([0.1]), fitted.predict_quantiles(some, [0.1])[:, 0], atol=1e-8)
    assert_allclose(distribution.cdf(distribution.ppf(0.3)), 0.3, atol=1e-8)
    assert_allclose(distribution.logpdf(of_some), fitted.log_density(some, of_some))
    assert distribution.rvs((5, 7), random_state=0).shape == (5, 7)
    covariance = fitted.predict(some, return_cov=True)[1]
    assert_allclose(np.sqrt(np.diagonal(covariance)), std)
    latent = fitted.predict_std(some, include_noise=False)
    assert_allclose(std**2, latent**2 + fitted.noise_std(some) ** 2)
    draws = fitted.sample_y(some, 4000, random_state=0)
    inside = np.abs(draws - fitted.predict(some)[:, None]) <= 1.645 * std[:, None]
    assert (np.abs(inside.mean(axis=1) - 0.9) < 0.05).all()
    copied = pickle.loads(pickle.dumps(fitted))
    assert_allclose(copied.predict_std(some), std)
    assert clone(fitted).likelihood == likelihood


@pytest.mark.quick_cases("fitc")
@pytest.mark.parametrize("model", [None, "fitc", slow("pic"), "vif"])
def test_later_batches_get_precisions(model):
    """A second half by partial_fit is nearly a fit to all, its outliers included."""
    X, y = data()
    y[400] += 30.0
    options = {"max_iter": 15}
    batches = made(model, "heteroscedastic_student_t", **options)
    batches.partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    whole = made(model, "heteroscedastic_student_t", **options).fit(X, y)
    assert_allclose(batches.predict(X_TEST), whole.predict(X_TEST), atol=0.15)
    assert np.isfinite(batches.objective_)
    assert batches.n_samples_seen_ == 500


def test_the_divergence_of_the_log_noise_counts_once():
    """What each batch adds to the bound is added, and the divergence is that of all rows."""
    X, y = data(300)
    fitted = made(None, "heteroscedastic", max_iter=3).fit(X[:200], y[:200])._fitted
    noise, rows = fitted.row_noise, make_rows(X[200:], y[200:, None], None, fitted.targets)
    squares = np.random.default_rng(0).chisquare(1, (100, 1))
    joined, _ = noise.joined(rows, squares, 1)
    update = joined.updated(rows, squares, joined.log_noise_at(rows.X, 1))
    of_batch = update.noise.constant + joined.divergence
    assert noise.divergence > 0.1 and abs(joined.divergence - noise.divergence) > 1e-3
    total = noise.constant + noise.divergence + of_batch
    assert_allclose(joined.constant + joined.divergence, total, rtol=1e-9)


@pytest.mark.slow_cases(
    "far away-vif-auto",
    "far away-None-heteroscedastic",
    "far away-vif-heteroscedastic_student_t",
    "twice-vif-auto",
    "twice-vif-heteroscedastic_student_t",
    "linear-vif-heteroscedastic_student_t",
    "twice-stream-heteroscedastic_student_t",
    "far away-None-heteroscedastic_student_t",
    "twice-None-heteroscedastic_student_t",
)
@pytest.mark.filterwarnings("ignore:The optimal value found")  # there is little to learn from
@pytest.mark.parametrize(
    ("model", "likelihood"),
    [
        *((None, name) for name in NAMES),
        ("vif", "heteroscedastic_student_t"),
        ("vif", "auto"),
        ("stream", "heteroscedastic_student_t"),
        slow(None, "auto"),
        *(slow(model, name) for model in ("vif", "stream") for name in NAMES[:2]),
    ],
)
@pytest.mark.parametrize("kind", ["linear", "one row", "constant", "twice", "far away"])
def test_poor_data(kind, model, likelihood):
    """Finite and sensible predictions."""
    X, y = data(60)
    if kind == "linear":
        y = 2.0 * X[:, 0] + 1.0
    elif kind == "one row":
        X, y = X[:1], y[:1]
    elif kind == "constant":
        y = np.full(60, 3.0)
    elif kind == "twice":
        X, y = np.vstack([X, X]), np.concatenate([y, y])
    else:
        y[5] = 1e8
    if model == "stream":
        fitted = StreamingSGPRegressor(KERNEL, likelihood=likelihood, random_state=0).fit(X, y)
    else:
        fitted = made(model, likelihood, max_iter=10).fit(X, y)
    mean, std = fitted.predict(X_TEST, return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0.0).all()
    assert np.isfinite(fitted.predict_quantiles(X_TEST)).all()


@pytest.mark.slow_cases("vif-auto")
@pytest.mark.parametrize(
    ("model", "likelihood"),
    [
        (None, "student_t"),
        ("vif", "auto"),
        ("stream", "heteroscedastic_student_t"),
        slow(None, "auto"),
        slow("stream", "student_t"),
        slow("vif", "student_t"),
        *(slow(model, "heteroscedastic_student_t") for model in (None, "vif")),
    ],
)
def test_an_outlier_of_any_size_is_not_the_unit(model, likelihood):
    """Intervals and errors are those of the other targets."""
    (X, y), others = data(60), np.arange(60) != 5
    size = y.std()
    y[5] = 1e8 * size
    if model == "stream":
        fitted = StreamingSGPRegressor(likelihood=likelihood, random_state=0).fit(X, y)
    else:
        fitted = made(model, likelihood, kernel=None).fit(X, y)
    width = np.ptp(fitted.predict_quantiles(X, [0.05, 0.95]), axis=1)
    assert np.median(width) < 3.0 * size
    assert np.median(np.abs(fitted.predict(X) - y)[others]) < size
    fitted.sample_y(X_TEST[:3], random_state=0)


def test_streams_with_tails_warn_of_no_rows():
    """Tails have a word for outliers."""
    X, y = data(300)
    fitted = StreamingSGPRegressor(likelihood="heteroscedastic_student_t", random_state=0)
    fitted.partial_fit(X, y)
    y[3] += 1e4
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        fitted.partial_fit(X[:20], y[:20])


def test_what_has_no_added_noise_has_no_noise_std():
    """Counts vary by themselves."""
    X, y = data(50)
    fitted = SVGPRegressor(likelihood="poisson", n_inducing=5, max_iter=3, random_state=0)
    fitted.fit(X, np.floor(5.0 * np.abs(y)))
    with pytest.raises(ValueError, match="noise_std needs a likelihood whose noise is added"):
        fitted.noise_std(X_TEST)


@pytest.mark.parametrize("model", [None, "vif"])
def test_the_objective_is_known_at_what_was_learned_alone(model):
    """The noise of each row belongs to the kernel with which it was found."""
    X, y = data(100)
    fitted = made(model, optimizer=None).fit(X, y)
    assert fitted.log_marginal_likelihood() == fitted.objective_
    with pytest.raises(ValueError, match="theta must be None where the noise differs"):
        fitted.log_marginal_likelihood(fitted.kernel_.theta, X=X, y=y)


@pytest.mark.quick_cases("Gaussian-None", "HeteroscedasticGaussian-None")
@pytest.mark.parametrize(
    ("kind", "model"),
    [
        *((kind, None) for kind in KINDS),
        *(slow(kind, "vif") for kind in KINDS),
        *(slow(kind, "fitc") for kind in KINDS),
    ],
)
def test_the_noise_is_chosen(kind, model):
    """By the bound: from data of each kind, the kind that they are from."""
    X, y = data(tails=3 if kind == "HeteroscedasticStudentT" else None)
    rng, function = np.random.default_rng(1), np.sin(X[:, 0])
    if kind == "Gaussian":
        y = function + 0.1 * rng.standard_normal(500)
    elif kind == "StudentT":
        y = function + 0.1 * rng.standard_t(2.5, 500)
    fitted = made(model, "auto").fit(X, y)
    assert type(fitted.likelihood_).__name__ == kind
    assert fitted.predict_std(X_TEST).shape == (60,)


def test_targets_at_the_median_beside_far_ones():
    """Rounded targets, some equal to their median, with an outlier: no warning, and no harm."""
    X, y = data(200)
    y = np.round(y, 1)
    y[0] = 50.0
    fitted = made(likelihood="student_t").fit(X, y)
    assert np.abs(fitted.predict(X)[1:] - np.sin(X[1:, 0])).max() < 0.5


@pytest.mark.parametrize("model", ["fitc", "vfe"])
def test_blocks_without_near_rows_refuse_counts(model):
    """Their factors are Gaussian, and sites are found among near rows."""
    with pytest.raises(ValueError, match="must be 'vif', 'pic' or 'lma' with likelihood=Poisson"):
        AnytimeSGPRegressor(likelihood=Poisson(), model=model).fit(data(60)[0], np.ones(60))


@pytest.mark.slow
@pytest.mark.parametrize(
    "likelihood", ["heteroscedastic", slow("heteroscedastic_student_t"), slow("auto")]
)
def test_streams_carry_the_noise(likelihood):
    """Batch after batch the noise curve gets better, and the stream is nearly a fit to all."""
    X, y = data(1500)
    stream = StreamingSGPRegressor(
        KERNEL, likelihood=likelihood, n_inducing=20, init_size=300, batch_size=300, random_state=0
    )
    first = clone(stream).fit(X[:300], y[:300])
    error = [np.mean(np.abs(one.noise_std(X_TEST) / sd(X_TEST) - 1.0))
             for one in (first, stream.fit(X, y))]  # fmt: skip
    assert error[1] < min(error[0], 0.15)
    low, high = stream.predict_quantiles(X, [0.05, 0.95]).T
    assert 0.86 < np.mean((low < y) & (y < high)) < 0.94
    assert np.isfinite(stream.log_evidence_)


def burst(n, seed, noise=0.0):
    """A function that swings in a tenth of its range, where targets are far from all others."""
    rng = np.random.default_rng(seed)

    def draw(x):
        y = np.exp(-(((x - 0.5) / 0.06) ** 2)) * np.sin(150.0 * x)
        return x[:, None], y + noise * rng.standard_normal(len(x))

    return *draw(np.sort(rng.uniform(size=n))), *draw(rng.uniform(size=500))


@pytest.mark.slow
def test_a_function_that_swings_most_where_few_rows_are():
    """Targets far from all others are believed where that predicts rows given all others better."""
    X, y, X_new, y_new = burst(300, 2)
    model = AnytimeSGPRegressor(likelihood="heteroscedastic", random_state=0).fit(X, y)
    assert np.std(model.predict(X_new) - y_new) < 0.01  # was 0.2, as targets have


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Intervals of 90%")  # no band is right for both parts
def test_a_burst_amid_nothing_can_be_factorised():
    """Where a function without noise is flat no row's noise is below the bound of all."""
    X, y, X_new, y_new = burst(400, 2)
    model = AnytimeSGPRegressor(likelihood="auto", random_state=0).fit(X, y)
    assert np.std(model.predict(X_new) - y_new) < 0.01  # was an error


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of bands
@pytest.mark.parametrize(("n", "seed"), [(150, 2), pytest.param(200, 6, marks=pytest.mark.slow)])
def test_bursts_that_ended_in_errors(n, seed):
    """Two starts, no row that judges, and errors too far apart for a log noise."""
    X, y, *_ = burst(n, seed)
    model = SVGPRegressor(likelihood="auto", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.99  # StopIteration, ZeroDivisionError, IllConditionedError


def count_first_fits(monkeypatch, learn_as=lambda learned: learned, stops=False):
    """Count fits with equal noise of a burst, as `learn_as` tells how they ended."""
    counted, own = [], alternation._CoordinateAscent._first_fit

    def first_fit(ascent, problem):
        fit = yield from own(ascent, problem)
        counted.append(problem)
        ascent.trace.stopped = stops
        return fit._replace(learned=learn_as(fit.learned))

    monkeypatch.setattr(alternation._CoordinateAscent, "_first_fit", first_fit)
    X, y, *_ = burst(150, 3)
    AnytimeSGPRegressor(likelihood="heteroscedastic", random_state=0).fit(X, y)
    return len(counted)


@pytest.mark.quick_cases("ends1-1")
@pytest.mark.filterwarnings("ignore")  # of what is cut short
@pytest.mark.parametrize(
    ("ends", "n_fits"),
    [
        ({}, 2),
        ({"stops": True}, 1),
        ({"learn_as": lambda learned: replace(learned, cut_by="max_time")}, 1),
    ],
)
def test_a_fit_that_was_ended_is_the_only_one(ends, n_fits, monkeypatch):
    """Targets far from all others ask for another fit; not after the end."""
    assert count_first_fits(monkeypatch, **ends) == n_fits


@pytest.mark.quick_cases("SVGPRegressor")
@pytest.mark.parametrize("kind", [AnytimeSGPRegressor, SVGPRegressor])
def test_far_targets_of_one_of_two_outputs(kind):
    """Rows have precisions of each output, and lines are tried of each by its own."""
    X, y, *_ = burst(150, 0)
    Y = np.column_stack([y, np.sin(6.0 * X[:, 0]) + 0.1 * np.cos(1e4 * X[:, 0])])
    model = kind(likelihood="heteroscedastic", random_state=0, n_inducing=20).fit(X, Y)
    assert np.var(model.predict(X)[:, 1] - Y[:, 1]) < 0.05 * np.var(Y[:, 1])
