"""GPflow's chained Gaussian process: mean and log standard deviation are functions of the input.

As its tutorial on heteroskedastic likelihoods has it: ``HeteroskedasticTFPConditional`` with an
exponential scale, two latent functions with a squared exponential and inducing inputs each, 20 of
them, Adam steps of 0.01 and natural gradient steps of 0.1 on all rows, in one ``tf.function``.
Inputs and targets are standardised, kernels start at unit variance and length scale, and the log
standard deviation at the prior's mean. In GPflow's favour: its posterior predictive density is
integrated by 40 nodes, and the first step, which compiles, is not counted.
"""

import os
from itertools import count

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # GPflow needs the optimisers of Keras 2

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from meters import train
from protocol import allow, emit, main
from scipy.special import logsumexp, ndtr
from scoring import by_density

_INDUCING, _NODES = 20, 40


def _model(problem):
    d = problem.X.shape[1]
    likelihood = gpflow.likelihoods.HeteroskedasticTFPConditional(
        distribution_class=tfp.distributions.Normal, scale_transform=tfp.bijectors.Exp()
    )
    kernels = [gpflow.kernels.SquaredExponential(lengthscales=np.ones(d)) for _ in range(2)]
    low, high = problem.X.min(axis=0), problem.X.max(axis=0)
    if d == 1:
        Z = np.linspace(low, high, _INDUCING)
    else:
        Z = problem.some(_INDUCING).X
    inputs = gpflow.inducing_variables.SeparateIndependentInducingVariables(
        [gpflow.inducing_variables.InducingPoints(np.array(Z)) for _ in range(2)]
    )
    return gpflow.models.SVGP(
        kernel=gpflow.kernels.SeparateIndependent(kernels),
        likelihood=likelihood,
        inducing_variable=inputs,
        num_latent_gps=likelihood.latent_dim,
    )


def _step(problem, model):
    """Function that takes one step on all rows."""
    data = tf.constant(problem.X), tf.constant(problem.y[:, None])
    loss = model.training_loss_closure(data, compile=False)
    for parameter in (model.q_mu, model.q_sqrt):
        gpflow.set_trainable(parameter, False)
    natural = gpflow.optimizers.NaturalGradient(gamma=0.1)
    adam = tf.optimizers.Adam(0.01)

    @tf.function
    def compiled():
        natural.minimize(loss, [(model.q_mu, model.q_sqrt)])
        adam.minimize(loss, model.trainable_variables)

    return compiled


def _evaluated(problem, model):
    """Scores by the density of y, whose log standard deviation is normal."""
    mean, variance = (part.numpy() for part in model.predict_f(problem.X_test))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    log_sd = mean[:, 1:] + np.sqrt(variance[:, 1:]) * nodes
    sd = np.sqrt(variance[:, :1] + np.exp(2.0 * log_sd))
    z = (problem.y_test[:, None] - mean[:, :1]) / sd
    weights = weights / weights.sum()
    log_density = -0.5 * z**2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    density = logsumexp(log_density + np.log(weights), axis=1)
    below = ndtr(z) @ weights
    return by_density(problem.y_test, mean[:, 0], density, (below >= 0.05) & (below <= 0.95))


def curve(problem, *, seconds):
    """Test scores at growing intervals of training time; evaluation is not counted."""
    allow(seconds=seconds)
    model, numbers = _model(problem), count()

    def evaluated():
        return {"problem": problem.name, "number": next(numbers), **_evaluated(problem, model)}

    train(_step(problem, model), evaluated, seconds)


def versions(_):
    emit(tensorflow_probability=tfp.__version__)


if __name__ == "__main__":
    main([curve, versions])
