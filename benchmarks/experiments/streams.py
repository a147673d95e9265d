"""Experiments with the streaming estimators (Bui, Nguyen & Turner 2017)."""

from collections import defaultdict

import numpy as np

_PEER, _EXACT, _REFITTED, _SVGP = (
    "Bui et al. on GPflow", "exact GP", "SVGP, last rows", "SVGP, streamed",
)  # fmt: skip
_EXACT_LAST = "exact GP, last rows"
# Rows that a rival with a memory may keep, and those that the exact GP learns its kernel from.
MEMORY, _SUBSET = 3000, 1000
# Name, batch size and inducing inputs, the paper's.
_SERIES = [
    (name, size, m)
    for name in ("pseudo_periodic", "speech_subband")
    for size, m in ((300, 100), (500, 200))
]
_SPACE = [("terrain50_ny20", 750, 400), ("terrain50_ny20", 1000, 600)]
_TOY_STREAM = {"first": 60, "size": 20}
_ALPHAS = [0.01, 0.2, 0.5, 0.8, 1.0, 0.0]
_FORGET_FACTORS = (1.0, 0.9)
_MOST_RESIDUAL = 4.0


def stream_line(context):
    """From left to right; a second time with as few inducing inputs as the peer gets."""
    sizes = context.size({"n": 1500, "first": 500, "size": 100}, {"n": 100, **_TOY_STREAM})
    values, peers, details = {}, {}, {}
    for m in (50, 20):
        key, seeds = f"ours, m = {m}", context.size(20, 2)
        found = context.run(
            "ours/streaming_random_data", "line_errors", seeds=seeds, **sizes,
            **context.options(n_inducing=m),
        )  # fmt: skip
        details[key] = found
        for name, value in _line_values(found).items():
            values[f"{name} {m}"] = value
    theirs = context.kept(f"{_PEER}, left to right", lambda: _line_of_peer(context, sizes))
    if theirs:
        peers = {f"{name} 20": {_PEER: value} for name, value in _line_values(theirs).items()}
        details[_PEER] = theirs
    return {"values": values, "peers": peers, "details": details}


def _line_of_peer(context, sizes):
    options = {"n_inducing": context.size(20, 10), "max_iter": context.size(100, 5)}
    records = context.run_peer(
        "peers/gpflow_streams", "line_errors", seeds=context.size(5, 1), **sizes, **options
    )
    return records or None


def _line_values(records):
    errors = [record["rmse"] for record in records if np.isfinite(record.get("rmse", np.nan))]
    return {
        "worst": max(errors, default=None),
        "mean": float(np.mean(errors)) if errors else None,
        "failures": len(records) - len(errors),
    }


def stream_banana(context):
    """Sorted by the first column, three batches, m = 30."""
    path = context.problem("banana")
    records = context.run(
        "ours/streaming_classifier", "sorted_batches", path, seeds=context.size(5, 2), n_batches=3,
        **context.options(n_inducing=30),
    )  # fmt: skip
    worst = np.max([record["errors"] for record in records], axis=0)
    values = {f"worst {k}": float(error) for k, error in enumerate(worst, start=1)}
    return {"values": values, "details": records}


def stream_draws(context):
    """Length scale and noise against those of the exact GP on all rows, for several powers.

    And the scores of the same powers along a series.
    """
    n, seeds = context.size(1000, 60), context.size(5, 2)
    alphas = context.size(_ALPHAS, _ALPHAS[-1:])
    ours = context.run(
        "ours/streaming_random_data", "learned", n=n, size=context.size(100, 20), seeds=seeds,
        alphas=alphas, **context.options(n_inducing=40),
    )  # fmt: skip
    exact = [
        context.kept(f"{_EXACT}, draw {seed}", lambda seed=seed: _exact_draw(context, n, seed))
        for seed in range(seeds)
    ]
    values, series = {}, _SERIES[0]
    for quantity in ("length_scale", "noise_std"):
        gaps = {
            alpha: float(np.median([
                abs(record[quantity] / exact[record["seed"]][quantity] - 1.0)
                for record in ours if record["alpha"] == alpha and record["rows"] == n
            ]))
            for alpha in alphas
        }  # fmt: skip
        values[quantity], values[f"{quantity} any"] = gaps[0.0], max(gaps.values())
        values[f"{quantity} gaps"] = {str(alpha): gap for alpha, gap in gaps.items()}
    along = {str(alpha): _scored(context, *series, alpha) for alpha in alphas}
    return {"values": values, "details": {"ours": ours, _EXACT: exact, "series": along}}


def _scored(context, name, size, m, alpha):
    """Scores along a stream with some power."""
    course = context.size({"first": 1000, "size": size}, _TOY_STREAM)
    return context.run(
        "ours/streaming_data_sets", "streamed", context.problem(name), way="ours", every=3,
        alpha_divergence=alpha, **course, **context.options(n_inducing=m),
    )  # fmt: skip


def _exact_draw(context, n, seed):
    return context.run("peers/sklearn_exact_gp", "draw", n=n, seed=seed)[0]


def stream_series(context):
    """Two series of one input, scored on test rows all over them."""
    return _against_memory(context, context.size(_SERIES, _SERIES[:1]), every=5)


def stream_space(context):
    """Terrain from north to south, scored on test rows all over it."""
    return _against_memory(context, context.size(_SPACE, _SPACE[:1]), every=3)


def _against_memory(context, sizes, every):
    """Ours, which keeps no rows, against rivals that keep the last ones, and SVGP's own stream."""
    values, peers, streams = {}, defaultdict(dict), {}
    for name, size, m in sizes:
        curves = _curves(context, name, size, m, every)
        key = f"{name} {m}"
        streams[f"{name}, batches of {size}, m = {m}"] = curves
        last = {way: points[-1] for way, points in curves.items()}
        ours = last.pop("ours")
        values[f"{key} gain"] = _worst_gain(curves)
        for score in ("rmse_in_units", "nlpd", "seconds"):
            values[f"{key} {score}"] = ours[score]
            peers[f"{key} {score}"] = {way: point[score] for way, point in last.items()}
        values[f"{key} bytes"] = ours["bytes"]
    return {"values": values, "peers": dict(peers), "details": {"streams": streams}}


def _curves(context, name, size, m, every):
    """Scores along a stream of everyone."""
    path = context.problem(name)
    course = {**context.size({"first": 1000, "size": size}, _TOY_STREAM), "every": every}
    options, memory = context.options(n_inducing=m), context.size(MEMORY, 80)

    def run(adapter, task, **more):
        return context.run(adapter, task, path, **course, **more)

    ours = "ours/streaming_data_sets"
    return {
        "ours": run(ours, "streamed", way="ours", **options),
        _SVGP: run(ours, "streamed", way=_SVGP, **options),
        _REFITTED: run(ours, "refitted", memory=memory, **options),
        _EXACT_LAST: run(
            "peers/sklearn_exact_gp", "last_rows", memory=memory,
            subset=context.size(_SUBSET, 40), restarts=context.size(4, 0),
        ),
    }  # fmt: skip


def _worst_gain(curves):
    """Least lead of our log density over the best rival's there, in the second half."""
    rivals = defaultdict(list)
    for way, points in curves.items():
        for point in points if way != "ours" else ():
            rivals[point["rows"]].append(point["nlpd"])
    half = curves["ours"][-1]["rows"] / 2
    gains = [
        np.nanmin(rivals[point["rows"]]) - point["nlpd"]
        for point in curves["ours"]
        if point["rows"] >= half
    ]
    return float(np.min(gains))  # not a number where one of ours is none


def stream_elec2(context):
    """Test, then train, in the order of time."""
    path = context.problem("elec2_prequential")
    records = context.run(
        "ours/streaming_classifier", "prequential", path, head=context.size(1000, 60),
        size=context.size(200, 20), forget_factors=_FORGET_FACTORS, window=48,
        **context.options(n_inducing=50),
    )  # fmt: skip
    found = {record["way"]: record for record in records}
    sgd, majority = found["SGDClassifier"], found["majority of 48"]
    values, peers = {}, {}
    for factor in _FORGET_FACTORS:
        ours = found[f"ours, forget_factor {factor:g}"]
        values[f"error_gain {factor:g}"] = min(sgd["error"], majority["error"]) - ours["error"]
        values[f"gain {factor:g}"] = sgd["nlpd"] - ours["nlpd"]
        for key in ("error", "nlpd", "seconds"):
            values[f"{key} {factor:g}"] = ours[key]
            peers[f"{key} {factor:g}"] = {
                way: record[key]
                for way, record in found.items()
                if key in record and not way.startswith("ours")
            }
    return {"values": values, "peers": peers, "details": records}


def stream_speed(context):
    """A batch of 300 rows, d = 2, m = 100: 20 iterations, and none."""
    sizes = {
        **context.size({"first": 1000, "size": 300}, _TOY_STREAM),
        "repeats": context.size(40, 3),
        "n_inducing": context.size(100, 10),
        "max_iter": 20,
    }
    learned, updated = context.run("ours/streaming_cost", "speed", **sizes)
    values = {"learned": learned["seconds"], "updated": updated["seconds"]}
    values["nlpd"] = learned["nlpd"]
    details, peers = {"ours": [learned, updated]}, defaultdict(dict)
    for record in context.run_peer("peers/gpflow_streams", "speed", **sizes):
        way = f"{_PEER}, {record['way']}"
        details[way], peers["learned"][way] = record, record.get("seconds")
        peers["nlpd"][way] = record.get("nlpd")
        if "seconds" in record:
            values[f"times {record['way']}"] = record["seconds"] / learned["seconds"]
    return {"values": values, "peers": dict(peers), "details": details}


def stream_soak(context):
    """A stream of small batches that does not end."""
    (record,) = context.run(
        "ours/streaming_cost", "soak", n_batches=context.size(100_000, 200),
        first=context.size(500, 60), size=10, period=context.size(5000, 200),
        forget_factor=0.99, **{**context.options(n_inducing=50), "max_iter": 2},
    )  # fmt: skip
    return {"values": record}


def stream_robust(context):
    """Random streams of all shapes and scales."""
    toy = {"max_iter": 3} if context.smoke else {}
    records = context.run("ours/streaming_random_data", "robust", seeds=context.size(300, 5), **toy)
    squared = [record["squared"] for record in records if record.get("finite")]
    values = {
        "failures": len(records) - len(squared),
        "bad": int(np.count_nonzero(np.array(squared) > _MOST_RESIDUAL)),
        "percentile": float(np.percentile(squared, 95)) if squared else None,
    }
    return {"values": values, "details": records}
