"""From distributions by names of parameters to what is added to objectives, starts and bounds."""

import numpy as np
from scipy.stats import rv_continuous

from ..kernels._parameter_names import bare, has_noise_terms, named_places, noise_name
from ..optimize.kernel_priors import NOTHING_EXPECTED, KernelPrior, KernelPriors
from ..optimize.parameters import shaped_like

# Without a term of the kernel for it, and with one.
NOISE_VARIANCE, NOISE_LEVEL = "noise_variance", "noise_level"


def _check_distributions(priors):
    """Refuse what is no dict of frozen distributions by names of parameters."""
    for name, distribution in priors.items():
        methods = ("logpdf", "ppf", "support")
        if isinstance(name, str) and all(hasattr(distribution, method) for method in methods):
            is_frozen = not isinstance(distribution, rv_continuous)
            if is_frozen and np.isfinite(distribution.ppf(0.5)).all():
                continue
        raise ValueError(
            "The 'kernel_priors' parameter must have names of parameters as keys, and frozen "
            "continuous distributions of scipy.stats as values, such as "
            '{"length_scale": scipy.stats.lognorm(s=0.5, scale=2.0)}. Got '
            f"{name!r}: {distribution!r}."
        )


def expects_noise(priors):
    """Return whether one of the priors is of the noise."""
    return any(bare(str(name)) in (NOISE_VARIANCE, NOISE_LEVEL) for name in priors or {})


def expected_of(choices, kernel, expression, n_noises):
    """Return the `KernelPriors` of one kernel.

    Parameters
    ----------
    kernel : Kernel
        The whole one, noise included.
    expression : KernelExpression
        Of the process.
    n_noises : int
        Noise variances that are learned.
    """
    if not choices.kernel_priors:
        return NOTHING_EXPECTED
    _check_distributions(choices.kernel_priors)
    known, parts = _learned_names(choices, kernel, expression, n_noises), []
    for name, distribution in choices.kernel_priors.items():
        for full, (group, places) in known.items():
            is_meant = full == name or (bare(full) == name and full not in choices.kernel_priors)
            if is_meant:
                _check_shape(name, full, distribution, places)
                parts.append(KernelPrior.of(name, group, places, distribution))
    return KernelPriors(tuple(parts))


def _names_of(start, choices):
    noise = np.size(start.parameters.log_noise) if start.space.learns("log_noise") else 0
    return _learned_names(choices, start.kernel, start.parameters.expression, noise)


def _learned_names(choices, kernel, expression, n_noises):
    """Return groups and places of the parameters that are learned, by their names."""
    count = expression.n_features - len(choices.columns.incomplete)
    places = named_places(kernel, expression, count)
    known = {name: ("theta", own) for name, own in places.items()}
    if n_noises:
        name = noise_name(kernel) if has_noise_terms(kernel) else NOISE_VARIANCE
        known |= {} if name is None else {name: ("log_noise", np.arange(n_noises))}
    return known


def _check_shape(name, full, distribution, places):
    size = np.size(distribution.ppf(0.5))
    if size not in (1, len(places)):
        raise ValueError(
            f"The prior of {name!r} in 'kernel_priors' must be of one parameter, or of the "
            f"{len(places)} of {full!r}. Got one of {size}."
        )


def check_names(choices, starts):
    """Refuse a name that no parameter has which is learned, with any of some starts."""
    known = {name for one in starts for name in _names_of(one, choices)}
    names = {bare(name) for name in known}
    if choices.kernel is not None:  # a fit chooses among default ones, and with it longer names
        names |= known
    for name in choices.kernel_priors or {}:
        if name not in names:
            of = "the default kernels" if choices.kernel is None else repr(choices.kernel)
            raise ValueError(
                f"Names in 'kernel_priors' must be of parameters that are learned: of {of} and its "
                f"noise these are {sorted(names)}. Got {name!r}."
            )


def begun(expected, values, bounds, by_default):
    """Return starting values and bounds that what is expected allows.

    Those that a user gave must be allowed. Default bounds are made as wide as what is expected, and
    default starts go to where it begins, if that is more likely.

    Parameters
    ----------
    values : dict
        Logarithms by the names of the groups.
    bounds : dict
        Of these, (k, 2).
    by_default : tuple of str
        Groups of which the user gave neither start nor bounds.
    """
    values, bounds = dict(values), dict(bounds)
    for part in expected.parts:
        is_default = part.group in by_default
        ends = bounds[part.group].copy()
        logs = np.array(np.atleast_1d(values[part.group]), dtype=np.float64)
        own, at = ends[part.places], logs[part.places]
        likely, support = part.quantiles(), part.support()
        if is_default:
            own, at = _wider(own, likely), part.likelier(at, np.clip(at, *likely.T))
        lower, upper = np.maximum(own, support)[:, 0], np.minimum(own, support)[:, 1]
        if (lower > upper).any():
            _refuse(part, "bounds", own)
        if not is_default and (np.clip(at, *support.T) != at).any():
            _refuse(part, "start", at)
        ends[part.places] = np.column_stack([lower, upper])
        logs[part.places] = np.clip(at, lower, upper)
        bounds[part.group] = ends
        values[part.group] = shaped_like(logs, values[part.group])
    return values, bounds


def _wider(bounds, other):
    other = np.where(np.isfinite(other), other, bounds)
    return np.column_stack(
        [np.minimum(bounds[:, 0], other[:, 0]), np.maximum(bounds[:, 1], other[:, 1])]
    )


def _refuse(part, what, logs):
    support = np.exp(part.support())
    raise ValueError(
        f"The {what} of {part.name!r} must be within the support of its prior in 'kernel_priors', "
        f"{support[:, 0].max():.4g} to {support[:, 1].min():.4g}. Got {np.exp(logs).tolist()}: "
        "change one of them."
    )
