"""Pictures from results."""

from pathlib import Path

import numpy as np

CURVES = {
    "synthetic": "synthetic, 90,000 rows, m = 500",
    "kin40k": "kin40k, 36,000 rows, m = 512",
    "airline_speed": "AIRLINE, 720,000 rows, m = 500",
    "house_prices": "UK house prices, 64,347 rows, m = 500",
    "pendigits": "pendigits, 7,494 rows, ten classes, m = 300",
    "elec2": "elec2, 30,000 rows, two classes, m = 300",
}
_COLOURS = {
    "ours": "C0",
    "GPflow SVGP": "C1",
    "GPflow SGPR": "C3",
    "GPyTorch SVGP": "C2",
}


def draw(results, folder):
    """Draw what the results allow for.

    Parameters
    ----------
    results : dict
    folder : Path

    Returns
    -------
    paths : list of Path
        None without matplotlib.
    """
    try:
        import matplotlib
    except ImportError:
        print("no pictures: they need matplotlib (the extra `plot`)")
        return []
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = results["experiments"]
    paths = []
    pictures = {"density": _density, "streams": streams, "powers": _powers}
    for name, picture in pictures.items():
        figure = picture(plt, found)
        if figure is None:
            continue
        paths.append(Path(folder) / f"{name}.png")
        figure.savefig(paths[-1], dpi=120)
        plt.close(figure)
    return paths


def _density(plt, found):
    """Test log density against seconds of training, on a logarithmic axis."""
    names = [name for name in CURVES if name in found and found[name].get("curves")]
    if not names:
        return None
    n_columns = min(2, len(names))
    n_rows = -(-len(names) // n_columns)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(5.5 * n_columns, 3.8 * n_rows), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes.flat, names, strict=False):
        for library, points in found[name]["curves"].items():
            if points:
                seconds = [point["seconds"] for point in points]
                density = [-point["nlpd"] for point in points]
                style = {"marker": "o", "lw": 2} if library == "ours" else {"lw": 1.5}
                ax.plot(seconds, density, color=_COLOURS[library], label=library, **style)
        _limit(ax, found[name]["curves"])
        ax.set_xscale("log")
        ax.set(xlabel="seconds of training", title=CURVES[name])
        ax.set_ylabel("test log density or probability")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False, loc="lower right")
    return figure


def streams(plt, found):
    """RMSE and log density against seconds of learning, a row for each stream."""
    courses = {}
    for name in ("stream_series", "stream_space"):
        courses |= found.get(name, {}).get("details", {}).get("streams", {})
    if not courses:
        return None
    figure, axes = plt.subplots(
        len(courses), 2, figsize=(11, 3.4 * len(courses)), layout="constrained", squeeze=False
    )
    ways = list(dict.fromkeys(way for curves in courses.values() for way in curves))
    for (left, right), (title, curves) in zip(axes, courses.items(), strict=True):
        for way, points in curves.items():
            seconds = [point["seconds"] for point in points]
            style = {"marker": "o", "ms": 3, "color": f"C{ways.index(way)}", "label": way}
            left.plot(seconds, [point["rmse"] for point in points], **style)
            right.plot(seconds, [-point["nlpd"] for point in points], **style)
        _limit(right, curves)
        left.set(title=title, ylabel="test RMSE, sd", yscale="log")
        right.set(title=title, ylabel="test log density")
        for ax in (left, right):
            ax.set(xlabel="seconds of learning", xscale="log")
            ax.grid(alpha=0.3)
        left.legend(frameon=False, fontsize="small")
    return figure


def _powers(plt, found):
    """Along a stream, a line for each power: density of a series, hyperparameters of draws."""
    details = found.get("stream_draws", {}).get("details", {})
    if "series" not in details:
        return None
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
    records = details["ours"]
    ends = sorted({record["rows"] for record in records})
    for k, (alpha, points) in enumerate(sorted(details["series"].items())):
        style = {"marker": "o", "ms": 3, "color": f"C{k}", "label": f"alpha {alpha}"}
        axes[0].plot([p["rows"] for p in points], [-p["nlpd"] for p in points], **style)
        for ax, quantity in zip(axes[1:], ("length_scale", "noise_std"), strict=True):
            shares = [
                [
                    record[quantity] / details["exact GP"][record["seed"]][quantity]
                    for record in records
                    if record["rows"] == end and record["alpha"] == float(alpha)
                ]
                for end in ends
            ]
            ax.plot(ends, np.median(shares, axis=1), **style)
    titles = (
        ("pseudo-periodic", "test log density"),
        ("draws: length scale", "share of the exact GP's on all rows"),
        ("draws: noise sd", "share of the exact GP's on all rows"),
    )
    for ax, (title, label) in zip(axes, titles, strict=True):
        ax.set(title=title, xlabel="rows so far", ylabel=label)
        ax.grid(alpha=0.3)
    for ax in axes[1:]:
        ax.axhline(1.0, color="k", lw=0.8, ls="--")
    axes[0].legend(frameon=False, fontsize="small")
    return figure


def _limit(ax, curves):
    """Leave out the first moments, whose densities would flatten all the rest."""
    density = np.array([-p["nlpd"] for points in curves.values() for p in points])
    density = density[np.isfinite(density)]
    if len(density):
        best = density.max()
        low = max(density.min(), best - 4.0 * (best - np.median(density)) - 0.05)
        ax.set_ylim(low, best + 0.05 * max(best - low, 0.1))
