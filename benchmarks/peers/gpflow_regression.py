"""GPflow as its documentation uses it.

SVGP: whitened; Adam steps of 0.01 on kernel, noise and inducing inputs alternate with natural
gradient steps of 0.1 on q(u), in one ``tf.function``. SGPR: ``gpflow.optimizers.Scipy`` with
L-BFGS-B, compiled. Start: the problem's inducing inputs, unit variance, length scales sqrt(d),
noise 0.1, like ours. float64. In GPflow's favour: minibatches are gathered by index inside the
compiled step rather than through a ``tf.data`` pipeline, and the first step, which compiles, is not
counted.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # GPflow needs the optimisers of Keras 2

import gpflow
import numpy as np
import tensorflow as tf
from meters import Allowance, Evaluations, median_seconds, train
from problems.batches import minibatches
from protocol import allow, emit, main
from scoring import scores

BATCH = 1000
# Iterations of L-BFGS; time ends it first, or its own criterion does
MAX_ITER = 10_000
_EVALUATION_CHUNK = 10_000


def starting_kernel(d):
    return gpflow.kernels.SquaredExponential(variance=1.0, lengthscales=np.full(d, np.sqrt(d)))


def svgp(problem, likelihood, n_latent=1):
    """Whitened; latent functions share kernel and inducing inputs."""
    return gpflow.models.SVGP(
        starting_kernel(problem.X.shape[1]),
        likelihood,
        problem.Z,
        num_latent_gps=n_latent,
        num_data=len(problem.y),
        whiten=True,
    )


def _svgp(problem):
    likelihood = gpflow.likelihoods.Gaussian(variance=0.1)
    return svgp(problem, likelihood)


def _sgpr(problem, rows=None):
    data = (problem.X[:rows], problem.y[:rows, None])
    return gpflow.models.SGPR(
        data, starting_kernel(problem.X.shape[1]), inducing_variable=problem.Z, noise_variance=0.1
    )


def svgp_step(problem, model, natural_gradients=True):
    """Function that takes one stochastic step; without natural gradients Adam moves q(u) too."""
    for parameter in (model.q_mu, model.q_sqrt):
        gpflow.set_trainable(parameter, not natural_gradients)
    X, y = tf.constant(problem.X), tf.constant(problem.y[:, None])
    natural = gpflow.optimizers.NaturalGradient(gamma=0.1)
    adam = tf.optimizers.Adam(0.01)

    @tf.function
    def compiled(index):
        batch = tf.gather(X, index), tf.gather(y, index)

        def loss():
            return model.training_loss(batch)

        adam.minimize(loss, var_list=model.trainable_variables)
        if natural_gradients:
            natural.minimize(loss, var_list=[(model.q_mu, model.q_sqrt)])

    indices = minibatches(len(problem.y), BATCH)
    return lambda: compiled(tf.constant(next(indices)))


def _evaluated(problem, model):
    posterior = model.posterior()
    means, variances = [], []
    for lo in range(0, len(problem.X_test), _EVALUATION_CHUNK):
        mean, variance = posterior.predict_f(problem.X_test[lo : lo + _EVALUATION_CHUNK])
        means.append(mean.numpy()[:, 0])
        variances.append(variance.numpy()[:, 0])
    variance = np.concatenate(variances) + float(model.likelihood.variance.numpy())
    return scores(problem.y_test, np.concatenate(means), np.sqrt(variance))


class _TimeIsUp(Exception):
    """Leaves scipy's minimiser."""


def minimise(model, loss, over):
    """L-BFGS until its own end, or until ``over``, called after each iteration, says so.

    Returns
    -------
    converged : bool
        Whether it came to its own end.
    n_iter : int
    """
    n_iter = 0

    def callback(step, variables, values):
        nonlocal n_iter
        n_iter += 1
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        if over():
            raise _TimeIsUp

    try:
        gpflow.optimizers.Scipy().minimize(
            loss,
            model.trainable_variables,
            method="L-BFGS-B",
            step_callback=callback,
            # both are counted: a line search takes several evaluations
            options={"maxiter": MAX_ITER, "maxfun": 2 * MAX_ITER},
        )
    except _TimeIsUp:
        return False, n_iter
    return True, n_iter


def curve(problem, *, seconds, model="svgp"):
    """Test scores at growing intervals of training time; evaluation is not counted.

    SGPR's compilation cannot be told from its first iteration and is counted, a few seconds.
    """
    if model == "svgp":
        allow(seconds=seconds)
        model = _svgp(problem)
        train(svgp_step(problem, model), lambda: _evaluated(problem, model), seconds)
        return
    allow(seconds=seconds, max_iter=MAX_ITER)
    model = _sgpr(problem)
    evaluations = Evaluations(lambda: _evaluated(problem, model), seconds)
    if minimise(model, model.training_loss, evaluations.over)[0]:
        evaluations.report()


def fit(problem, *, seconds):
    """SGPR by L-BFGS until it ends, or the time does: test scores."""
    allow(seconds=seconds, max_iter=MAX_ITER)
    _fit(problem, seconds)


def fit_some(problem, *, seconds, max_rows):
    """The same on so many random rows at most: all of K(Z, X) and its gradient are in memory."""
    allow(seconds=seconds, max_iter=MAX_ITER, max_rows=max_rows)
    _fit(problem.some(max_rows), seconds)


def _fit(problem, seconds):
    model, allowance = _sgpr(problem), Allowance(seconds)
    converged, n_iter = minimise(model, model.training_loss, allowance.over)
    emit(
        problem=problem.name,
        seconds=allowance.seconds(),
        rows=len(problem.y),
        converged=converged,
        n_iter=n_iter,
        **_evaluated(problem, model),
    )


def micro(problem, *, repeats, evaluation_rows):
    """A stochastic step of SVGP; an SGPR objective with its gradient."""
    allow(repeats=repeats)
    step = svgp_step(problem, _svgp(problem))
    emit(part="step", seconds=median_seconds(step, repeats, 10))
    model = _sgpr(problem, evaluation_rows)

    @tf.function
    def value_and_gradient():
        with tf.GradientTape() as tape:
            loss = model.training_loss()
        return loss, tape.gradient(loss, model.trainable_variables)

    emit(part="collapsed", seconds=median_seconds(value_and_gradient, max(3, repeats // 10)))


def predict(problem, *, rows, chunk):
    """Rows per second of ``predict_y``, and of the cached posterior (the faster way to call it)."""
    model = _svgp(problem)
    X = np.resize(problem.X_test, (rows, problem.X.shape[1]))
    posterior = model.posterior()
    compiled = tf.function(posterior.predict_f)

    def rate(function):
        def in_chunks():
            for lo in range(0, rows, chunk):
                mean, variance = function(tf.constant(X[lo : lo + chunk]))
                mean.numpy(), np.sqrt(variance.numpy())

        return rows / median_seconds(in_chunks, 3, 1)

    emit(way="predict_y", rows_per_second=rate(model.predict_y))
    emit(way="posterior", rows_per_second=max(rate(posterior.predict_f), rate(compiled)))


def versions(_):
    emit(gpflow=gpflow.__version__, tensorflow=tf.__version__, numpy=np.__version__)


if __name__ == "__main__":
    main([curve, fit, fit_some, micro, predict, versions])
