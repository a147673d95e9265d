"""Functions drawn from the posterior: random features of the prior plus an update at Z.

Wilson et al. (2020), "Efficiently sampling functions from Gaussian process posteriors";
docs/theory.md, eq. 9.
"""

import numpy as np

from ..kernels._random_features import sample_features
from .latents import Latents
from .._linalg import product

N_FEATURES = 2048


def draw_functions(posterior, n_samples, rng, n_features=N_FEATURES):
    """Draw latent functions from q.

    Parameters
    ----------
    posterior : Posterior or Latents
    n_samples : int
    rng : numpy.random.RandomState
    n_features : int
        Random features that stand for the prior.

    Returns
    -------
    paths : PathwiseDraws
    """
    if isinstance(posterior, Latents):
        return _Apart([draw_functions(each, n_samples, rng) for each in posterior.posteriors])
    prior, (m, t) = posterior.prior, posterior.h.shape
    features = sample_features(prior.kernel, n_features, rng)
    at_Z = features(prior.Z)
    weights = rng.standard_normal((at_Z.shape[1], t * n_samples))
    # u of the prior draw, jitter as its noise; v of the posterior draw
    u = at_Z @ weights + np.sqrt(prior.delta) * rng.standard_normal((m, t * n_samples))
    v = np.repeat(posterior.v_mean, n_samples, axis=1)
    v += product(posterior.LB_inv, rng.standard_normal((m, t * n_samples)), trans_a=True)
    update = product(prior.L_inv, v - product(prior.L_inv, u), trans_a=True)
    return PathwiseDraws(prior.kernel, prior.Z, features, weights, update, (t, n_samples))


class PathwiseDraws:
    """Callable on X (n, d), result (n, t, n_samples), in scaled units."""

    def __init__(self, kernel, Z, features, weights, update, shape):
        self.kernel, self.Z, self.features = kernel, Z, features
        self.weights, self.update, self.shape = weights, update, shape

    def __call__(self, X):
        values = self.features(X) @ self.weights
        values += product(self.kernel.block(self.Z, X), self.update, trans_a=True)
        return values.reshape(len(X), *self.shape)


class _Apart:
    """Draws of latent functions one by one, result (n, C, n_samples)."""

    def __init__(self, draws):
        self.draws = draws

    def __call__(self, X):
        return np.concatenate([draw(X) for draw in self.draws], axis=1)
