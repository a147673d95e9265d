"""Rows of seconds against rows and columns, and a line for each size."""

from experiments.effort import DEFAULT, OTHERS

from tables.measure import Measure

_EXPERIMENTS = {DEFAULT: "effort", **dict.fromkeys(OTHERS, "effort_of_others")}
_MOST_TIMES = 2.2
_AXES = {"rows": "rows, 8 columns", "columns": "columns, 1,000 rows"}

EFFORT = [
    row
    for kind, experiment in _EXPERIMENTS.items()
    for axis, title in _AXES.items()
    for row in (
        Measure(experiment, f"{kind} {axis} ratio", f"{kind}(), more {title}: seconds over those "
                "of the next smaller table, the largest", "times", high=_MOST_TIMES),
        Measure(experiment, f"{kind} {axis} at", f"the same: {axis} of the larger table"),
        Measure(experiment, f"{kind} {axis} seconds", f"the same: seconds with the most {axis}",
                "s"),
    )
]  # fmt: skip

EFFORT_COLUMNS = ("rows", "columns", *(f"{kind}()" for kind in _EXPERIMENTS))


def effort_rows(results):
    """Cells of each size: seconds of every kind that was fitted to it."""
    for axis in _AXES:
        by_size = {}
        for kind, experiment in _EXPERIMENTS.items():
            found = results["experiments"].get(experiment, {}).get("details", {})
            for point in found.get(kind, {}).get(axis, ()):
                by_size.setdefault((point["n"], point["d"]), {})[kind] = point["seconds"]
        for (n, d), seconds in sorted(by_size.items()):
            shown = (f"{seconds[kind]:.2f}" if kind in seconds else "" for kind in _EXPERIMENTS)
            yield (f"{n:,}", str(d), *shown)
