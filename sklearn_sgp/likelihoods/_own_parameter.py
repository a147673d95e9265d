"""What likelihoods of numbers share that are not Gaussian: offset, and a parameter of width."""

from copy import copy

import numpy as np


class RegressionOffset:
    """Mixin of likelihoods with an ``offset``, the prior mean of the function.

    It is a number, one for each output, or None to take it from the mean of the targets: a subclass
    has ``_offset_of(mean, weight)``.
    """

    def _with_offset(self, y, weight):
        """Check the offset, or take it from the targets."""
        if self.offset is not None:
            self._check_offset(y.shape[1])
            return self
        seen = ~np.isnan(y)
        if seen.all():
            total = len(y) if weight is None else weight.sum()
            offset = self._offset_of(np.average(y, axis=0, weights=weight), total)
            return copy(self).set_params(offset=offset)
        weight = np.ones(len(y)) if weight is None else weight
        offset = [
            self._offset_of(np.average(y[own, p], weights=weight[own]), weight[own].sum())
            for p, own in enumerate(seen.T)
        ]
        return copy(self).set_params(offset=np.array(offset))

    def moved(self, means):
        """Return the likelihood with more of the prior mean, (t,), in the offset."""
        return copy(self).set_params(offset=self._offset + means)

    def as_one_output(self, f):
        """Return a likelihood for values (n, t) of all functions, and these by its own offset.

        That of an observation's mean given the function, where outputs differ in nothing else.
        """
        one = self.for_output(0)
        return one, f + (self._offset - np.ravel(one._offset)[0])

    def beside(self, known, weight, seen=None):
        """Return the likelihood where known numbers (n,) are added to the function.

        The offset, which suits the mean of the targets, is then less by as much as their mean, for
        each output that of the rows where it was observed, ``seen`` (n, t).
        """
        if seen is None or seen.all():
            mean = self._mean_of(known, weight)
        else:
            weight = np.ones(len(known)) if weight is None else weight
            mean = np.array([self._mean_of(known[own], weight[own]) for own in seen.T])
        return copy(self).set_params(offset=self._offset - mean)

    @staticmethod
    def _mean_of(known, weight):
        return np.average(known, weights=weight)

    def _check_offset(self, n_outputs):
        if not is_numbers(self.offset, n_outputs, least=-np.inf):
            raise ValueError(
                f"The 'offset' parameter of {type(self).__name__} must be a finite number, one for "
                f"each of the {n_outputs} columns of y, or None to take it from the targets. Got "
                f"{self.offset!r}."
            )

    @property
    def _offset(self):
        return 0.0 if self.offset is None else np.asarray(self.offset, dtype=np.float64)

    def for_output(self, output):
        """Return the likelihood of one output, with its own offset."""
        if np.size(self._offset) == 1:
            return self
        return copy(self).set_params(offset=float(self._offset[output]))


class OwnParameter:
    """Mixin of likelihoods with a positive parameter: a number, one for each output, or None.

    None learns it, for each output. An instance with numbers that were learned goes on learning
    them; a clone does not. A subclass states name, start and bounds.
    """

    _own, _own_start, _own_bounds = "", 1.0, (1e-3, 1e3)
    _learned = False  # True in instances whose number was learned

    def _with_own(self, n_outputs):
        """Check the parameter, or begin to learn one for each output."""
        value = getattr(self, self._own)
        if value is None:
            return self._copied(np.full(n_outputs, self._own_start), learned=True)
        if not is_numbers(value, n_outputs, least=0.0):
            each = f", one for each of {n_outputs} outputs" if n_outputs > 1 else ""
            raise ValueError(
                f"The '{self._own}' parameter of {type(self).__name__} must be a finite number "
                f"above 0{each}, or None to learn it. Got {value!r}."
            )
        return self

    @property
    def _own_value(self):
        """A number, or those of the outputs, (t,)."""
        value = getattr(self, self._own)
        if value is None:
            return self._own_start
        return np.asarray(value, dtype=np.float64) if np.ndim(value) else float(value)

    @property
    def theta(self):
        """Logarithms of what is learned."""
        if not (self._learned or getattr(self, self._own) is None):
            return np.empty(0)
        return np.log(np.atleast_1d(self._own_value))

    @property
    def theta_bounds(self):
        """Their bounds."""
        return np.tile(np.log(self._own_bounds), (len(self.theta), 1))

    def with_theta(self, theta):
        """Return the likelihood with other values of what is learned."""
        return self._copied(np.exp(theta), learned=True) if len(theta) else self

    def for_output(self, output):
        """Return the likelihood of one output."""
        one, value = super().for_output(output), self._own_value
        if not np.ndim(value):
            return one
        return one._copied(value[output if len(value) > 1 else 0], one._learned)

    def _copied(self, value, learned):
        value = float(np.ravel(value)[0]) if np.size(value) == 1 else value
        result = copy(self).set_params(**{self._own: value})
        result._learned = learned
        return result


def log_mean_exp(values, weight):
    """Return the logarithm of the mean of exponentials."""
    most = values.max()
    return most + np.log(np.average(np.exp(values - most), weights=weight))


def is_numbers(value, n_outputs, least):
    """Return True for a finite number above the least, or one for each output."""
    try:
        value = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    allowed = value.shape in ((), (1,), (n_outputs,))
    return allowed and bool(((value > least) & np.isfinite(value)).all())
