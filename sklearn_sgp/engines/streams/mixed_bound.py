"""The online bound of outputs that mix latent functions, jointly over these.

What the past says is kept for each output by itself: its rows do not know the mixing, which later
batches may change (docs/theory.md, eqs. 81 and 82).
"""

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...factors.gradients import BlockGradient, GradientSums, noise_gradient
from ...factors.multi_output import (
    OutputScalars,
    output_sums,
    output_sums_gradient,
    outputs_by_rows,
    product_with_blocks,
)
from ...factors.passes import Pieces
from ...gp.multi_output import CoregionalisedPosterior
from ...gp.posterior import Posterior
from ...objectives.multi_output import coregionalised_value, noise_of_outputs, sums_cotangent
from .old_posterior import OldPosteriorFactor, OutputProjection, Projection
from .online_bound import OnlineBound


class MixedOnlineBound(OnlineBound):
    """Gaussian noise, variational; targets that are NaN are left out.

    Parameters as those of the base; ``old`` has an H for each output.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.patterns = outputs_by_rows(self.rows.y)

    def posterior(self, parameters):
        """Find the optimal q(u), with what is known of each output, and the bound."""
        prior = self.prior(parameters)
        return self._at(prior, parameters, self._pieces(prior))[:2]

    def _pieces(self, prior):
        return Pieces.of_rows(self.rows, len(prior.Z), self.n_jobs)

    def _factors(self, prior, mixing):
        """Return how old inducing values follow from new ones, and old factors of the outputs."""
        if self.old is None:
            return None, []
        projection = Projection(prior, self.old.prior, self.kept)
        own = (OutputProjection(projection, float(weights @ weights)) for weights in mixing)
        return projection, [
            OldPosteriorFactor(one, self.old, p, self.power) for p, one in enumerate(own)
        ]

    def _at(self, prior, parameters, pieces):
        W, s2 = parameters.mixing, noise_of_outputs(parameters)
        sums = output_sums(prior, pieces, self.patterns)
        scalars = OutputScalars.of(self.rows, sums, self.patterns, parameters.shares)
        projection, factors = self._factors(prior, W)
        base, constant = self._base(prior, factors)
        outputs = _of_rows(prior, sums, self.patterns, s2)
        if base is not None:
            outputs = outputs.joined(base)
        q = CoregionalisedPosterior.from_outputs(outputs, W)
        value = coregionalised_value(q, scalars, s2) + constant
        if not np.isfinite(value):
            raise NotPositiveDefiniteError("the online bound is not finite")
        return q, value, (projection, factors, base), (sums, scalars)

    def __call__(self, parameters):
        """Compute value and gradient."""
        prior, s2 = self.prior(parameters), noise_of_outputs(parameters)
        pieces = self._pieces(prior)
        q, value, past, (sums, scalars) = self._at(prior, parameters, pieces)
        cotangent, mixing, log_noise = sums_cotangent(q, sums, scalars, self.patterns, s2)
        theta, Z = output_sums_gradient(
            prior, pieces, self.patterns, cotangent, with_inputs=self.with_inputs
        )
        AAt = product_with_blocks(cotangent, sums)
        noise = noise_gradient(parameters.noise_variance, log_noise)
        total = GradientSums(value, theta, noise, Z, AAt, {"mixing": mixing})
        if self.old is not None:
            total += _past_gradient(q, *past, self.with_inputs)
        return value, total.gradient(prior, self.with_inputs)


def _of_rows(prior, sums, patterns, noise_variance):
    """Return a `Posterior` with what rows say about each output by itself."""
    H = [None] * len(noise_variance)
    for own, gram in zip(patterns, sums.gram, strict=True):
        for p in own:
            H[p] = gram / noise_variance[p]
    return Posterior(prior, tuple(H), sums.cross / noise_variance)


def _past_gradient(q, projection, factors, base, with_inputs):
    """Sum gradients of the expected logarithms of the outputs' old factors."""
    value, in_A, in_K, mixing = 0.0, 0.0, 0.0, np.empty_like(q.mixing)
    for p, (weights, factor) in enumerate(zip(q.mixing, factors, strict=True)):
        mean = np.ascontiguousarray((q.v_mean @ weights)[:, None])
        covariance = q.covariance_sum(np.outer(weights, weights))
        one, in_W, in_loss = factor.expectation(mean, covariance)
        through_loss = float(np.vdot(in_loss, projection.loss))
        mixing[p] = 2.0 * (q.information_dots(base.H[p]) @ weights + through_loss * weights)
        mixing[p] += q.v_mean.T @ base.h[:, p]
        A_part, K_part = factor.projection.cotangents(in_W, in_loss)
        value, in_A, in_K = value + one, in_A + A_part, in_K + K_part
    sums = projection.pull_back(BlockGradient(value, in_A, in_K, 0.0), with_inputs)
    sums.others["mixing"] = mixing
    return sums
