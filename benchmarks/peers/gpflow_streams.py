"""Bui, Nguyen & Turner (2017) on GPflow's kernels and parameters, from the paper's equations.

What is carried is q(a) = N(m, S) and the old prior's K'_aa. With D = (inv(S) - inv(K'_aa))^-1 the
old data are observations D inv(S) m of a with noise D, the bound and q(b) are the collapsed ones of
all observations (the paper's 6 to 9). D itself cancels, only its inverse is needed, which spares an
inversion. Of the inducing inputs a random 70 % stay with each batch, random rows replace the rest;
then L-BFGS moves them, kernel and noise.

Two ways to learn: "compiled once" for batches of any size, in its favour, the first batch, which
compiles it, not timed; and "compiled anew", as ``gpflow.optimizers.Scipy`` does with the loss of
each new batch. Also in its favour: where a Cholesky factorisation fails the whole stream is run
again with ten times the jitter. Inputs and targets are standardised by the first batch; start as in
gpflow_regression.py. float64.
"""

import time
from functools import partial

import numpy as np
from problems.batches import stream_batches
from problems.streams import fresh_plane, line, line_rmse, plane
from protocol import allow, emit, main
from scipy.optimize import minimize
from scoring import scores

from peers.gpflow_regression import gpflow, starting_kernel, tf  # it sets their environment

_ONCE, _ANEW = "compiled once", "compiled anew"
_KEPT = 0.7
_JITTERS = (1e-6, 1e-5, 1e-4, 1e-3)
_MATRIX, _COLUMN = (tf.TensorSpec([None, n], tf.float64) for n in (None, 1))


def _root(matrix):
    return tf.linalg.cholesky(matrix)


def _solved(root, right):
    return tf.linalg.triangular_solve(root, right)


def _log_det(root):
    return 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(root)))


class _Stream(gpflow.Module):
    """One stream; ``partial_fit`` and ``predict`` as of an estimator."""

    def __init__(self, n_inducing, max_iter, jitter, seed, way=_ONCE):
        super().__init__()
        self._ascend = self._ascend_compiled if way == _ONCE else self._ascend_anew
        self._m, self._max_iter, self._jitter = n_inducing, max_iter, jitter
        self._rng = np.random.default_rng(seed)
        self._old = None

    def partial_fit(self, X, y):
        if self._old is None:
            self._scale = X.mean(axis=0), X.std(axis=0), y.mean(), y.std()
        X, y = self._inputs(X), ((y - self._scale[2]) / self._scale[3])[:, None]
        if self._old is None:
            self._begin(X)
        else:
            Z = self._Z.numpy()
            stay = self._rng.permutation(len(Z))[: round(_KEPT * len(Z))]
            self._Z.assign(np.vstack([Z[stay], self._rows(X, len(Z) - len(stay))]))
        data = (tf.constant(X), tf.constant(y), *self._old)
        self.n_iter = self._ascend(data).nit
        self._old = self._next(*data)
        return self

    def predict(self, X, return_std=False):
        X, (shift, scale) = tf.constant(self._inputs(X)), self._scale[2:]
        mean = self._mean(X).numpy()[:, 0] * scale + shift
        return (mean, self._std(X).numpy() * scale) if return_std else mean

    def _inputs(self, X):
        return (X - self._scale[0]) / self._scale[1]

    def _rows(self, X, count):
        return X[self._rng.permutation(len(X))[:count]]

    def _begin(self, X):
        d = X.shape[1]
        self._kernel = starting_kernel(d)
        self._noise = gpflow.Parameter(0.1, transform=gpflow.utilities.positive(lower=1e-6))
        self._Z = gpflow.Parameter(self._rows(X, self._m))
        # nothing is known of no inputs: a, inv(D), inv(S) m, and the constant of the bound
        self._old = tuple(tf.zeros(shape, tf.float64) for shape in ((0, d), (0, 0), (0, 1), ()))
        signature = [_MATRIX, _COLUMN, _MATRIX, _MATRIX, _COLUMN, tf.TensorSpec([], tf.float64)]
        self._compiled = tf.function(self._value_and_gradient, input_signature=signature)

    def _prior_root(self):
        m = self._Z.shape[0]
        return _root(
            self._kernel(self._Z)
            + self._jitter * self._kernel.variance * tf.eye(m, dtype=tf.float64)
        )

    def _parts(self, X, y, a, D_inverse, S_inverse_m):
        """Roots of K_bb and of I + its information, whitened, and what else the bound needs."""
        L = self._prior_root()
        rows, old = _solved(L, self._kernel(self._Z, X)), _solved(L, self._kernel(self._Z, a))
        information = tf.matmul(rows, rows, transpose_b=True) / self._noise
        information += old @ tf.matmul(D_inverse, old, transpose_b=True)
        LB = _root(information + tf.eye(tf.shape(L)[0], dtype=tf.float64))
        c = _solved(LB, rows @ y / self._noise + old @ S_inverse_m)
        return L, rows, old, LB, c

    def _bound(self, X, y, a, D_inverse, S_inverse_m, constant):
        _, rows, old, LB, c = self._parts(X, y, a, D_inverse, S_inverse_m)
        n = tf.cast(tf.shape(X)[0], tf.float64)
        lost = tf.reduce_sum(self._kernel(X, full_cov=False)) - tf.reduce_sum(rows**2)
        lost_of_old = self._kernel(a) - tf.matmul(old, old, transpose_a=True)
        value = -n * tf.math.log(2.0 * np.pi * self._noise) - tf.reduce_sum(y**2) / self._noise
        value += tf.reduce_sum(c**2) - _log_det(LB) - lost / self._noise
        return 0.5 * (value - tf.reduce_sum(D_inverse * lost_of_old)) + constant

    def _value_and_gradient(self, *data):
        with tf.GradientTape() as tape:
            loss = -self._bound(*data)
        return loss, tape.gradient(loss, self.trainable_variables)

    def _ascend_anew(self, data):
        return gpflow.optimizers.Scipy().minimize(
            lambda: -self._bound(*data), self.trainable_variables, options=self._options()
        )

    def _options(self):
        return {"maxiter": self._max_iter, "ftol": 0.0, "gtol": 0.0}

    def _ascend_compiled(self, data):
        variables = self.trainable_variables
        shapes = [variable.shape for variable in variables]
        edges = np.cumsum([shape.num_elements() for shape in shapes])[:-1]

        def assign(vector):
            for variable, part, shape in zip(
                variables, np.split(vector, edges), shapes, strict=True
            ):
                variable.assign(part.reshape(shape))

        def loss(vector):
            assign(vector)
            value, gradient = self._compiled(*data)
            return value.numpy(), np.concatenate([part.numpy().ravel() for part in gradient])

        start = np.concatenate([variable.numpy().ravel() for variable in variables])
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=self._options())
        assign(found.x)
        return found

    def _next(self, X, y, a, D_inverse, S_inverse_m, constant):
        """q(b) by its mean and covariance, and what the next batch needs of them."""
        L, _, _, LB, c = self._parts(X, y, a, D_inverse, S_inverse_m)
        P = tf.linalg.triangular_solve(LB, tf.linalg.matrix_transpose(L))
        m, S = tf.matmul(P, c, transpose_a=True), tf.matmul(P, P, transpose_a=True)
        self._weights, self._roots = tf.linalg.cholesky_solve(L, m), (L, LB)
        S_root, eye = _root(S), tf.eye(self._m, dtype=tf.float64)
        S_inverse_m = tf.linalg.cholesky_solve(S_root, m)
        D_inverse = tf.linalg.cholesky_solve(S_root, eye) - tf.linalg.cholesky_solve(L, eye)
        constant = 0.5 * (_log_det(L) - _log_det(S_root) - tf.reduce_sum(m * S_inverse_m))
        return tf.constant(self._Z.numpy()), D_inverse, S_inverse_m, constant

    def _mean(self, X):
        return self._kernel(X, self._Z) @ self._weights

    def _std(self, X):
        """Of an observation."""
        L, LB = self._roots
        rows = _solved(L, self._kernel(self._Z, X))
        explained = tf.reduce_sum(rows**2, 0) - tf.reduce_sum(_solved(LB, rows) ** 2, 0)
        return tf.sqrt(self._kernel(X, full_cov=False) - explained + self._noise)


def _surviving(run):
    """What ``run(jitter)`` found with the least jitter with which it ended, or the last error."""
    for jitter in _JITTERS:
        try:
            return {"jitter": jitter, **run(jitter)}
        except (tf.errors.InvalidArgumentError, np.linalg.LinAlgError, ValueError) as error:
            found = {"jitter": jitter, "error": f"{type(error).__name__}: {str(error)[:300]}"}
    return found


def speed(_, *, first, size, repeats, n_inducing, max_iter, warm_up=3):
    """Median seconds of a batch, for both ways to learn."""
    allow(max_iter=max_iter, repeats=repeats)
    X, y = plane(first + (repeats + warm_up) * size)

    def run(way, jitter):
        model, seconds, iterations = _Stream(n_inducing, max_iter, jitter, 0, way), [], []
        for rows in stream_batches(len(X), first, size):
            begin = time.perf_counter()
            model.partial_fit(X[rows], y[rows])
            seconds.append(time.perf_counter() - begin)
            iterations.append(model.n_iter)
        fresh, truth = fresh_plane()
        return {
            "seconds": np.median(seconds[1 + warm_up :]),
            "iterations": np.mean(iterations[1 + warm_up :]),
            **scores(truth, *model.predict(fresh, return_std=True)),
        }

    for way in (_ONCE, _ANEW):
        emit(way=way, **_surviving(partial(run, way)))


def line_errors(_, *, n, first, size, seeds, n_inducing, max_iter):
    """RMSE to the true function after a stream from left to right."""
    allow(max_iter=max_iter, seeds=seeds)

    def run(seed, jitter):
        X, y = line(n, seed)
        model = _Stream(n_inducing, max_iter, jitter, seed)
        for rows in stream_batches(n, first, size):
            model.partial_fit(X[rows], y[rows])
        rmse = line_rmse(model.predict)
        if not np.isfinite(rmse):
            raise ValueError("The predictions must be finite.")
        return {"rmse": rmse}

    for seed in range(seeds):
        emit(seed=seed, **_surviving(partial(run, seed)))


if __name__ == "__main__":
    main([speed, line_errors])
