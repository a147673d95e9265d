"""SVGPRegressor(n_latent=Q): outputs that mix latent functions, with targets that are not there."""

import pickle

import numpy as np
import pytest
from callback_helpers import Callback
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.metrics import r2_score

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.data.rows import make_rows
from sklearn_sgp.estimators import regressor
from sklearn_sgp.factors.multi_output import OutputScalars
from sklearn_sgp.objectives.multi_output import (
    coregionalised_value,
    noise_of_outputs,
    optimal_coregionalised,
)
from sklearn_sgp.predict import between_outputs, observations

MIXING = np.array([[1.0, 0.3], [0.8, -0.5], [-0.2, 1.0]])
SCALE, CENTRE, NOISE = np.array([1.0, 20.0, 0.1]), np.array([0.0, 100.0, 3.0]), 0.2


@pytest.fixture(scope="module")
def data():
    """600 rows of three outputs of two functions, in units of their own; 60 % are not there."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (600, 1))
    g = np.hstack([np.sin(2.0 * X), np.cos(3.1 * X + 1.0)])
    y = g @ MIXING.T + NOISE * rng.standard_normal((600, 3))
    y = CENTRE + SCALE * y
    seen = rng.random(y.shape) < 0.4
    seen[~seen.any(axis=1), 0] = True
    return X, np.where(seen, y, np.nan), y


@pytest.fixture(scope="module")
def model(data):
    X, y, _ = data
    return SVGPRegressor(n_latent=2, n_inducing=25, random_state=0).fit(X, y)


def test_what_is_missing_is_predicted(data, model):
    """Targets that were not there are within the noise, and so is the noise that is learned."""
    X, y, complete = data
    mean, std = model.predict(X, return_std=True)
    gone = np.isnan(y)
    error = np.where(gone, (mean - complete) / (SCALE * NOISE), 0.0)
    assert np.sqrt((error**2).sum(axis=0) / gone.sum(axis=0)).max() < 1.2
    assert_allclose(np.sqrt(model.noise_variance_) * model.y_scale_, SCALE * NOISE, rtol=0.2)
    assert_allclose(std.mean(axis=0), SCALE * NOISE, rtol=0.3)
    assert model.mixing_.shape == (3, 2)
    assert_allclose(np.diag(model.output_correlation_), 1.0)


def test_it_is_ahead_of_independent_outputs(data, model):
    """An output observed ten times borrows from the others, which it does not harm."""
    X, _, complete = data
    rare = complete.copy()
    rare[10:, 2] = np.nan
    shared = SVGPRegressor(n_latent=2, n_inducing=25, random_state=0).fit(X, rare)
    alone = SVGPRegressor(n_inducing=10, random_state=0).fit(X[:10], rare[:10, 2])
    error = [
        np.sqrt(np.mean((one - complete[:, 2]) ** 2)) / (SCALE[2] * NOISE)
        for one in (shared.predict(X)[:, 2], alone.predict(X))
    ]
    assert error[0] < 0.8 * error[1]
    independent = SVGPRegressor(n_inducing=25, random_state=0).fit(X, complete[:, :2])
    others = [one / SCALE[:2] for one in (shared.predict(X)[:, :2], independent.predict(X))]
    assert_allclose(*others, atol=0.15)


def test_predictions_agree_with_one_another(data, model):
    """Covariances, standard deviations, quantiles and draws are those of one distribution."""
    X = data[0][:6]
    mean, cov = model.predict(X, return_cov=True)
    assert cov.shape == (6, 6, 3, 3)
    std = model.predict_std(X)
    rows, outputs = np.arange(6)[:, None], np.arange(3)
    assert_allclose(cov[rows, rows, outputs, outputs], std**2, rtol=1e-8)
    assert_allclose(cov, cov.transpose(1, 0, 3, 2), rtol=1e-10, atol=1e-12)
    assert_allclose(model.predict(X), mean, rtol=1e-8)
    assert_allclose(model.predict_quantiles(X, [0.5])[..., 0], mean, rtol=1e-8)
    samples = model.sample_y(X, 20_000, random_state=0)
    assert samples.shape == (6, 3, 20_000)
    flat = cov.transpose(0, 2, 1, 3).reshape(18, 18)
    units = np.tile(SCALE, 6)
    drawn = np.cov(samples.reshape(18, -1)) / np.outer(units, units)
    assert_allclose(drawn, flat / np.outer(units, units), atol=0.002)


def test_large_joint_draws_are_avoided(data, model, monkeypatch):
    """The root of a covariance of rows times outputs is taken of as many as of plain rows."""
    X, taken = data[0], []
    joint_root = observations.joint_root

    def noted(covariance):
        taken.append(len(covariance))
        return joint_root(covariance)

    monkeypatch.setattr(observations, "joint_root", noted)
    monkeypatch.setattr(regressor, "_JOINT_ROWS", 60)
    model.sample_y(X[:20], 2)
    assert taken == [60]
    assert model.sample_y(X[:21], 2).shape == (21, 3, 2)
    assert taken == [60]
    model.sample_y(X[:21], 2, method="joint")
    assert taken == [60, 63]


@pytest.mark.slow
def test_functions_are_drawn(data, model):
    """Pathwise draws have the moments of the function."""
    X = data[0][:6]
    drawn = model.sample_functions(4000, random_state=0)(X)
    latent = model.predict_std(X, include_noise=False)
    assert_allclose(drawn.mean(axis=2) / SCALE, model.predict(X) / SCALE, atol=0.02)
    assert_allclose(drawn.std(axis=2), latent, rtol=0.2)
    pathwise = model.sample_y(X, 4000, random_state=0, method="pathwise")
    assert_allclose(pathwise.std(axis=2), model.predict_std(X), rtol=0.1)


def test_infinities_of_both_signs_are_named(data):
    """They have no sum, which is no reason for a warning besides the error."""
    X, y = data[0], data[2].copy()
    y[:2, 0] = np.inf, -np.inf
    with pytest.raises(ValueError, match="y contains infinity"):
        SVGPRegressor(n_latent=2).fit(X, y)


def test_log_density_is_joint_over_what_was_observed(data, model):
    """The density of a row is that of the normal distribution of its observed outputs."""
    X, y, _ = data
    y = y[:8].copy()
    y[3] = np.nan
    mean, cov = model.predict(X[:8], return_cov=True)
    for n, log_p in enumerate(model.log_density(X[:8], y)):
        seen = ~np.isnan(y[n])
        if not seen.any():
            assert log_p == 0.0
            continue
        own = cov[n, n][np.ix_(seen, seen)]
        expected = multivariate_normal(mean[n, seen], own).logpdf(y[n, seen])
        assert_allclose(log_p, expected, rtol=1e-8)


def test_log_density_where_no_number_holds_function_and_noise():
    """Of two outputs with one function 1e20 times as large as the noise: what rounding leaves."""
    away, covariance = np.ones((1, 2)), 1e20 * np.ones((1, 2, 2))
    log_p = between_outputs.log_normal(away, covariance, np.ones(2))
    # the difference of the outputs is 0, its variance what rounding hides of the sum's
    variances = 1e20 * np.array([2.0, between_outputs._LEAST_EIGENVALUE])
    assert_allclose(log_p, -0.5 * (1e-20 + np.log(2.0 * np.pi * variances).sum()))
    alone = between_outputs.log_normal(away[:, :1], covariance[:, :1, :1], np.ones(1))
    assert_allclose(alone, -0.5 * (1e-20 + np.log(2.0 * np.pi * 1e20)))


def test_one_output_is_the_plain_model():
    """With n_latent=1 and one output the bound and the predictions are those without."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (100, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(100)
    Z = np.linspace(0.0, 6.0, 9)[:, None]
    options = {"inducing": Z, "optimizer": None, "noise_variance": 0.05}
    mixed = SVGPRegressor(RBF(), n_latent=1, **options).fit(X, y)
    plain = SVGPRegressor(float(mixed.mixing_[0, 0]) ** 2 * RBF(), **options).fit(X, y)
    assert_allclose(mixed.objective_, plain.objective_, rtol=1e-6)
    for ours, theirs in zip(
        mixed.predict(X, return_std=True), plain.predict(X, return_std=True), strict=True
    ):
        assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)
    assert mixed.predict(X, return_cov=True)[1].shape == (100, 100)
    assert mixed.sample_y(X[:3], 2).shape == (3, 2)
    assert isinstance(mixed.noise_variance_, float)


def test_weights_are_repetitions(data):
    """Weight 2 counts a row twice, weight 0 leaves it out, for rows with gaps too."""
    X, y = data[0][:60], data[1][:60]
    weight = np.tile([0.0, 1.0, 2.0], 20)
    times = np.repeat(np.arange(60), weight.astype(int))
    Z = np.linspace(0.0, 6.0, 9)[:, None]
    model = SVGPRegressor(RBF(), n_latent=2, inducing=Z, max_iter=5, normalize_y=(CENTRE, SCALE))
    fixed = clone(model).set_params(optimizer=None)
    weighted = fixed.fit(X, y, sample_weight=weight)
    repeated = clone(fixed).fit(X[times], y[times])
    assert weighted.n_samples_seen_ == 40
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8)


def test_later_batches(data):
    """Any split of the rows gives the posterior and the bound of all at the same parameters."""
    X, y, _ = data
    parts = SVGPRegressor(n_latent=2, n_inducing=20, random_state=0).fit(X[:300], y[:300])
    thirds = pickle.loads(pickle.dumps(parts))
    parts.partial_fit(X[300:], y[300:])
    assert parts.n_samples_seen_ == 600
    # of the first batch are kernel, noise, mixing and scaling
    found, targets = fitted(parts), fitted(parts).targets
    rows, s2 = make_rows(X, y, None, targets), noise_of_outputs(found.parameters)
    q, sums, patterns = optimal_coregionalised(
        found.posterior.prior, rows, found.parameters.mixing, s2
    )
    bound = coregionalised_value(q, OutputScalars.of(rows, sums, patterns), s2)
    counts = (~np.isnan(y)).sum(axis=0)
    assert_allclose(parts.objective_, bound - counts @ np.log(targets.scale), rtol=1e-8)
    assert_allclose(parts.predict(X), targets.in_units(q.mean(X)), rtol=1e-8)
    thirds.partial_fit(X[300:400], y[300:400]).partial_fit(X[400:], y[400:])
    assert_allclose(thirds.predict(X), parts.predict(X), rtol=1e-8)
    assert_allclose(thirds.objective_, parts.objective_, rtol=1e-8)


def test_pickle_clone_and_warm_start(data, model):
    """Pickles predict the same; a warm start goes on with what was learned."""
    X, y, _ = data
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    copy = clone(model).set_params(warm_start=True).fit(X, y)
    mixing = copy.mixing_
    copy.set_params(optimizer=None).fit(X, y)
    assert_array_equal(copy.mixing_, mixing)


def test_categories_and_several_jobs(data):
    """Outputs may depend on categories; results do not depend on n_jobs."""
    X, y, _ = data
    X = np.column_stack([X, np.arange(len(X)) % 3])
    model = SVGPRegressor(
        n_latent=1, categorical_features=[1], n_inducing=20, max_iter=5, random_state=0
    )
    with pytest.warns(match="max_iter=5"):
        one = clone(model).set_params(n_jobs=1).fit(X, y)
    with pytest.warns(match="max_iter=5"):
        two = clone(model).set_params(n_jobs=2).fit(X, y)
    assert_allclose(one.predict(X), two.predict(X), rtol=1e-10)


def test_max_time(data):
    """A budget ends learning with a model that predicts."""
    X, y, _ = data
    model = SVGPRegressor(n_latent=2, n_inducing=20, max_time=0.3, random_state=0)
    model.fit(X, y)
    assert model.score(X, y) > 0.5


def test_rows_without_targets_are_left_out(data):
    """They are counted in a warning and change nothing."""
    X, y = data[0][:50], data[1][:50].copy()
    model = SVGPRegressor(RBF(), n_latent=2, inducing=X[:10], optimizer=None)
    plain = clone(model).fit(X[:45], y[:45])
    y[45:] = np.nan
    with pytest.warns(UserWarning, match="Got 5 of 50 rows"):
        model.fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))
    assert model.n_samples_seen_ == 45


def test_constant_outputs(data):
    """An output that never varies is predicted as it is."""
    X, y = data[0][:80], data[1][:80].copy()
    y[:, 1] = 7.0
    model = SVGPRegressor(n_latent=2, n_inducing=10, random_state=0).fit(X, y)
    assert_allclose(model.predict(X)[:, 1], 7.0, atol=0.05)


@pytest.mark.quick_cases("1-0", "200-1")
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("seen", [200, 2, 1])
def test_an_output_that_says_nothing_leaves_the_other(place, seen):
    """Constant, or observed once or twice; correlations stay numbers."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (200, 1))
    f = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(200)
    y = np.column_stack([f, np.where(np.arange(200) < seen, 7.0, np.nan)])
    y = y if place else y[:, ::-1]
    model = SVGPRegressor(n_latent=1, n_inducing=20, random_state=0).fit(X, y)
    assert np.std(model.predict(X)[:, 1 - place] - f) < 0.15
    assert np.isfinite(model.output_correlation_).all()
    assert_allclose(np.diag(model.output_correlation_), 1.0)


def test_outputs_without_correlation_are_both_learned():
    """One latent function for two: the one that a principal direction leaves out may take it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (300, 1))
    noise, f = rng.standard_normal(300), np.sin(2.0 * X[:, 0]) + 0.05 * rng.standard_normal(300)
    model = SVGPRegressor(n_latent=1, n_inducing=20, random_state=0).fit(X, np.c_[noise, f])
    assert np.std(model.predict(X)[:, 1] - f) < 0.15


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_latent": 4}, "at most the number of outputs.*n_latent=4 for 3"),
        ({"likelihood": "heteroscedastic"}, "differs from row to row.*: write a row for each"),
        ({"likelihood": "auto"}, "likelihood='auto', which differs from row to row, or may"),
        ({"normalize_y": "warped"}, "transforms targets"),
        ({"optimizer": "adam"}, "optimizer='adam'"),
    ],
)
def test_what_is_not_there_is_refused(data, parameters, message):
    """Errors name the parameter and what came."""
    X, y, _ = data
    model = SVGPRegressor(n_latent=2).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_bad_targets_are_refused(data, model):
    """An output never observed, infinite targets, and theta without a bound; nothing changes."""
    X, y, _ = data
    before = model.predict(X)
    never = y.copy()
    never[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"Got only NaN in column \[1\]"):
        model.fit(X, never)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(X, np.where(np.isnan(y), np.inf, y))
    with pytest.raises(ValueError, match="Got none in this batch"):
        model.partial_fit(X, np.full_like(y, np.nan))
    with pytest.raises(ValueError, match="y must have shape"):
        model.partial_fit(X, y[:, :2])
    with pytest.raises(ValueError, match="theta must be None with n_latent"):
        model.log_marginal_likelihood(model.kernel_.theta, X=X, y=y)
    with pytest.raises(ValueError, match="n_latent must stay"):
        clone(model).set_params(max_iter=30).fit(X, y).set_params(n_latent=None).partial_fit(
            X, data[2]
        )
    assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="NaN"):
        SVGPRegressor().fit(X, y)


def test_there_are_no_predictions_before_fit(data):
    """Mixing starts from the targets, so that nothing can be said without them."""
    with pytest.raises(NotFittedError):
        SVGPRegressor(n_latent=2).predict(data[0])


class Stop(Callback):
    """A callback that asks to stop after two steps, and looks at the model at each."""

    def __init__(self):
        self.steps = 0

    def on_fit_task_end(self, estimator, context, reconstruction_attributes=None):
        self.steps += context.parent is not None
        return self.steps >= 2


def test_a_callback_can_stop_the_fit(data):
    """The model is then the exact posterior at the parameters so far."""
    pytest.importorskip("sklearn.callback")
    X, y, _ = data
    model = SVGPRegressor(n_latent=2, n_inducing=10, random_state=0)
    model.set_callbacks(Stop()).fit(X, y)
    assert model.n_iter_ == 3
    assert np.isfinite(model.log_density(X, y)).all()


def test_growing_subsets(data):
    """More rows than the warm start takes are learned from in stages."""
    X, y, complete = data
    model = SVGPRegressor(n_latent=2, n_inducing=20, init_size=100, random_state=0).fit(X, y)
    error = np.sqrt(np.mean(((model.predict(X) - complete) / SCALE) ** 2, axis=0))
    assert error.max() < 1.3 * NOISE


def test_noise_as_it_is_given(data):
    """A WhiteKernel is one noise variance of all outputs; each may have one that is fixed."""
    X, y, _ = data
    model = SVGPRegressor(RBF() + WhiteKernel(0.1), n_latent=2, n_inducing=15, random_state=0)
    model.fit(X, y)
    assert len(set(model.noise_variance_)) == 1
    assert_allclose(model.kernel_.k2.noise_level, model.noise_variance_[0])
    given = [0.05, 0.1, 0.2]
    fixed = SVGPRegressor(
        n_latent=2, n_inducing=15, noise_variance=given, noise_variance_bounds="fixed"
    )
    assert_allclose(fixed.fit(X, y).noise_variance_, given)


def test_a_score_is_of_what_was_observed(data, monkeypatch):
    """The mean of the outputs' coefficients; searches need it. Densities come in pieces."""
    X, y = data[0][:120], data[1][:120].copy()
    model = SVGPRegressor(n_latent=2, n_inducing=10, max_iter=5, random_state=0).fit(X, y)
    mean, each = model.predict(X), []
    for p in range(y.shape[1]):
        rows = ~np.isnan(y[:, p])
        each.append(r2_score(y[rows, p], mean[rows, p]))
    assert_allclose(model.score(X, y), np.mean(each), rtol=1e-12)
    full = np.nan_to_num(y)
    assert_allclose(model.score(X, full), r2_score(full, mean), rtol=1e-12)
    for wrong, message in ((y[:-3], "inconsistent numbers"), (y[:, :1], "columns, as in fit")):
        wrong = wrong.copy()
        wrong[0] = np.nan
        with pytest.raises(ValueError, match=message):
            model.score(X, wrong)
    expected = model.log_density(X, y)
    monkeypatch.setattr(observations, "_MOST_COVARIANCES", 50)
    assert_allclose(model.log_density(X, y), expected, rtol=1e-10)


def test_a_list_of_kernels_is_refused():
    """All latent functions share a kernel."""
    with pytest.raises(ValueError, match="'kernel' parameter"):
        SVGPRegressor([RBF(1.0), RBF(0.4)], n_latent=2).fit([[0.0], [1.0]], np.eye(2))


def test_scores_of_outputs_with_hardly_any_rows_are_numbers(rng):
    """An output that one row has made the score NaN; nullable columns were refused."""
    pd = pytest.importorskip("pandas")
    X = rng.uniform(0.0, 6.0, (60, 1))
    Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])]) + 0.1 * rng.normal(size=(60, 2))
    Y[:10, 1] = np.nan
    model = SVGPRegressor(n_latent=2, n_inducing=12, max_iter=10, random_state=0).fit(X, Y)
    table = pd.DataFrame(Y).astype("Float64")
    assert model.score(X, table) == model.score(X, Y) > 0.5
    assert np.isfinite(model.score(X[:11], Y[:11]))
    weight = np.where(np.arange(60) < 10, 1.0, 0.0)
    assert np.isfinite(model.score(X, Y, sample_weight=weight))
