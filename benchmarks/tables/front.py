"""The table and the picture of the project's README: ours beside boosting on ten tables."""

from pathlib import Path

from experiments.boosting import OURS, OURS_WITH_NOISE
from experiments.records import mean_of
from experiments.rivals import RIVALS

from tables.opening import NOTHING, n_ahead, stored_tables

TITLES = {
    OURS: "`AnytimeSGPRegressor()`",
    OURS_WITH_NOISE: '`likelihood="auto"`',
    "tuned boosting": "tuned boosting",
    "CatBoost": "CatBoost",
}
_BOOSTINGS = ("tuned boosting", "CatBoost")
COLUMNS = ("data, training rows", *TITLES.values())
_LOOKS = {
    OURS: {"color": "#0072b2", "marker": "o", "markersize": 9},
    OURS_WITH_NOISE: {"color": "#0072b2", "marker": "D", "markersize": 8, "mfc": "white"},
    "tuned boosting": {"color": "#d55e00", "marker": "s", "markersize": 7},
    "CatBoost": {"color": "#e69f00", "marker": "^", "markersize": 8},
}
_PICTURE = "ten_tables.png"


def rows(found):
    """A row of cells for each table: log density, RMSE and seconds."""
    for name, records in found["details"].items():
        shown = [records[who] for who in TITLES]
        there = [some for some in shown if some]
        best = {key: min(mean_of(some, key) for some in there) for key in ("rmse", "nlpd")}
        rows_learned = f"{records[OURS][0]['rows']:,}"
        yield (f"{name.replace('_', ' ')}, {rows_learned}", *(_cell(some, best) for some in shown))


def _cell(records, best):
    if not records:
        return "not run"
    scores = []
    for key, sign in (("nlpd", -1.0), ("rmse", 1.0)):
        text, least = (
            f"{sign * v:.3f}".replace("-", "−") for v in (mean_of(records, key), best[key])
        )
        scores.append(f"**{text}**" if text == least else text)
    return f"{scores[0]} · {scores[1]} · {mean_of(records, 'seconds'):,.0f} s"


def told(found):
    """Two lines: where ours takes longer or is behind; where it is ahead and what it covers."""
    return "\n".join(
        " ".join(sentence(found, ours) for ours in (OURS, OURS_WITH_NOISE) for sentence in line)
        for line in ((_slower, _behind), (_ahead, _held))
    )


def _slower(found, ours):
    """One sentence: on how many tables each boosting is fitted in less time than ours."""
    tuned, catboost = (n_ahead(found, who, "seconds", ours) for who in _BOOSTINGS)
    return (
        f"{TITLES[ours]} takes longer than tuned boosting on {tuned} of {len(found['details'])} "
        f"tables, and than CatBoost on {catboost}."
    )


def _behind(found, ours):
    """One sentence: on how many tables rivals without a column of their own are ahead of ours."""
    scores = {"log density": "nlpd", "RMSE": "rmse"}
    ahead = [
        f"{rival} in {score} on {n}"
        for rival in RIVALS
        if rival not in _BOOSTINGS
        for score, key in scores.items()
        if (n := n_ahead(found, rival, key, ours))
    ]
    return f"Of the other rivals these are ahead of it: {', '.join(ahead) or 'none'}."


def _ahead(found, ours):
    """One sentence: on how many tables ours is ahead of both boostings."""
    by_density, by_error = (
        sum(_is_ahead(records, ours, key) for records in found["details"].values())
        for key in ("nlpd", "rmse")
    )
    n = sum(bool(records[ours]) for records in found["details"].values())
    return (
        f"{TITLES[ours]} is ahead of both boostings in log density on {by_density} of {n} "
        f"tables, and in RMSE on {by_error}."
    )


def _held(found, ours):
    """One sentence: which share of new rows the 90 % intervals of each table hold."""
    shares = [mean_of(records[ours], "coverage") for records in found["details"].values()]
    least, most = (f"{100.0 * share:.0f}" for share in (min(shares), max(shares)))
    return f"Its 90 % intervals hold {least} to {most} % of new rows, by table."


def _is_ahead(records, ours, key):
    if not records[ours]:
        return False
    return all(mean_of(records[ours], key) < mean_of(records[who], key) for who in _BOOSTINGS)


def as_markdown(results):
    """What stands between the markers of the project's README."""
    found = stored_tables(results)
    if found is None:
        return NOTHING
    lines = [f"| {' | '.join(row)} |" for row in [COLUMNS, ["---"] * len(COLUMNS), *rows(found)]]
    return "\n".join([*lines, "", told(found)])


def draw(results, folder):
    """Save log density against seconds of fitting, one panel for each table."""
    found = stored_tables(results)
    if found is None:
        return
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture for the README: it needs matplotlib (the extra `plot`)")
        return
    figure = Figure(figsize=(13, 5.6), layout="constrained")
    panes = figure.subplots(2, -(-len(found["details"]) // 2), squeeze=False).ravel()
    handles = {}
    for pane, (name, records) in zip(panes, found["details"].items(), strict=False):
        for who, look in _LOOKS.items():
            if not records[who]:
                continue
            seconds, density = mean_of(records[who], "seconds"), -mean_of(records[who], "nlpd")
            handles[who] = pane.plot(seconds, density, linestyle="none", **look)[0]
        pane.set(xscale="log", title=f"{name.replace('_', ' ')}\n{records[OURS][0]['rows']:,} rows")
        pane.set(xlim=(1.0, 1000.0), xticks=[1, 10, 100, 1000], xticklabels=["1", "10", "100", ""])
        pane.grid(alpha=0.3)
        pane.margins(y=0.15)
    figure.supxlabel("seconds of fitting, two cores")
    figure.supylabel("log density of new rows, nats: higher is better")
    names = [TITLES[who].replace("`", "") for who in handles]
    figure.legend(
        handles.values(), names, loc="outside upper center", ncols=len(names), frameon=False
    )
    Path(folder).mkdir(parents=True, exist_ok=True)
    figure.savefig(Path(folder) / _PICTURE, dpi=110)
