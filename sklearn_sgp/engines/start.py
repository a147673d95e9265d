"""From what the user gave to starting values, bounds and the space of what is learned.

Which of the starts that are made here goes on is chosen by each engine: `variational.candidates`,
`blocks.trials`.
"""

from dataclasses import dataclass, replace

import numpy as np

from .._warnings import warn_caller
from ..data.categories import PLAIN_COLUMNS, InputColumns
from ..data.checks import check_variance
from ..data.column_spread import column_summary, warn_of_far_inputs
from ..data.inducing import choose_inducing, given_inducing, with_more_inducing
from ..data.missing import NO_MISSING
from ..data.target_units import UNIT, TargetUnits
from ..kernels._columns import least_columns, with_missing
from ..kernels._compile import compile_without_noise
from ..kernels._defaults import (
    ONE,
    KernelSet,
    for_targets_of_size,
    lines_of,
    scarce_categories,
    starting_length_scale,
    with_categories,
)
from ..kernels._features import draw_features
from ..kernels._length_scales import input_scales, n_scales_of, units_of_theta
from ..kernels._turned import columns_of_directions
from ..kernels._white_noise import START_NOISE, fixed_unit_noise, has_default_bounds, starting_noise
from ..kernels.categories._binding import bound_to, check_seen_codes
from ..kernels.categories._node import category_slots, of_known_categories
from ..optimize.frequencies import Frequencies
from ..optimize.parameters import Group, Parameters, ParameterSpace, shaped_like
from .ascent import FEW_ROWS
from .base import Start, has_equal_noise
from .expected import begun, check_names, expected_of
from .fingerprints import fingerprint, structure
from .noise_free import expects_no_noise
from .parts_of_outputs import has_parts
from .proportions import same_structure, with_proportions
from .ties import TIES, Ties, prior_of
from .variational.mixing import starting_mixing

# Learned means of outputs move so far, in units of the function. Logarithms of counts have the mean
# log E[y] - v / 2 with the variance v of the function. One count among 200 zeros has no such limit:
# without one its rate fell to e^-6 of the observed one, where the next has a density of e^-25.
_REACH_OF_MEANS = 3.0


@dataclass(frozen=True)
class Choices:
    """Choices of the user about the model; names as in the public interface.

    ``noise_variance`` and its bounds are None for classifiers. ``ties_length_scales`` says whether
    a weak prior ties those of the default kernel, and ``ties`` which. ``learns`` says whether
    anything is learned, and ``kernel_set`` has default kernels. ``columns`` has the names of the
    columns, and which are categories for the default kernel; ``missing`` fills them. ``n_latent``
    is the number of latent functions that outputs mix, None for independent outputs. With
    ``normalize_y=False``, or a pair, starting values and default bounds are relative to the targets
    as they are. ``has_default_kernel`` says that ``kernel`` was not given by the user.
    ``kernel_priors`` has distributions by names of parameters, or is None. ``sees_more_rows`` says
    that more rows than the first come later, so that these do not decide that categories have few:
    `engines.streams.search_space.alike` holds what they share until they have more. ``seconds`` are
    those that are left.
    """

    kernel: object
    n_inducing: int
    inducing: object
    optimize_inducing: bool
    noise_variance: object = None
    noise_variance_bounds: object = None
    ties_length_scales: bool = False
    ties: Ties = TIES
    learns: bool = True
    kernel_set: KernelSet = ONE
    columns: InputColumns = PLAIN_COLUMNS
    missing: object = NO_MISSING
    n_latent: int | None = None
    learns_means: bool = False
    normalize_y: object = True
    has_default_kernel: bool = False
    kernel_priors: object = None
    sees_more_rows: bool = False
    seconds: float = np.inf

    def by_default(self, kernel, noise_variance):
        """Return the same with another default kernel, whose inducing inputs stay where they are.

        Learning begins with this noise variance, unless one was given.
        """
        given = self.noise_variance is not None or isinstance(self.noise_variance_bounds, str)
        noise = self.noise_variance if given else noise_variance
        own = {"kernel": kernel, "noise_variance": noise, "optimize_inducing": False}
        return replace(self, **own, has_default_kernel=True)

    @property
    def has_features(self):
        """True if Fourier features take the place of inducing inputs."""
        return isinstance(self.inducing, str) and self.inducing == "fourier"

    @property
    def expects_no_noise(self):
        """True if the user says that there is next to none."""
        return expects_no_noise(self.noise_variance, self.noise_variance_bounds)

    @property
    def mixes_outputs(self):
        """True if outputs mix latent functions."""
        return self.n_latent is not None


def start(rows, choices, likelihood, rng, previous=None, choose=None):
    """Return starting parameters and the space of those that are free.

    Parameters
    ----------
    previous : Fitted or None
        An earlier fit whose parameters are taken, each group where it still fits.
    choose : callable or None
        ``choose(rows, kernel, noise_variance, scale, rng)``: inducing inputs, where they are
        neither given nor chosen by `data.inducing.choose_inducing`.
    """
    center, spread, is_blinded = column_summary(rows.X, rows.observations)
    if not rows.live_elsewhere:
        warn_of_far_inputs(is_blinded)
    std = np.where(spread > 0.0, spread, 1.0)
    is_normalized = choices.normalize_y is True or isinstance(choices.normalize_y, str)
    units = TargetUnits.of(rows) if likelihood.scales_targets and not is_normalized else UNIT
    kernels = _kernels(rows, choices, likelihood, center, spread, previous, units)
    shared = (rows, choices, likelihood, previous, center, spread, units)
    first = _start_with(
        kernels[0],
        *shared,
        lambda parameters: _inducing_inputs(rows, choices, parameters, std, rng, choose, previous),
    )
    Z = first.parameters.Z
    others = [_start_with(kernel, *shared, lambda _: Z) for kernel in kernels[1:]]
    check_names(choices, [first, *others])
    if previous is None and choices.learns:
        others += _with_more_noise(first)
    if choices.kernel is None and not choices.has_features:
        first, *others = with_proportions([first, *others], rows, spread, choices, previous)
    return replace(first, alternatives=tuple(others))


def _with_more_noise(start):
    """Return a list of the same start with the usual noise, where less was given and is learned.

    From little noise a step too far ends where all is noise, and no gradient leads away from there:
    of 16 functions of one to four columns, 100 rows, 13 ended so from 1e-6 to 0.01, now none.
    """
    parameters, space = start.parameters, start.space
    if not (start.likelihood.has_noise and space.learns("log_noise") and space.learns("theta")):
        return []
    lower, upper = space.group("log_noise").bounds.T
    usual = np.clip(np.log(START_NOISE * np.asarray(start.units.variance)), lower, upper)
    more = np.maximum(parameters.log_noise, usual)
    if not np.any(more > parameters.log_noise + np.log(2.0)):
        return []
    more = shaped_like(more, parameters.log_noise)
    return [replace(start, parameters=parameters.with_values(log_noise=more))]


def _kernels(rows, choices, likelihood, center, spread, previous, units):
    """Return the given kernel, or default ones: of an earlier fit alone, if it was one of them."""
    names, categorical = choices.columns.names, choices.columns.categorical
    if choices.kernel is not None:
        return [of_columns(choices.kernel, rows.X, choices.columns)]
    # learned frequencies say what a choice of the kernel would
    compares = (choices.learns or previous is not None) and not choices.has_features
    n_outputs = rows.y.shape[1]
    if previous is not None and _keeps_kernel(previous, choices.columns, spread, n_outputs):
        return [previous.start.kernel]
    kernel_set = choices.kernel_set if compares else ONE
    of_near, scarce = kernel_set.of_near_rows, ()
    if not choices.sees_more_rows:
        # weights beside a noise that is known may be precisions, in the unit of y
        is_known = likelihood.has_noise and isinstance(choices.noise_variance_bounds, str)
        n_rows = len(rows) if is_known else rows.total_weight
        scarce = scarce_categories(choices.columns, n_rows)
    kernels = with_categories(kernel_set.kernels_of, spread, categorical, of_near, scarce)
    if _may_be_lines(rows, choices, likelihood):
        kernels += lines_of(kernel_set, spread, center, categorical, scarce)
    if units is not UNIT and not choices.mixes_outputs:  # where outputs are mixed, W has the units
        low, high = units.bounds
        kernels = [for_targets_of_size(kernel, low, units.middle, high) for kernel in kernels]
    kernels = [bound_to(kernel, rows.X, names) for kernel in kernels]
    if previous is None:
        return kernels
    same = [kernel for kernel in kernels if same_structure(kernel, previous)]
    if same or choices.learns:
        return same or kernels
    return _kernels(rows, choices, likelihood, center, spread, None, units)


def _keeps_kernel(previous, columns, spread, n_outputs):
    """Return whether an earlier fit came from a default kernel to another one for such rows.

    That has directions of all columns that vary, or a part for each of the outputs. All columns
    have numbers without gaps.
    """
    start = previous.start
    is_default = "theta" in start.left_open and len(spread) == start.parameters.Z.shape[1]
    if not (is_default and columns.are_plain):
        return False
    varying = np.flatnonzero(spread).tolist()
    return columns_of_directions(start.kernel) == varying or has_parts(start.kernel, n_outputs)


def _may_be_lines(rows, choices, likelihood):
    """Return whether lines are tried: for few whole rows with Gaussian noise, all at once."""
    is_plain = has_equal_noise(likelihood) and not choices.columns.incomplete
    one_table = len(rows) <= FEW_ROWS and not rows.live_elsewhere and rows.counts is None
    is_special = choices.mixes_outputs or choices.kernel_priors
    return is_plain and one_table and not is_special


def of_columns(kernel, X, columns):
    """Return the user's kernel with numbers of columns, which also sees where values are missing.

    A kernel that names columns behind those of the user, as learned ones do, sees this already. X
    are the inputs of the kernel.
    """
    count = X.shape[1] - len(columns.incomplete)
    sees_all = count < least_columns(kernel) <= X.shape[1]
    if sees_all:
        count = X.shape[1]
    names = None if columns.names is None else columns.names[:count]
    own = X[:, :count] if columns.incomplete else X
    if columns.incomplete:  # what is filled in is no code of a category
        gaps = np.zeros((1, count))
        gaps[:, list(columns.incomplete)] = np.nan
        bound_to(kernel, gaps, names)
    if sees_all:
        return bound_to(kernel, own, names)
    return with_missing(bound_to(kernel, own, names), count, columns.incomplete)


def _start_with(
    kernel, rows, choices, likelihood, previous, center, spread, units, inducing_inputs
):
    """Start with one kernel; ``inducing_inputs`` is a function of its `Parameters`."""
    expression, whites, theta_bounds = compile_without_noise(kernel, center)
    if likelihood.has_noise:
        given = choices.noise_variance, choices.noise_variance_bounds
        how = rows.y.shape[1], units.variance, choices.learns
        noise, noise_bounds = starting_noise(whites, *given, *how)
    else:
        noise, noise_bounds = fixed_unit_noise(whites, choices.kernel, likelihood)
        if rows.of_classes:
            noise = np.full(rows.y.shape[1], noise)
    theta = np.clip(expression.theta, *theta_bounds.T) if choices.learns else expression.theta
    values = {"theta": theta, "log_noise": np.log(noise)}
    if len(likelihood.theta):
        values["likelihood"] = likelihood.theta
    if choices.mixes_outputs:
        by_rank = not likelihood.conjugate  # targets are not on the scale of the functions
        values["mixing"] = starting_mixing(rows, choices.n_latent, units.size, by_rank)
        # under Gaussian noise those of complete targets are as good as learned ones
        if choices.learns_means and (by_rank or np.isnan(rows.y).any()):
            values["means"] = np.zeros(rows.y.shape[1])
    bounds = {"theta": theta_bounds, "likelihood": likelihood.theta_bounds}
    if "means" in values and not likelihood.conjugate:
        bounds["means"] = _bounds_of_means(rows.y)
    if noise_bounds is not None:
        bounds["log_noise"] = np.log(noise_bounds)
    default = _left_open(choices, whites)
    expected = expected_of(choices, kernel, expression, len(bounds.get("log_noise", ())))
    values, bounds = begun(expected, values, bounds, default)
    parameters = Parameters(expression, values)
    learned = _learned(previous, likelihood, parameters, bounds)
    if "theta" in learned and not _same_categories(previous, choices):
        learned["theta"] = _without_categories(learned["theta"], expression)
    parameters = parameters.with_values(**learned)
    check_variance(parameters.kernel, rows.X)
    parameters = parameters.with_values(Z=inducing_inputs(parameters))
    if choices.learns and not expression.differentiable_inputs:
        warn_caller(
            f"The kernel {kernel!r} has a part without analytic gradients: its parameters are "
            "learned by finite differences and the inducing inputs stay where they start."
        )
    groups = tuple(_groups(choices, parameters, likelihood, bounds, spread, units))
    space = ParameterSpace(groups, prior_of(choices, expression, spread), expected)
    untouched = () if expected.parts else default
    inducing = fingerprint(choices.inducing)
    n_idle = n_scales_of(expression, spread == 0.0)
    more = {"columns": choices.columns, "units": units, "n_idle": n_idle}
    more["sees_more_rows"] = choices.sees_more_rows
    made = Start(kernel, likelihood, parameters, space, inducing, untouched, default, **more)
    goes_on = "theta" in learned and _has_learned(previous)
    return replace(made, earlier=previous.likelihood) if goes_on else made


def _has_learned(fitted):
    """Return whether the parameters of a fit, or those that it began with, were learned."""
    start = fitted.start
    return start.earlier is not None or not start.parameters.equal(fitted.parameters)


def _bounds_of_means(y):
    """Return how far means of outputs may move from where they start, (t, 2).

    The likelihood of counts that are all zero has no maximum. They start at half a count in all
    rows, and go no further down the more rows there are.
    """
    varies = np.nanmin(y, axis=0) < np.nanmax(y, axis=0)
    of_one_value = np.maximum(_REACH_OF_MEANS - np.log((~np.isnan(y)).sum(axis=0)), 0.0)
    reach = np.where(varies, _REACH_OF_MEANS, of_one_value)
    return np.stack([-reach, reach], axis=1)


def _left_open(choices, whites):
    """Return the groups of which the user gave no bounds."""
    default = ("theta",) if choices.kernel is None or choices.has_default_kernel else ()
    if not whites and has_default_bounds(choices.noise_variance_bounds):
        default = (*default, "log_noise")
    return default


def _groups(choices, parameters, likelihood, bounds, spread, units):
    """Yield the groups that are learned, in the order of the vector."""
    expression = parameters.expression
    yield Group("theta", bounds["theta"], units_of_theta(expression, spread))
    if "log_noise" in bounds:
        yield Group("log_noise", bounds["log_noise"])
    if len(likelihood.theta):
        yield Group("likelihood", likelihood.theta_bounds)
    if parameters.mixes_outputs:
        yield Group("mixing", None, units.size)
    if parameters.has_means:
        yield Group("means", bounds.get("means"), np.ravel(units.size))
    if choices.optimize_inducing and choices.has_features:
        waves = parameters.Z[:, -1]
        yield Frequencies("Z", None, n_constants=int(len(waves) - 2 * (waves < 0).sum()))
    elif choices.optimize_inducing and expression.differentiable_inputs:
        unit = np.where(spread > 0.0, starting_length_scale(spread), 1.0)  # 1e9 stays what it is
        yield Group("Z", None, unit, expression.held_columns)


def _learned(previous, likelihood, parameters, bounds):
    """Return values of an earlier fit, within the bounds, where they mean the same and are free."""
    n_features = parameters.expression.n_features
    if previous is None or previous.parameters.expression.n_features != n_features:
        return {}
    old, kept = previous.parameters_to_start_from, []
    if structure(old.kernel.sklearn_kernel) == structure(parameters.kernel.sklearn_kernel):
        kept.append("theta")
    if previous.likelihood.has_noise and likelihood.has_noise:
        kept.append("log_noise")
    if type(previous.start.likelihood) is type(likelihood) and len(old.likelihood_theta):
        kept.append("likelihood")
    values = {
        name: _clipped(old.values[name], bounds[name])
        for name in kept
        if name in bounds and np.shape(old.values[name]) == np.shape(parameters.values.get(name))
    }
    if old.mixes_outputs and np.shape(old.mixing) == np.shape(parameters.mixing):
        values["mixing"] = old.mixing
    return values


def _same_categories(previous, choices):
    """Return whether codes of categories mean what they meant in an earlier fit."""
    before, now = previous.start.columns, choices.columns
    return (before.categorical, before.categories) == (now.categorical, now.categories)


def _without_categories(theta, expression):
    """Return learned parameters of a kernel, with those of categories as they start."""
    slots = [slot.ravel() for result in category_slots(expression) for slot in result[:2]]
    places = np.concatenate([*slots, np.empty(0, dtype=np.intp)])
    theta = theta.copy()
    theta[places] = expression.theta[places]
    return theta


def _clipped(value, bounds):
    return shaped_like(np.clip(value, bounds[:, 0], bounds[:, 1]), value)


def _inducing_inputs(rows, choices, parameters, std, rng, choose, previous=None):
    """Return inducing inputs as given or chosen; of an earlier fit if chosen the same way."""
    kernel = parameters.kernel
    method, n_inducing, n_columns = choices.inducing, choices.n_inducing, rows.X.shape[1]
    if choices.has_features:
        return _features(parameters, n_inducing, rng, previous)
    old = None
    if previous is not None and previous.start.inducing == fingerprint(method):
        old = previous.parameters.Z
        old = old if old.shape[1] == n_columns and _same_categories(previous, choices) else None
    if not isinstance(method, str):
        Z = old
        if old is None:
            Z = given_inducing(method, n_columns, choices.missing, choices.columns)
        check_seen_codes(parameters.expression, Z, InputColumns(choices.columns.names))
        return Z
    scale = input_scales(kernel, std)
    old = None if old is None else of_known_categories(old, parameters.expression)
    if old is not None and 0 < len(old) <= n_inducing:
        if choose is not None or len(old) == n_inducing:
            return old
        of_rows = rows.X, rows.observations
        return with_more_inducing(old, method, *of_rows, n_inducing, kernel, scale, rng)
    if choose is not None:
        least_noise = float(np.min(parameters.noise_variance))
        return choose(rows, kernel, least_noise, scale, rng)
    of_rows = rows.X, rows.observations
    return choose_inducing(method, *of_rows, n_inducing, kernel, scale, rng, choices.seconds)


def _features(parameters, n_features, rng, previous):
    """Return features drawn, or those of an earlier fit of a kernel of the same form."""
    Z = draw_features(parameters.kernel, n_features, rng)
    if previous is None or not previous.parameters.has_features:
        return Z
    old = previous.parameters
    same = same_structure(parameters.kernel.sklearn_kernel, previous)
    return old.Z if same and old.Z.shape == Z.shape else Z
