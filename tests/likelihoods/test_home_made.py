"""A likelihood that the package does not know goes through all estimators untouched."""

import pickle

import numpy as np
import pytest
from dense import central_difference, make_parameters, make_space
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import digamma, expit, gammaln, logsumexp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import GridSearchCV

from sklearn_sgp import StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.variational.inference import inference_for
from sklearn_sgp.likelihoods import ExpectedLogDensity, Likelihood, Poisson

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class NegativeBinomial(Likelihood):
    """Counts with mean mu = exp(f) and variance mu + mu**2 / r."""

    identity_mean = False

    def __init__(self, r=2.0):
        self.r = r

    def check_targets(self, y):
        if ((y < 0) | (y != np.floor(y))).any():
            raise ValueError("y must hold counts.")

    def _log_density(self, y, f):
        constant = gammaln(y + self.r) - gammaln(self.r) - gammaln(y + 1.0)
        return (
            constant
            + y * f
            + self.r * np.log(self.r)
            - (y + self.r) * np.logaddexp(f, np.log(self.r))
        )

    @staticmethod
    def _at_nodes(mean, variance):
        return mean[..., None] + np.sqrt(variance)[..., None] * NODES

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        f, y = self._at_nodes(mean, variance), y[..., None]
        p = expit(f - np.log(self.r))
        value = self._log_density(y, f) @ WEIGHTS
        d_mean = (y - (y + self.r) * p) @ WEIGHTS
        d_variance = -0.5 * ((y + self.r) * p * (1.0 - p)) @ WEIGHTS
        return ExpectedLogDensity(value.sum(axis=1), d_mean, d_variance, np.zeros(len(y)))

    def moments(self, mean, variance, noise_variance=None):
        first = np.exp(mean + 0.5 * variance)
        square = np.exp(2.0 * mean + 2.0 * variance)
        return first, first + square / self.r + square - first**2

    def _cdf(self, count, f):
        return stats.nbinom.cdf(count[..., None], self.r, self.r / (self.r + np.exp(f))) @ WEIGHTS

    def quantiles(self, mean, variance, noise_variance, levels):
        f = self._at_nodes(mean, variance)
        found = np.empty((*mean.shape, len(levels)))
        for k, level in enumerate(levels):
            low, high = np.full(mean.shape, -1.0), np.ones(mean.shape)
            while (short := self._cdf(high, f) < level).any():
                high[short] *= 2.0
            while (high - low > 1.0).any():
                middle = np.floor(0.5 * (low + high))
                enough = self._cdf(middle, f) >= level
                low, high = np.where(enough, low, middle), np.where(enough, middle, high)
            found[..., k] = high
        return found

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        log_p = self._log_density(y[..., None], self._at_nodes(mean, variance))
        return logsumexp(log_p, axis=-1, b=WEIGHTS).sum(axis=1)

    def draw(self, f, noise_variance, rng):
        return rng.negative_binomial(self.r, self.r / (self.r + np.exp(f))).astype(np.float64)


class LearnedDispersion(NegativeBinomial):
    """The same with log r as a free parameter, learned with the kernel."""

    @property
    def theta(self):
        return np.log([self.r])

    @property
    def theta_bounds(self):
        return np.log([[0.01, 1000.0]])

    def with_theta(self, theta):
        return clone(self).set_params(r=float(np.exp(theta[0])))

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        found = super().expected_log_density(y, mean, variance)
        f = self._at_nodes(mean, variance)
        p, y = expit(f - np.log(self.r)), y[..., None]
        in_r = digamma(y + self.r) - digamma(self.r) + np.log1p(-p) + 1.0
        in_r -= (y + self.r) / (self.r + np.exp(f))
        return found._replace(d_theta=self.r * (in_r @ WEIGHTS).sum(axis=1)[:, None])


@pytest.fixture(scope="module")
def counts():
    """Overdispersed counts of a rate that moves: X (600, 1), y and the rate."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (600, 1))
    rate = np.exp(1.5 + np.sin(1.5 * X[:, 0]))
    return X, rng.negative_binomial(2.0, 2.0 / (2.0 + rate)).astype(float), rate


def model_of(kind=SVGPRegressor, likelihood=None, **parameters):
    return kind(
        1.0 * RBF(1.0),
        **{
            "likelihood": likelihood or NegativeBinomial(),
            "n_inducing": 12,
            "random_state": 0,
            **parameters,
        },
    )


@pytest.fixture(scope="module")
def fitted(counts):
    """Fits of all three ways to learn, by name."""
    X, y, _ = counts
    batches = [slice(lo, lo + 150) for lo in range(0, 600, 150)]
    in_batches = model_of(max_iter=20)
    stream = model_of(StreamingSGPRegressor)
    for batch in batches:
        in_batches.partial_fit(X[batch], y[batch])
        stream.partial_fit(X[batch], y[batch])
    return {"fit": model_of().fit(X, y), "partial_fit": in_batches, "stream": stream}


WAYS = pytest.mark.parametrize("way", ["fit", "partial_fit", "stream"])
ROWS = np.array([[0.5], [2.0], [4.0], [5.5]])


def test_values_are_those_of_the_definition():
    """Without latent variance the density is scipy's negative binomial."""
    y, f = np.arange(40.0)[:, None], np.linspace(-3.0, 3.0, 40)[:, None]
    expected = stats.nbinom.logpmf(y[:, 0], 2.0, 2.0 / (2.0 + np.exp(f[:, 0])))
    nothing = np.full_like(f, 1e-300)
    likelihood = NegativeBinomial()
    assert_allclose(likelihood.expected_log_density(y, f, nothing).value, expected, rtol=1e-10)
    assert_allclose(likelihood.log_predictive_density(y, f, nothing), expected, rtol=1e-10)


def test_derivatives_are_differences():
    """d_mean and d_variance are difference quotients of the value."""
    rng = np.random.default_rng(0)
    y, mean = rng.poisson(4.0, (9, 2)).astype(float), rng.normal(0.5, 1.0, (9, 2))
    variance, step, likelihood = rng.uniform(0.1, 1.0, (9, 2)), 1e-5, NegativeBinomial(1.3)
    found = likelihood.expected_log_density(y, mean, variance)
    for c in range(2):
        shift = step * (np.arange(2) == c)
        for got, arguments in (
            (found.d_mean, lambda s, shift=shift: (mean + s * shift, variance)),
            (found.d_variance, lambda s, shift=shift: (mean, variance + s * shift)),
        ):
            up, down = (likelihood.expected_log_density(y, *arguments(s)).value for s in (1, -1))
            assert_allclose(got[:, c], (up - down) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("likelihood", [NegativeBinomial(1.5), LearnedDispersion(1.5)], ids=repr)
def test_the_gradient_of_the_bound_is_that_of_its_values(counts, likelihood):
    """The bound's gradient is its difference quotient, in the likelihood's own parameters too."""
    X, y, _ = counts
    rows = Rows(X[:80], y[:80, None], None, np.zeros(1), np.ones(1))
    Z = np.linspace(0.2, 5.8, 6)[:, None]
    start = make_parameters(ConstantKernel(1.5) * RBF(0.9), Z, 1.0, likelihood=likelihood.theta)
    space = make_space(2, np.ones(1), noise=False, n_likelihood=len(likelihood.theta))
    inference = inference_for(likelihood, 1, 1e-13)
    space, objective, _ = inference.objective(space, start, rows, 1e-8, False, None, np.inf)

    def value(x):
        return objective(space.unpack(x, start))[0]

    gradient = space.pack_gradient(objective(start)[1])
    expected = central_difference(value, space.pack(start), 1e-4)
    assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@WAYS
def test_the_rate_is_found(fitted, counts, way):
    """Every way to learn finds the rate, and likelihood_ is the likelihood that was given."""
    X, _, rate = counts
    model = fitted[way]
    assert np.sqrt(np.mean((np.log(model.predict(X)) - np.log(rate)) ** 2)) < 0.2
    assert isinstance(model.likelihood_, NegativeBinomial) and model.likelihood_.r == 2.0
    assert model.y_mean_ == 0.0 and model.y_scale_ == 1.0
    assert not hasattr(model, "noise_variance_")
    assert np.isfinite(model.objective_)


@pytest.mark.filterwarnings("ignore:Intervals of 90%")  # which is right
@WAYS
def test_it_explains_overdispersed_counts_better_than_poisson(fitted, counts, way):
    """The right likelihood gives the counts more density than a Poisson rate."""
    X, y, _ = counts
    poisson = model_of(likelihood=Poisson()).fit(X, y)
    assert fitted[way].log_density(X, y).mean() > poisson.log_density(X, y).mean() + 0.2


@WAYS
def test_means_and_deviations_are_those_of_the_moments(fitted, way):
    """predict is the same with and without std, and both come from the likelihood's moments."""
    model = fitted[way]
    mean, std = model.predict(ROWS, return_std=True)
    assert_array_equal(model.predict(ROWS), mean)
    assert_array_equal(model.predict_std(ROWS), std)
    latent_mean, latent_variance = model._fitted.posterior.mean_variance(ROWS)
    first, second = NegativeBinomial().moments(latent_mean, latent_variance)
    assert_allclose(mean, first[:, 0], rtol=1e-12)
    assert_allclose(std, np.sqrt(second[:, 0]), rtol=1e-12)
    assert_allclose(model.predict_std(ROWS, include_noise=False) ** 2, latent_variance[:, 0])


@pytest.mark.quick_cases("fit")
@WAYS
def test_densities_quantiles_and_draws_agree(fitted, way):
    """Densities sum to one, with the quantiles and the mean that draws have, too."""
    model, grid = fitted[way], np.arange(2000.0)
    mean, std = model.predict(ROWS, return_std=True)
    levels = np.array([0.1, 0.5, 0.9])
    quantiles = model.predict_quantiles(ROWS, levels)
    draws = model.sample_y(ROWS, 4000, random_state=1)
    pathwise = model.sample_y(ROWS, 4000, random_state=1, method="pathwise")
    for k, row in enumerate(ROWS):
        p = np.exp(model.log_density(np.tile(row, (len(grid), 1)), grid))
        assert_allclose(p.sum(), 1.0, rtol=1e-6)
        assert_allclose(p @ grid, mean[k], rtol=1e-5)
        assert_allclose(np.sqrt(p @ (grid - mean[k]) ** 2), std[k], rtol=1e-4)
        assert_array_equal(np.searchsorted(p.cumsum(), levels), quantiles[k])
        for some in (draws[k], pathwise[k]):
            assert abs(some.mean() - mean[k]) < 6 * std[k] / np.sqrt(len(some))
            assert ((some[:, None] <= quantiles[k]).mean(axis=0) > levels - 0.03).all()
            assert_array_equal(some, np.round(some))


@WAYS
def test_score_is_that_of_the_means(fitted, counts, way):
    """score is the share of the variance that the predicted means explain."""
    X, y, _ = counts
    model = fitted[way]
    expected = 1.0 - np.sum((y - model.predict(X)) ** 2) / np.sum((y - y.mean()) ** 2)
    assert_allclose(model.score(X, y), expected, rtol=1e-12)
    assert expected > 0.2


@WAYS
def test_clones_and_pickles(fitted, counts, way):
    """A clone has a copy of the likelihood, and a pickle predicts the same."""
    model = fitted[way]
    copy = clone(model)
    assert copy.likelihood is not model.likelihood and copy.likelihood.r == 2.0
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(ROWS), model.predict(ROWS))
    assert_array_equal(again.predict_quantiles(ROWS), model.predict_quantiles(ROWS))


def test_bad_counts_are_refused_in_every_batch(fitted, counts):
    """check_targets is asked in fit and for every batch, and the model stays as it was."""
    X, y, _ = counts
    with pytest.raises(ValueError, match="must hold counts"):
        model_of().fit(X, y + 0.5)
    for way in ("partial_fit", "stream"):
        model = pickle.loads(pickle.dumps(fitted[way]))
        with pytest.raises(ValueError, match="must hold counts"):
            model.partial_fit(X[:50], -1.0 - y[:50])
        assert_array_equal(model.predict(ROWS), fitted[way].predict(ROWS))


def test_several_outputs(counts):
    """Two columns of counts are learned together, each with a function of its own."""
    X, y, _ = counts
    kernel = {"optimizer": None, "inducing": X[:12]}
    both = model_of(**kernel).fit(X, np.column_stack([y, y[::-1]]))
    one, other = (model_of(**kernel).fit(X, column) for column in (y, y[::-1]))
    expected = np.column_stack([one.predict(ROWS), other.predict(ROWS)])
    assert_allclose(both.predict(ROWS), expected, rtol=1e-4)
    assert both.predict_quantiles(ROWS).shape == (4, 2, 3)


@pytest.mark.filterwarnings("ignore:Intervals of 90%")  # which is right
def test_a_search_over_its_parameter(counts):
    """GridSearchCV reaches the dispersion and finds the one that the counts were drawn with."""
    X, y, _ = counts
    search = GridSearchCV(
        model_of(max_iter=10),
        {"likelihood__r": [0.2, 2.0, 50.0]},
        cv=2,
        scoring=lambda model, X, y: model.log_density(X, y).mean(),
    ).fit(X, y)
    assert search.best_params_ == {"likelihood__r": 2.0}
    assert search.best_estimator_.likelihood_.r == 2.0


def test_its_own_parameters_are_learned(counts):
    """A free dispersion is found by fit, partial_fit and a stream, and likelihood_ has it."""
    X, y, _ = counts
    fixed = model_of().fit(X, y)
    model = model_of(likelihood=LearnedDispersion(20.0)).fit(X, y)
    assert 1.5 < model.likelihood_.r < 2.7 and model.likelihood.r == 20.0
    assert model.objective_ >= fixed.objective_
    for kind in (SVGPRegressor, StreamingSGPRegressor):
        batches = model_of(kind, LearnedDispersion(20.0))
        for lo in range(0, 600, 200):
            batches.partial_fit(X[lo : lo + 200], y[lo : lo + 200])
        assert 1.0 < batches.likelihood_.r < 4.0


def test_missing_parts_are_named_where_they_are_needed(fitted):
    """The joint covariance, which this likelihood does not have, is asked for by name."""
    with pytest.raises(NotImplementedError, match=r"return_cov=True.*'covariance'.*NegativeBin"):
        fitted["fit"].predict(ROWS, return_cov=True)


class WithoutBase:
    """Has what `Poisson` has and every likelihood must have, and derives from no base."""

    asked = (
        "conjugate identity_mean has_noise scales_targets natural_step shift_invariant max_classes "
        "needs_all_targets allows_outliers n_latent check_targets theta theta_bounds covariance "
        "expected_log_density moments log_predictive_density quantiles draw"
    ).split()

    def __init__(self, poisson):
        self.poisson = poisson

    def __getattr__(self, name):
        if name in self.asked:
            return getattr(self.poisson, name)
        raise AttributeError(name)

    def initialized(self, y, weight):
        return WithoutBase(self.poisson.initialized(y, weight))

    def with_theta(self, theta):
        return self


@pytest.mark.filterwarnings("ignore:Intervals of 90%", "ignore:max_iter")
def test_a_likelihood_may_derive_from_no_base(counts):
    """The interface is enough, with the default kernel: it fits as `Poisson` does."""
    X, y, _ = (part[:100] for part in counts)
    own, poisson = (
        SVGPRegressor(likelihood=one, n_inducing=8, max_iter=3, random_state=0).fit(X, y)
        for one in (WithoutBase(Poisson()), Poisson())
    )
    assert_allclose(own.predict(ROWS), poisson.predict(ROWS))


def test_scores_in_the_middle_of_a_fit(counts):
    """scikit-learn's ScoringMonitor logs scores of this likelihood's means that become better."""
    callback = pytest.importorskip("sklearn.callback")
    X, y, _ = counts
    monitor = callback.ScoringMonitor(scoring={"r2": "r2"})
    model = model_of(max_iter=15).set_callbacks(monitor).fit(X, y)
    scores = np.array([entry["r2"] for entry in monitor.get_logs().data if "r2" in entry])
    final = model.score(X, y)
    assert len(scores) == len(model.objectives_) + 1  # and one of the end
    assert (scores > 0.0).all() and (scores <= 1.0).all()
    assert_allclose(scores[-3:], final, atol=0.02)
    assert_allclose(scores, final, atol=0.3)
