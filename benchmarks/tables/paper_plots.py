"""Figures of the papers from results, for docs/papers.md."""

from pathlib import Path

import numpy as np

from tables.plots import streams

_COLOURS = {"pic": "C0", "fitc": "C1", "dtc": "C2"}
_ANYTIME = {
    "pressure_curves": "sea level pressure, 28,500 rows",
    "airline_curves": "AIRLINE, 28,500 flights",
}


def draw(results, folder):
    """Draw what is stored of the papers' figures.

    Parameters
    ----------
    results : dict
    folder : Path
    """
    try:
        import matplotlib
    except ImportError:
        print("no pictures: they need matplotlib (the extra `plot`)")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    details = {
        name: record["details"]
        for name, record in results["experiments"].items()
        if record.get("details") and not record["toy"]
    }
    pictures = {
        "papers_flights": _flights,
        "papers_anytime": _anytime,
        "papers_streams": _streams,
        "papers_memory": _memory,
    }
    for name, picture in pictures.items():
        figure = picture(plt, details)
        if figure is not None:
            figure.savefig(Path(folder) / f"{name}.png", dpi=80)
            plt.close(figure)


def _flights(plt, details):
    """[A] figures 7 and 8: RMSE over iterations, of exact GPs on subsets, and against m."""
    if not {"figure7", "figure8"} <= set(details):
        return None
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(13, 3.8), width_ratios=[2, 0.8, 1.4], layout="constrained"
    )
    runs, subsets = details["figure7"]["runs"], details["figure7"]["subsets"]
    for run in sorted({record["run"] for record in runs}):
        path = [r for r in runs if r["run"] == run and r["step"] is not None]
        left.plot([r["step"] for r in path], [r["rmse"] for r in path], color="C0", lw=1)
    final = [r["rmse"] for r in runs if r["step"] is None]
    left.axhline(np.median(final), color="C3", lw=1, ls="--", label="q(u) at its optimum")
    left.set(xlabel="stochastic steps", ylabel="test RMSE, min", title="700,000 flights, m = 500")
    left.legend(frameon=False)
    sizes = sorted({record["size"] for record in subsets})
    middle.boxplot([[r["rmse"] for r in subsets if r["size"] == size] for size in sizes])
    middle.set_xticks(range(1, len(sizes) + 1), labels=[str(size) for size in sizes])
    middle.set(xlabel="rows of an exact GP", title="exact GPs on random rows")
    middle.sharey(left)
    fits = details["figure8"]["fits"]
    right.plot([fit["m"] for fit in fits], [fit["rmse"] for fit in fits], "o-")
    right.set(xscale="log", xlabel="inducing inputs", ylabel="test RMSE, min")
    right.set(title="95,000 flights, 30 iterations")
    right.set_xticks([fit["m"] for fit in fits], labels=[str(fit["m"]) for fit in fits])
    right.minorticks_off()
    return figure


def _anytime(plt, details):
    """[B] figures 1 to 4: RMSE and log density against steps and seconds, means of the draws."""
    shown = [name for name in _ANYTIME if name in details]
    if not shown:
        return None
    figure, axes = plt.subplots(
        len(shown), 3, figsize=(13, 3.6 * len(shown)), layout="constrained", squeeze=False
    )
    for row, name in zip(axes, shown, strict=True):
        for model, records in details[name]["curves"].items():
            style = {"color": _COLOURS[model], "marker": "o", "ms": 4, "label": f"{model.upper()}+"}
            course = _course([one for one in records if one["way"] != "exact"])
            steps, seconds, rmse, density = course.T
            row[0].plot(steps, rmse, **style)
            row[1].plot(steps, density, **style)
            row[2].plot(seconds, rmse, **style)
            exact = [one for one in records if one["way"] == "exact"]
            for panel, key, sign in ((row[0], "rmse_in_units", 1), (row[1], "nlpd_in_units", -1)):
                level = sign * np.mean([one[key] for one in exact])
                panel.axhline(level, color=_COLOURS[model], lw=0.8, ls="--")
        row[0].set(xlabel="steps (blocks seen)", ylabel="RMSE", xscale="log", title=_ANYTIME[name])
        row[1].set(xlabel="steps (blocks seen)", ylabel="log density, nats", xscale="log")
        row[2].set(xlabel="seconds of one core", ylabel="RMSE")
        row[0].legend(frameon=False)
    return figure


def _course(records):
    """Means over the draws of steps, seconds, RMSE and log density, in the order of the steps."""
    points, keys = {}, ("n_steps", "seconds", "rmse_in_units", "nlpd_in_units")
    for record in records:
        at = "epoch" if record["way"] == "epoch" else record["n_steps"]
        points.setdefault(at, []).append([record[key] for key in keys])
    n_draws = len(points["epoch"])  # some have no more blocks than others have steps
    every = [found for found in points.values() if len(found) == n_draws]
    means = np.array([np.mean(found, axis=0) for found in every])
    return (means * [1, 1, 1, -1])[np.argsort(means[:, 0])]


def _streams(plt, details):
    """[C] figures 2 and 3: RMSE and log density along streams, of rivals, too."""
    return streams(plt, {name: {"details": found} for name, found in details.items()})


def _memory(plt, details):
    """[C] figure 4: RMSE at the end of a stream against the bytes that are kept."""
    if "stream_memory" not in details:
        return None
    figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
    for way, ends in details["stream_memory"]["points"].items():
        ax.plot(
            [1e-6 * end["bytes"] for end in ends], [end["rmse"] for end in ends], "o-", label=way
        )
    ax.set(xscale="log", yscale="log", xlabel="MB that are kept", ylabel="test RMSE, sd")
    ax.set(title="pseudo-periodic series, batches of 300")
    ax.legend(frameon=False)
    return figure
