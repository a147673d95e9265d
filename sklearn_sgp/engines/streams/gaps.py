"""Independent outputs of a stream of which some are silent: each has its own H from then on."""

from dataclasses import replace

import numpy as np

from ...gp.posterior import Posterior


def telling_outputs_apart(fitted):
    """Return a stream whose outputs have an H each, though they had one for all."""
    parameters, old = fitted.parameters, fitted.posterior
    t = fitted.targets.n_outputs
    if np.ndim(parameters.log_noise) or parameters.mixes_outputs or t == 1:
        return fitted
    parameters = parameters.with_values(log_noise=np.full(t, parameters.log_noise))
    posterior = Posterior(old.prior, old.H * t, old.h)
    predictor = replace(
        fitted.predictor, posterior=posterior, noise_variance=parameters.noise_variance
    )
    start = fitted.start.telling_outputs_apart(t)
    return replace(fitted, start=start, parameters=parameters, predictor=predictor)
