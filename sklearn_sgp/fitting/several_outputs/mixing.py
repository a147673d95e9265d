"""Where the mixing of latent functions starts."""

import numpy as np

from ...data.rows import each_weight

_ROWS = 10_000
# Share of the variance of scaled targets that is not noise, at the start.
_SHARE = 0.9
# Rows that two outputs must share for their correlation to be believed by half.
_LEAST_SHARED = 10.0
# Size of columns, and of an entry of rows, that correlations leave empty: at zero they would never
# move.
_SMALL = 0.05


def starting_mixing(rows, n_latent):
    """W from the principal directions of the outputs' correlations, shape (t, n_latent).

    Parameters
    ----------
    rows : Rows
        Targets that are NaN are not there.
    n_latent : int
    """
    sample = rows.select(slice(None, None, -(-len(rows) // _ROWS)))
    y = sample.targets
    seen = ~np.isnan(y)
    y = np.where(seen, y, 0.0)
    weighted = (each_weight(sample.weight, len(y)) * seen.T).astype(np.float64)  # (t, n)
    count = weighted @ seen
    square = (weighted * (y**2).T) @ seen
    size = np.sqrt(square * square.T)  # each output over the rows that it shares with another
    product = (weighted * y.T) @ y
    correlation = np.divide(product, size, out=np.zeros_like(size), where=size > 0.0)
    correlation *= count / (count + _LEAST_SHARED)
    varies = np.diagonal(square) > 0.0  # others ask for no direction
    np.fill_diagonal(correlation, varies)
    value, vector = np.linalg.eigh(correlation)
    value, vector = value[::-1][:n_latent], vector[:, ::-1][:, :n_latent]
    signs = np.where(np.abs(vector.min(axis=0)) > vector.max(axis=0), -1.0, 1.0)
    W = np.sqrt(_SHARE * np.maximum(value, _SMALL)) * vector * signs
    left_out = np.flatnonzero(varies & (np.abs(W).max(axis=1) < _SMALL))
    W[left_out, np.arange(len(left_out)) % n_latent] = _SMALL
    return W
