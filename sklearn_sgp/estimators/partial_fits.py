"""Fits to all rows and to one more batch, as the two SVGP estimators have them."""

import numpy as np
from sklearn.utils import check_random_state

from ..fitting import stages
from ..fitting.inference import inference_for
from ..fitting.partial_fit import (
    PartialFitState,
    add_rows,
    more_inducing_inputs,
    scale_to_total,
)


class PartialFits:
    """Mixin of estimators whose posterior rests on independent rows.

    A fitted one holds ``_partial``, a `fitting.partial_fit.PartialFitState`.
    """

    def _fit_rows(self, data, progress, clock, previous=None):
        """`fit` from encoded data."""
        self._learn(data, progress, clock, stages.learn, previous=previous)
        weight = float(data.n_samples if data.weight is None else data.weight.sum())
        self._partial = PartialFitState.from_fit(self._result, weight)

    def _fit_first(self, data, progress, clock):
        """The first batch of `partial_fit`."""
        self._fit_rows(data, progress, clock)
        if self.total_samples is not None:
            self._result = scale_to_total(self._partial, self._result, self.total_samples)

    def _add_rows(self, rows):
        """A later batch of `partial_fit`."""
        result, rng = self._result, check_random_state(self.random_state)
        new_Z = more_inducing_inputs(self.inducing, self.n_inducing, rows, result.parameters, rng)
        self._partial, result = add_rows(
            self._partial,
            result,
            rows,
            settings=self._settings(),
            inference=inference_for(result.start.likelihood, self._targets.n_outputs),
            total_samples=self.total_samples,
            new_Z=new_Z,
        )
        weight = self.total_samples or self._partial.weight
        self._store(result, self._targets, weight)
        self.n_samples_seen_ += len(rows)
        self.objectives_ = np.append(self.objectives_, self.objective_)
        self.fit_times_ = np.append(self.fit_times_, self.fit_times_[-1] + self._partial.seconds)
