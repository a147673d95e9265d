"""Where q(x) starts: probabilistic principal components, or the map of an earlier fit."""

from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from ...latents.passes import InputPosteriors
from ...latents.row_posteriors import find_inputs
from ..fingerprints import structure

# Most iterations of expectation maximisation, and the relative change of the noise that ends it.
_EM_ITERATIONS, _EM_TOL = 50, 1e-4
# Rows whose matrices (Q, Q) exist together.
_MOMENT_ROWS = 4096


class PrincipalComponents:
    """Probabilistic principal components of a table (Tipping & Bishop 1999).

    Complete tables have them in closed form, others by expectation maximisation. Axes are turned
    so that the latent inputs of the training rows are uncorrelated, the most relevant first.

    Parameters
    ----------
    W : ndarray of shape (P, Q)
    noise_variance : float
        Variance of a scaled output that the components leave.
    """

    def __init__(self, W, noise_variance):
        self.W, self.noise_variance = W, noise_variance

    @classmethod
    def fit(cls, table, Q, rng):
        """Find the components of a table whose scaled columns have mean zero or nearly so."""
        n, P = len(table), table.Y.shape[1]
        Y, observed = table.piece(slice(None))
        kept = min(Q, P)
        covariance = Y.T @ Y / n
        values, vectors = eigh(covariance, subset_by_index=(P - kept, P - 1))
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        rest = (np.trace(covariance) - values.sum()) / max(P - kept, 1)
        noise = float(np.clip(rest, 1e-6, None)) if P > kept else 1e-2
        # signs of eigenvectors are arbitrary
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(kept)])
        W = vectors * signs * np.sqrt(np.maximum(values - noise, 1e-3 * values[0] + 1e-12))
        if kept < Q:  # more latent dimensions than outputs
            W = np.hstack([W, 1e-2 * rng.normal(size=(P, Q - kept))])
        components = cls(W, noise)
        return components if observed.all() else components._maximised(Y, observed)

    def _maximised(self, Y, observed):
        """Go on by expectation maximisation."""
        W, noise, before = self.W, max(self.noise_variance, 1e-2), np.inf
        Q = W.shape[1]
        for _ in range(_EM_ITERATIONS):
            mean, second = _moments(W, noise, Y, observed)
            flat = second.reshape(len(Y), -1)
            each = (observed.T @ flat).reshape(-1, Q, Q) + 1e-6 * len(Y) * np.eye(Q)
            cross = Y.T @ mean  # (P, Q)
            W = np.linalg.solve(each, cross[:, :, None])[:, :, 0]
            error = (Y * Y).sum() - 2.0 * (W * cross).sum()
            error += np.einsum("pq,pqr,pr->", W, (observed.T @ flat).reshape(-1, Q, Q), W)
            noise = max(float(error / observed.sum()), 1e-6)
            if abs(before - noise) < _EM_TOL * noise:
                break
            before = noise
        mean, _ = _moments(W, noise, Y, observed)
        # x = R t with t uncorrelated: turn W to match
        _, R = eigh(mean.T @ mean / len(mean))
        W = W @ R
        order = np.argsort(-(W * W).sum(axis=0))
        return PrincipalComponents(np.ascontiguousarray(W[:, order]), noise)

    def latents(self, table):
        """Return posterior means of the latent inputs of all rows, (n, Q)."""
        parts = []
        for lo in range(0, len(table), _MOMENT_ROWS):
            Y, observed = table.piece(slice(lo, lo + _MOMENT_ROWS))
            parts.append(_moments(self.W, self.noise_variance, Y, observed)[0])
        return np.concatenate(parts)


def _moments(W, noise, Y, observed):
    """Return means (n, Q) and second moments (n, Q, Q) of the latent inputs."""
    Q = W.shape[1]
    outer = (W[:, :, None] * W[:, None, :]).reshape(len(W), -1)  # (P, Q Q)
    precision = (observed @ outer).reshape(-1, Q, Q) / noise + np.eye(Q)
    covariance = np.linalg.inv(precision)
    mean = np.einsum("nqr,nr->nq", covariance, Y @ W) / noise
    return mean, covariance + mean[:, :, None] * mean[:, None, :]


def starting_inputs(components, table, variance):
    """Start q(x) of all rows at principal components of unit variance, with one variance."""
    mean = components.latents(table)
    scale = mean.std(axis=0)
    mean = mean / np.where(scale > 1e-10, scale, 1.0)
    return InputPosteriors(mean, np.full(mean.shape, float(variance)))


def inputs_under(before, table, n_jobs, seconds):
    """Find q(x) of rows, old or new, under an earlier `Fitted` of the same columns."""
    q, _ = find_inputs(
        before.predictor,
        replace(table, scaling=before.targets.scaling),
        candidates=before.state.candidates,
        n_jobs=n_jobs,
        seconds=seconds,
    )
    return q


def with_learned(parameters, before, space):
    """Take the kernel and noise of an earlier `Fitted`, where these mean the same and are free."""
    old = before.parameters
    kernels = (one.kernel.sklearn_kernel for one in (old, parameters))
    same = "theta" if len({structure(kernel) for kernel in kernels}) == 1 else None
    values = {
        name: old.values[name]
        for name in (same, "log_noise")
        if name is not None
        and space.learns(name)
        and np.shape(old.values[name]) == np.shape(parameters.values[name])
    }
    return space.clipped(parameters.with_values(**values))
