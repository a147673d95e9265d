"""Rows of tables that nobody has chosen, and the ten where ours is furthest behind."""

from experiments.unseen_tables import CLOSE, RIVALS, WORST, deficit, has_scores

from tables.measure import Measure

_NAME = "unseen_tables"
_SCORES = {"rmse": "RMSE", "nlpd": "log density"}

UNSEEN = [
    Measure(_NAME, "tables", "tables of R that were fitted with all defaults"),
    Measure(_NAME, "failed", "of them a fit ended with an error", high=0),
    *(
        Measure(_NAME, f"{key}_ahead {who}", f"ahead of {who} in {title}, of how many above")
        for key, title in _SCORES.items()
        for who in RIVALS
    ),
    Measure(_NAME, "rmse_behind", f"RMSE above the better one's by more than {CLOSE['rmse']:.0%}"),
    Measure(_NAME, "nlpd_behind",
            f"log density below the better one's by more than {CLOSE['nlpd']} nats"),
    Measure(_NAME, "rmse_median", "RMSE over the better one's, less one: the median", high=0.0),
    Measure(_NAME, "nlpd_median", "log density below the better one's: the median", "nats",
            high=0.0),
    Measure(_NAME, "coverage_mean", "coverage of 90 % intervals, the mean", low=0.87, high=0.95),
    Measure(_NAME, "coverage_low", "coverage below 80 %"),
    Measure(_NAME, "seconds_median", "seconds of CPU of a fit, the median", "s"),
    Measure(_NAME, "seconds_ninth", "seconds of CPU that a tenth of the fits exceeds", "s"),
    Measure(_NAME, "seconds_boosting", "boosting's, with its five-fold residuals, the median", "s"),
]  # fmt: skip

WORST_COLUMNS = ("table: its target", "rows learned from", "columns", "RMSE: ours", *RIVALS,
                 "log density: ours", *RIVALS, "coverage", "seconds")  # fmt: skip


def worst_rows(results):
    """Cells of the tables where ours failed, and then of those where it is furthest behind."""
    stored = results["experiments"].get(_NAME, {}).get("details", {})
    for name in sorted(stored, key=lambda one: -deficit(stored[one]))[:WORST]:
        records = stored[name]
        ours = records["ours"]
        if not has_scores(ours):
            yield (name, ours["failed"], *[""] * (len(WORST_COLUMNS) - 2))
            continue
        everyone = [ours, *(records[who] for who in RIVALS)]
        yield (
            name,
            str(ours["rows"]),
            str(ours["columns"]),
            *(_shown(one, "rmse", 1.0) for one in everyone),
            *(_shown(one, "nlpd", -1.0) for one in everyone),
            f"{ours['coverage']:.2f}",
            f"{ours['seconds']:.1f}",
        )


def _shown(record, key, sign):
    return f"{sign * record[key]:.4g}" if has_scores(record) else "failed"
