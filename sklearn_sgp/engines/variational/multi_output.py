"""How q(u) of mixed latent functions is found."""

from ...factors.multi_output import OutputScalars, outputs_by_rows
from ...objectives.multi_output import (
    coregionalised_bound,
    coregionalised_estimate,
    coregionalised_value,
    noise_of_outputs,
    optimal_coregionalised,
    without_means,
)
from ...predict.multi_output import MixedOutputs
from .base import Added
from .inference import (
    ClosedForm,
    ConjugateInference,
    SiteInference,
    in_measured_units,
    nothing_known,
)


def mixed_inference_for(likelihood, n_latent):
    """Return the inference of outputs that mix so many latent functions."""
    if likelihood.conjugate:
        return CoregionalisedInference()
    return MixedSiteInference(likelihood, n_latent)


class CoregionalisedInference(ClosedForm):
    """The `Inference` of Gaussian noise and mixed latent functions: q(u) takes one pass."""

    cost = last_cost = 1
    selection_score = ConjugateInference.selection_score

    @staticmethod
    def predictor(posterior, noise_variance):
        """Return the predictor of a posterior."""
        return MixedOutputs(posterior, noise_variance)

    def objective(self, space, parameters, rows, delta, has_learned, n_jobs, deadline):
        def optimal(prior, sample):
            return _optimal(prior, parameters, sample, n_jobs)[0]

        space = in_measured_units(space, parameters, rows, delta, has_learned, optimal)
        patterns = outputs_by_rows(rows.y)

        def objective(candidate):
            return coregionalised_bound(
                candidate,
                rows,
                delta,
                patterns=patterns,
                with_inputs=space.learns("Z"),
                n_jobs=n_jobs,
            )

        return space, objective, nothing_known

    def pass_task(self, prior, parameters, rows, sample, n_jobs):
        return lambda: _optimal(prior, parameters, sample, n_jobs), 1

    def posterior(self, prior, parameters, rows, n_jobs, seconds):
        q, sums, patterns = _optimal(prior, parameters, rows, n_jobs)
        scalars = OutputScalars.of(rows, sums, patterns, parameters.shares)
        return q, self.bound(q, parameters, scalars), scalars

    def add(self, posterior, parameters, rows, *, scale, is_new, natural_step, gradient, n_jobs):
        asked, sums, patterns = _optimal(posterior.prior, parameters, rows, n_jobs)
        if is_new:
            posterior = posterior.joined(asked)
        else:
            posterior = posterior.towards(asked, natural_step, scale)
        return Added(posterior, None, OutputScalars.of(rows, sums, patterns, parameters.shares))

    def bound(self, posterior, parameters, scalars):
        return coregionalised_value(posterior, scalars, noise_of_outputs(parameters))

    def estimate(self, posterior, parameters, rows, scale, terms):
        _, sums, patterns = _optimal(posterior.prior, parameters, rows, None)
        scalars = OutputScalars.of(rows, sums, patterns, parameters.shares)
        s2 = noise_of_outputs(parameters)
        return coregionalised_estimate(posterior, sums, scalars, patterns, s2, scale)


class MixedSiteInference(SiteInference):
    """The `Inference` of any other likelihood: a site for each target that was observed."""

    @staticmethod
    def predictor(posterior, noise_variance):
        """Return the predictor of a posterior."""
        return MixedOutputs(posterior, noise_variance)


def _optimal(prior, parameters, rows, n_jobs):
    s2, rows = noise_of_outputs(parameters), without_means(rows, parameters)
    return optimal_coregionalised(prior, rows, parameters.mixing, s2, n_jobs)
