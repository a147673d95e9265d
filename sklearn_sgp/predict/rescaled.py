"""A predictor whose deviations have a factor that depends on the input."""

from dataclasses import dataclass, replace

from .base import AroundPredictor


@dataclass(frozen=True)
class Rescaled(AroundPredictor):
    """Multiplies the deviations of a predictor by c(x) (docs/theory.md, section 13)."""

    scale: object  # noise.variance_scale.VarianceScale, of a package above

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        mean, variance = self.predictor.moments(inputs, n_jobs)
        return mean, variance * self.scale.at(inputs.X, n_jobs) ** 2

    def joint(self, inputs, n_jobs=None):
        """Return means and joint covariances; see `Predictor`."""
        mean, covariance = self.predictor.joint(inputs, n_jobs)
        factor = self.scale.at(inputs.X, n_jobs)
        return mean, covariance * factor[:, None] * factor

    def of_functional(self, kernel):
        """Return the predictor of a functional, with the factor as it is at its input."""
        return replace(self, predictor=self.predictor.of_functional(kernel))

    def left_out(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows, each given all others; see `Predictor`."""
        mean, variance = self.predictor.left_out(rows, places, n_jobs)
        return mean, variance * self.scale.at(rows.X, n_jobs) ** 2

    def functions(self, n_samples, rng):
        """Draw functions; see `Predictor`."""
        functions = self.predictor.functions(n_samples, rng)
        return ScaledDraws(functions, self.predictor.mean_at, self.scale)


class ScaledDraws:
    """Callable on X (n, d), result (n, t, n_samples), as `gp.pathwise.PathwiseDraws`.

    ``mean`` is a callable: their means at X, (n, t).
    """

    def __init__(self, functions, mean, scale):
        self.functions, self.mean, self.scale = functions, mean, scale

    @property
    def n_features(self):
        """Number of columns of X."""
        return self.functions.n_features

    def __call__(self, X):
        mean = self.mean(X)[:, :, None]
        return mean + self.scale.at(X, 1)[:, :, None] * (self.functions(X) - mean)
