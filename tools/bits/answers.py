"""What is asked of a configuration: all that it learned and says, as arrays and texts.

Public names only, so that it runs before and after a change of what is behind them.
"""

import contextlib
import io
import pickle
import re
import traceback
import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process.kernels import Kernel

from sklearn_sgp.likelihoods import Likelihood

from .cases import Direct
from .every import CASES
from .spoilt import spoilt
from .tables import rows_of, with_column

N_NEW = 40
# Attributes that are no numbers of the model, or depend on the machine's load.
NOT_COMPARED = {"fit_times_", "n_features_in_"}
# With labels of blocks these may have an entry for their column.
OF_COLUMNS = {"feature_names_in_", "is_categorical_"}
REFUSALS = (ValueError, RuntimeError, AttributeError, TypeError, IndexError)
LEVELS = (0.02, 0.3, 0.5, 0.9)


# Entries -----------------------------------------------------------------------------------------


def without_seconds(text):
    """Replace numbers of seconds, which depend on the machine's load; so those of `choices_`."""
    text = re.sub(r"(?<='seconds': )[-+.\de]+", "…", str(text))
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?(?= ?(ms|s|min|h|seconds?)\b)", "…", text)


def sorted_set(found):
    """Write the members of a set in the order of the alphabet."""
    return "{" + ", ".join(sorted(found[1].split(", "))) + "}"


def refusal(error):
    """Name an exception and what it says; sets of words have no order of their own."""
    text = re.sub(r"\{([^{}]*)\}", sorted_set, without_seconds(error))
    return f"{type(error).__name__}: {text}"


def entries(name, value):
    """Turn an answer into arrays by name, which need no pickle."""
    if isinstance(value, Kernel):
        return {name: np.array(value.theta), f"{name} in words": np.array(repr(value))}
    if isinstance(value, Likelihood):
        return {name: np.array(value.theta), f"{name} in words": np.array(words_of(value))}
    if isinstance(value, tuple | list) and any(isinstance(v, np.ndarray | Kernel) for v in value):
        found = [entries(f"{name} {k}", part) for k, part in enumerate(value)]
        return {key: entry for part in found for key, entry in part.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return {name: value}
    if isinstance(value, bool | int | float | np.generic):
        return {name: np.asarray(value)}
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return {name: np.array(without_seconds(text))}


def words_of(likelihood):
    """Write a likelihood with all digits of its parameters."""
    return f"{type(likelihood).__name__} {likelihood.get_params(deep=False)!r}"


def answered(name, question):
    """Ask a question; what is refused becomes the text of the refusal."""
    try:
        return entries(name, question())
    except REFUSALS as error:
        return {name: np.array(refusal(error))}


def heard(action):
    """Do something; return warnings, what is printed, and the refusal, as texts by name."""
    printed, refused = io.StringIO(), None
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            action()
        except REFUSALS as error:
            refused = refusal(error)
    told = "\n".join(f"{w.category.__name__}: {without_seconds(w.message)}" for w in caught)
    found = {"warnings": told, "printed": without_seconds(printed.getvalue()), "refused": refused}
    return {key: np.array(text) for key, text in found.items() if text}


# What a model has learned ------------------------------------------------------------------------


def has_block_column(model):
    return "block_column" in model.get_params(deep=False)


def learned(model, rows):
    """Collect the public fitted attributes."""
    skipped = NOT_COMPARED if rows.labels is None else NOT_COMPARED | OF_COLUMNS
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    found = {}
    for name in sorted(set(names) - skipped):
        found |= answered(name, lambda name=name: getattr(model, name))
    if rows.labels is not None and has_block_column(model):
        for name in ("inducing_points_", "noise_inducing_points_"):
            Z = found.get(name, np.empty(0))
            if Z.ndim == 2 and Z.shape[1] > rows.X.shape[1]:
                found[name] = np.delete(Z, model.block_column, axis=1)
    return found


# What it says ------------------------------------------------------------------------------------


def given(model, rows, layout):
    """Inputs of these rows and their labels, as the model takes them."""
    X, labels = rows.laid_out(layout)
    if labels is None:
        return X, {}
    return (with_column(X, labels), {}) if has_block_column(model) else (X, {"blocks": labels})


def of_numbers(model, new, old, layout):
    """Make all questions to a regressor."""
    (X, labels), (old_X, old_labels) = given(model, new, layout), given(model, old, layout)
    theta = theta_near(model)
    of_old = {"X": old_X, "y": old.y, "sample_weight": old.weight, **old_labels}
    evidence = getattr(model, "log_marginal_likelihood", None)
    asked = {
        "predict": lambda: model.predict(X, **labels),
        "predict return_std": lambda: model.predict(X, return_std=True, **labels),
        "predict return_cov": lambda: model.predict(X, return_cov=True, **labels),
        "predict both": lambda: model.predict(X, return_std=True, return_cov=True, **labels),
        "predict_std": lambda: model.predict_std(X, **labels),
        "predict_std function": lambda: model.predict_std(X, include_noise=False, **labels),
        "predict_quantiles": lambda: model.predict_quantiles(X, LEVELS, **labels),
        "log_density": lambda: model.log_density(X, new.y, **labels),
        "score": lambda: model.score(X, new.y, **labels),
        "score weights": lambda: model.score(X, new.y, new.counts(), **labels),
        "noise_std": lambda: model.noise_std(X),
        "sample_y": lambda: model.sample_y(X, 2, random_state=1, **labels),
        "sample_y joint": lambda: model.sample_y(X, 2, random_state=2, method="joint", **labels),
        "sample_y pathwise": lambda: model.sample_y(X, 2, 3, "pathwise", **labels),
        "sample_y unknown": lambda: model.sample_y(X, 2, method="unknown", **labels),
        "sample_functions": lambda: model.sample_functions(2, random_state=4)(X),
    }
    if new.labels is not None and isinstance(model.normalize_y, str):
        del asked["noise_std"]  # which may know the rows of the block or not
    if evidence is not None:
        asked |= {
            "evidence": lambda: evidence(),
            "evidence gradient": lambda: evidence(eval_gradient=True),
            "evidence theta": lambda: evidence(theta),
            "evidence theta gradient": lambda: evidence(theta, eval_gradient=True),
            "evidence rows": lambda: evidence(theta, eval_gradient=True, **of_old),
        }
    return asked | of_distribution(model, X, new.y, labels) | of_kernel(model, new)


def of_kernel(model, new):
    """Make questions to the learned kernel, as scikit-learn asks kernels."""
    kernel = getattr(model, "kernel_", None)
    if not isinstance(kernel, Kernel) or not isinstance(new.X, np.ndarray):
        return {}
    X = np.nan_to_num(new.X[:6])
    return {
        "kernel matrix": lambda: kernel(X),
        "kernel of two": lambda: kernel(X, X[:3]),
        "kernel gradient": lambda: kernel(X, eval_gradient=True),
        "kernel diag": lambda: kernel.diag(X),
        "kernel bounds": lambda: kernel.bounds,
    }


def theta_near(model):
    """Parameters near those that were learned."""
    theta = getattr(getattr(model, "kernel_", None), "theta", np.zeros(1))
    return theta + 0.05 * np.cos(np.arange(len(theta)))


def of_distribution(model, X, y, labels):
    """Make all questions to the distribution of new observations."""

    def at():
        return model.predict_distribution(X, **labels)

    q = np.full((1,) * np.ndim(y), 0.2)
    return {
        "distribution mean": lambda: at().mean(),
        "distribution std": lambda: at().std(),
        "distribution var": lambda: at().var(),
        "distribution median": lambda: at().median(),
        "distribution interval": lambda: at().interval(0.8),
        "distribution ppf": lambda: at().ppf(q),
        "distribution cdf": lambda: at().cdf(y),
        "distribution sf": lambda: at().sf(y),
        "distribution pdf": lambda: at().pdf(y),
        "distribution logpdf": lambda: at().logpdf(y),
        "distribution rvs": lambda: at().rvs(random_state=5),
        "distribution in words": lambda: repr(at()),
    }


def of_classes(model, new, old, layout):
    """Make all questions to a classifier."""
    X, labels = given(model, new, layout)
    return {
        "predict": lambda: model.predict(X, **labels),
        "predict_proba": lambda: model.predict_proba(X, **labels),
        "decision_function": lambda: model.decision_function(X, **labels),
        "predict_std": lambda: model.predict_std(X, **labels),
        "log_density": lambda: model.log_density(X, new.y, **labels),
        "score": lambda: model.score(X, new.y, **labels),
        "score weights": lambda: model.score(X, new.y, new.counts(), **labels),
    }


def of_columns(model, new, old, layout):
    """Make all questions to a latent variable model."""
    (Y, _), Q = given(model, new, layout), model.n_components
    X = np.linspace(-1.5, 1.5, N_NEW * Q).reshape(-1, Q)
    return {
        "transform": lambda: model.transform(Y),
        "transform return_std": lambda: model.transform(Y, return_std=True),
        "inverse_transform": lambda: model.inverse_transform(X),
        "inverse_transform return_std": lambda: model.inverse_transform(X, return_std=True),
        "impute": lambda: model.impute(Y),
        "impute return_std": lambda: model.impute(Y, return_std=True),
        "score_samples": lambda: model.score_samples(Y),
        "score": lambda: model.score(Y),
        "sample": lambda: model.sample(5, random_state=6),
        "feature names out": lambda: model.get_feature_names_out(),
    }


def of_wrong_inputs(model, new, layout):
    """Make questions that are refused, with messages that are promises."""
    X, _ = new.laid_out(layout)
    ask = model.transform if hasattr(model, "transform") else model.predict
    if new.labels is not None or not isinstance(X, np.ndarray) or X.dtype.kind != "f":
        return {}
    return {
        "wrong columns": lambda: ask(np.hstack([X, X])),
        "wrong axes": lambda: ask(X[:, 0]),
        "wrong values": lambda: ask(np.where(X > 0.5, np.inf, X)),
        "wrong rows": lambda: ask(X[:0]),
        "sparse": lambda: ask(csr_array(X)),
        "words": lambda: ask(np.full(X.shape, "word", dtype=object)),
    } | ({} if new.y is None else of_wrong_targets(model, X, new.y))


def of_wrong_targets(model, X, y):
    """Make the same questions about targets."""
    return {
        "fewer targets": lambda: model.score(X, y[:-1]),
        "wrong targets": lambda: model.log_density(X, np.full((len(X), 2, 2), np.nan)),
    }


def lazily(model, new, layout):
    """Make questions about dask collections, which are computed."""
    if not layout.startswith("dask"):
        return {}
    X, labels = given(model, new, layout)
    names = ["predict_proba"] if is_classifier(model) else ["predict", "predict_std"]
    return {f"lazy {n}": lambda n=n: getattr(model, n)(X, **labels).compute() for n in names}


def said(model, new, old, layout, is_first=False):
    """Ask all questions, at first wrong ones, too; return answers by name, and warnings."""
    kinds = {"transform": of_columns, "predict_proba": of_classes, "predict_std": of_numbers}
    questions_of = next(make for name, make in kinds.items() if hasattr(model, name))
    asked = questions_of(model, new, old, "C" if layout.startswith("dask") else layout)
    asked |= lazily(model, new, layout) | (of_wrong_inputs(model, new, layout) if is_first else {})
    found = {}

    def ask():
        for name, question in asked.items():
            found.update(answered(name, question))

    told = heard(ask)
    return found | {f"asked {key}": text for key, text in told.items()}


# The life of a model -----------------------------------------------------------------------------


def prepared(case, rows):
    """Make the estimator of a case, told which column has the labels where that is how."""
    model = clone(case.model)
    if rows.labels is not None and has_block_column(model):
        model.set_params(block_column=rows.X.shape[1])
    return model


def teach(model, method, rows, case):
    """Call fit or partial_fit with the rows as the case has them laid out."""
    X, labels = given(model, rows, case.layout)
    if hasattr(model, "transform"):
        return getattr(model, method)(X)
    if method == "partial_fit" and is_classifier(model):
        labels = labels | {"classes": case.classes}
    weight = rows.part(rows.weight, case.layout)
    return getattr(model, method)(X, rows.part(rows.y, case.layout), sample_weight=weight, **labels)


def lives(case, rows):
    """List the stages: a name, the method and its rows."""
    first = rows.select(0, case.n)
    stages = [(case.first, case.first, first)]
    if case.again:
        stages.append(("again", "fit", first))
    start = case.n
    for number, size in enumerate(case.later, 1):
        stages.append((f"batch {number}", "partial_fit", rows.select(start, start + size)))
        start += size
    return stages if case.spoilt is None else [with_spoilt(case, *stage) for stage in stages]


def with_spoilt(case, stage, method, batch):
    """Spoil the rows of a stage, if it is one of those at which the case does."""
    if (stage == case.first) == (case.spoilt_at == "first"):
        batch = spoilt(batch, case.spoilt)
    return stage, method, batch


def pickled(model, new, old, layout, before, is_first):
    """Compare the answers of a pickled model to those before; return names of those that differ."""
    after = said(pickle.loads(pickle.dumps(model)), new, old, layout, is_first)
    names = [key for key in before if not same(before[key], after.get(key))]
    return [*names, *(key for key in after if key not in before)]


def same(one, other):
    return other is not None and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def told_of(name, case):
    """Live the life of a model, and yield entries by name."""
    rows = rows_of(case, N_NEW)
    new, model = rows.select(len(rows) - N_NEW, len(rows)), prepared(case, rows)
    watch = None if case.watch is None else case.watch(new.X)
    if watch is not None:
        model.set_callbacks(watch)
    if case.prior:
        yield "prior", said(model, new, rows.select(0, case.n), case.layout, True)
    for stage, method, batch in lives(case, rows):
        if stage != case.first:
            model.set_params(**(case.changes or {}))
        told = heard(lambda method=method, batch=batch: teach(model, method, batch, case))
        yield stage, told
        if "refused" in told and stage == case.first:
            return
        yield stage, learned(model, rows)
        is_first = stage == case.first
        answers = said(model, new, rows.select(0, case.n), case.layout, is_first)
        yield stage, answers
    if watch is not None:
        yield stage, entries("watched", watch.seen)
    differ = pickled(model, new, rows.select(0, case.n), case.layout, answers, is_first)
    assert not differ, f"{name} answers differently after a pickle: {differ}"


def all_answers(name):
    """Run one configuration; return all entries by stage and name."""
    found, case = {}, CASES[name]
    try:
        if isinstance(case, Direct):
            return {k: v for q in case.questions().items() for k, v in answered(*q).items()}
        for stage, told in told_of(name, case):
            found |= {f"{stage} | {key}": value for key, value in told.items()}
    except Exception:
        found["broken"] = np.array(traceback.format_exc(limit=-3))
    return found
