"""What must hold in every case: a finite, sensible answer, or an error that names its cause."""

import os
import pickle
import signal
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from hostile_answers import Nonsense, answers_of, before_fit, is_named
from hostile_estimators import estimator_of, values_of
from hostile_tables import NUMBERS, REFUSED, block_column, labels_of, made, numbers_of
from sklearn.exceptions import ConvergenceWarning

# Seconds of a processor, and of the clock in which nothing is done: where others have the machine a
# case may take long. Sanitizers make everything some five times slower.
LIMIT = float(os.environ.get("HOSTILE_LIMIT", "60"))
LONGEST_WAIT = 300.0


# Layouts that may have whole numbers where a table has none.
_ROUNDED = {"integers", "bytes", "truth values", "strides of zero"}


# Layouts of targets that are other numbers than those of a table.
_OTHER_TARGETS = {"integers", "truth values"}


class Broken(Nonsense):
    """What must hold does not."""


class Hangs(Broken):
    """A case takes longer than its limit."""


@contextmanager
def time_limit():
    """Raise `Hangs` in the main thread after `LIMIT` seconds of work or `LONGEST_WAIT` of none."""
    worked = time.process_time()

    def stop(*_):
        raise Hangs(f"{LIMIT:g} s of work")

    def look(*_):
        nonlocal worked
        before, worked = worked, time.process_time()
        if worked - before < 0.1:
            raise Hangs(f"{LONGEST_WAIT:g} s in which nothing is done")

    actions = {signal.SIGPROF: stop, signal.SIGALRM: look}
    handlers = {number: signal.signal(number, action) for number, action in actions.items()}
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT, LONGEST_WAIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _state(model, X):
    """What an error must leave as it was: the attributes, and predictions to the last bit."""
    attributes = dict(vars(model))
    if model._fitted is None or X is None:
        return attributes, None
    try:
        answer = model.transform(X) if hasattr(model, "transform") else model.predict(X)
    except ValueError:  # too large numbers, which is no business of the error
        return attributes, None
    return attributes, np.asarray(answer)


def _assert_unchanged(model, before, X):
    attributes, answer = before
    now = vars(model)
    if set(now) != set(attributes) or any(now[k] is not attributes[k] for k in now):
        changed = sorted(
            k
            for k in set(now) | set(attributes)
            if now.get(k, now) is not attributes.get(k, attributes)
        )
        raise Broken(f"an error changed {changed}")
    if answer is not None and not np.array_equal(_state(model, X)[1], answer):
        raise Broken("an error changed predictions")


def _taught(model, call, table, X_test, classes):
    """Call ``fit`` or ``partial_fit``; return the error that refused the table, or None."""
    X, y, weights = made(table)
    before = _state(model, X_test)
    copies = [np.array(a, copy=True) for a in (X, y, weights) if isinstance(a, np.ndarray)]
    more = {}
    if call == "partial_fit" and hasattr(model, "predict_proba"):
        more["classes"] = classes
    try:
        if hasattr(model, "transform"):
            getattr(model, call)(X)
        else:
            getattr(model, call)(X, y, sample_weight=weights, **more)
    except (ValueError, TypeError) as error:
        if not is_named(error):
            raise Broken(f"{type(error).__name__} names no parameter: {error}") from error
        _assert_unchanged(model, before, X_test)
        return error
    if table.blocks != "words" and not _are_integers(labels_of(table)) and _holds(table):
        raise Broken("labels of blocks that are no integers are taken without a word")
    if table.spoilt in REFUSED and not (hasattr(model, "transform") and "X" not in table.spoilt):
        codes = "X" in table.spoilt and getattr(model, "categorical_features", None) is not None
        # streams leave out rows without a target, whatever else they hold
        is_left_out = table.missing == "targets" and hasattr(model, "n_shifts_")
        if table.spoilt not in _may_be_missing(model, call) and not (codes or is_left_out):
            raise Broken(f"{table.spoilt} is taken without a word")
    given = [a for a in (X, y, weights) if isinstance(a, np.ndarray)]
    for array, copy in zip(given, copies, strict=True):
        if array.dtype.kind not in "OUS" and not np.array_equal(array, copy, equal_nan=True):
            raise Broken("an argument has changed")
    return None


def _are_integers(labels):
    """Whether labels of blocks may be what they are: none, or integers that a computer has."""
    if labels is None:
        return True
    return bool(np.isfinite(labels).all() and (labels == np.round(labels)).all()) and (
        np.abs(labels).max() < 2.0**63
    )


def _holds(table):
    """Whether labels are laid out as they are."""
    return table.spoilt != "nothing" or table.layout not in _ROUNDED


def _may_be_missing(model, call):
    """Where NaN stands for what is not known, and batches of streams may have no rows."""
    inputs = hasattr(model, "transform") or getattr(model, "missing", "error") == "auto"
    is_stream = hasattr(model, "n_missing_") and not hasattr(model, "predict_proba")
    targets = not hasattr(model, "transform") and (getattr(model, "n_latent", None) or is_stream)
    allowed = {"NaN in X": inputs, "NaN in y": targets}
    allowed["X without rows"] = call == "partial_fit" and hasattr(model, "n_shifts_")
    return {word for word, is_allowed in allowed.items() if is_allowed}


_CALLS = {"fit": "fit", "batch": "partial_fit", "batches": "partial_fit"}


def _course(case):
    """Pairs of a method's name and a table."""
    words = [_CALLS[word] for word in case.course.split(", ")]
    words = words * 2 if case.course == "batches" else words
    return zip(words, (case.table, case.later), strict=False)


def run(case):
    """Run a case.

    Returns
    -------
    refusals : list of str
        Messages of the errors that refused a table, each of which names its cause.

    Raises
    ------
    Broken
        If an answer is not finite or not sensible, or if an error is not clear.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        with time_limit():
            return _run(case)


def _plain(table):
    """Inputs as the layout has them, and targets as an array."""
    return made(replace(table, y_layout="array"))[:2]


def _run(case):
    X, _, _ = numbers_of(replace(case.table, n=min(case.table.n, 300)))
    model = estimator_of(case.estimator, case.parameters, X, case.table.seed)
    if case.table.blocks != "none":
        model.set_params(block_column=block_column(case.table))
    tables = (case.table, case.later)
    classes = None
    if hasattr(model, "predict_proba"):
        classes = np.unique(np.concatenate([numbers_of(table)[1] for table in tables]))
    refusals = []
    plain = replace(case.points, n=min(case.points.n, 40), spoilt="nothing")
    if case.points.missing != "nothing" and not hasattr(model, "transform"):
        plain = replace(plain, missing="nothing")
    X_test, y_test = _plain(plain)
    seen = []
    refusals += before_fit(model, X_test)
    for number, (call, table) in enumerate(_course(case)):
        if number:
            model.set_params(**values_of(case.estimator, case.changed, X))
        error = _taught(model, call, table, X_test if seen else None, classes)
        if error is None:
            seen.append(table)
            refusals += answers_of(model, X_test, y_test, plain)
        else:
            refusals.append(f"{call}: {error}")
    if seen == [case.table] and not case.changed:
        _assert_sensible(model, case)
        _assert_exact_process(model, case)
    if seen:
        few = replace(seen[-1], n=min(seen[-1].n, 40), spoilt="nothing")
        own, own_y = _plain(few)
        said = answers_of(model, own, own_y, few)
        refusals += said
        if not any(text.startswith("predict:") for text in said):
            _assert_pickles(model, own)
        if case.points.spoilt != "nothing" and "X" in case.points.spoilt:
            refusals += _spoilt_points(model, case.points)
    return refusals


# Where a regressor can be held to explain its training rows no worse than their mean does.
_PLAIN_PARAMETERS = {
    "n_inducing",
    "optimize_inducing",
    "tol",
    "jitter",
    "n_jobs",
    "model",
    "solver",
}
_PLAIN_PARAMETERS |= {"block_size", "n_blocks", "partition", "n_neighbors", "copy_X", "init_size"}
_PLAIN_TARGETS = {"smooth", "exact", "noise", "constant", "zero", "a step", "integers"}
_PLAIN_TARGETS |= {"exact and rough", "exact and fast", "fast"}
# What makes predictions rest on more than kernel, noise and rows.
_EXACT_PARAMETERS = {"kernel", "inducing", "optimize_inducing", "n_inducing", "tol", "n_jobs"}
_EXACT_PARAMETERS |= {"max_iter", "init_size", "noise_variance", "noise_variance_bounds"}


def _assert_sensible(model, case):
    """Training rows are predicted at least as well as by their mean."""
    is_plain = {name for name, _ in case.parameters} <= _PLAIN_PARAMETERS
    is_plain = is_plain and case.table.targets in _PLAIN_TARGETS
    is_plain = is_plain and case.table.y_layout not in _OTHER_TARGETS
    if not is_plain or hasattr(model, "transform") or case.table.weights not in ("none", "ones"):
        return
    X, y, _ = made(replace(case.table, y_layout="array"))
    error = np.sqrt(np.mean((model.predict(X) - y) ** 2, axis=0))
    rounding = 1e-7 if case.table.y_layout == "single precision" else 1e-9  # of what was given
    spread = 1.05 * np.std(y, axis=0) + rounding * np.abs(y).max(axis=0)
    if (error > spread).any():
        raise Broken(f"training rows have errors of {error} where their spread is {spread}")


def _assert_exact_process(model, case):
    """With all rows as inducing inputs means are those of the exact process, to jitter."""
    chosen, table = dict(case.parameters), case.table
    is_exact = case.estimator == "SVGPRegressor" and chosen.get("inducing") == "all rows"
    is_exact = is_exact and set(chosen) <= _EXACT_PARAMETERS and table.targets in NUMBERS
    is_exact = is_exact and table.y_layout not in _OTHER_TARGETS
    if not is_exact or table.weights not in ("none", "ones") or table.n_outputs > 1:
        return
    X, y, _ = numbers_of(table)
    laid = made(table)[0]
    kernel, noise, mean = model.kernel_, np.asarray(model.noise_variance_), model.y_mean_
    if not isinstance(laid, np.ndarray) or not np.array_equal(laid, X) or len(X) > 300:
        return
    K = kernel(X)
    size, A = np.diagonal(K).max(), K + noise * np.eye(len(X))
    if not np.isfinite(A).all() or noise < 1e-5 * size:
        return  # jitter, which predictions contain, is not small beside such a noise
    exact = mean + K @ np.linalg.solve(A, y - mean)
    error = np.abs(model.predict(laid) - exact).max()
    if error > 1e-2 * np.std(y) + 1e-7 * np.abs(y).max():
        raise Broken(f"means are off those of the exact process by {error}, of {np.std(y)}")


def _assert_pickles(model, X):
    loaded = pickle.loads(pickle.dumps(model))
    if hasattr(model, "transform"):
        one, other = model.transform(X), loaded.transform(X)
    else:
        one, other = model.predict(X), loaded.predict(X)
    if not np.array_equal(one, other):
        change = np.abs(one - other).max() if one.dtype.kind == "f" else np.inf
        # factors of cells are kept from what was asked before, which pickles do not hold
        is_rounding = np.isfinite(change) and change <= 1e-9 * np.abs(one).max()
        if hasattr(getattr(model._fitted, "predictor", None), "cache") and is_rounding:
            return
        raise Broken(f"a loaded model predicts otherwise, by {change}")


def _spoilt_points(model, table):
    X = made(table)[0]
    before = _state(model, None)
    predict = model.transform if hasattr(model, "transform") else model.predict
    try:
        answer = predict(X)
    except (ValueError, TypeError) as error:
        if not is_named(error):
            raise Broken(f"{type(error).__name__} names no parameter: {error}") from error
        _assert_unchanged(model, before, None)
        return [f"predict: {error}"]
    if np.asarray(answer).dtype.kind == "f" and not np.isfinite(answer).all():
        raise Broken(f"predictions at {table.spoilt} are not finite")
    return []
