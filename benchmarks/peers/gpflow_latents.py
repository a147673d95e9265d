"""GPflow's `BayesianGPLVM` by L-BFGS, from principal components like ours.

Start: components of unit variance, variances of 0.5, length scales in inverse proportion to the
components' sizes, noise of 0.01, inducing inputs at random rows. The bound is for columns as they
are; everyone has them standardised.
"""

import numpy as np
from meters import Stopwatch
from protocol import allow, emit, main

from peers.gpflow_regression import MAX_ITER, gpflow, minimise  # it sets their environment


def bound(problem, *, seconds, n_components, n_inducing):
    """The bound as L-BFGS goes, each time that it has gained a second."""
    allow(seconds=seconds, max_iter=MAX_ITER)
    Y, rng = problem.X, np.random.default_rng(0)
    U, s, _ = np.linalg.svd(Y - Y.mean(axis=0), full_matrices=False)
    mean = np.sqrt(len(Y)) * U[:, :n_components]
    kernel = gpflow.kernels.SquaredExponential(
        variance=1.0, lengthscales=np.minimum(s[0] / s[:n_components], 30.0)
    )
    model = gpflow.models.BayesianGPLVM(
        Y,
        X_data_mean=mean,
        X_data_var=np.full(mean.shape, 0.5),
        kernel=kernel,
        inducing_variable=mean[rng.permutation(len(Y))[:n_inducing]],
    )
    model.likelihood.variance.assign(0.01)
    watch, due = None, 0.0

    def over():
        nonlocal watch, due
        watch = watch or Stopwatch()  # the first iteration compiles and is not counted
        now = watch.seconds()
        if now < min(due, seconds):
            return False
        with watch.paused():
            emit(problem=problem.name, seconds=now, bound=float(model.elbo().numpy()))
        due = now + 1.0
        return now >= seconds

    minimise(model, model.training_loss, over)


if __name__ == "__main__":
    main([bound])
