"""Functions drawn from the posterior: random features of the prior plus an update at Z.

Wilson et al. (2020), "Efficiently sampling functions from Gaussian process posteriors";
docs/theory.md, eq. 9.
"""

import numpy as np

from .._linalg import product
from ..kernels._random_features import sample_features

N_FEATURES = 2048


def draw_functions(posterior, n_samples, rng, n_features=N_FEATURES):
    """Draw latent functions from q.

    Parameters
    ----------
    n_features : int
        Random features that stand for the prior.

    Returns
    -------
    functions : PathwiseDraws
    """
    draws = [
        _draw(posterior.prior, precision, posterior.v_mean[:, columns], n_samples, rng, n_features)
        for precision, columns in posterior.by_precision
    ]
    return PathwiseDraws(draws)


def draw_mixed_functions(posterior, n_samples, rng, n_features=N_FEATURES):
    """Draw functions of mixed outputs; parameters as in `draw_functions`.

    Returns
    -------
    functions : MixedDraws
    """
    m, Q = posterior.v_mean.shape
    v = posterior.drawn(rng.standard_normal((Q * m, n_samples)))
    v = np.ascontiguousarray(posterior.v_mean[:, :, None] + v).reshape(m, -1)
    draw = _draw_with(posterior.prior, v, (Q, n_samples), rng, n_features)
    return MixedDraws([draw], posterior.mixing)


def _draw(prior, precision, v_mean, n_samples, rng, n_features):
    """Draw the outputs that share a `Precision`."""
    m, t = v_mean.shape
    v = np.repeat(v_mean, n_samples, axis=1)
    v += product(precision.L_inv, rng.standard_normal((m, t * n_samples)), trans_a=True)
    return _draw_with(prior, v, (t, n_samples), rng, n_features)


def _draw_with(prior, v, shape, rng, n_features):
    """Draw the functions whose whitened inducing values are the columns of ``v``."""
    features = sample_features(prior.kernel, n_features, rng)
    at_Z = features(prior.Z)  # (m, n_features)
    weights = rng.standard_normal((at_Z.shape[1], v.shape[1]))
    # u of the prior draw, with the jitter as its noise
    u = at_Z @ weights + np.sqrt(prior.delta) * rng.standard_normal(v.shape)
    update = product(prior.L_inv, v - product(prior.L_inv, u), trans_a=True)
    return _Draw(prior.kernel, prior.Z, features, weights, update, shape)


class PathwiseDraws:
    """Callable on X (n, d), result (n, t, n_samples), in scaled units.

    Parameters
    ----------
    draws : list of callable
        Each for some of the outputs.
    """

    def __init__(self, draws):
        self.draws = draws

    @property
    def n_features(self):
        """Number of columns of X."""
        return self.draws[0].Z.shape[1]

    def __call__(self, X):
        return np.concatenate([draw(X) for draw in self.draws], axis=1)


class MixedDraws(PathwiseDraws):
    """The same of latent functions, mixed by ``mixing`` (t, Q)."""

    def __init__(self, draws, mixing):
        super().__init__(draws)
        self.mixing = mixing

    def __call__(self, X):
        return np.einsum("tq,nqs->nts", self.mixing, super().__call__(X))


class _Draw:
    def __init__(self, kernel, Z, features, weights, update, shape):
        self.kernel, self.Z, self.features = kernel, Z, features
        self.weights, self.update, self.shape = weights, update, shape

    def __call__(self, X):
        values = self.features(X) @ self.weights
        values += product(self.kernel.block(self.Z, X), self.update, trans_a=True)
        return values.reshape(len(X), *self.shape)
