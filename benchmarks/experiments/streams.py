"""Experiments with the streaming estimators (Bui, Nguyen & Turner 2017)."""

from collections import defaultdict

import numpy as np

from experiments.records import Estimate, Found, gain_over_rows, over_rows, over_splits

_PEER, _EXACT, _REFITTED = "Bui et al. on GPflow", "exact GP", "SVGP, last rows"
_EXACT_LAST, _SVI = "exact GP, last rows", "SVI, each batch once"
# Rows that a rival with a memory may keep, of a series and of terrain, where they are the paper's,
# and those that the exact GP learns its kernel from.
MEMORY, _SPACE_MEMORY, _SUBSET = 3000, 7500, 1000
# Inducing inputs of ours, and rows that rivals keep, of the figure of memory
_SIZES, _MEMORIES = [25, 50, 100, 200], [250, 500, 1000, 3000]
# Stochastic steps on a batch before it is thrown away
_SVI_STEPS = 20
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
# as many iterations of L-BFGS for a batch of 100 rows as ours may take
_PEER_SEEDS, _PEER_ITERATIONS = 5, 100


def stream_line(context):
    """From left to right; a second time with as few inducing inputs as the peer gets."""
    sizes = context.size({"n": 1500, "first": 500, "size": 100}, {"n": 100, **_TOY_STREAM})
    found, details = Found(), {}
    for m in (50, 20):
        key, seeds = f"ours, m = {m}", context.size(20, 2)
        records = context.run(
            "ours/streaming_random_data", "line_errors", seeds=seeds, **sizes,
            **context.options(n_inducing=m),
        )  # fmt: skip
        details[key], errors = records, _finite_errors(records)
        found.values[f"worst {m}"] = max(errors, default=None)
        found.values[f"failures {m}"] = len(records) - len(errors)
        if errors:
            found.add(f"mean {m}", over_splits(errors, "streams"))
    details[_PEER] = theirs = context.run_peer(
        "peers/gpflow_streams", "line_errors", seeds=context.size(_PEER_SEEDS, 1), **sizes,
        n_inducing=context.size(20, 10), max_iter=context.size(_PEER_ITERATIONS, 5),
    )  # fmt: skip
    if errors := _finite_errors(theirs):
        found.peers["worst 20"][_PEER] = max(errors)
        found.peers["mean 20"][_PEER] = float(np.mean(errors))
        found.peers["failures 20"][_PEER] = len(theirs) - len(errors)
        ours = [record.get("rmse", np.nan) for record in details["ours, m = 20"]]
        pairs = zip(theirs, ours, strict=False)
        gains = [record["rmse"] - own for record, own in pairs if "rmse" in record]
        found.add("gain 20", over_splits(gains, "streams"))
    return found.result(details=details)


def _finite_errors(records):
    return [record["rmse"] for record in records if np.isfinite(record.get("rmse", np.nan))]


def stream_banana(context):
    """Sorted by the first column, three batches, m = 30."""
    path = context.problem("banana")
    records = context.run(
        "ours/streaming_classifier", "sorted_batches", path, seeds=context.size(5, 2), n_batches=3,
        **context.options(n_inducing=30),
    )  # fmt: skip
    found, rows = Found(), records[0]["rows"]
    for k, error in enumerate(np.max([record["errors"] for record in records], axis=0), start=1):
        se = float(np.sqrt(error * (1.0 - error) / rows))
        found.add(f"worst {k}", Estimate(float(error), se, rows, "rows"))
    return found.result(details=records)


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
        context.run("peers/sklearn_exact_gp", "draw", n=n, seed=seed)[0] for seed in range(seeds)
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
        "ours/streaming_data_sets", "streamed", context.problem(name), every=3,
        alpha_divergence=alpha, **course, **context.options(n_inducing=m),
    )  # fmt: skip


def stream_series(context):
    """Two series of one input, scored on test rows all over them."""
    rivals = {"memory": MEMORY, "places": 3, "with_svi": True}
    return _against_memory(context, context.size(_SERIES, _SERIES[:1]), every=8, **rivals)


def stream_space(context):
    """Terrain from north to south, scored on test rows all over it."""
    rivals = {"memory": _SPACE_MEMORY, "places": 1, "with_svi": False}
    return _against_memory(context, context.size(_SPACE, _SPACE[:1]), every=12, **rivals)


def stream_memory(context):
    """Bytes that are kept at the end of a series, and test RMSE: ours and rivals with a memory."""
    path, found, points = context.problem("pseudo_periodic"), Found(), {}
    course = {**context.size({"first": 1000, "size": 300}, _TOY_STREAM), "every": 10**6}
    ours, exact = "ours/streaming_data_sets", "peers/sklearn_exact_gp"
    points["ours"] = [
        context.run(ours, "streamed", path, **course, **context.options(n_inducing=m))[-1]
        for m in context.size(_SIZES, [10])
    ]
    memories = context.size(_MEMORIES, [40])
    rival = context.options(n_inducing=100)
    points[_REFITTED] = [
        context.run(ours, "refitted", path, **course, memory=memory, **rival)[-1]
        for memory in memories
    ]
    learned = {"subset": context.size(_SUBSET, 40), "restarts": context.size(1, 0), "places": 1}
    points[_EXACT_LAST] = [
        context.run(exact, "last_rows", path, **course, memory=memory, **learned)[-1]
        for memory in memories
    ]
    for way, ends in points.items():
        best = min(ends, key=lambda end: end["rmse"])
        kept = found.values if way == "ours" else {}
        kept |= {"rmse": best["rmse"], "bytes": best["bytes"]}
        for key, value in kept.items() if way != "ours" else ():
            found.peers[key][way] = value
    return found.result(details={"points": points})


def _against_memory(context, sizes, every, **rivals):
    """Ours, which keeps no rows, against rivals that keep the last ones."""
    found, streams = Found(), {}
    for name, size, m in sizes:
        curves = _curves(context, name, size, m, every, **rivals)
        key = f"{name} {m}"
        streams[f"{name}, batches of {size}, m = {m}"] = curves
        last = {way: points[-1] for way, points in curves.items() if points}
        ours = last.pop("ours")
        if not last:
            continue
        found.add(f"{key} gain", _worst_gain(curves))
        best = min(last.values(), key=lambda point: point["rmse"])
        found.add(f"{key} rmse_gain", gain_over_rows(best, ours, "rmse"))
        for score in ("rmse_in_units", "nlpd", "seconds"):
            found.values[f"{key} {score}"] = ours[score]
            found.peers[f"{key} {score}"] = {way: point[score] for way, point in last.items()}
        found.values[f"{key} bytes"] = ours["bytes"]
    return found.result(details={"streams": streams})


def _curves(context, name, size, m, every, memory, places, with_svi):
    """Scores along a stream of everyone."""
    path = context.problem(name)
    course = {**context.size({"first": 1000, "size": size}, _TOY_STREAM), "every": every}
    options, memory = context.options(n_inducing=m), context.size(memory, 80)

    def run(adapter, task, **more):
        return context.run(adapter, task, path, **course, **more)

    ours, svi = "ours/streaming_data_sets", {}
    if with_svi:
        svi[_SVI] = run(ours, "stochastic", steps=context.size(_SVI_STEPS, 2), **options)
    return {
        "ours": run(ours, "streamed", **options),
        **svi,
        _REFITTED: run(ours, "refitted", memory=memory, **options),
        _EXACT_LAST: run(
            "peers/sklearn_exact_gp", "last_rows", memory=memory,
            subset=context.size(_SUBSET, 40), restarts=context.size(4, 0), places=places,
        ),
    }  # fmt: skip


def _worst_gain(curves):
    """Least lead of our log density over the best rival's there, in the second half."""
    rivals = defaultdict(list)
    for way, points in curves.items():
        for point in points if way != "ours" else ():
            if not np.isfinite(point["nlpd"]):
                continue
            rivals[point["rows"]].append(point)
    half = curves["ours"][-1]["rows"] / 2
    gains = [
        gain_over_rows(min(rivals[point["rows"]], key=lambda p: p["nlpd"]), point, "nlpd")
        for point in curves["ours"]
        if point["rows"] >= half and rivals[point["rows"]]
    ]
    return min(gains, key=lambda gain: gain.value)


def stream_elec2(context):
    """Test, then train, in the order of time."""
    path = context.problem("elec2_prequential")
    records = context.run(
        "ours/streaming_classifier", "prequential", path, head=context.size(1000, 60),
        size=context.size(200, 20), forget_factors=_FORGET_FACTORS, window=48,
        **context.options(n_inducing=50),
    )  # fmt: skip
    found = {record["way"]: record for record in records}
    result, sgd = Found(), found["SGDClassifier"]
    best = min(sgd, found["majority of 48"], key=lambda record: record["error"])
    for factor in _FORGET_FACTORS:
        ours = found[f"ours, forget_factor {factor:g}"]
        result.add(f"error_gain {factor:g}", gain_over_rows(best, ours, "error"))
        result.add(f"gain {factor:g}", gain_over_rows(sgd, ours, "nlpd"))
        result.values[f"seconds {factor:g}"] = ours["seconds"]
        for key in ("error", "nlpd"):
            result.add(f"{key} {factor:g}", over_rows(ours, key))
        for key in ("error", "nlpd", "seconds"):
            result.peers[f"{key} {factor:g}"] = {
                way: record[key]
                for way, record in found.items()
                if key in record and not way.startswith("ours")
            }
    return result.result(details=records)


def stream_speed(context):
    """A batch of 300 rows, d = 2, m = 100: 20 iterations, and none.

    A ratio of seconds means something only at equal density, which is compared on the same rows.
    """
    sizes = {
        **context.size({"first": 1000, "size": 300}, _TOY_STREAM),
        "repeats": context.size(40, 3),
        "n_inducing": context.size(100, 10),
        "max_iter": 20,
    }
    learned, updated = context.run("ours/streaming_cost", "speed", **sizes)
    found = Found(learned=learned["seconds"], updated=updated["seconds"])
    found.add("nlpd", over_rows(learned, "nlpd"))
    details = {"ours": [learned, updated]}
    for record in context.run_peer("peers/gpflow_streams", "speed", **sizes):
        way = f"{_PEER}, {record['way']}"
        details[way] = record
        if "seconds" not in record:
            context.notes.append(f"{way}: {record['error']}")
            continue
        for key in ("seconds", "nlpd"):
            found.peers["learned" if key == "seconds" else key][way] = record[key]
        found.values[f"times {record['way']}"] = record["seconds"] / learned["seconds"]
        found.add(f"gain {record['way']}", gain_over_rows(record, learned, "nlpd"))
    return found.result(details=details)


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
