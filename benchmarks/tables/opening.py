"""What the page opens with: ours beside all rivals on each data set, and where it is behind."""

from experiments.boosting import OURS, OURS_WITH_NOISE, WITH_NOISE, gain_over
from experiments.records import mean_of
from experiments.rivals import RIVALS, TUNED

TITLE = "`AnytimeSGPRegressor()` beside boosting and other Gaussian processes"
COLUMNS = ("data set, training rows", OURS, OURS_WITH_NOISE, *RIVALS)
LEGEND = (
    "RMSE / log density / seconds of the fit, means over splits; targets are standardised, the "
    "best score on test rows is bold. A cell tells where a rival had fewer rows or splits, or did "
    "not come to its end."
)
NOTHING = "`against_boosting` was not run yet."


def stored_tables(results):
    """What the experiment has stored, or None."""
    found = results["experiments"].get("against_boosting", {})
    return found if "why_not" in found else None


def legend(results):
    """What the cells are, and when they were measured: it need not be the run of the page."""
    found = stored_tables(results)
    splits = "one split" if found["splits"] == 1 else f"{found['splits']} splits at most"
    same_run = " and ".join(found.get("same_run", [TUNED]))
    at = found.get("rivals_commit")
    when = f" at commit {at}, {found['rivals_begun']}" if at else ""
    return (
        f"{LEGEND} Ours, {same_run} measured in one run at commit {found['commit']}, "
        f"{found['begun']}, load {found['load']:.1f}, {splits} where there "
        f"are several; other rivals{when} in a run of their own."
    )


def rows(results):
    """A row of cells for each data set."""
    found = stored_tables(results)
    for name, records in (found["details"] if found else {}).items():
        why_not = found["why_not"][name]
        best = {key: _least(records, key) for key in ("rmse", "nlpd")}
        ours = records[OURS]
        cells = [
            _cell(records.get(who, []), best, ours, why_not.get(who, "")) for who in COLUMNS[1:]
        ]
        yield (f"{name}, {ours[0]['rows']:,}", *cells)


def _least(records, key):
    return min(mean_of(some, key) for some in records.values() if some)


def _cell(records, best, ours, why_not):
    """Both scores and seconds, with what the rival had less of; or why there are none."""
    if not records:
        return why_not
    shown = []
    for key, sign in (("rmse", 1.0), ("nlpd", -1.0)):
        value = mean_of(records, key)
        text = f"{sign * value:.3f}"
        shown.append(f"**{text}**" if value <= best[key] else text)
    shown.append(f"{mean_of(records, 'seconds'):,.0f} s")
    less = _less(records, ours) + ([why_not] if why_not else [])
    return " / ".join(shown) + (f" ({'; '.join(less)})" if less else "")


def _less(records, ours):
    """Rows and splits, where they are fewer than ours, and time that was up."""
    least, rows = records[-1], ours[0]["rows"]
    less = [f"{least['rows']:,} rows"] if least["rows"] < 0.99 * rows else []
    learned = least.get("rows_learned", least["rows"])
    if learned < least["rows"]:
        less.append(f"learned from {learned:,}")
    if len(records) < len(ours):
        less.append(f"{len(records)} of {len(ours)} splits")
    if least.get("converged") is False:
        less.append("stopped then")
    return less


def losses(results):
    """Sentences: on which data sets which rivals are ahead of ours or faster, and by how much."""
    found = stored_tables(results)
    if found is None:
        return NOTHING
    subjects = {OURS: "Ours", OURS_WITH_NOISE: f"With {WITH_NOISE} it"}
    return " ".join(
        f"{_losses(found, ours, subject)} {_slower(found, ours)}"
        for ours, subject in subjects.items()
    )


def _slower(found, ours):
    """A sentence: on how many data sets each rival is fitted in less time than ours."""
    counts = {rival: n_ahead(found, rival, "seconds", ours) for rival in RIVALS}
    faster = [f"{rival} on {n}" for rival, n in counts.items() if n]
    where = f"Of {len(found['details'])} data sets it takes longer than"
    return f"{where} {'; '.join(faster)}." if faster else f"{where} no rival."


def n_ahead(found, rival, key, ours):
    """On how many data sets a rival has less of a score, or of seconds, than ours."""
    return sum(
        bool(records[rival] and records[ours]) and gain_over(records, rival, key, ours) < 0.0
        for records in found["details"].values()
    )


def _losses(found, ours, subject):
    parts = []
    for what, key in (("log density", "nlpd"), ("RMSE", "rmse")):
        behind = [
            f"{name} ({', '.join(ahead)})"
            for name, records in found["details"].items()
            if (ahead := _ahead(records, key, ours))
        ]
        if behind:
            parts.append(f"in {what} on {'; '.join(behind)}")
    if not parts:
        return f"{subject} is ahead of every rival that has a result, on every data set."
    return f"{subject} is behind, {' — and '.join(parts)}."


def _ahead(records, key, ours):
    """Rivals that are ahead of ours, and by how much."""
    if not records.get(ours):
        return []
    gains = {name: gain_over(records, name, key, ours) for name in RIVALS if records[name]}
    return [f"{name} by {-gain:.2g}" for name, gain in gains.items() if gain < 0.0]
