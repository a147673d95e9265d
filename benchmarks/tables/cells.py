"""Cells of the tables, as text, from stored results."""

from tables.contents import TABLES
from tables.effort import EFFORT_COLUMNS, effort_rows
from tables.measure import NO
from tables.real_series import SERIES_COLUMNS, series_rows
from tables.unseen import WORST_COLUMNS, worst_rows

_COLUMNS = ("measure", "ours", "se", "n", "reach", "met", "published", "peers, same run",
            "times better")  # fmt: skip


def _number(value):
    """Four significant digits, without an exponent where that is readable."""
    if value is None:
        return "not reached"
    if not 1e-4 <= abs(value) < 1e7 and value != 0:
        return f"{value:.2e}"
    digits = 0 if abs(value) >= 1000 else 4 if abs(value) < 1 else 2
    return f"{value:,.{digits}f}"


def _duration(seconds):
    return f"{_number(1e3 * seconds)} ms" if seconds > 1e-4 else f"{_number(1e6 * seconds)} µs"


def _met(measure, found, shown):
    """Whether the row is met; a ratio of seconds also needs a density that is no worse."""
    error = found["errors"].get(measure.key) or {}
    se = error.get("se")
    met = measure.met(shown, None if se is None else se * measure.factor)
    gain = found["values"].get(measure.density)
    if not met or gain is None:
        return met
    se = found["errors"][measure.density]["se"]
    return met if gain >= -se else f"{NO}: density worse by {_number(-gain)}, se {_number(se)}"


def _uncertainty(measure, found):
    """Standard error and what it is over."""
    error = found["errors"].get(measure.key)
    if error is None:
        return "", ""
    se = "" if error["se"] is None else _number(error["se"] * measure.factor)
    return se, f"{error['n']:,} {error['of'] if error['n'] != 1 else error['of'][:-1]}"


def _ratios(measure, value, peers):
    if not measure.ratio or value is None:
        return ""
    better = []
    for name, other in peers.items():
        if other is None:
            better.append(f"{name}: never")
        else:
            ratio = value / other if measure.unit == "rows/s" else other / value
            better.append(f"{name}: {ratio:.2g}")
    return "; ".join(better)


def rows(results, measures):
    """Cells of a table, only for experiments that are shown."""
    toy = results["run"]["toy"]  # what is to be reached means nothing there
    for measure in measures:
        found = results["experiments"].get(measure.experiment)
        if found is None:
            continue
        found = {"errors": {}, "peers": {}, **found}
        title = f"{measure.title} [{measure.unit}]" if measure.unit else measure.title
        if measure.key not in found.get("values", {}):
            if measure.rival:
                yield (title, f"needs {measure.rival}", *[""] * (len(_COLUMNS) - 2))
            continue
        value, peers = found["values"][measure.key], found["peers"].get(measure.key, {})
        shown = None if value is None else value * measure.factor
        beside = [
            f"{name} {_number(other if other is None else other * measure.factor)}"
            for name, other in peers.items()
        ]
        yield (
            title,
            _number(shown),
            *_uncertainty(measure, found),
            "" if toy else measure.target,
            "" if toy else _met(measure, found, shown),
            "" if toy else measure.published,
            "; ".join(beside),
            _ratios(measure, value, peers),
        )


def _call_rows(results):
    """How far each rival was allowed to go, as its adapter said."""
    for name, found in results["experiments"].items():
        merged = {}
        for call in found.get("calls", []):
            if call["rival"]:
                allowed = ", ".join(f"{key} {value}" for key, value in call["allowed"].items())
                merged.setdefault((call["adapter"], call["task"], allowed), []).append(call)
        for (adapter, task, allowed), calls in merged.items():
            yield (
                name,
                f"{adapter} {task}",
                str(sum(max(1, call["problems"]) for call in calls)),
                allowed,
                f"{sum(call['seconds'] for call in calls):.0f}",
                "yes" if any(call["cut_off"] for call in calls) else "",
            )


_CALL_COLUMNS = ("experiment", "rival", "problems", "allowed", "seconds in all", "cut off")


def _step_rows(results):
    """Where the time of each part goes: arithmetic owed, arithmetic done, overhead."""
    found = results["experiments"].get("micro")
    if found is None or "details" not in found:
        return
    for part in found["details"]["parts"]:
        rate = part["gflop_done"] / part["seconds"]
        yield (
            f"{part['part']}, {part['form']}",
            _duration(part["seconds"]),
            f"{part['gflop_owed']:.3g}",
            f"{part['gflop_done']:.3g}",
            f"{rate:.0f} GFLOP/s",
            f"{part['share_owed']:.0%}",
            f"{part['share_done']:.0%}",
            f"{1 - part['share_done']:.0%}",
        )


_STEP_COLUMNS = ("part", "time", "Gflop owed", "Gflop done", "rate", "owed at peak", "done at peak",
                 "overhead")  # fmt: skip


def _growth_rows(results):
    """Against n; the points of m and d are in results.json."""
    found = results["experiments"].get("growth_n", {})
    for point in found.get("details", {}).get("points", []):
        timed = [_number(1e3 * point[key]) for key in ("fit", "evaluation", "step", "inducing")]
        sizes = [f"{point[key]:,}" for key in ("n", "m", "d", "n_jobs")]
        form = "whitened" if point["whitened"] else "direct"
        yield (*sizes, form, *timed, _number(point["megabytes"]))


_GROWTH_COLUMNS = ("n", "m", "d", "n_jobs", "form", "exact fit, ms", "evaluation, ms",
                   "step, ms", "k-means, ms", "fit memory, MB")  # fmt: skip


def tables(results):
    """(title, columns, rows) of every table that has rows."""
    made = [(title, _COLUMNS, list(rows(results, some))) for title, some in TABLES.items()]
    worst = "Where ours is furthest behind, of the tables that nobody has chosen"
    after = list(TABLES).index("Tables that nobody has chosen") + 1
    made.insert(after, (worst, WORST_COLUMNS, list(worst_rows(results))))
    after = list(TABLES).index("Speed and memory") + 2
    made.insert(after, ("Where the time goes", _STEP_COLUMNS, list(_step_rows(results))))
    made.append(("Real series, each", SERIES_COLUMNS, list(series_rows(results))))
    made.append(("Seconds of each size", EFFORT_COLUMNS, list(effort_rows(results))))
    made.append(("Growth with n", _GROWTH_COLUMNS, list(_growth_rows(results))))
    made.append(("How far rivals were allowed to go", _CALL_COLUMNS, list(_call_rows(results))))
    return [table for table in made if table[2]]
