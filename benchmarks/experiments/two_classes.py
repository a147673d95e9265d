"""`AnytimeSGPClassifier()` for two classes beside every rival that has probabilities."""

from problems.two_classes import ALIKE, GAMMAS, ODD, SMALL_CLUSTERS, pair_name

from experiments.records import Found, gain

# Tables, and how many splits are taken; pairs of digits come with the one of their file.
TABLES = {
    "elec2_random": 3,
    "banana_random": 3,
    "ionosphere_random": 3,
    "sonar_random": 3,
    ODD: 3,
    **{pair_name(*pair): 1 for pair in ALIKE},
    GAMMAS: 3,
    SMALL_CLUSTERS: 3,
}
_OURS = "ours"
# Adapter, task, and options of a toy.
_PEERS = {
    "SVGPClassifier": ("ours/svgp_classifier", "fit", {"max_iter": 3, "init_size": 128}),
    "boosting": ("peers/sklearn_classes", "boosting", {"trees": 2}),
    "CatBoost": ("peers/catboost_classes", "fit", {"trees": 2}),
    "SVM": ("peers/sklearn_classes", "svm", {}),
    "GPBoost": ("peers/gpboost_classes", "classes", {}),
}
_LONGEST = 90  # seconds of one rival on the splits of a table


def two_classes(context):
    """Scores with defaults, and on how many tables ours is ahead of every rival."""
    found, details = Found(), {}
    for name, splits in context.size(TABLES, {"banana_random": 1}).items():
        paths = [context.problem(name, split) for split in range(splits)]
        details[name] = _compared(context, found, name, paths)
    found.values |= {
        "tables": len(details),
        "ahead_nlpd": sum(_room(records, "nlpd").value > 0.0 for records in details.values()),
        "near_error": sum(_is_near(_room(records, "error")) for records in details.values()),
    }
    return found.result(details=details)


def _compared(context, found, name, paths):
    """Records of everyone on one table."""
    toy = context.size({}, {"max_iter": 3})
    records = {_OURS: context.run("ours/anytime_classifier", "fit", *paths, **toy)}
    for peer, (adapter, task, few) in _PEERS.items():
        options = context.size({}, few)
        if adapter.startswith("ours/"):
            records[peer] = context.run(adapter, task, *paths, **options)
        else:
            said = context.ask_peer(adapter, task, *paths, limit=_LONGEST, **options)
            records[peer] = said.records
    found.add_class_scores(name, records[_OURS], {peer: records[peer] for peer in _PEERS})
    return records


def _room(records, key):
    """What the best rival's score is above ours, on the splits to which it came."""
    rooms = [
        gain(theirs, records[_OURS], key)
        for peer, theirs in records.items()
        if peer != _OURS and theirs
    ]
    return min(rooms, key=lambda room: room.value)


def _is_near(room):
    """Whether ours is at most a standard error behind."""
    return room.value >= -(room.se or 0.0)
