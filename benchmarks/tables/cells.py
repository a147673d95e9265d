"""Cells of the tables, as text, from stored results."""

from tables.contents import TABLES

_COLUMNS = ("measure", "ours", "reach", "met", "known before", "peers, same run", "times better")


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


def _met(measure, value):
    met = measure.met(value)
    return "" if met is None else "yes" if met else "NO"


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
    """Cells of a table, only for experiments that have run."""
    for measure in measures:
        found = results["experiments"].get(measure.experiment)
        if found is None:
            continue
        title = f"{measure.title} [{measure.unit}]" if measure.unit else measure.title
        if measure.key not in found.get("values", {}):
            if measure.rival:
                yield (title, f"needs {measure.rival}", *[""] * (len(_COLUMNS) - 2))
            continue
        value, peers = found["values"][measure.key], found["peers"].get(measure.key, {})
        toy = results.get("toy", False)  # what is to be reached means nothing there
        shown = None if value is None else value * measure.factor
        beside = [
            f"{name} {_number(other if other is None else other * measure.factor)}"
            for name, other in peers.items()
        ]
        yield (
            title,
            _number(shown),
            "" if toy else measure.target,
            "" if toy else _met(measure, shown),
            "" if toy else measure.reference,
            "; ".join(beside),
            _ratios(measure, value, peers),
        )


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
    for axis in "nmd":
        found = results["experiments"].get(f"growth_{axis}")
        for point in found.get("details", {}).get("points", []) if found else []:
            timed = [
                _number(1e3 * point[key]) if key in point else ""
                for key in ("fit", "evaluation", "step", "inducing")
            ]
            sizes = [f"{point[key]:,}" for key in ("n", "m", "d", "n_jobs")]
            form = "whitened" if point["whitened"] else "direct"
            yield (axis, *sizes, form, *timed, _number(point["megabytes"]))


_GROWTH_COLUMNS = ("grows", "n", "m", "d", "n_jobs", "form", "exact fit, ms", "evaluation, ms",
                   "step, ms", "k-means, ms", "fit memory, MB")  # fmt: skip


def tables(results):
    """(title, columns, rows) of every table that has rows."""
    made = [(title, _COLUMNS, list(rows(results, some))) for title, some in TABLES.items()]
    made.insert(2, ("Where the time goes", _STEP_COLUMNS, list(_step_rows(results))))
    made.append(("Growth, point by point", _GROWTH_COLUMNS, list(_growth_rows(results))))
    return [table for table in made if table[2]]
