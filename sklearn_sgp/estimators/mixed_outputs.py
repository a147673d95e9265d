"""Outputs that mix latent functions: their targets, of which some may not be there."""

from dataclasses import replace

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_consistent_length

from .._compat import check_array
from .._warnings import warn_caller
from ..data.checks import check_scaled
from ..data.rows import drop_zero_weight
from ..data.targets import Encoded, Targets, count_samples, observed_columns, read_only_copy
from ..engines.variational.multi_output import CoregionalisedInference
from ..kernels._white_noise import split_noise


class MixedOutputs:
    """A mixin of regressors in batches: what ``n_latent`` changes in learning."""

    def _has_prior(self):
        is_one = self.n_latent is None and not isinstance(self.kernel, list)
        return is_one and super()._has_prior()

    def _checked(self, X, y, sample_weight, *, reset):
        self._check_kernels()
        if self.n_latent is None or y is None:
            return super()._checked(X, y, sample_weight, reset=reset)
        self._check_mixing()
        X = self._numbers(
            X,
            lambda X: self._validate_X(X, reset=reset),
            reset=reset,
            learns=True,
            weight=sample_weight,
        )
        y = check_array(
            y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y"
        )
        check_consistent_length(X, y)
        weight = self._validated_weight(sample_weight, X)
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
        if empty[has_weight].all():
            raise ValueError(
                "y must hold a target that is not NaN, in a row of positive weight. Got none in "
                "this batch."
            )
        warn_caller(
            f"Rows should have a target that is not NaN. Got {empty.sum()} of {len(X)} rows "
            "without: they are left out.",
            UserWarning,
        )
        return X[~empty], y[~empty], None if weight is None else weight[~empty]

    def _check_kernels(self):
        """Refuse a list of kernels that is not one of each latent function."""
        if not isinstance(self.kernel, list):
            return
        kernels = all(isinstance(kernel, Kernel) for kernel in self.kernel)
        if not kernels or len(self.kernel) != self.n_latent:
            raise ValueError(
                "A list as the 'kernel' parameter must have a kernel for each of n_latent latent "
                f"functions. Got {self.kernel!r} with n_latent={self.n_latent}."
            )
        for kernel in self.kernel:
            if split_noise(kernel)[1]:
                raise ValueError(
                    "Kernels of latent functions must have no WhiteKernel, as noise belongs to the "
                    f"outputs: give noise_variance. Got {kernel!r}."
                )

    def _check_mixing(self):
        """Refuse what latent functions cannot be mixed with."""
        wrong, cure = None, ""
        if not self._given_likelihood().conjugate or self.likelihood == "auto":
            wrong = f"likelihood={self.likelihood!r}, which is not Gaussian noise"
            cure = (
                ": write a row for each target that was observed, with a column that says which "
                "output it is, as a category (categorical_features), whose functions mix as well"
            )
        elif isinstance(self.normalize_y, str):
            wrong = f"normalize_y={self.normalize_y!r}, which transforms targets"
        elif self.optimizer == "adam":
            wrong = "optimizer='adam'"
        if wrong is not None:
            raise ValueError(
                "n_latent must be None except with Gaussian noise, targets that are at most "
                f"centred and scaled, and optimizer 'auto', 'lbfgs' or None. Got {wrong}{cure}."
            )

    def _encoded(self, X, y, weight, *, merges=True):
        if self.n_latent is None:
            return super()._encoded(X, y, weight, merges=merges)
        n_samples = count_samples(X, weight)
        X, columns, weight = drop_zero_weight(X, observed_columns(y), weight)
        never = np.flatnonzero(np.isnan(columns).all(axis=0))
        if len(never):  # of the first batch of a stream
            raise ValueError(
                "Each output must be observed in the first batch, which decides the scale of the "
                f"targets. Got only NaN in column {never.tolist()} of y in its {len(X)} rows: make "
                "it larger (init_size of fit), or begin with rows that have this output."
            )
        targets = Targets.fit_observed(columns, weight, self.normalize_y, y.ndim)
        if self._learns_means and self.warm_start and np.isnan(columns).any():
            targets = targets.with_means_of(getattr(self, "_targets", None))
        check_scaled(targets, columns)
        return Encoded(X, columns, weight, targets, self._given_likelihood(), n_samples)

    def _inference(self, likelihood, n_outputs):
        if self.n_latent is None:
            return super()._inference(likelihood, n_outputs)
        return CoregionalisedInference(self._n_kernels)

    @property
    def _n_kernels(self):
        return len(self.kernel) if isinstance(self.kernel, list) else 1

    def _later_settings(self):
        """Return the settings of a later batch, which changes mixed outputs' posterior only."""
        settings = super()._later_settings()
        return settings if self.n_latent is None else replace(settings, optimizer=None)

    def _fitted_attributes(self, found, targets, weight):
        means = found.result.parameters.means
        if means is not None:  # from now on they belong to the targets
            found, targets = found.without("means"), targets.moved(means)
        attributes = super()._fitted_attributes(found, targets, weight)
        if isinstance(self.kernel, list):
            attributes["kernel_"] = _terms(attributes["kernel_"], self._n_kernels)
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


def _terms(kernel, count):
    """The terms of a sum that a list of kernels has become."""
    found = []
    for _ in range(count - 1):
        found, kernel = [kernel.k2, *found], kernel.k1
    return [kernel, *found]
