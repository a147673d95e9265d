"""The benchmark page says what is stored: all rivals that have a result, losses included."""

import json
import re

import pytest
from docs_pages import ROOT
from experiments import boosting
from tables import cells, contents, front, opening, report

RESULTS = json.loads((ROOT / "benchmarks/results/results.json").read_text(encoding="utf-8"))
FOUND = RESULTS["experiments"]["against_boosting"]


def test_counts_of_tables_are_those_of_the_stored_scores():
    """A rival that was not run on one table took the whole count, and a missed limit, away."""
    counted = boosting._tables_won(FOUND["details"], FOUND["why_not"])
    assert len(counted) == 8
    assert {key: FOUND["values"].get(key) for key in counted} == counted


def test_nothing_is_counted_over_a_rival_that_was_run_nowhere():
    """Being ahead of all says nothing while one of them has not been asked."""
    why_not = {name: {**why, "NGBoost": "not run"} for name, why in FOUND["why_not"].items()}
    counted = boosting._tables_won(FOUND["details"], why_not)
    assert "tables_ahead_of_varying_noise" not in counted
    assert "tables_ahead_of_constant_noise" in counted


@pytest.mark.parametrize(
    "measure", [one for one in contents.BOOSTING if one.key.startswith("tables_")]
)
def test_counts_of_tables_have_their_verdict(measure):
    """The page says of each count whether it reaches what it is to reach."""
    (row,) = cells.rows(RESULTS, [measure])
    assert row[5] in ("yes", "NO")


def test_opening_table_has_seconds_after_what_is_lost():
    """The page's first table had scores only, and told its losses below it."""
    text = report.opening_as_markdown(RESULTS)
    assert text.index("Ours is behind") < text.index("| data set")
    for name, records in FOUND["details"].items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {name},")]
        assert len(re.findall(r" / [\d,]+ s\b", row)) == sum(map(bool, records.values()))


def test_first_page_tells_losses_before_wins():
    """It said on how many tables ours is ahead and faster, and never where it is not."""
    losses, wins = front.told(FOUND).splitlines()
    assert "GPBoost vecchia in log density on 2" in losses
    assert "ahead of both" in wins and "ahead of both" not in losses
    slower = opening.n_ahead(FOUND, "CatBoost", "seconds", boosting.OURS)
    assert f"than CatBoost on {slower}." in losses


@pytest.mark.parametrize(
    ("experiment", "key", "low", "high"),
    [
        ("vif_speed", "pass_over_fitc", None, 5.0),
        ("vif_speed", "predict", 60_000.0, None),
        ("latency", "AnytimeSGPRegressor() uncertain 1", None, 0.4),
        ("against_boosting", "tables_ahead_of_tuned", 10, None),
        ("against_boosting", "tuned_seconds_ratio", None, 2.0),
    ],
)
def test_what_is_to_be_reached_is_what_was_asked(experiment, key, low, high):
    """Predictions were to reach 50,000 rows a second where 60,000 were asked: a miss was met."""
    (measure,) = [
        one
        for table in contents.TABLES.values()
        for one in table
        if (one.experiment, one.key) == (experiment, key)
    ]
    assert (measure.low, measure.high) == (low, high)
