"""Seconds of a fit with defaults against rows and columns: whether they rise without a cliff."""

from collections import defaultdict
from itertools import pairwise
from statistics import median

from experiments.context import FEW
from experiments.records import Found

_FACTOR = 1.5  # between neighbours on the grid
DEFAULT = "AnytimeSGPRegressor"
OTHERS = ("AnytimeSGPClassifier", "SVGPRegressor", "SVGPClassifier")
# Rows and columns of the tables: one of them grows
_FEWEST_ROWS, _COLUMNS_OF_ROWS = 100, 8
_MOST_ROWS, _MOST_ROWS_OF_OTHERS = 45_000, 10_000
_COLUMNS, _ROWS_OF_COLUMNS = (1, 2, 3, 4, 6, 9, 14, 20, 30, 45, 67, 100, 150, 200), 1000
_SEEDS = 3


def effort(context):
    """`AnytimeSGPRegressor()`."""
    return _against_size(context, (DEFAULT,), _MOST_ROWS)


def effort_of_others(context):
    """The other kinds with their defaults, up to fewer rows."""
    return _against_size(context, OTHERS, _MOST_ROWS_OF_OTHERS)


def _against_size(context, kinds, most_rows):
    """Median seconds over tables of each size, and the largest ratio between neighbours."""
    found, details, axes = Found(), {}, _axes(context, most_rows)
    for kind in kinds:
        details[kind] = {axis: _points(context, kind, sizes) for axis, sizes in axes.items()}
        for axis, points in details[kind].items():
            ratio, where = _steepest(points)
            found.values |= {
                f"{kind} {axis} ratio": ratio,
                f"{kind} {axis} at": where["n" if axis == "rows" else "d"],
                f"{kind} {axis} seconds": points[-1]["seconds"],
            }
    return found.result(details=details)


def _axes(context, most_rows):
    """Sizes (n, d) along which rows grow, and columns."""
    rows = context.size(_grid(_FEWEST_ROWS, most_rows), (40, 60))
    few_columns, some_rows = context.size((_COLUMNS_OF_ROWS, _ROWS_OF_COLUMNS), (2, 40))
    columns = context.size(_COLUMNS, (1, 2))
    return {"rows": [(n, few_columns) for n in rows], "columns": [(some_rows, d) for d in columns]}


def _grid(least, most):
    """Whole numbers that grow by the factor, as far as they go."""
    sizes, size = [], float(least)
    while size <= most:
        sizes.append(round(size))
        size *= _FACTOR
    return sizes


def _points(context, kind, sizes):
    """Median seconds of each size, and those of each table."""
    records = context.run(
        "ours/effort", "fits", kind=kind, sizes=sizes, seeds=context.size(_SEEDS, 1),
        **context.size({}, FEW),
    )  # fmt: skip
    by_size = defaultdict(list)
    for record in records:
        by_size[record["n"], record["d"]].append(record["seconds"])
    return [
        {"n": n, "d": d, "seconds": median(each), "each": each} for (n, d), each in by_size.items()
    ]


def _steepest(points):
    """Largest ratio of seconds between neighbours, and the larger one of them."""
    ratios = [(more["seconds"] / less["seconds"], more) for less, more in pairwise(points)]
    return max(ratios, key=lambda one: one[0])
