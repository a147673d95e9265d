"""Functions that were drawn, in units of y."""

from dataclasses import replace
from functools import partial

import numpy as np

from .._floating_point import with_numpys_errors
from .._parallel import in_chunks
from ..data.checks import check_array
from ..data.inputs import as_table

_DTYPE = [np.float64, np.float32]


@with_numpys_errors
class FunctionsInUnits:
    """Functions that were drawn, with values in units of y, computed in chunks of rows.

    ``form`` is that of the columns of X, of which one may be added to the values.
    """

    def __init__(self, functions, targets, n_jobs, form):
        self.functions, self.targets, self.n_jobs, self.form = functions, targets, n_jobs, form

    def __call__(self, X):
        X = as_table(X)
        names = getattr(X, "columns", ())
        are_names = self.form.names is not None and all(isinstance(one, str) for one in names)
        if are_names and len(names) and tuple(names) != self.form.names:
            raise ValueError(
                f"The columns of X must be those of fit, {list(self.form.names)}, in their order. "
                f"Got {list(names)}."
            )
        n_features = self.functions.n_features + len(self.form.apart)
        n_features -= len(self.form.missing.columns)
        if np.ndim(X) == 2 and np.shape(X)[1] != n_features:
            raise ValueError(f"X must have {n_features} features, as in fit. Got {np.shape(X)[1]}.")
        parts = self.form.split(X)
        # a function has one value at a category that no row had, in whichever call it comes
        self.form = replace(self.form, codes=self.form.codes.remembering(parts.X))
        X = self.form.read(parts.X, partial(check_array, dtype=_DTYPE))
        values = in_chunks(self.functions, X, self.n_jobs)
        if parts.offset is not None:
            values = values + parts.offset[:, None, None]
        return self.targets.samples_in_units(values)
