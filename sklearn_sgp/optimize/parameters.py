"""Named groups of parameters, and one vector of those that are free.

Objectives are functions of `Parameters` and return gradients under the names of the groups.
Optimisers see only the flat vector. A new kind of parameter is a new name: a value in `Parameters`,
a `Group` with bounds and units where it is learned, and an entry in the objective's `Gradient`.

    theta        natural logarithms of the kernel's free parameters
    log_noise    natural logarithm of the noise variance, in units of the scaled targets: a number,
                 or one for each output, shape (t,)
    likelihood   the likelihood's own parameters, where it has any
    mixing       weights of latent functions in outputs, where they are mixed, shape (t, Q)
    means        of mixed outputs that have gaps, in units of the scaled targets, shape (t,)
    shares       what each target counts of mixed outputs that share their noise, shape (t,); never
                 learned by gradient
    Z            inducing inputs, in units of X, or Fourier features (`kernels._features`)
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..kernels import KernelExpression
from ..kernels._features import are_features, with_features
from .kernel_priors import NOTHING_EXPECTED, KernelPriors


@dataclass(frozen=True)
class Parameters:
    """Hyperparameters of a sparse GP, free and fixed ones.

    Parameters
    ----------
    values : dict of str to ndarray or float
        By the names of the groups.
    """

    expression: KernelExpression
    values: dict

    def with_values(self, **values):
        """Return these parameters with new values for some groups."""
        return Parameters(self.expression, {**self.values, **values})

    def equal(self, other):
        """Return whether others have the same values, to the last bit."""
        pairs = ((value, other.values.get(name)) for name, value in self.values.items())
        return all(np.array_equal(*pair) for pair in pairs)

    def without(self, name):
        """Return these parameters without one group."""
        values = {key: value for key, value in self.values.items() if key != name}
        return Parameters(self.expression, values)

    @property
    def theta(self):
        """Log parameters of the kernel, shape (n_theta,)."""
        return self.values["theta"]

    @property
    def log_noise(self):
        return self.values["log_noise"]

    @property
    def Z(self):
        """Inducing inputs, shape (m, d)."""
        return self.values["Z"]

    @property
    def likelihood_theta(self):
        """The likelihood's own parameters, shape (k,); empty where it has none."""
        return self.values.get("likelihood", _NONE)

    @property
    def mixing(self):
        """Weights of latent functions in outputs, shape (t, Q); None where nothing is mixed."""
        return self.values.get("mixing")

    @property
    def mixes_outputs(self):
        """True if outputs mix latent functions."""
        return "mixing" in self.values

    @property
    def shares(self):
        """Shares that targets of mixed outputs count, shape (t,); 1 where outputs differ."""
        return self.values.get("shares", 1.0)

    @property
    def has_means(self):
        """True if means of the outputs are learned."""
        return "means" in self.values

    @property
    def means(self):
        """Means subtracted from the scaled targets, shape (t,); 0 where there are none."""
        return self.values.get("means", 0.0)

    @property
    def kernel(self):
        """The kernel, or that of the process that features make."""
        return with_features(self.expression.bind(self.theta), self.values.get("Z"))

    @property
    def has_features(self):
        """True if Z has features in the place of inducing inputs."""
        return are_features(self.expression, self.Z)

    @property
    def noise_variance(self):
        """One that all outputs share, a float, or one for each, shape (t,)."""
        return np.exp(self.log_noise) if np.ndim(self.log_noise) else float(np.exp(self.log_noise))

    @property
    def least_noise_variance(self):
        """The smallest noise variance of an output."""
        return float(np.min(self.noise_variance))


_NONE = np.empty(0)


def shaped_like(value, old):
    """Return a value as an array, or as a number where the old one is a number."""
    return value if np.ndim(old) else float(np.ravel(value)[0])


@dataclass(frozen=True)
class Group:
    """A group of parameters that is learned.

    Parameters
    ----------
    bounds : ndarray of shape (k, 2) or None
        Of the entries of the value; None leaves them free.
    unit : float or ndarray
        The value enters the vector divided by it, so that all entries of the vector are of order
        one for the optimisers; broadcast to the value's shape.
    held : ndarray of int or tuple
        Columns of the value that are not learned, such as those of categories.
    shared : ndarray of int or tuple
        Places of entries of a value of shape (k,) that move by the same amount, such as the
        logarithms of length scales in a common proportion. The first stands for all of them.
    reach : float or ndarray
        By how many units entries move where they are let move by one, see
        `ParameterSpace.within_reach`.
    rows : ndarray of int or None
        Rows of the value that are learned; None for all.
    """

    name: str
    bounds: np.ndarray | None
    unit: float | np.ndarray = 1.0
    held: np.ndarray | tuple = ()
    shared: np.ndarray | tuple = ()
    reach: float | np.ndarray = 1.0
    rows: np.ndarray | None = None

    def entries(self, value):
        """Return the entries of a value that are learned, as a vector."""
        value = value if self.rows is None else value[self.rows]
        if len(self.shared):
            return np.delete(value, self.shared[1:])
        return np.ravel(np.delete(value, self.held, axis=1) if len(self.held) else value)

    def slopes(self, gradient):
        """Return the derivatives in the entries that are learned, as a vector."""
        if len(self.shared):
            gradient = np.array(gradient)
            gradient[self.shared[0]] = gradient[self.shared].sum()
        return self.entries(gradient)

    def limits(self, like):
        """Return bounds of the entries that are learned of a value, shape (n, 2)."""
        if self.bounds is None:
            return np.tile([-np.inf, np.inf], (len(self.entries(like)), 1))
        bounds = np.array(np.reshape(self.bounds, (-1, 2)))
        if not len(self.shared):
            return bounds
        first, room = self.shared[0], (bounds.T - like).T[self.shared]
        lower, upper = room[:, 0].max(), room[:, 1].min()
        if lower > upper:  # no common proportion is within all bounds: one between them
            lower = upper = 0.5 * (lower + upper)
        bounds[first] = like[first] + np.array([lower, upper])
        return np.delete(bounds, self.shared[1:], axis=0)

    def value(self, entries, old):
        """Return a value from a vector, the rest of it as in ``old``."""
        if self.rows is not None:
            value, unit = old.copy(), np.broadcast_to(self.unit, old.shape)[self.rows]
            value[self.rows] = replace(self, rows=None, unit=unit).value(entries, old[self.rows])
            return value
        if len(self.shared):
            value, others = np.array(old), np.delete(np.arange(len(old)), self.shared[1:])
            value[others] = entries * self.unit
            value[self.shared] = old[self.shared] + (value - old)[self.shared[0]]
            return value
        if not len(self.held):
            return shaped_like(entries.reshape(np.shape(old)) * self.unit, old)
        columns, value = np.delete(np.arange(old.shape[1]), self.held), old.copy()
        unit = np.broadcast_to(self.unit, old.shape)[:, columns]
        value[:, columns] = entries.reshape(unit.shape) * unit
        return value


@dataclass(frozen=True)
class TiedLengthScales:
    """Log density of length scales that scatter about one that all may share.

    A bound has no penalty for one more length scale: with as many columns as tens of rows it
    chooses the few that set these very rows apart. Against thousands of rows the prior weighs
    nothing.

    Parameters
    ----------
    log_std : ndarray of shape (d,)
        Logarithms of the columns' standard deviations.
    places : tuple of ndarray of int, shape (d,)
        For each part of the kernel that has length scales: where their logarithms are in theta.
    precision : float
        Inverse squared scatter of the logarithms.
    varies : ndarray of int or Ellipsis
        Columns of more than one value: the others say nothing of what all may share.
    has_tails : bool
        Whether the logarithms scatter by Cauchy's density, not the normal one: a column that says
        nothing may then have a length scale far beyond the others.
    power : float
        Of the density.
    """

    log_std: np.ndarray
    places: tuple
    precision: float
    varies: object = ...
    has_tails: bool = False
    power: float = 1.0

    def at(self, places):
        """Return the same density of length scales at other places."""
        return replace(self, places=tuple(places))

    def for_scaled_inputs(self, log_scale):
        """Return the same density of length scales in units of so much, (d,)."""
        return replace(self, log_std=self.log_std - log_scale)

    def weighted(self, share):
        """Return the same density to the power ``share``."""
        return replace(self, power=share * self.power)

    def __call__(self, theta):
        """Return the value, up to a constant, and the gradient."""
        value, gradient = 0.0, np.zeros_like(theta)
        for place in self.places:
            place = place[self.varies]
            relative = theta[place] - self.log_std[self.varies]
            away = relative - relative.mean() if len(place) else relative
            squares = self.precision * away**2
            slope = -self.precision * away
            if self.has_tails:
                value, slope = value - float(np.log1p(squares).sum()), 2.0 * slope / (1.0 + squares)
            else:
                value -= 0.5 * float(squares.sum())
            gradient[place] = slope - slope.mean() if len(place) else slope
        return self.power * value, self.power * gradient


@dataclass(frozen=True)
class ParameterSpace:
    """The free groups, in the order in which one vector holds them.

    Parameters
    ----------
    groups : tuple of Group
    prior : callable or None
        ``prior(theta)``: log density and its gradient, which objectives are to be raised by.
    expected : KernelPriors
        What the user expects, by which objectives are raised, too, and what compares parameters.
    """

    groups: tuple
    prior: Callable | None = None
    expected: KernelPriors = NOTHING_EXPECTED

    def learns(self, name):
        """Return True if a group is free."""
        return any(group.name == name for group in self.groups)

    def group(self, name):
        """Return the free group of a name."""
        return next(group for group in self.groups if group.name == name)

    def only(self, name):
        """Return the space where nothing else is free."""
        return replace(self, groups=tuple(group for group in self.groups if group.name == name))

    def without(self, name):
        """Return the space where one group is not free."""
        return replace(self, groups=tuple(group for group in self.groups if group.name != name))

    def with_group(self, name, **changes):
        """Replace bounds or unit of one group, where it is free."""
        groups = (
            replace(group, **changes) if group.name == name else group for group in self.groups
        )
        return replace(self, groups=tuple(groups))

    def holding(self, name, places, values):
        """Hold entries of a free group at values: places and values (k,)."""
        bounds = np.array(self.group(name).bounds)
        bounds[places] = values[:, None]
        return self.with_group(name, bounds=bounds)

    def in_units(self, share):
        """Return the space whose entries move by a share of what they did: a shorter first step."""
        groups = tuple(replace(group, unit=share * group.unit) for group in self.groups)
        return replace(self, groups=groups)

    def within_reach(self, parameters, reach):
        """Let the kernel's logarithms, and weights in their reach, move at most by ``reach``.

        That is where they have a prior.
        """
        if self.prior is None or not self.learns("theta"):
            return self
        theta = self.group("theta")
        reach = reach * theta.reach * theta.unit
        lower, upper = theta.bounds.T
        moved = [np.clip(parameters.theta + move, lower, upper) for move in (-reach, reach)]
        return self.with_group("theta", bounds=np.stack(moved, axis=1))

    def raised(self, name, least):
        """Raise lower bounds of a group's exponentials to ``least``, if upper bounds allow."""
        if least <= 0.0 or not self.learns(name):
            return self
        bounds = np.array(np.reshape(self.group(name).bounds, (-1, 2)))
        bounds[:, 0] = np.clip(np.log(least), *bounds.T)
        return self.with_group(name, bounds=bounds)

    def pack(self, parameters):
        """Return the vector of the free parameters."""
        parts = [g.entries(parameters.values[g.name] / g.unit) for g in self.groups]
        return np.concatenate(parts) if parts else np.empty(0)

    def unpack(self, x, like):
        """Return `Parameters` with the free ones from the vector, the others as in ``like``."""
        values, lo = {}, 0
        for group in self.groups:
            old = like.values[group.name]
            hi = lo + np.size(group.entries(old))
            values[group.name] = group.value(x[lo:hi], old)
            lo = hi
        return like.with_values(**values)

    def pack_gradient(self, gradient):
        """Return the vector of the derivatives in the free parameters."""
        parts = [g.slopes(gradient[g.name] * g.unit) for g in self.groups]
        return np.concatenate(parts) if parts else np.empty(0)

    def with_prior(self, value, gradient, parameters):
        """Add log priors and their gradients to those of the objective."""
        more, slopes = self.expected.value_and_gradient(parameters)
        if self.prior is not None:
            log_prior, slope = self.prior(parameters.theta)
            more, slopes["theta"] = more + log_prior, slope + slopes.get("theta", 0.0)
        if not slopes:
            return value, gradient
        total = {name: gradient[name] + slope for name, slope in slopes.items()}
        return value + more, type(gradient)(gradient, **total)

    def weighted(self, share):
        """Return the space where what is expected beforehand counts a share."""
        prior = None if self.prior is None else self.prior.weighted(share)
        return replace(self, prior=prior, expected=self.expected.weighted(share))

    def merit(self, parameters, value):
        """Return what learning maximises: an objective and the log priors of its parameters."""
        log_prior = 0.0 if self.prior is None else self.prior(parameters.theta)[0]
        return value + log_prior + self.expected.value(parameters)

    def bounds(self, like):
        """Return bounds of the vector, shape (n, 2)."""
        parts = [np.empty((0, 2))]
        for group in self.groups:
            unit = group.entries(np.broadcast_to(group.unit, np.shape(like.values[group.name])))
            parts.append(group.limits(like.values[group.name]) / unit[:, None])
        return np.concatenate(parts)

    def clipped(self, parameters):
        """Clip the free parameters to their bounds."""
        x, bounds = self.pack(parameters), self.bounds(parameters)
        return self.unpack(np.clip(x, bounds[:, 0], bounds[:, 1]), parameters)
