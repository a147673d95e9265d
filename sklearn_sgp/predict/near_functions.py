"""Functions drawn where near rows are known: random waves given u, then what near rows say.

A draw of the process given u is continued by near rows as its mean is, by what their noisy targets
differ from that draw (docs/theory.md, section 12).
"""

import numpy as np

from .._core import _linalg as la
from .._linalg import product, transposed
from ..data.rows import outputs_by_noise
from ..gp.pathwise import draw_functions


class NearFunctions:
    """Callable on X (n, d), result (n, t, n_samples), in scaled units, as `PathwiseDraws`.

    ``near.each_cell(X)`` gives test rows of cells, what the cell counts for each, the numbers of
    their near rows, and the factorised cell; see `near_rows.NearRows`. The rows are training rows.
    """

    def __init__(self, near, posterior, rows, noise_variance, n_samples, rng):
        self.near, self.posterior, self.rows = near, posterior, rows
        self.noise_variance, self.n_samples = noise_variance, n_samples
        self.given_u, self.seed = draw_functions(posterior, n_samples, rng), rng.randint(2**31)
        self._forget()

    def _forget(self):
        self.known = np.zeros(len(self.rows), dtype=bool)
        shape = len(self.rows), self.rows.y.shape[1], self.n_samples
        self.differences = np.empty(shape)  # memory of those rows alone that are asked for

    def __getstate__(self):
        """Leave out what can be computed again."""
        return {k: v for k, v in self.__dict__.items() if k not in ("known", "differences")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._forget()

    @property
    def n_features(self):
        """Number of columns of X."""
        return self.given_u.n_features

    def __call__(self, X):
        values = self.given_u(X)
        for index, share, near, cell in self.near.each_cell(X):
            if not len(near):
                continue
            at = X[index]
            prior, differences = self.posterior.prior, self._differences(near)
            cross = prior.kernel.block(at, cell.X)
            cross -= product(prior.whitened_rows(at), cell.At, trans_b=True)
            cross *= share[:, None]
            for factor, (_, columns) in zip(cell.factors, self.posterior.by_precision, strict=True):
                solved = differences[:, columns].reshape(len(near), -1).copy()
                L = transposed(factor.U)
                la.trsm(L, solved)
                la.trsm(L, solved, True)
                said = product(cross, solved).reshape(len(at), -1, self.n_samples)
                values[index, columns] += said
        return values

    def _differences(self, near):
        """Return how far targets with noise that is drawn are from the functions given u."""
        new = near[~self.known[near]]
        if len(new):
            rows = self.rows.select(new)
            weight, _ = rows.weights
            weight = weight.reshape(len(new), -1)
            drawn = [np.random.default_rng((self.seed, int(k))) for k in new]
            shape = self.differences.shape[1:]
            noise = np.stack([each.standard_normal(shape) for each in drawn])
            for columns, s2 in outputs_by_noise(self.noise_variance):
                of_columns = weight if weight.shape[1] == 1 else weight[:, columns]
                noise[:, columns] *= np.sqrt(s2 / of_columns)[:, :, None]
            X = np.asarray(rows.X, dtype=np.float64)
            self.differences[new] = rows.targets[:, :, None] - self.given_u(X) - noise
            self.known[new] = True
        return self.differences[near]
