"""Functions drawn from the posterior: random features of the prior plus an update at Z.

Wilson et al. (2020), "Efficiently sampling functions from Gaussian process posteriors";
docs/theory.md, eq. 9.
"""

import numpy as np

from .._linalg import product
from ..kernels._features import prior_features

_N_FEATURES = 2048  # random ones that stand for the prior
# Draws that share random frequencies. What these get wrong averages out over the groups alone: of
# FITC on 900 rows, 4,000 draws, deviations were off by up to 22 % with one set of frequencies for
# all. Sixteen draws miss their own deviation by 18 % on average. Evaluating the features of a
# group takes as long as adding up those of 500 draws.
_DRAWS_AT_A_TIME = 16


def draw_functions(posterior, n_samples, rng):
    """Draw latent functions from q: `PathwiseDraws`."""
    draws = [
        _draw(posterior.prior, precision, posterior.v_mean[:, columns], n_samples, rng)
        for precision, columns in posterior.by_precision
    ]
    return PathwiseDraws(draws)


def draw_mixed_functions(posterior, n_samples, rng):
    """Draw functions of mixed outputs: `MixedDraws`."""
    m, Q = posterior.v_mean.shape
    v = posterior.drawn(rng.standard_normal((Q * m, n_samples)))
    v = np.ascontiguousarray(posterior.v_mean[:, :, None] + v).reshape(m, -1)
    draw = _draw_with(posterior.prior, v, (Q, n_samples), rng)
    return MixedDraws([draw], posterior.mixing)


def _draw(prior, precision, v_mean, n_samples, rng):
    """Draw the outputs that share a `Precision`."""
    m, t = v_mean.shape
    v = np.repeat(v_mean, n_samples, axis=1)
    v += product(precision.L_inv, rng.standard_normal((m, t * n_samples)), trans_a=True)
    return _draw_with(prior, v, (t, n_samples), rng)


def _draw_with(prior, v, shape, rng):
    """Draw the functions whose whitened inducing values are v (m, outputs times draws)."""
    v, parts = v.reshape(len(v), *shape), []  # m is 0 where near rows are all that is known
    update = np.empty_like(v)
    for lo in range(0, shape[1], _DRAWS_AT_A_TIME):
        some = slice(lo, min(lo + _DRAWS_AT_A_TIME, shape[1]))
        own = np.ascontiguousarray(v[:, :, some])
        features, weights, of_some = _group(prior, _columns(own), rng)
        update[:, :, some] = of_some.reshape(own.shape)
        parts.append((some, features, weights))
    return _Draw(prior.kernel, prior.Z, parts, _columns(update), shape)


def _columns(v):
    return v.reshape(len(v), v.shape[1] * v.shape[2])


def _group(prior, v, rng):
    """Draw functions that share frequencies; return features, weights and update at Z."""
    features = prior_features(prior.kernel, _N_FEATURES, rng)
    at_Z = features(prior.Z)  # (m, number of features)
    weights = rng.standard_normal((at_Z.shape[1], v.shape[1]))
    # u of the prior draw, with the jitter as its noise
    u = at_Z @ weights + np.sqrt(prior.delta) * rng.standard_normal(v.shape)
    return features, weights, product(prior.L_inv, v - product(prior.L_inv, u), trans_a=True)


class PathwiseDraws:
    """Callable on X (n, d), result (n, t, n_samples), in scaled units.

    Each of ``draws`` is of some of the outputs.
    """

    def __init__(self, draws):
        self.draws = draws

    @property
    def n_features(self):
        """Number of columns of X."""
        return self.draws[0].kernel.expression.n_features

    def __call__(self, X):
        return np.concatenate([draw(X) for draw in self.draws], axis=1)


class MixedDraws(PathwiseDraws):
    """The same of latent functions, mixed by ``mixing`` (t, Q)."""

    def __init__(self, draws, mixing):
        super().__init__(draws)
        self.mixing = mixing

    def __call__(self, X):
        return np.einsum("tq,nqs->nts", self.mixing, super().__call__(X))


class MovedDraws:
    """Callable as `PathwiseDraws`, with something added to draws.

    ``by`` returns what is added at X, (n, t), or is that of all X, (t, n_samples).
    """

    def __init__(self, functions, by):
        self.functions, self.by = functions, by

    @property
    def n_features(self):
        """Number of columns of X."""
        return self.functions.n_features

    def __call__(self, X):
        return self.functions(X) + (self.by(X)[:, :, None] if callable(self.by) else self.by)


class _Draw:
    def __init__(self, kernel, Z, parts, update, shape):
        self.kernel, self.Z, self.parts = kernel, Z, parts
        self.update, self.shape = update, shape

    def __call__(self, X):
        values = product(self.kernel.block(self.Z, X), self.update, trans_a=True)
        values = values.reshape(len(X), *self.shape)
        for some, features, weights in self.parts:
            values[:, :, some] += (features(X) @ weights).reshape(len(X), self.shape[0], -1)
        return values
