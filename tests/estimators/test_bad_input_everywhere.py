"""Every public estimator refuses the same bad input, and copes with the same odd input."""

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from failures import assert_unchanged, state_of
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from slow_variants import slow
from svgp_regressors import with_entry

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N = 40
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (N, 2))
SIGNAL = np.sin(2.0 * X[:, 0]) + X[:, 1]
TARGETS = {
    "number": SIGNAL + 0.1 * RNG.standard_normal(N),
    "count": RNG.poisson(np.exp(SIGNAL)).astype(float),
    "word": np.where(SIGNAL > 0.0, "high", "low"),
}
ESTIMATORS = {
    "svgp": (SVGPRegressor(), "number"),
    "svgp, counts": (SVGPRegressor(likelihood="poisson"), "count"),
    "classifier": (SVGPClassifier(), "word"),
    "pic": (AnytimeSGPRegressor(block_size=15), "number"),
    "fitc": (AnytimeSGPRegressor(model="fitc", block_size=15), "number"),
    "vif": (AnytimeSGPRegressor(model="vif", n_neighbors=5), "number"),
    "vif, classes": (AnytimeSGPClassifier(alpha_epsilon=0.01, n_neighbors=5), "word"),
    "stream": (StreamingSGPRegressor(), "number"),
    "stream of classes": (StreamingSGPClassifier(), "word"),
}
# In later batches they take nearly the path of others.
LATER = [name for name in ESTIMATORS if name not in ("svgp", "classifier", "stream")]
METHODS = ["fit", "first batch", "later batch"]
everywhere = pytest.mark.parametrize("name", ESTIMATORS)
every_method = pytest.mark.parametrize("method", METHODS)


def fresh(name, **parameters):
    """An estimator that learns a little, and its targets."""
    model, kind = ESTIMATORS[name]
    small = {"n_inducing": 6, "max_iter": 2, "random_state": 0, "n_jobs": 1, "missing": "error"}
    return pickle.loads(pickle.dumps(model)).set_params(**(small | parameters)), TARGETS[kind]


@cache
def _taught(name):
    model, y = fresh(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pickle.dumps(model.partial_fit(X, y))


def ready(name, method):
    """An estimator and the method to be called: the one of a later batch has seen a batch."""
    model = pickle.loads(_taught(name)) if method == "later batch" else fresh(name)[0]
    learn = model.fit if method == "fit" else model.partial_fit

    def call(X, y, weight=None, **more):
        return learn(X, y, sample_weight=weight, **more)

    return model, call


def with_infinities(array):
    """The array with infinities of both signs, whose sum is not a number."""
    array = array.copy()
    array.flat[[0, -1]] = np.inf, -np.inf
    return array


def assert_useful(model, points=X):
    """All that the model says of ordinary inputs is finite."""
    if hasattr(model, "predict_proba"):
        said = [model.predict_proba(points)]
    else:
        said = [*model.predict(points, return_std=True), model.predict_quantiles(points)]
        said += [model.sample_y(points), model.log_density(points, np.abs(np.round(said[0])))]
    for values in (*said, model.objective_, model.inducing_points_):
        assert np.isfinite(values).all()


# What is refused -------------------------------------------------------------------------------

REFUSED = {  # spoils (X, y, weight), and what the message says
    "NaN in X": (lambda X, y, w: (with_entry(X, np.nan), y, w), "X contains NaN"),
    "infinity in X": (lambda X, y, w: (with_entry(X, -np.inf), y, w), "X contains infinity"),
    "both infinities in X": (lambda X, y, w: (with_infinities(X), y, w), "X contains infinity"),
    "None in X": (lambda X, y, w: (with_entry(X.astype(object), None), y, w), "X contains NaN"),
    "no rows": (lambda X, y, w: (X[:0], y[:0], None), "0 sample.*minimum of 1"),
    "no columns": (lambda X, y, w: (X[:, :0], y, w), "0 feature.*minimum of 1"),
    "one axis": (lambda X, y, w: (X[:, 0], y, w), "2D array"),
    "three axes": (lambda X, y, w: (X[None], y, w), "dim 3"),
    "sparse X": (lambda X, y, w: (csr_array(X), y, w), "Sparse data .*toarray"),
    "complex X": (lambda X, y, w: (X + 1j, y, w), "Complex data not supported"),
    "words in X": (lambda X, y, w: (np.full(X.shape, "word"), y, w), "word"),
    "words as objects in X": (lambda X, y, w: (np.full(X.shape, "word", object), y, w), "word"),
    "squares of X overflow": (lambda X, y, w: (with_entry(X, 1e300), y, w), "1e\\+300: use an"),
    "no y": (lambda X, y, w: (X, None, w), "requires y"),
    "short y": (lambda X, y, w: (X, y[:-1], w), "inconsistent.*39"),
    "y of three axes": (lambda X, y, w: (X, y[:, None, None], w), "(?i)dim 3|1d|unknown|shape"),
    "None in y": (lambda X, y, w: (X, with_entry(y.astype(object), None), w), "None|NaN"),
    "NaN in y": (lambda X, y, w: (X, with_entry(y.astype(object), np.nan), w), "NaN"),
    "infinity in y": (lambda X, y, w: (X, with_entry(y.astype(object), np.inf), w), "inf|one kind"),
    "complex y": (lambda X, y, w: (X, np.full(N, 1j), w), "(?i)complex|continuous|unknown"),
    "sparse y": (lambda X, y, w: (X, csr_array(np.ones((N, 1))), w), "(?i)dense|sparse"),
    "negative weight": (lambda X, y, w: (X, y, with_entry(w, -1.0)), "Negative values.*weight"),
    "NaN weight": (lambda X, y, w: (X, y, with_entry(w, np.nan)), "weight contains NaN"),
    "infinite weight": (lambda X, y, w: (X, y, with_entry(w, np.inf)), "weight contains infinity"),
    "both infinities as weights": (lambda X, y, w: (X, y, with_infinities(w)), "infinity|Negative"),
    "weights whose squares overflow": (lambda X, y, w: (X, y, 1e300 * w), "weight must.*1e\\+300"),
    "short weights": (lambda X, y, w: (X, y, w[:-1]), "(?i)sample.weight.*40"),
    "weights of two axes": (lambda X, y, w: (X, y, np.ones((N, 2))), "(?i)sample.weight.*1D"),
    "words as weights": (lambda X, y, w: (X, y, np.full(N, "word")), "word"),
}  # fmt: skip
# What streams take: rows without a target are left out, and later batches may be empty.
TAKEN = {("stream", "NaN in y", method): 1 for method in METHODS}
TAKEN |= {(name, "no rows", "later batch"): 0 for name in ("stream", "stream of classes")}
NUMBERS = {
    "words in y": (np.full(N, "word"), "word"),
    "squares of y overflow": (np.where(np.arange(N) == 3, 1e300, 1.0), "1e\\+300: use another"),
}
COUNTS = {"negative counts": -np.ones(N), "parts of counts": np.full(N, 0.5)}
LABELS = {"numbers that are no labels": np.linspace(0.0, 1.0, N), "two columns": np.ones((N, 2))}


def assert_refused(name, method, data, match):
    """A ValueError or TypeError, not of the linear algebra, after which nothing has changed."""
    model, call = ready(name, method)
    before = state_of(model)
    with pytest.raises((ValueError, TypeError), match=f"(?s){match}") as caught:
        call(*data)
    assert not isinstance(caught.value, np.linalg.LinAlgError)
    assert_unchanged(model, before)


@every_method
@pytest.mark.parametrize("case", REFUSED)
@everywhere
def test_what_is_refused(name, case, method):
    """Bad inputs, targets and weights are refused by name, and leave the estimator as it was.

    Streams take what is silence and not a fault.
    """
    spoil, match = REFUSED[case]
    data = spoil(X, fresh(name)[1], np.ones(N))
    if (name, case, method) in TAKEN:
        model, call = ready(name, method)
        assert getattr(call(*data), "n_missing_", 0) == TAKEN[name, case, method]
        assert_useful(model)
    else:
        assert_refused(name, method, data, match)


@every_method
@everywhere
def test_targets_of_the_wrong_kind(name, method):
    """Each estimator refuses what its own targets cannot be."""
    kind = ESTIMATORS[name][1]
    cases = dict.fromkeys(LABELS) if kind == "word" else {}
    cases = {case: (LABELS[case], "label|classif|1d|shape") for case in cases}
    if kind != "word":
        cases |= NUMBERS
    if kind == "count":
        cases |= {case: (y, "counts|whole numbers") for case, y in COUNTS.items()}
    for y, match in cases.values():
        assert_refused(name, method, (X, y), match)


@everywhere
def test_batches_that_do_not_fit_the_first(name):
    """Other columns, other outputs and unknown classes are refused in a later batch."""
    y = fresh(name)[1]
    wide, narrow = np.column_stack([X, X]), X[:, :1]
    for data, match in [((wide, y), "4 features.*expecting 2"), ((narrow, y), "1 features.*2 fea")]:
        assert_refused(name, "later batch", data, match)
    if ESTIMATORS[name][1] == "word":
        assert_refused(name, "later batch", (X, np.full(N, "other")), "classes.*other")
    else:
        assert_refused(name, "later batch", (X, np.column_stack([y, y])), "y must have shape")


@everywhere
def test_predictions_refuse_bad_inputs(name):
    """Every predicting method refuses what fit refuses in X, and other columns."""
    model, _ = ready(name, "later batch")
    before, match = (
        state_of(model),
        {case: said for case, (_, said) in REFUSED.items() if "X" in case},
    )
    match |= {case: REFUSED[case][1] for case in ("no rows", "one axis", "three axes")}
    calls = ["predict", "predict_std", "predict_quantiles", "sample_y", "predict_distribution"]
    calls += ["predict_proba", "decision_function"]
    for call in (getattr(model, c) for c in calls if hasattr(model, c)):
        for case, said in match.items():
            bad = REFUSED[case][0](X, np.zeros(N), None)[0]
            with pytest.raises((ValueError, TypeError), match=f"(?s){said}"):
                call(bad)
        with pytest.raises(ValueError, match=r"4 features.*expecting 2"):
            call(np.column_stack([X, X]))
    assert_unchanged(model, before)


@everywhere
@pytest.mark.parametrize(
    "parameter", ["inducing", "optimizer", "kernel", "n_inducing", "max_iter", "random_state"]
)
def test_values_of_parameters_that_nobody_knows(name, parameter):
    """The message names the parameter, what it must be and what came; nothing is learned."""
    model, y = fresh(name, **{parameter: "unheard-of"})
    before = state_of(model)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter .* must be .*unheard-of"):
            method(X, y)
        assert_unchanged(model, before)
    with pytest.raises(ValueError, match="Invalid parameter 'unheard_of'"):
        model.set_params(unheard_of=1)


# What is odd -----------------------------------------------------------------------------------

ODD = {
    "one row": lambda X, y, w: (X[:1], y[:1], None),
    "two rows": lambda X, y, w: (X[:2], y[:2], None),
    "one place": lambda X, y, w: (np.ones_like(X), y, None),
    "a constant column": lambda X, y, w: (X * [1.0, 0.0], y, None),
    "rows again and again": lambda X, y, w: (X[np.arange(N) // 10], y[np.arange(N) // 10], None),
    "far away": lambda X, y, w: (X + 1e8, y, None),
    "one row far away": lambda X, y, w: (with_entry(X, 1e90), y, None),
    "tiny inputs": lambda X, y, w: (1e-200 * X, y, None),
    "tiny weights": lambda X, y, w: (X, y, 1e-300 * w),
    "weights of zero but one": lambda X, y, w: (X, y, with_entry(0.0 * w, 1.0)),
    "integers": lambda X, y, w: (np.round(X).astype(int), y, None),
    "single precision": lambda X, y, w: (X.astype(np.float32), y, None),
    "objects that hold numbers": lambda X, y, w: (X.astype(object), y, None),
}
ODD_NUMBERS = {
    "a constant target": np.full(N, 3.0),
    "targets of zero": np.zeros(N),
    "huge targets": np.round(1e9 * np.abs(SIGNAL)),
}


@pytest.mark.quick_cases("svgp-first batch", "fitc-first batch", "stream-later batch")
@pytest.mark.filterwarnings("ignore:sample_weight should have a mean")  # tiny ones are told of
@pytest.mark.filterwarnings("ignore:Numbers of a column of X should be of one size")
@pytest.mark.filterwarnings("ignore:Batches should go on")  # a stream tells what is another world
@pytest.mark.filterwarnings("ignore:Intervals of 90% should hold")  # not of counts of a billion
@pytest.mark.parametrize(
    ("name", "method"),
    [(name, "first batch") for name in ESTIMATORS]
    + [(name, "later batch") for name in ("svgp", "classifier", "stream")]
    + [slow(name, "later batch") for name in LATER],
)
def test_what_is_odd(name, method):
    """Poor and odd data, first or later, give finite predictions, and no warning of NumPy."""
    y = fresh(name)[1]
    cases = {case: change(X, y, np.ones(N)) for case, change in ODD.items()}
    if ESTIMATORS[name][1] != "word":
        cases |= {case: (X, odd, None) for case, odd in ODD_NUMBERS.items()}
    for case, data in cases.items():
        model, call = ready(name, method)
        if (name, method, case) == ("stream", "later batch", "one row far away"):
            with pytest.raises(ValueError, match="kernel is at most"):  # lines were learned
                call(*data)
            continue
        if hasattr(model, "predict_proba") and len(np.unique(data[1][data[2] != 0])) < 2:
            labels = {} if method == "later batch" else {"classes": np.unique(y)}
            call(*data, **labels)
        else:
            call(*data)
        assert_useful(model, np.asarray(data[0], dtype=float))
        assert_useful(model)


@pytest.mark.filterwarnings("ignore:Batches should go on")  # two iterations are too few
@pytest.mark.filterwarnings("ignore:(Intervals|Probabilities) ")  # one row is all that counts
@pytest.mark.filterwarnings("ignore:sample_weight should count rows")  # streams tell of no noise
@every_method
@pytest.mark.parametrize("weights", ["all", "one"])
@everywhere
def test_weights_beyond_floating_point(name, weights, method):
    """A model with weights of 1e16 is finite, or the error names the weights as its cause."""
    model, call = ready(name, method)
    y, w = fresh(name)[1], np.full(N, 1e16)
    if weights == "one":
        w[1:] = 1.0
    before = state_of(model)
    try:
        call(X, y, w)
    except ValueError as error:
        assert "sample_weight" in str(error)
        assert_unchanged(model, before)
    else:
        assert_useful(model)


# Ctrl-C ----------------------------------------------------------------------------------------


class Interrupted(RBF):
    """A kernel of a user's own, at whose evaluation number ``countdown`` somebody stops it all."""

    countdown = 10**9

    def __call__(self, X, Y=None, eval_gradient=False):
        type(self).countdown -= 1
        if not type(self).countdown:
            raise KeyboardInterrupt
        return super().__call__(X, Y, eval_gradient)


# a later batch of independent rows takes few evaluations
@pytest.mark.quick_cases("*-fit-1", "*-first batch-5", "*-later batch-1")
@pytest.mark.parametrize(
    ("method", "count"),
    [("fit", 1), ("fit", 5), ("first batch", 1), ("first batch", 5), ("later batch", 1)],
)
@everywhere
def test_ctrl_c(name, method, count, monkeypatch):
    """Ctrl-C in the middle leaves the estimator as it was, and it goes on as if never stopped."""
    models = []
    for _ in range(2):
        model, y = fresh(name, kernel=Interrupted(1.0))
        if method == "later batch":
            model.partial_fit(X[:30], y[:30])
        models.append(model)
    model, undisturbed = models
    before, call = state_of(model), "fit" if method == "fit" else "partial_fit"
    with monkeypatch.context() as patch:
        patch.setattr(Interrupted, "countdown", count)
        with pytest.raises(KeyboardInterrupt):
            getattr(model, call)(X, y)
    assert_unchanged(model, before)
    getattr(model, call)(X, y)
    assert_array_equal(model.predict(X), getattr(undisturbed, call)(X, y).predict(X))


@pytest.mark.parametrize("name", ["svgp", "classifier"])
@pytest.mark.parametrize("argument", ["X", "y", "sample_weight"])
def test_iterators_are_refused_with_a_cure(name, argument):
    """Reading one would use it up: "float() argument must be ... not 'list_iterator'" before."""
    estimator, kind = ESTIMATORS[name]
    data = {"X": X, "y": TARGETS[kind], "sample_weight": np.ones(N)}
    model = clone(estimator).set_params(max_iter=1, random_state=0).fit(**data)
    wrong = data | {argument: iter(data[argument])}
    message = rf"{argument} must be an array.*Got an iterator of type.*pass list\({argument}\)"
    for method in ("fit", "partial_fit"):
        with pytest.raises(TypeError, match=message):
            getattr(clone(model), method)(**wrong)
    wrong.pop("sample_weight")
    if argument != "sample_weight":
        with pytest.raises(TypeError, match=message):
            model.log_density(**wrong)


@pytest.mark.parametrize(
    "weight",
    [
        np.array([1, [2]] + [1] * (N - 2), dtype=object),
        [10**400] * N,
        np.ones((N, 2)),
        np.ones(3),
        np.zeros(N, dtype="M8[D]"),
        [np.datetime64("2020-01-01")] * N,
        np.array([np.timedelta64(1, "D")] * N, dtype=object),
    ],
)
def test_weights_that_are_no_weights_name_a_cure(weight):
    """Errors of numpy's said what the matter was, and dates were weights of 1e18."""
    with pytest.raises(ValueError, match="sample_weight must hold one number for each row"):
        SVGPRegressor(max_iter=1).fit(X, TARGETS["number"], sample_weight=weight)


@pytest.mark.parametrize("wrong", [["a"] * N, [[1.0], [1.0, 2.0]], np.ones((N, 2, 2)), {1, 2}])
def test_inputs_of_other_dimensions_name_a_cure(wrong):
    """What numpy says of lists of words, ragged rows and sets names neither X nor its shape."""
    model = SVGPRegressor(max_iter=1).fit(X, TARGETS["number"])
    for ask in (model.predict, lambda X: clone(model).fit(X, TARGETS["number"])):
        with pytest.raises(ValueError, match=r"X must be .*two axes. Got .*: pass an array"):
            ask(wrong)


@pytest.mark.parametrize("value", [np.nan, np.inf, "a"])
def test_densities_of_odd_targets_name_a_cure(value):
    """As those of a fit: how many, and what to do."""
    model = SVGPRegressor(max_iter=1).fit(X, TARGETS["number"])
    y = TARGETS["number"].astype(object)
    y[0] = value
    with pytest.raises(ValueError, match=r"leave such rows out|take a classifier"):
        model.log_density(X, y)
    with pytest.raises(ValueError, match=r"y must hold numbers\. Got dates"):
        model.log_density(X, np.zeros(N, dtype="M8[D]"))
