"""Parts of configurations of `same_bits` that users write: a likelihood, callbacks, a clusterer."""

import numpy as np
from scipy import stats
from scipy.special import digamma, expit, gammaln, logsumexp
from sklearn.base import BaseEstimator, ClusterMixin, clone

from sklearn_sgp.likelihoods import ExpectedLogDensity, Likelihood

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
        of_rate = (y + self.r) * np.logaddexp(f, np.log(self.r))
        return constant + y * f + self.r * np.log(self.r) - of_rate

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

    def quantiles(self, mean, variance, noise_variance, levels):
        mean, variance = (np.repeat(a[..., None], len(levels), -1) for a in (mean, variance))
        rate = np.exp(mean + np.sqrt(variance) * stats.norm.ppf(levels))
        return stats.nbinom.ppf(levels, self.r, self.r / (self.r + rate))

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


class Halves(ClusterMixin, BaseEstimator):
    """Makes a block of the rows on each side of the mean of the first column."""

    def fit(self, X, y=None):
        self.middle_ = X[:, 0].mean()
        return self

    def predict(self, X):
        return (X[:, 0] > self.middle_).astype(int)


class Watch:
    """A callback that notes what a model predicts amid a fit."""

    last = np.inf

    def __init__(self, X):
        self.X, self.seen, self.steps = X[:5], [], 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.parent is None:
            return False
        self.steps += 1
        names = ("transform", "predict_proba", "predict_std")
        name = next(name for name in names if hasattr(fitted_estimator, name))
        self.seen.append(np.asarray(getattr(fitted_estimator, name)(self.X)))
        return self.steps >= self.last

    def __reduce__(self):
        return type(self), (self.X,)


class Stop(Watch):
    """A callback that asks to stop after two steps."""

    last = 2
