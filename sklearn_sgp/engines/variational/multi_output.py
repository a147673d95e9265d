"""How q(u) of mixed latent functions is found; methods as those of `ConjugateInference`."""

from ...factors.multi_output import OutputScalars, outputs_by_rows
from ...gp.prior import Prior
from ...gp.several_kernels import priors_of_terms
from ...objectives.multi_output import (
    coregionalised_bound,
    coregionalised_value,
    noise_of_outputs,
    optimal_coregionalised,
    without_means,
)
from ...predict.multi_output import MixedOutputs
from .inference import Added, ConjugateInference, in_measured_units


class CoregionalisedInference:
    """Gaussian noise and mixed latent functions: the optimal q(u) takes one pass.

    Parameters
    ----------
    n_kernels : int
        Of the latent functions: 1, or one for each, which are the last terms of the kernel.
    """

    cost = last_cost = 1
    kept = None  # no q(u) has to be remembered
    worth = ConjugateInference.worth

    def __init__(self, n_kernels=1):
        self.n_kernels = n_kernels

    @staticmethod
    def predictor(posterior, noise_variance):
        """Return the predictor of a posterior."""
        return MixedOutputs(posterior, noise_variance)

    def objective(self, space, parameters, rows, delta, has_learned, n_jobs, deadline):
        def optimal(prior, sample):
            return self._optimal(prior, parameters, sample, n_jobs)[0]

        space = in_measured_units(space, parameters, rows, delta, has_learned, optimal)
        patterns, deltas = outputs_by_rows(rows.y), delta
        if self.n_kernels > 1:
            prior = Prior.build(parameters.kernel, parameters.Z, delta)
            deltas = [one.delta for one in priors_of_terms(prior, self.n_kernels)]

        def objective(candidate):
            return coregionalised_bound(
                candidate,
                rows,
                deltas,
                patterns=patterns,
                with_inputs=space.learns("Z"),
                n_jobs=n_jobs,
            )

        return space, objective

    def pass_task(self, prior, parameters, rows, sample, n_jobs):
        return lambda: self._optimal(prior, parameters, sample, n_jobs), 1

    def _optimal(self, prior, parameters, rows, n_jobs):
        return _optimal(priors_of_terms(prior, self.n_kernels), parameters, rows, n_jobs)

    def posterior(self, prior, parameters, rows, n_jobs, seconds):
        q, sums, patterns = self._optimal(prior, parameters, rows, n_jobs)
        scalars = OutputScalars.of(rows, sums, patterns)
        return q, self.bound(q, parameters, scalars), scalars

    def keep_q(self, q, weight):
        """Nothing has to be remembered: the last q(u) is known in closed form."""

    def add(self, posterior, parameters, rows, *, scale, is_new, natural_step, gradient, n_jobs):
        asked, sums, patterns = _optimal(posterior.priors, parameters, rows, n_jobs)
        if is_new:
            posterior = posterior.joined(asked)
        else:
            posterior = posterior.towards(asked, natural_step, scale)
        return Added(posterior, None, OutputScalars.of(rows, sums, patterns))

    def bound(self, posterior, parameters, scalars):
        """The collapsed bound from the scalar sums of all rows."""
        return coregionalised_value(posterior, scalars, noise_of_outputs(parameters))

    def estimate(self, posterior, parameters, rows, scale, terms):
        """The bound of some rows, each of which counts ``scale`` times."""
        _, sums, patterns = _optimal(posterior.priors, parameters, rows, None)
        scalars = OutputScalars.of(rows, sums, patterns)
        asked = posterior.scaled(1.0 / scale)
        return scale * self.bound(asked, parameters, scalars)


def _optimal(priors, parameters, rows, n_jobs):
    s2, rows = noise_of_outputs(parameters), without_means(rows, parameters)
    return optimal_coregionalised(priors, rows, parameters.mixing, s2, n_jobs)
