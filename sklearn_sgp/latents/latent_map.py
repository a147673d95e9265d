"""The map between latent inputs and the rows of a table, in units of Y."""

from dataclasses import dataclass

import numpy as np

from .._parallel import in_chunks, resolved_jobs, single_blas_thread
from ..data.checks import check_variance
from .expectations import chunk_of
from .output_model import OutputModel
from .passes import InputPosteriors
from .row_posteriors import find_inputs
from .table import Columns


@dataclass(frozen=True)
class LatentMap:
    """Maps rows to latent inputs and back. It can be pickled without an estimator.

    New rows may start from ``candidates``; ``calibration`` has factors of the noise and of the
    other variance of filled-in values.
    """

    predictor: OutputModel
    candidates: InputPosteriors
    calibration: np.ndarray
    columns: Columns
    n_jobs: int | None = None

    def inputs_of(self, Y):
        """Return q(x) of rows, (n, P) with NaN where missing."""
        return self._inputs_of(self.columns.table(Y))[0]

    def log_density_bounds(self, Y):
        """Return lower bounds of the log density of what was observed in each row, (n,)."""
        table = self.columns.table(Y)
        return self._inputs_of(table)[1] - table.log_scales()

    def _inputs_of(self, table):
        n_jobs = resolved_jobs(self.n_jobs)
        with single_blas_thread():
            return find_inputs(self.predictor, table, candidates=self.candidates, n_jobs=n_jobs)

    def columns_at(self, X, return_std=False):
        """Return means of the columns at latent inputs, or these and deviations, (n, P)."""
        posterior = self.predictor.posterior
        check_variance(posterior.prior.kernel, X)
        if not return_std:
            return self.columns.mean_in_units(in_chunks(posterior.mean, X, self.n_jobs))
        mean, variance = in_chunks(posterior.mean_variance, X, self.n_jobs)
        variance = variance + self.predictor.noise_variance
        return self.columns.mean_in_units(mean), self.columns.std_in_units(variance)

    def imputed(self, Y):
        """Fill in missing values; return rows and deviations, 0 where observed, (n, P)."""
        q, filled, missing = self.inputs_of(Y), np.array(Y, dtype=np.float64), np.isnan(Y)
        std, model = np.zeros(filled.shape), self.predictor
        chunk = chunk_of(len(model.expectations.Z))
        for lo in range(0, len(filled), chunk):  # psi2 of so many rows at a time
            piece = slice(lo, lo + chunk)
            where = missing[piece]
            mean, variance = model.moments(q[piece])
            variance = self.calibration[0] * model.noise_variance + self.calibration[1] * variance
            filled[piece][where] = self.columns.mean_in_units(mean)[where]
            std[piece][where] = self.columns.std_in_units(variance)[where]
        return filled, std
