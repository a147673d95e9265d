"""Scores of predictions on test rows. Needs numpy only."""

import numpy as np

_CHUNK, _GROUPS, _DIGITS = 5000, 200, 8


def scores(y, mean, std):
    """RMSE, mean negative log density and coverage of the central 90 % interval."""
    z = (y - mean) / std
    surprise = 0.5 * z**2 + np.log(std) + 0.5 * np.log(2.0 * np.pi)
    return by_density(y, mean, -surprise, np.abs(z) <= 1.6448536)


def by_density(y, mean, log_density, covered):
    """The same for predictions that are not normal: from what is known of each test row."""
    surprise, squared = -log_density, (y - mean) ** 2
    return {
        "rmse": float(np.sqrt(np.mean(squared))),
        "nlpd": float(np.mean(surprise)),
        "coverage": float(np.mean(covered)),
        "groups": grouped(nlpd=surprise, coverage=covered, squared=squared),
    }


def grouped(**by_row):
    """Means over up to 200 runs of test rows, by score: what a standard error is made of.

    Runs of neighbours, so that the error of a series holds what neighbours have in common.
    """
    groups = {"rows": len(next(iter(by_row.values())))}
    for key, values in by_row.items():
        parts = np.array_split(np.asarray(values, dtype=np.float64), min(_GROUPS, len(values)))
        groups[key] = [float(f"{np.mean(part):.{_DIGITS}g}") for part in parts]
    return groups


def class_scores(y, probability, n_bins=15):
    """Error, mean negative log probability and expected calibration error.

    The last is the mean distance of the greatest probability from how often it is right, over bins
    of equal width, weighted by their rows.
    """
    top, right = probability.max(axis=1), probability.argmax(axis=1) == y
    place = np.minimum((n_bins * top).astype(int), n_bins - 1)
    gaps = np.bincount(place, right - top, minlength=n_bins)
    given = np.maximum(probability[np.arange(len(y)), y], np.finfo(np.float64).tiny)
    surprise = -np.log(given)
    return {
        "error": float(np.mean(~right)),
        "nlpd": float(np.mean(surprise)),
        "ece": float(np.abs(gaps).sum() / len(y)),
        "groups": grouped(nlpd=surprise, error=~right),
    }


def stream_scores(problem, model, rows):
    """Scores on all test rows after so many rows of a stream, those of its future included."""
    parts = [
        model.predict(problem.X_test[lo : lo + _CHUNK], return_std=True)
        for lo in range(0, len(problem.y_test), _CHUNK)
    ]
    mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
    found = scores(problem.y_test, mean, std)
    # test rows are in the order of the stream, so that as large a share of them lies in its past
    past = slice(0, round(len(mean) * rows / len(problem.y)))
    return {
        "rmse_in_units": found["rmse"] * problem.y_scale,
        "past": scores(problem.y_test[past], mean[past], std[past]),
        **found,
    }
