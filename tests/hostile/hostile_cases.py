"""Cases: an estimator, its parameters, tables and a course of calls; drawn, or made smaller."""

from dataclasses import dataclass, fields, replace

from hostile_estimators import ESTIMATORS, PARAMETERS
from hostile_layouts import NEW_CATEGORIES
from hostile_tables import (
    BLOCKS,
    COUNTS,
    INPUTS,
    LABELS,
    LAYOUTS,
    LIMITED,
    MISSING,
    NUMBERS,
    ORDERS,
    OUTPUTS,
    POSITIVE,
    SHARES,
    SPOILT,
    WEIGHTS,
    Y_LAYOUTS,
    Table,
)
from hypothesis import strategies as st

COURSES = ["fit", "batch", "batches", "fit, batch", "fit, fit", "batch, fit"]
PLAIN = Table()
_SIZES = [1, 2, 3, 5, 8, 13, 20, 30, 45, 60]


@dataclass(frozen=True)
class Case:
    """One try. ``table`` is that of the first call, ``later`` of a second, ``points`` of tests.

    ``changed`` are parameters that are set between the calls.
    """

    estimator: str = "SVGPRegressor"
    parameters: tuple = ()
    table: Table = PLAIN
    course: str = "fit"
    later: Table = PLAIN
    points: Table = PLAIN
    changed: tuple = ()


def _often(value, others, ones=3):
    """``value`` with weight ``ones`` of four, else one of the others."""
    return st.sampled_from([value] * ones + [None]).flatmap(
        lambda drawn: st.just(value) if drawn is not None else st.sampled_from(list(others))
    )


_TARGETS = {"poisson": COUNTS, "negative_binomial": COUNTS, "gamma": POSITIVE, "beta": SHARES}
_TARGETS["censored"] = LIMITED
_TARGETS["auto"] = NUMBERS | COUNTS | POSITIVE


def _targets(estimator, parameters):
    if estimator.endswith("Classifier"):
        return LABELS
    likelihood = str(dict(parameters).get("likelihood", "")).lower().split("(")[0]
    return _TARGETS.get(likelihood, NUMBERS)


@st.composite
def _parameters(draw, estimator, most=4):
    known = PARAMETERS[estimator]
    names = draw(st.lists(st.sampled_from(sorted(known)), max_size=most, unique=True))
    found = {name: draw(st.sampled_from(known[name])) for name in names}
    if "offset_column" in found and "Regressor" in estimator and draw(st.booleans()):
        found["likelihood"] = draw(st.sampled_from(["poisson", "negative_binomial"]))  # have one
    return tuple(found.items())


@st.composite
def _sizes(draw, estimator):
    """Mostly little, now and then many rows or columns."""
    kind = draw(st.sampled_from(["little"] * 12 + ["long", "wide"]))
    if kind == "long":
        return draw(st.sampled_from([200, 700, 1_500, 3_000])), draw(st.sampled_from([1, 2, 5]))
    if kind == "wide":
        most = [10, 30] if estimator == "BayesianGPLVM" else [20, 60, 200]
        return draw(st.sampled_from(_SIZES)), draw(st.sampled_from(most))
    return draw(st.sampled_from(_SIZES)), draw(st.sampled_from([1, 2, 3, 5]))


_POWERS = [-300, -150, -100, -30, -8, -3, 3, 8, 30, 98, 150, 300]
_scales = _often(1.0, [10.0**power for power in _POWERS], ones=3)
_shifts = _often(0.0, [1.0, -1e3, 1e8, 1e16, -1e90], ones=3)


@st.composite
def _tables(draw, estimator, parameters):
    n, d = draw(_sizes(estimator))
    numeric = not estimator.endswith("Classifier")
    targets = _targets(estimator, parameters)
    first = next(iter(targets))
    n_latent = dict(parameters).get("n_latent")
    outputs = 1 if not numeric or estimator == "BayesianGPLVM" else draw(_often(1, [2, 3], 3))
    return Table(
        seed=draw(st.integers(0, 999)),
        n=n,
        d=d,
        inputs=draw(_often("uniform", INPUTS, 2)),
        x_scale=draw(_scales),
        x_shift=draw(_shifts),
        targets=draw(_often(first, targets, 2)),
        y_scale=draw(_scales),
        y_shift=draw(_shifts),
        n_outputs=max(outputs, 2) if n_latent else outputs,
        weights="none" if estimator == "BayesianGPLVM" else draw(_often("none", WEIGHTS, 2)),
        layout=draw(_often("C", LAYOUTS, 2)),
        missing=draw(_often("nothing", MISSING, 3)),
        blocks=draw(_often("none", BLOCKS, 3)) if estimator.startswith("Anytime") else "none",
        y_layout=draw(_often("array", Y_LAYOUTS, 3)),
        order=draw(_often("as made", ORDERS, 3)),
        outputs=draw(_often("alike", OUTPUTS, 1)) if outputs > 1 else "alike",
        spoilt=draw(st.sampled_from(["nothing"] * 60 + sorted(set(SPOILT) - {"nothing"}))),
    )


@st.composite
def _like(draw, table, estimator, parameters):
    """Another table with the columns of a first, of which most things are the same."""
    other = draw(_tables(estimator, parameters))
    always = {"n_outputs", "layout", "blocks"}
    if draw(st.integers(0, 30)):
        always.add("d")
    kept = {
        field.name: getattr(table, field.name)
        for field in fields(Table)
        if field.name in always or draw(st.integers(0, 3))
    }
    made = replace(other, **(kept | {"seed": other.seed, "n": min(other.n, 300)}))
    if made.layout in NEW_CATEGORIES and draw(st.booleans()):
        return replace(made, layout=NEW_CATEGORIES[made.layout])
    return made


@st.composite
def _changes(draw, estimator):
    """Now and then some other parameters for the second call."""
    if draw(st.integers(0, 5)):
        return ()
    changes = draw(_parameters(estimator, 2))
    return tuple((name, value) for name, value in changes if name != "callbacks")


# What each kind of targets is where nothing varies any more.
_CONSTANT = [(NUMBERS, "constant"), (COUNTS, "counts of zero"), (LABELS, "one class")]
_CONSTANT += [(POSITIVE, "positive, of one size"), (SHARES, "shares of one half")]


@st.composite
def _later(draw, table, estimator, parameters):
    """The table of a second call; that of a stream may have nothing but one number."""
    later = draw(_like(table, estimator, parameters))
    if not estimator.startswith("Streaming") or draw(st.integers(0, 4)):
        return later
    kind = _targets(estimator, parameters)
    names = [name for targets, name in _CONSTANT if targets is kind]
    return replace(later, targets=names[0]) if names else later


@st.composite
def cases(draw):
    """Draw a case."""
    estimator = draw(st.sampled_from(ESTIMATORS))
    parameters = draw(_parameters(estimator))
    table = draw(_tables(estimator, parameters))
    can_code = "categorical_features" in PARAMETERS[estimator]
    if table.layout in NEW_CATEGORIES and can_code and draw(st.integers(0, 3)):
        given = tuple(pair for pair in parameters if pair[0] != "categorical_features")
        parameters = (*given, ("categorical_features", draw(st.sampled_from([(0,), "from_dtype"]))))
    return Case(
        estimator,
        parameters,
        table,
        draw(st.sampled_from(COURSES)),
        draw(_later(table, estimator, parameters)),
        draw(_like(table, estimator, parameters)),
        draw(_changes(estimator)),
    )


# Made smaller ------------------------------------------------------------------------------------


def _steps(case):
    """Cases that are simpler in one thing, the greatest steps first."""
    plain = Case()
    for name in ("course", "later", "points", "changed"):
        yield replace(case, **{name: getattr(plain, name)})
    for i in range(len(case.parameters)):
        yield replace(case, parameters=case.parameters[:i] + case.parameters[i + 1 :])
    for name in ("table", "later", "points"):
        table = getattr(case, name)
        for field in fields(Table):
            yield replace(case, **{name: replace(table, **{field.name: field.default})})
        for n in (1, 2, 3, 5, 8, table.n // 2):
            if n < table.n:
                yield replace(case, **{name: replace(table, n=n)})


def smaller(case, fails, most=60):
    """Make a failing case as simple as ``most`` tries can.

    Parameters
    ----------
    case : Case
    fails : callable
        ``fails(case)`` tells whether a case fails in the same way.
    most : int
    """
    tries = 0
    found = True
    while found and tries < most:
        found = False
        for simpler in _steps(case):
            fits = simpler.table.d == simpler.later.d == simpler.points.d
            if simpler == case or not (fits or simpler.course == "fit") or tries >= most:
                continue
            tries += 1
            if fails(simpler):
                case, found = simpler, True
                break
    return case
