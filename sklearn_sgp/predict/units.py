"""Functions that were drawn, in units of y."""

import numpy as np

from .._compat import check_array
from ..gp.chunks import in_chunks


class FunctionsInUnits:
    """Functions that were drawn, with values in units of y, computed in chunks of rows.

    Parameters
    ----------
    functions : gp.pathwise.PathwiseDraws
    targets : Targets
    n_jobs : int or None
    codes : data.categories.CategoryCodes or None
        Of the columns of categories.
    """

    def __init__(self, functions, targets, n_jobs=None, codes=None):
        self.functions, self.targets, self.n_jobs = functions, targets, n_jobs
        self.codes = codes

    def __call__(self, X):
        waits = self.codes is not None and self.codes.can_wait(X)
        X = X if self.codes is None or waits else self.codes.transform(X)
        X = check_array(X, dtype=[np.float64, np.float32])
        X = self.codes.transform(X) if waits else X
        if X.shape[1] != self.functions.n_features:
            raise ValueError(
                f"X must have {self.functions.n_features} features, as in fit. Got {X.shape[1]}."
            )
        return self.targets.samples_in_units(in_chunks(self.functions, X, self.n_jobs))
