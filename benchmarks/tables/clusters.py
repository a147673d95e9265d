"""Table of the page: rows that live on workers."""

from tables.measure import Measure

_PASSES, _PARQUET, _LOST = "collections", "airline_parquet", "lost_workers"
_PREDICTIONS = "worker_predictions"
_WAYS = {
    "joblib": "joblib's processes",
    "dask": "dask's, model fitted to arrays",
    "dask, blocks there": "dask's, which have the blocks",
}

CLUSTERS = [
    Measure(_PASSES, "seconds", "exact pass over 10 million rows of 8 float32 columns that 2 "
            "dask workers make, 256 inducing inputs", "s"),
    Measure(_PASSES, "one_process", "the same rows in one process", "s"),
    Measure(_PASSES, "scaling", "the pass: seconds with 1 worker over those with 2"),
    Measure(_PASSES, "matrices", "the pass: what workers send one another, in m x m matrices "
            "for each partition", high=4.0),
    Measure(_PASSES, "mean", "the pass: largest difference of a mean from one process",
            high=1e-8),
    Measure(_PASSES, "std", "the pass: largest relative difference of a standard deviation",
            high=1e-8),
    Measure(_PASSES, "fit_seconds", "100 million rows, 2 workers: fit with defaults", "s",
            high=600.0),
    Measure(_PASSES, "fit_worker_megabytes", "the same: memory of a worker beyond its start",
            "MB", high=1000.0),
    Measure(_PASSES, "fit_client_megabytes", "the same: memory of the client beyond its "
            "start", "MB", high=1000.0),
    Measure(_PARQUET, "here_rmse", "flights of a year, 1.85 million rows, PIC with 100 inducing "
            "inputs and 2,000 blocks, arrays in one process: RMSE", "sd"),
    Measure(_PARQUET, "there_rmse", "the same from Parquet files on 2 workers", "sd"),
    Measure(_PARQUET, "here_seconds", "fit in one process", "s"),
    Measure(_PARQUET, "times", "fit on the workers over that", "times", high=1.3),
    *(Measure(_PREDICTIONS, f"{kind}, {where}: times", f"PIC of these flights, blocks by {kind}, "
              f"predicts 102,786 rows by 2 workers, {name}: seconds over those in one process",
              "times", high=1.3)
      for kind in ("k-means", "labels") for where, name in _WAYS.items()),
    Measure(_LOST, "lost", "fits of 2 million rows, of which one of 2 workers was killed at a "
            "random moment"),
    Measure(_LOST, "equal", "of these gave the same, to the last bit"),
    Measure(_LOST, "undisturbed", "seconds of a fit that lost none", "s"),
    Measure(_LOST, "longest", "longest of those that lost one", "s"),
]  # fmt: skip
