"""Rows of tables without a target: maps, missing entries, columns for a classifier."""

from experiments.latent_inputs import COVERED

from tables.measure import Measure

_NAME = "latent_inputs"


def _row(key, title, unit="", **more):
    return Measure(_NAME, key, title, unit, **more)


LATENT_INPUTS = [
    *[
        row
        for split, which in enumerate(("train", "validation", "test"))
        for row in (
            _row(f"oil_errors_{split}", f"oil flow, {which} rows, 10 latent dimensions, m = 50: "
                 "errors of the nearest neighbour of 1,000 in the two most relevant", high=5,
                 published="3 (Titsias & Lawrence 2010)"),
            _row(f"oil_relevant_{split}", "the same: dimensions above 10 % of the largest "
                 "relevance", high=3),
        )
    ],
    _row("oil_seconds", "oil flow: seconds of a fit", "s"),
    _row("oil_bound", "oil flow, train rows: bound", "nats", rival="GPflow"),
    _row("oil_to_gpflow", "the same: seconds to GPflow's bound after 300 s", "s", rival="GPflow"),
    _row("oil_times_gpflow", "the same: times as fast", "times", low=10, rival="GPflow"),
    _row("digits_rmse", "digits, half of the pixels missing: RMSE, in standard deviations of the "
         "pixels"),
    _row("digits_nlpd", "the same: mean negative log density", "nats"),
    _row("digits_coverage", "the same: share in 90 % intervals", low=0.87, high=0.93),
    _row("digits_seconds", "the same: seconds of the fit", "s"),
    *[
        row
        for name in COVERED
        for row in (
            _row(f"covered_{name}", f"{name}, a fifth missing: share in 90 % intervals",
                 low=0.87, high=0.93),
            _row(f"nlpd_{name}", "the same: mean negative log density", "nats"),
        )
    ],
    _row("pendigits_error", "pendigits in 5 dimensions, then SVGPClassifier: error"),
    _row("pendigits_gain", "the same: below that of PCA(5) by", low=0.0),
    _row("manifold_seconds", "100,000 x 20 rows of a manifold, a tenth missing, max_time = 300: "
         "seconds of the fit", "s", high=315),
    _row("manifold_gain", "the same: log density of missing entries above that of PPCA(3)",
         "nats", low=0.3),
    _row("manifold_procrustes", "the same: Procrustes distance from the latent inputs"),
    _row("manifold_coverage", "the same: share in 90 % intervals", low=0.87, high=0.93),
    _row("manifold_megabytes", "the same: memory above the data", "MB", high=500),
]  # fmt: skip
