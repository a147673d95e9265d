"""Learning in standard units, on a grid: the same numbers in all units of the inputs.

L-BFGS amplifies rounding: gradients have the condition of K(Z, Z) times it, and a hundred
iterations towards one of many optima multiply that by 1e4 to 1e9. Predictions of FITC then differed
by 0.2 deviations between columns in centimetres and in metres, those of categories and of several
outputs by 0.006. Rounded starts and rounded data are the same to the last bit in all units, and so
is the way from there. What is learned goes back to the units of the inputs, and q(u) is then found
from the data as they are.
"""

import copy
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import numpy as np

from ..data.checks import LARGEST
from ..data.rows import on_grid
from ..data.standard_inputs import LEARNING_GRID, StandardInputs
from ..data.target_units import UNIT, TargetUnits
from ..kernels._length_scales import scales_by_column, variance_slots
from ..kernels.nodes import leaves
from ..optimize.parameters import shaped_like


def learning_units(problem):
    """Return the units in which a problem is learned.

    Standard ones are those of default kernels, whose bounds and starts are relative to the scatter
    of the columns. A kernel that was given learns from the data as they are.
    """
    start, rows = problem.start, problem.rows
    starts = (start, *start.alternatives)
    if "theta" not in start.with_default_bounds:
        return GivenUnits()
    if any(scales_by_column(one.parameters.expression) is None for one in starts):
        return GivenUnits()
    inputs = StandardInputs.of(rows.X, rows.observations, start.columns.categorical)
    if start.units is UNIT:
        return StandardUnits(inputs, starts)
    # outputs differ in their units, or the likelihood has numbers in these
    differ = np.size(start.units.square) > 1 or start.parameters.mixes_outputs
    if differ or not start.likelihood.has_noise:
        return StandardUnits(inputs, starts, keeps_targets=True)
    return StandardUnits(inputs, starts, float(np.sqrt(start.units.middle)), rows.total_weight)


class GivenUnits:
    """Units of the inputs as they came; methods as those of `StandardUnits`.

    Blocks of rows have them: their evidence amplifies little, and those of an earlier fit may serve
    again.
    """

    def posed(self, problem, copies):
        return problem

    def again(self, problem, found):
        return found

    def run_again(self, run):
        return run

    def learned(self, parameters):
        return parameters

    def told(self, trace):
        return nullcontext()


@dataclass(frozen=True)
class StandardUnits:
    """Units of the inputs in which each column has mean 0 and standard deviation 1.

    Parameters
    ----------
    inputs : StandardInputs
        Of the rows.
    starts : tuple of Start
        Those of the problem, in units of the inputs.
    target : float
        Unit of the targets, where they are learned as they come.
    weight : float
        Of the rows, whose log density is that of targets in units of the inputs.
    keeps_targets : bool
        Whether targets, and what has their units, stay as they are.
    """

    inputs: StandardInputs
    starts: tuple
    target: float = 1.0
    weight: float = 0.0
    keeps_targets: bool = False

    # ---- There

    def posed(self, problem, copies):
        """Return the problem in these units, all of it on the grid.

        With ``copies`` all inputs are copied, as few as learning copies where there are more.
        """
        change = _StandardRows(self.inputs.center, self.inputs.scale, self.target)
        rows = problem.rows.seen_as(change)
        if copies and not rows.live_elsewhere:
            rows = replace(rows, X=np.asarray(rows.X))
        return replace(problem, rows=rows, start=self.start(problem.start))

    def start(self, start):
        """Return a start, and its alternatives, in these units."""
        others = tuple(self.start(one) for one in start.alternatives)
        parameters, space = self.parameters(start.parameters), start.space
        shifts = {"theta": self._shift(start.parameters)[:, None], "log_noise": self._of_noise}
        for name, shift in shifts.items():
            if space.learns(name):
                bounds = space.group(name).bounds
                bounds = np.where(shift == 0.0, bounds, self._rounded(name, bounds - shift))
                space = space.with_group(name, bounds=bounds)
        if space.learns("Z") and not start.parameters.has_features:
            unit = space.group("Z").unit / self.inputs.scale
            space = space.with_group("Z", unit=_rounded(unit))
        if space.prior is not None:
            columns = np.delete(self.inputs.scale, start.columns.categorical)
            space = replace(space, prior=space.prior.for_scaled_inputs(np.log(columns)))
        units = start.units
        if self.target != 1.0:
            units = TargetUnits(*(_on_relative_grid(square / self.target**2) for square in units))
        return replace(start, parameters=parameters, space=space, alternatives=others, units=units)

    def parameters(self, parameters):
        """Return parameters in these units, on the grid."""
        values = {**parameters.values, "log_noise": parameters.log_noise - self._of_noise}
        values = {name: self._rounded(name, value) for name, value in values.items()}
        theta, shift = parameters.theta, self._shift(parameters)
        values["theta"] = np.where(shift == 0.0, values["theta"], _rounded(theta - shift))
        if not parameters.has_features:  # which are in units of the length scales
            far, away = LARGEST * self.inputs.scale, parameters.Z - self.inputs.center
            values["Z"] = _rounded(np.clip(away, -far, far) / self.inputs.scale)
        return type(parameters)(self._expression(parameters.expression), values)

    @property
    def _of_noise(self):
        """Return what the logarithm of a variance is less in these units."""
        return 2.0 * np.log(self.target)

    def _rounded(self, name, values):
        """Return values on the grid, but for those in units of targets that stay as they are."""
        return values if self.keeps_targets and name != "Z" else _rounded(values)

    def _shift(self, parameters):
        """Return what the logarithms of the kernel's parameters are less in these units."""
        expression = parameters.expression
        of_values = np.zeros(len(expression.values))
        of_values[variance_slots(expression)] = self._of_noise
        shift = of_values[expression.free]
        for places, columns in scales_by_column(expression):
            shift[places] = np.log(self.inputs.scale[columns])
        return shift

    def _expression(self, expression):
        """Return a compiled kernel whose inputs are centred, with constants in these units."""
        node, values = copy.deepcopy(expression.node), expression.values.copy()
        for leaf, _ in leaves(node, np.arange(expression.n_features)):
            if leaf.length_scale is not None:
                leaf.center = np.zeros_like(leaf.center)
        slots = variance_slots(expression)
        values[slots] = _on_relative_grid(values[slots] / self.target**2)
        return replace(expression, node=node, values=values)

    # ---- And back

    def again(self, problem, found):
        """Return what has become of the problem, in units of the inputs."""
        trace = problem.trace
        if trace.start is not None:
            trace.start = self.start_again(trace.start)
        return replace(found, rows=problem.rows, start=self.start_again(found.start))

    def run_again(self, run):
        """Return what has been learned, in units of the inputs."""
        lost, reached = self.weight * np.log(self.target), run.reached
        reached = None if reached is None else reached - lost
        return run._replace(parameters=self.learned(run.parameters), reached=reached)

    def start_again(self, start):
        """Return a start in units of the inputs."""
        if any(start is one for one in self.starts):
            return start  # an earlier stage has left it
        kind = start.kernel, start.in_proportion
        origin = next(one for one in self.starts if (one.kernel, one.in_proportion) == kind)
        others = tuple(self.start_again(one) for one in start.alternatives)
        return replace(
            start,
            parameters=self.learned(start.parameters),
            space=origin.space,
            alternatives=others,
            units=origin.units,
        )

    def learned(self, parameters):
        """Return parameters in units of the inputs; what has not moved is what it was."""
        kernel = parameters.expression.kernel
        origin = next(
            one.parameters for one in self.starts if one.parameters.expression.kernel is kernel
        )
        values = dict(parameters.values)
        values["theta"] = parameters.theta + self._shift(origin)
        values["log_noise"] = parameters.log_noise + self._of_noise
        if not parameters.has_features:
            values["Z"] = parameters.Z * self.inputs.scale + self.inputs.center
        begun = self.parameters(origin).values
        for name, before in origin.values.items():
            if np.shape(begun[name]) == np.shape(values.get(name)):
                stays = parameters.values[name] == begun[name]
                values[name] = shaped_like(np.where(stays, before, values[name]), before)
        return replace(origin, values=values)

    @contextmanager
    def told(self, trace):
        """Tell callbacks of what is learned in units of the inputs."""
        told, constant = trace.on_iteration, trace.constant
        trace.constant = constant - self.weight * np.log(self.target)
        if told is not None:
            trace.on_iteration = lambda trace, now: told(trace, lambda: self.learned(now()))
        try:
            yield
        finally:
            trace.on_iteration, trace.constant = told, constant


@dataclass(frozen=True)
class _StandardRows:
    """Makes rows in standard units, on the grid; parameters as of `StandardUnits`."""

    center: np.ndarray
    scale: np.ndarray
    target: float

    def __call__(self, rows):
        X, y_scale = StandardInputs(rows.X, self.center, self.scale), self.target * rows.y_scale
        grid = LEARNING_GRID if rows.grid or self.target != 1.0 else 0.0
        rows = replace(rows, X=X, y_scale=y_scale, grid=grid)
        return rows if rows.counts is None else rows.with_weight(_on_relative_grid(rows.weight))


def _rounded(values):
    """Return values on the grid: an array, or a number."""
    return shaped_like(on_grid(np.array(values, dtype=np.float64), LEARNING_GRID), values)


def _on_relative_grid(values):
    """Return numbers of any size with as many digits as those of order one have on the grid."""
    mantissa, exponent = np.frexp(values)
    return shaped_like(np.ldexp(on_grid(mantissa, LEARNING_GRID), exponent), values)
