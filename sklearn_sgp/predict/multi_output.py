"""Predictions of outputs that mix latent functions."""

from dataclasses import dataclass

from .._parallel import in_chunks
from ..gp.pathwise import draw_mixed_functions
from .inducing import InducingPoints


@dataclass(frozen=True)
class MixedOutputs(InducingPoints):
    """Predicts outputs that depend on one another through the functions that they mix.

    ``posterior`` is a `gp.multi_output.MixedPosterior`.
    """

    def functions(self, n_samples, rng):
        """Draw functions; see `Predictor`."""
        return draw_mixed_functions(self.posterior, n_samples, rng)

    def across_outputs(self, inputs, n_jobs):
        """Return means (n, t) and covariances between the outputs of each row, (n, t, t)."""
        return in_chunks(self.posterior.moments, inputs.X, n_jobs)

    def full_joint(self, inputs):
        """Return means (n, t) and covariances of all rows and outputs, (n, n, t, t)."""
        return self.posterior.full_covariance(inputs.X)
