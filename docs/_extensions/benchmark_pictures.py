"""Pictures of the benchmark page, drawn from benchmarks/results/results.json by the build."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = ("ours", 'ours, `likelihood="auto"`')
# One look for each method in all panels; a method that is not here is drawn in grey.
LOOKS = {
    OURS[0]: {"color": "#0072b2", "marker": "o", "markersize": 9},
    OURS[1]: {"color": "#0072b2", "marker": "D", "markersize": 8, "markerfacecolor": "white"},
    "tuned boosting": {"color": "#d55e00", "marker": "s"},
    "CatBoost": {"color": "#e69f00", "marker": "^"},
    "NGBoost": {"color": "#cc79a7", "marker": "v"},
    "GPBoost vecchia": {"color": "#009e73", "marker": "P"},
    "GPBoost full-scale vecchia": {"color": "#009e73", "marker": "h", "markerfacecolor": "white"},
    "exact GP, 2,000 rows": {"color": "#8b5a2b", "marker": "*", "markersize": 9},
    "GPflow SGPR": {"color": "#000000", "marker": "X"},
    "GPflow SVGP": {"color": "#666666", "marker": "d"},
    "GPyTorch SVGP": {"color": "#56b4e9", "marker": "<"},
}
BUDGETS = {
    "synthetic": "synthetic, 90,000 rows, m = 500",
    "kin40k": "kin40k, 36,000 rows, m = 512",
    "airline_speed": "AIRLINE, 720,000 rows, m = 500",
    "pendigits": "pendigits, 7,494 rows, ten classes, m = 300",
    "elec2": "elec2, 30,000 rows, two classes, m = 300",
}


def draw_pictures(app):
    stored = json.loads((ROOT / "benchmarks" / "results" / "results.json").read_text("utf-8"))
    found, folder = stored["experiments"], Path(app.srcdir) / "images" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        f"{name}, {records[OURS[0]][0]['rows']:,} rows": {
            method: [mean_point(runs)] for method, runs in records.items() if runs
        }
        for name, records in found["against_boosting"]["details"].items()
    }
    budgets = {
        title: {method: runs for method, runs in found[name]["curves"].items() if runs}
        for name, title in BUDGETS.items()
    }
    draw(tables, folder / "density_of_tables.svg", joined=False)
    draw(budgets, folder / "density_of_budgets.svg", joined=True)


def mean_point(runs):
    """Means over the splits."""
    return {key: sum(run[key] for run in runs) / len(runs) for key in ("seconds", "nlpd")}


def draw(panels, path, joined):
    """A panel for each data set, log density against seconds, with one legend for all."""
    from matplotlib.figure import Figure

    n_rows = -(-len(panels) // 2)
    figure = Figure(figsize=(9, 2.9 * n_rows + 0.7), layout="constrained")
    panes = figure.subplots(n_rows, 2, squeeze=False).ravel()
    handles = {}
    for pane, (title, methods) in zip(panes, panels.items(), strict=False):
        for method, points in methods.items():
            look = LOOKS.get(method, {"color": "0.5", "marker": "."})
            (handles[method],) = pane.plot(
                [point["seconds"] for point in points],
                [-point["nlpd"] for point in points],
                linestyle="-" if joined else "none",
                **{"markersize": 7, **look, **({"markersize": 4} if joined else {})},
            )
        pane.set(xscale="log", title=title)
        pane.grid(alpha=0.3)
        pane.margins(0.12)
    for pane in panes[: len(panels)]:
        pane.set(xlabel="seconds of training", ylabel="log density, nats")
        plain_ticks(pane)
    for pane in panes[len(panels) :]:
        pane.set_axis_off()
    figure.legend(
        handles.values(),
        [name.replace("`", "") for name in handles],
        loc="outside upper center",
        ncols=min(4, len(handles)),
        frameon=False,
    )
    figure.savefig(path)


def plain_ticks(pane):
    """Seconds as 1, 2, 5, 10, ... rather than powers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = pane.get_xlim()
    ticks = [
        t for k in range(-1, 4) for t in (10.0**k, 2 * 10.0**k, 5 * 10.0**k) if low <= t <= high
    ]
    pane.xaxis.set_major_locator(FixedLocator(ticks))
    pane.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    pane.xaxis.set_minor_locator(NullLocator())


def setup(app):
    app.connect("builder-inited", draw_pictures)
    return {"parallel_read_safe": True}
