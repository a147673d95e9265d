"""The file in which a problem reaches every library.

All libraries read the same file: inputs and targets standardised by the training rows, float64, and
the inducing inputs from which they all start. Reading one needs numpy only.
"""

from dataclasses import asdict, dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Problem:
    """Training and test rows, standardised by the training rows.

    Parameters
    ----------
    name : str
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Standardised too; labels are numbers from 0, and counts stay what they are.
    X_test : ndarray of shape (n_test, d)
    y_test : ndarray of shape (n_test,)
    y_scale : float
        What one unit of y is in the units of the data set.
    Z : ndarray of shape (m, d)
        Inducing inputs to start from; no rows where nobody asked for them.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    y_scale: float
    Z: np.ndarray

    def some(self, rows):
        """The problem with so many random training rows at most; always the same ones."""
        if len(self.y) <= rows:
            return self
        kept = np.random.default_rng(0).permutation(len(self.y))[:rows]
        return replace(self, X=self.X[kept], y=self.y[kept])

    def held_out(self):
        """Indices of the training rows to learn from, and of a random tenth that is held out."""
        order = np.random.default_rng(0).permutation(len(self.y))
        held, used = np.split(order, [len(order) // 10])
        return used, held

    def save(self, path):
        np.savez(path, **asdict(self))

    @classmethod
    def read(cls, path):
        with np.load(path) as file:
            arrays = {key: file[key] for key in file.files}
        return cls(**{**arrays, "name": str(arrays["name"]), "y_scale": float(arrays["y_scale"])})
