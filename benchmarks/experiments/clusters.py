"""Rows that dask workers make where they need them: how the cost of a pass scales, what moves."""

from statistics import median


def collections(context):
    """An exact pass with 1, 2 and 4 workers, against one process; a whole fit on more rows.

    ``scaling`` is the time with one worker over that with two; ``matrices`` the bytes that workers
    sent one another, in m x m matrices for each partition.
    """
    shape = {"n": context.size(10_000_000, 5000), "m": context.size(256, 10)}
    shape["per_partition"] = context.size(500_000, 1000)
    records = context.run(
        "ours/partitioned_rows",
        "passes",
        **shape,
        workers=context.size([1, 2, 4], [1, 2]),
        compares=True,
    )
    by_workers = {record["workers"]: record for record in records if "workers" in record}
    compared = [record for record in records if "compared" in record]
    large = shape | {"n": context.size(100_000_000, 6000)}
    (fit,) = context.run("ours/partitioned_rows", "learning", **large, workers=[2])
    values = {
        "seconds": by_workers[2]["seconds"],
        "one_process": compared[0]["here"],
        "scaling": by_workers[1]["seconds"] / by_workers[2]["seconds"],
        "matrices": max(record["matrices_a_partition"] for record in by_workers.values()),
        "mean": max(record["mean"] for record in compared),
        "std": max(record["std"] for record in compared),
        "fit_seconds": fit["seconds"],
        "fit_rmse": fit["rmse"],
        "fit_worker_megabytes": fit["worker_megabytes"],
        "fit_client_megabytes": fit["client_megabytes"],
    }
    return {"values": values, "details": {"records": [*records, fit]}}


def airline_parquet(context):
    """Flights in Parquet files, blocks on two workers, beside arrays in one process."""
    options = context.size({"n_blocks": 2000}, {"n_blocks": 10, "max_iter": 3, "n_files": 3})
    here, there = context.run(
        "ours/lost_workers", "parquet_blocks", context.problem("airline_all"), workers=2,
        n_inducing=context.size(100, 10), **options,
    )  # fmt: skip
    values = {f"{who}_{key}": record[key] for who, record in (("here", here), ("there", there))
              for key in ("rmse", "seconds", "predict_seconds")}  # fmt: skip
    values["times"] = there["seconds"] / here["seconds"]
    return {"values": values, "details": {"records": [here, there]}}


def worker_predictions(context):
    """PIC's predictions of all test rows by two workers, in turn with one process."""
    options = {"workers": 2, "repeats": context.size(3, 1)}
    options |= context.size(
        {"n_inducing": 100, "n_blocks": 2000}, {"n_inducing": 10, "n_blocks": 10}
    )
    path, values, records = context.problem("airline_all"), {}, []
    for kind in ("k-means", "labels"):
        turns = context.run(
            "ours/worker_predictions", "pic", path, labelled=kind == "labels", **options
        )
        for where in dict.fromkeys(record["where"] for record in turns):
            own = [record for record in turns if record["where"] == where]
            values[f"{kind}, {where}: seconds"] = median(record["seconds"] for record in own)
            values[f"{kind}, {where}: times"] = median(record["times"] for record in own)
            values[f"{kind}, {where}: difference"] = max(record["difference"] for record in own)
        records += [{"blocks": kind, **record} for record in turns]
    return {"values": values, "details": {"records": records}}


def lost_workers(context):
    """How many of the fits that lost a worker at a random moment came to the same model."""
    kills = context.size(24, 1)  # some come when a fit has ended
    shape = {"n": context.size(2_000_000, 5000), "m": context.size(100, 10)}
    shape["per_partition"] = context.size(100_000, 1000)
    records = context.run("ours/lost_workers", "killed", **shape, kills=kills)
    lost = [record for record in records if record["lost"]]
    values = {
        "lost": len(lost),
        "equal": sum(record["equal"] for record in lost),
        "difference": max(record["difference"] for record in records),
        "undisturbed": records[0]["undisturbed"],
        "longest": max(record["seconds"] for record in records),
    }
    return {"values": values, "details": {"records": records}}
