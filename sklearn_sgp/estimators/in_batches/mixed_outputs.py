"""Outputs that mix latent functions: their targets, of which some may not be there."""

from dataclasses import replace

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from ..._compat import check_sample_weight, validate_data
from ..._warnings import warn_caller
from ...data.checks import check_size
from ...data.rows import drop_zero_weight
from ...data.targets import Encoded, Targets, count_samples, observed_columns, read_only_copy
from ...fitting.several_outputs.inference import CoregionalisedInference


class MixedOutputs:
    """A mixin of `SVGPRegressor`: what ``n_latent`` changes in learning."""

    @property
    def _has_prior(self):
        return self.n_latent is None and super()._has_prior

    def _checked(self, X, y, sample_weight, *, reset):
        if self.n_latent is None or y is None:
            return super()._checked(X, y, sample_weight, reset=reset)
        self._check_mixing()
        X = self._coded(X, reset=reset, learns=True, weight=sample_weight)
        X = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32])
        self._check_inputs(X, reset=reset)
        y = check_array(
            y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y"
        )
        check_consistent_length(X, y)
        weight = sample_weight
        if weight is not None:
            weight = check_sample_weight(weight, X, dtype=np.float64)
            check_size("sample_weight", weight)
        return self._observed(X, y, weight, reset)

    def _observed(self, X, y, weight, reset):
        """Return the rows that have a target, or raise a ValueError if an output has none."""
        columns = observed_columns(y) if reset else self._targets.columns(y)
        if self.n_latent > columns.shape[1]:
            raise ValueError(
                "n_latent must be at most the number of outputs, as more latent functions add "
                f"nothing to these. Got n_latent={self.n_latent} for {columns.shape[1]} outputs."
            )
        has_weight = np.ones(len(X), dtype=bool) if weight is None else weight > 0.0
        seen = ~np.isnan(columns)
        never = np.flatnonzero(~seen[has_weight].any(axis=0))
        if reset and len(never):
            raise ValueError(
                "Each output must be observed in a row of positive weight. Got only NaN in "
                f"column {never.tolist()} of y: leave it out."
            )
        empty = ~seen.any(axis=1)
        if not empty.any():
            return X, y, weight
        if empty.all():
            raise ValueError("y must hold a target that is not NaN. Got none in this batch.")
        warn_caller(
            f"Rows should have a target that is not NaN. Got {empty.sum()} of {len(X)} rows "
            "without: they are left out.",
            UserWarning,
        )
        return X[~empty], y[~empty], None if weight is None else weight[~empty]

    def _check_mixing(self):
        """Refuse what latent functions cannot be mixed with."""
        wrong = None
        if not self._given_likelihood().conjugate or self.likelihood == "auto":
            wrong = f"likelihood={self.likelihood!r}, which is not Gaussian noise"
        elif isinstance(self.normalize_y, str):
            wrong = f"normalize_y={self.normalize_y!r}, which transforms targets"
        elif self.optimizer == "adam":
            wrong = "optimizer='adam'"
        if wrong is not None:
            raise ValueError(
                "n_latent must be None except with Gaussian noise, targets that are at most "
                f"centred and scaled, and optimizer 'auto', 'lbfgs' or None. Got {wrong}."
            )

    def _encoded(self, X, y, weight, merges=True):
        if self.n_latent is None:
            return super()._encoded(X, y, weight, merges)
        n_samples = count_samples(X, weight)
        X, columns, weight = drop_zero_weight(X, observed_columns(y), weight)
        targets = Targets.fit_observed(columns, weight, self.normalize_y, y.ndim)
        return Encoded(X, columns, weight, targets, self._given_likelihood(), n_samples)

    def _inference(self, likelihood, n_outputs):
        if self.n_latent is None:
            return super()._inference(likelihood, n_outputs)
        return CoregionalisedInference()

    def _later_settings(self):
        """Return the settings of a later batch, which changes mixed outputs' posterior only."""
        settings = super()._later_settings()
        return settings if self.n_latent is None else replace(settings, optimizer=None)

    def _fitted_attributes(self, found, targets, weight):
        attributes = super()._fitted_attributes(found, targets, weight)
        mixing = found.result.parameters.mixing
        if mixing is None:
            return attributes | {"mixing_": None, "output_correlation_": None}
        covariance = mixing @ mixing.T
        deviation = np.sqrt(np.diag(covariance))
        scale = np.outer(deviation, deviation)
        correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0.0)
        np.fill_diagonal(correlation, 1.0)
        return attributes | {
            "mixing_": read_only_copy(mixing),
            "output_correlation_": read_only_copy(correlation),
        }
