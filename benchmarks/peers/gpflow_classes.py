"""GPflow's SVGP for classes; kernel, start and steps as in gpflow_regression.py.

Two classes: ``Bernoulli``, probit with 1e-3 of either class, expectations by Gauss-Hermite, class
probabilities in closed form. More: ``Softmax``, whose expectations GPflow takes by Monte Carlo, 100
draws a row in training as by default; for scores, off the clock, 1,000, as fewer lower its
log probability. All scores come from ``predict_y``.

Curves take natural gradient steps on q(u): after 20 s with m = 100 pendigits had a log probability
of -0.126 with them and of -0.150 with Adam on q(u); on elec2 both went up and down alike. Fits of
small sets take L-BFGS: after 25 s on ionosphere its bound was -67.0, that of natural gradients with
Adam on all rows -69.6.
"""

from dataclasses import replace

import numpy as np
from meters import Allowance, median_seconds, train
from protocol import allow, emit, main
from scoring import class_scores

from peers.gpflow_regression import (  # it sets their environment
    MAX_ITER,
    gpflow,
    minimise,
    svgp,
    svgp_step,
    tf,
)

_CHUNK, _DRAWS = 1000, 1000


def _model(problem):
    """The model, and the problem with labels of the type that its likelihood takes."""
    tf.random.set_seed(0)
    n_classes = int(problem.y.max()) + 1
    if n_classes > 2:
        return svgp(problem, gpflow.likelihoods.Softmax(n_classes), n_classes), problem
    problem = replace(problem, y=problem.y.astype(float))
    return svgp(problem, gpflow.likelihoods.Bernoulli()), problem


def _probability(problem, model):
    parts = [
        model.predict_y(problem.X_test[lo : lo + _CHUNK])[0].numpy()
        for lo in range(0, len(problem.X_test), _CHUNK)
    ]
    probability = np.concatenate(parts)
    return probability if probability.shape[1] > 1 else np.hstack([1.0 - probability, probability])


def _evaluated(problem, model):
    likelihood = model.likelihood
    if not isinstance(likelihood, gpflow.likelihoods.Softmax):
        return class_scores(problem.y_test, _probability(problem, model))
    in_training, likelihood.num_monte_carlo_points = likelihood.num_monte_carlo_points, _DRAWS
    found = class_scores(problem.y_test, _probability(problem, model))
    likelihood.num_monte_carlo_points = in_training
    return found


def curve(problem, *, seconds, natural_gradients=True):
    """Test scores at growing intervals of training time; evaluation is not counted."""
    steps = "natural gradients and Adam" if natural_gradients else "Adam"
    allow(seconds=seconds, steps=steps)
    model, typed = _model(problem)
    step = svgp_step(typed, model, natural_gradients)
    train(step, lambda: _evaluated(problem, model), seconds)


def fit(problem, *, seconds):
    """All parameters by L-BFGS on all rows, until it ends or the time does: test scores."""
    allow(seconds=seconds, max_iter=MAX_ITER)
    model, typed = _model(problem)
    data, allowance = (typed.X, typed.y[:, None]), Allowance(seconds)

    def loss():
        return model.training_loss(data)

    converged, n_iter = minimise(model, loss, allowance.over)
    emit(
        problem=problem.name,
        seconds=allowance.seconds(),
        converged=converged,
        n_iter=n_iter,
        bound=-loss().numpy(),
        **_evaluated(problem, model),
    )


def class_step(problem, *, repeats):
    """Seconds of a stochastic step."""
    model, typed = _model(problem)
    emit(seconds=median_seconds(svgp_step(typed, model), repeats, 10))


if __name__ == "__main__":
    main([curve, fit, class_step])
