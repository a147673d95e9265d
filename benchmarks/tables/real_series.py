"""Rows of real series, and a line for each series."""

from experiments.real_series import COVERAGE, KINDS, RIVALS
from problems.real_series import SERIES

from tables.measure import Measure

_WITH_PERIOD = sum(period is not None for _, period in SERIES.values())
_NAME = "real_series"
_INPUTS = {
    "lags": "lags as columns, the next value",
    "times": "time as a column, the next twelve values",
}
_LOW, _HIGH = COVERAGE


def _of(who):
    """How many series a rival predicts."""
    seasonal = who == "seasonal last value"
    return f"of {_WITH_PERIOD} with a season" if seasonal else f"of {len(SERIES)}"


REAL_SERIES = [
    row
    for kind, inputs in _INPUTS.items()
    for row in (
        Measure(_NAME, f"{kind} nlpd_ahead", f"{len(SERIES)} series of R, {inputs}: log density "
                "ahead of every rival", low=7),
        *(
            Measure(_NAME, f"{kind} nlpd_ahead {who}", f"the same, ahead of {who}, {_of(who)}")
            for who in RIVALS
        ),
        Measure(_NAME, f"{kind} rmse_ahead", "the same, RMSE ahead of every rival", low=6),
        Measure(_NAME, f"{kind} covered", f"the same, {_LOW:g} to {_HIGH:g} of the values in "
                "90 % bands", low=8),
        Measure(_NAME, f"{kind} gain", "the same, log density above the best rival's of each "
                "series, the mean", "nats"),
        Measure(_NAME, f"{kind} seconds", "the same, seconds of learning", "s"),
    )
]  # fmt: skip

SERIES_COLUMNS = ("series, values", "inputs", "log density: ours", *RIVALS, "above the best", "se",
                  "RMSE [sd]: ours", *RIVALS, "coverage", "seconds")  # fmt: skip


def series_rows(results):
    """Cells of each series and kind of inputs."""
    stored = results["experiments"].get(_NAME, {})
    for kind in KINDS:
        for name, everyone in stored.get("details", {}).get(kind, {}).items():
            ours, key = everyone["ours"], f"{kind} {name} gain"
            shown = [everyone.get(who) for who in ("ours", *RIVALS)]
            yield (
                f"{name}, {ours['values']:,}",
                kind,
                *("" if one is None else f"{-one['nlpd']:.3f}" for one in shown),
                f"{stored['values'][key]:.3f}",
                f"{stored['errors'][key]['se']:.3f}",
                *("" if one is None else f"{one['rmse']:.3f}" for one in shown),
                f"{ours['coverage']:.2f}",
                f"{ours['seconds']:.1f}",
            )
