"""Calls go one way at run time too: nothing below `estimators` calls one of its functions.

`test_layers` reads imports. A call through `self`, or through a function that is handed down, has
no import, so here every estimator is fitted and asked for all that it predicts under a profiler.
The counts are those of tools/structure.py, where they are defined.
"""

import importlib.util
import inspect
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from docs_pages import ROOT
from sklearn.gaussian_process.kernels import RBF

import sklearn_sgp
from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.engines.blocks import class_scale
from sklearn_sgp.selection import left_out_classes

pytestmark = pytest.mark.filterwarnings("ignore")  # of fits with two iterations

PACKAGE = Path(sklearn_sgp.__file__).parent
TOOL = ROOT / "tools" / "structure.py"
REGRESSORS = (SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor)
CLASSIFIERS = (SVGPClassifier, AnytimeSGPClassifier, StreamingSGPClassifier)
ESTIMATORS = (*REGRESSORS, *CLASSIFIERS, BayesianGPLVM)
MOST_CLASSES = 5  # of the package in an MRO, besides the small ones for pickles and links
MOST_BASES = 6
MOST_JUMPS_OF_A_FIT = 8
MOST_FILES_OF_A_PREDICTION = 13
# Near rows are found, gathered and factorised, each in a room of its own; their kernel is a sum.
# Frequencies of classes have a share of what near rows say. A stream has its bands narrowed, by its
# state. Latent inputs are solved for, row by row.
MORE_FILES_OF_A_PREDICTION = {
    AnytimeSGPRegressor: 15,
    AnytimeSGPClassifier: 15,
    StreamingSGPRegressor: 15,
    BayesianGPLVM: 15,
}
# From an evidence to the numbers of the kernel are eight calls, and ten or more from a fit to the
# evidence.
MOST_DEPTH_OF_A_FIT = 22
# A stream of classes begins by regressions of some labels, beside its own bound. A kernel of
# categories is a sum of products of selections: each is a call, as are blocks of codes.
MOST_DEPTH_OF_ANY_FIT, MOST_DEPTH_WITH_CATEGORIES = 25, 30

QUICK = {"max_iter": 2, "n_inducing": 6, "random_state": 0, "n_jobs": 1}
BLOCKS = {"block_size": 20, "n_neighbors": 6}
PIC_OF_CLASSES = {"model": "pic", "alpha_epsilon": 0.01}  # the other case chooses alpha
# Estimator, parameters and kind of data; see `table`.
CASES = {
    "svgp": (SVGPRegressor, {}, "numbers"),
    "svgp-adam": (SVGPRegressor, {"optimizer": "adam", "batch_size": 16}, "numbers"),
    "svgp-stages": (SVGPRegressor, {"init_size": 20, "batch_size": 16}, "numbers"),
    "svgp-auto": (SVGPRegressor, {"likelihood": "auto"}, "numbers"),
    "svgp-student": (SVGPRegressor, {"likelihood": "student_t"}, "numbers"),
    "svgp-outputs": (SVGPRegressor, {}, "outputs"),
    "svgp-mixed": (SVGPRegressor, {"n_latent": 1}, "gaps"),
    "svgp-mixed-sites": (SVGPRegressor, {"n_latent": 1, "likelihood": "student_t"}, "gaps"),
    "svgp-categories": (SVGPRegressor, {"categorical_features": [2]}, "categories"),
    "svgp-warped": (SVGPRegressor, {"normalize_y": "warped"}, "numbers"),
    "anytime": (AnytimeSGPRegressor, {}, "numbers"),
    "anytime-vif": (AnytimeSGPRegressor, {"model": "vif"}, "numbers"),
    "anytime-pic": (AnytimeSGPRegressor, {"model": "pic"}, "numbers"),
    "anytime-fitc": (AnytimeSGPRegressor, {"model": "fitc"}, "numbers"),
    "anytime-exact": (AnytimeSGPRegressor, {"model": "lma", "solver": "exact"}, "outputs"),
    "anytime-auto": (AnytimeSGPRegressor, {"likelihood": "auto"}, "numbers"),
    "anytime-categories": (AnytimeSGPRegressor, {"categorical_features": [2]}, "categories"),
    "anytime-warped": (AnytimeSGPRegressor, {"normalize_y": "warped"}, "numbers"),
    "streaming": (StreamingSGPRegressor, {}, "numbers"),
    "streaming-student": (StreamingSGPRegressor, {"likelihood": "student_t"}, "numbers"),
    "streaming-mixed": (StreamingSGPRegressor, {"n_latent": 1}, "gaps"),
    "streaming-categories": (StreamingSGPRegressor, {"categorical_features": [2]}, "categories"),
    "svgp-2-classes": (SVGPClassifier, {}, "2 classes"),
    "svgp-3-classes": (SVGPClassifier, {}, "3 classes"),
    "svgp-softmax": (SVGPClassifier, {"likelihood": "softmax"}, "3 classes"),
    "anytime-2-classes": (AnytimeSGPClassifier, {}, "2 classes"),
    "anytime-3-classes": (AnytimeSGPClassifier, PIC_OF_CLASSES, "3 classes"),
    "streaming-2-classes": (StreamingSGPClassifier, {}, "2 classes"),
    "streaming-3-classes": (StreamingSGPClassifier, {}, "3 classes"),
    "gplvm": (BayesianGPLVM, {}, "table"),
    "gplvm-batches": (BayesianGPLVM, {"init_size": 20, "batch_size": 16}, "table"),
}
# All that models predict, with rows and targets.
ANSWERS = {
    "predict_std": lambda model, X, y: model.predict_std(X),
    "noise_std": lambda model, X, y: model.noise_std(X),
    "predict_quantiles": lambda model, X, y: model.predict_quantiles(X),
    "predict_distribution": lambda model, X, y: model.predict_distribution(X).interval(0.9),
    "predict_proba": lambda model, X, y: model.predict_proba(X),
    "predict_log_proba": lambda model, X, y: model.predict_log_proba(X),
    "decision_function": lambda model, X, y: model.decision_function(X),
    "log_density": lambda model, X, y: model.log_density(X, y),
    "score": lambda model, X, y: model.score(X, y),
    "sample_y": lambda model, X, y: model.sample_y(X),
    "sample_functions": lambda model, X, y: model.sample_functions()(X),
    "log_marginal_likelihood": lambda model, X, y: model.log_marginal_likelihood(),
    "transform": lambda model, X, y: model.transform(X, return_std=True),
    "inverse_transform": lambda model, X, y: model.inverse_transform(model.transform(X)),
    "impute": lambda model, X, y: model.impute(X, return_std=True),
    "score_samples": lambda model, X, y: model.score_samples(X),
    "sample": lambda model, X, y: model.sample(3),
}


@pytest.fixture(scope="module")
def structure():
    spec = importlib.util.spec_from_file_location("structure", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def trips(structure):
    """Calls of a fit, a prediction and a later batch of every estimator."""
    return {kind: structure.trips(kind) for kind in ESTIMATORS}


def table(kind):
    """Return 60 rows: inputs and targets; of a latent variable model the table, and None."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (60, 2))
    y = 5.0 + 3.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(60)
    outputs = np.column_stack([y, 100.0 * np.cos(X[:, 0]) - 40.0])
    gaps = np.where(rng.random((60, 4)) < 0.1, np.nan, np.column_stack([X, outputs]))
    return {
        "numbers": (X, y),
        "outputs": (X, outputs),
        "gaps": (X, gaps[:, 2:]),
        "categories": (np.column_stack([X, rng.integers(3, size=60)]), y),
        "2 classes": (X, y > 5.0),
        "3 classes": (X, np.digitize(y, [4.0, 6.0])),
        "table": (gaps, None),
    }[kind]


def as_lines(pairs):
    """Return pairs of caller and callee for a message."""
    return "\n".join(f"{caller} -> {callee}" for caller, callee in sorted(pairs))


def names_of_answers(model):
    """Return what a model can be asked for; local ones have no functions to draw."""
    is_local = getattr(model, "model", "fitc") != "fitc"
    names = (name for name in ANSWERS if hasattr(model, name))
    return [name for name in names if not (is_local and name == "sample_functions")]


def predicted(model, X, y):
    """Ask a model for all that it predicts."""
    if hasattr(model, "predict"):
        options = inspect.signature(model.predict).parameters.keys() & {"return_std", "return_cov"}
        for given in ({}, *({name: True} for name in sorted(options))):
            model.predict(X, **given)
    for name in names_of_answers(model):
        ANSWERS[name](model, X, y)


def lived(model, X, y):
    """Fit a model, add two batches, and ask for its predictions before and after."""
    rows = [slice(0, 40), slice(40, 50), slice(50, 60)]
    first, *later = [(X[part],) if y is None else (X[part], y[part]) for part in rows]
    new = X[:5], None if y is None else np.nan_to_num(y[:5])
    model.fit(*first)
    predicted(model, *new)
    for batch in later:
        model.partial_fit(*batch)
    predicted(model, *new)


def begun_with_batches(model, X, y):
    """Begin without a fit, as streams do; classes are told where there are any."""
    more = {}
    if "classes" in inspect.signature(model.partial_fit).parameters:
        more = {"classes": np.unique(y)}
    for part in (slice(0, 30), slice(30, 60)):
        model.partial_fit(*((X[part],) if y is None else (X[part], y[part])), **more)


@pytest.mark.quick_cases(
    "svgp",
    "svgp-auto",
    "svgp-mixed-sites",
    "svgp-categories",
    "anytime",
    "anytime-pic",
    "anytime-warped",
    "anytime-exact",
    "streaming",
    "streaming-student",
    "streaming-mixed",
    "svgp-3-classes",
    "anytime-3-classes",
    "streaming-2-classes",
    "gplvm",
)
@pytest.mark.parametrize("case", CASES)
def test_nothing_below_calls_an_estimator(structure, case):
    """A fit, later batches and all predictions only call downwards, but for the progress."""
    kind, parameters, data = CASES[case]
    blocks = BLOCKS if kind in (AnytimeSGPRegressor, AnytimeSGPClassifier) else {}
    make = partial(kind, **(QUICK | blocks | parameters))
    calls = structure.Calls().of(lambda: lived(make(), *table(data)))
    calls.of(lambda: begun_with_batches(make(), *table(data)))
    assert not calls.climbs, as_lines(calls.climbs)


@pytest.mark.parametrize("name", ["predict", "predict_std", "predict_quantiles", "sample_y"])
def test_nothing_below_calls_an_estimator_before_its_fit(structure, name):
    """Predictions of the prior only call downwards too."""
    X, y = table("numbers")
    model = SVGPRegressor(RBF(), **QUICK)
    answer = ANSWERS.get(name, lambda model, X, y: model.predict(X, return_std=True))
    climbs = structure.Calls().of(lambda: answer(model, X, y)).climbs
    assert not climbs, as_lines(climbs)


@pytest.mark.parametrize("case", ["svgp", "svgp-student", "anytime-fitc", "anytime-vif"])
def test_nothing_below_calls_an_estimator_for_its_gradient(structure, case):
    """The objective at other parameters is computed by calls downwards."""
    kind, parameters, data = CASES[case]
    X, y = table(data)
    model = kind(**(QUICK | parameters)).fit(X, y)
    rows = {} if case == "anytime-vif" else {"X": X, "y": y}  # it keeps its rows
    ask = partial(model.log_marginal_likelihood, model.kernel_.theta, True, **rows)
    climbs = structure.Calls().of(ask).climbs
    assert not climbs, as_lines(climbs)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (SVGPRegressor, {}),
        (AnytimeSGPRegressor, {"model": "fitc", "solver": "exact"}),
        (SVGPClassifier, {}),
    ],
)
def test_nothing_below_calls_an_estimator_for_a_collection(structure, kind, parameters):
    """Rows of dask are learned from and predicted by calls downwards."""
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X, y = table("2 classes" if kind is SVGPClassifier else "numbers")
    X, y = da.from_array(X, chunks=(30, 2)), da.from_array(y, chunks=30)
    model = kind(**(QUICK | parameters))
    with dask.config.set(scheduler="synchronous"):  # its threads outlive a test
        calls = structure.Calls().of(lambda: model.fit(X, y).predict(X).compute())
    assert not calls.climbs, as_lines(calls.climbs)


@pytest.mark.parametrize(
    ("caller", "callee"),
    [
        ("predictions/latent.py", "estimators/base.py"),
        ("collections/lazy.py", "estimators/in_blocks/regression.py"),
        ("_compat.py", "estimators/base.py"),
        ("_parallel.py", "estimators/base.py"),
    ],
)
def test_a_climb_is_seen(structure, caller, callee):
    """The rule refuses a call upwards, and accepts the same call downwards."""
    assert structure.is_climb(caller, callee)
    assert not structure.is_climb(callee, caller)
    assert not structure.is_climb(callee, callee)
    assert not structure.is_climb("plotting/_posterior.py", callee)


def test_only_scikit_learn_may_ask_for_its_protocol(structure):
    """Tags are for scikit-learn to read; the package reads none, and scikit-learn nothing else."""
    call = partial(structure.is_climb, "_compat.py", "estimators/base.py")
    assert not call("__sklearn_tags__", by_sklearn=True)
    assert call("__sklearn_tags__", by_sklearn=False)
    assert call("_settings", by_sklearn=True)


def made_at(path, code):
    """Return what a piece of code defines, as if it stood in a file of the package."""
    names = {}
    exec(compile(code, str(PACKAGE / path), "exec"), names)
    return names


@pytest.mark.parametrize("through", [lambda call: call(), lambda call: partial(call)()])
def test_a_call_upwards_is_recorded(structure, through):
    """Functions that stand between the two and belong to others hide nothing."""
    above = made_at("estimators/fake.py", "def told():\n    return 1\n")["told"]
    below = made_at("gp/fake.py", "def ask(through, call):\n    return through(call)\n")["ask"]
    calls = structure.Calls().of(lambda: below(through, above))
    assert dict(calls.climbs) == {("gp/fake.py:ask", "estimators/fake.py:told"): 1}
    assert not structure.Calls().of(above).climbs


def test_progress_may_be_told(structure):
    """`on_iteration` and what it calls are no climbs."""
    code = "def told():\n    return 1\n\n\ndef on_iteration(ask):\n    return ask(told)\n"
    above = made_at("estimators/fake.py", code)["on_iteration"]
    code = "def ask(call):\n    return call()\n\n\ndef learn(call):\n    return call(ask)\n"
    learn = made_at("gp/fake.py", code)["learn"]
    assert not structure.Calls().of(lambda: learn(above)).climbs


def test_a_call_upwards_in_a_thread_is_recorded(structure):
    """Threads that an action starts are followed."""
    above = made_at("estimators/fake.py", "def told():\n    return 1\n")["told"]
    below = made_at("gp/fake.py", "def ask(call):\n    return call()\n")["ask"]

    def in_a_thread():
        thread = Thread(target=below, args=(above,))
        thread.start()
        thread.join()

    assert structure.Calls().of(in_a_thread).climbs


def test_a_jump_is_seen(structure):
    """A call to a method that a base class defines is a jump, and one within a class is none."""
    code = "class Base:\n    def low(self):\n        return 1\n\n\n"
    code += "class Top(Base):\n    def own(self):\n        return self.low()\n\n"
    code += "    def all(self):\n        return self.own()\n"
    model = made_at("estimators/fake.py", code)["Top"]()
    jump = ("estimators/fake.py:Top.own", "estimators/fake.py:Base.low")
    assert dict(structure.Calls(model).of(model.all).own_jumps) == {jump: 1}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_estimator_is_few_classes(structure, kind):
    """One can read all that an estimator inherits from the package."""
    large, _ = structure.house_classes(kind)
    assert len(large) <= MOST_CLASSES, [one.__name__ for one in large]


def test_few_classes_stand_behind_all_estimators(structure):
    """Bases and mixins of all estimators together, those for pickles and links included."""
    assert set(structure.public_estimators()) == set(ESTIMATORS)
    bases = structure.bases_of(ESTIMATORS)
    assert len(bases) <= MOST_BASES, sorted(one.__name__ for one in bases)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_prediction_enters_few_files(trips, kind):
    """The way from `predict` to the numbers is short."""
    files = trips[kind]["predict"].files
    most = MORE_FILES_OF_A_PREDICTION.get(kind, MOST_FILES_OF_A_PREDICTION)
    assert len(files) <= most, sorted(files)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_fit_is_followed_without_jumps(trips, kind):
    """Few calls of a fit lead from a class of the estimator to another one of its classes."""
    jumps = trips[kind]["fit"].own_jumps
    assert len(jumps) <= MOST_JUMPS_OF_A_FIT, as_lines(jumps)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_fit_is_not_deep(trips, kind):
    """Few functions wait for the one that computes."""
    assert trips[kind]["fit"].depth <= MOST_DEPTH_OF_A_FIT


@pytest.mark.quick_cases("svgp-auto", "svgp-categories", "anytime-pic", "streaming-2-classes")
@pytest.mark.parametrize("case", CASES)
def test_no_fit_is_much_deeper(structure, case):
    """So it is with every likelihood, model and kind of data, but for what kernels are made of."""
    kind, parameters, data = CASES[case]
    blocks = BLOCKS if kind in (AnytimeSGPRegressor, AnytimeSGPClassifier) else {}
    model, (X, y) = kind(**(QUICK | blocks | parameters)), table(data)
    most = MOST_DEPTH_WITH_CATEGORIES if data == "categories" else MOST_DEPTH_OF_ANY_FIT
    assert structure.Calls().of(lambda: model.fit(X, y)).depth <= most


def test_a_calibrated_fit_is_not_much_deeper(structure, monkeypatch):
    """Models that predict the classes of rows held out are fitted beside the first, not in it."""
    for module in (left_out_classes, class_scale):
        monkeypatch.setattr(module, "LEAST_HELD_OUT", 40)
    monkeypatch.setattr(left_out_classes, "_HELD_OUT", 15)
    model, (X, y) = AnytimeSGPClassifier(**QUICK, alpha_epsilon=0.01), table("3 classes")
    assert structure.Calls().of(lambda: model.fit(X, y)).depth <= MOST_DEPTH_OF_ANY_FIT
    assert any(entry["choice"].startswith("length scales") for entry in model.choices_)


@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor])
def test_a_fit_of_all_in_turn_is_not_deeper(structure, kind):
    """The longest of all fits, which chooses noise and warps, is read as the others are."""
    calls = structure.trips(partial(kind, likelihood="auto"))["fit"]
    assert calls.depth <= MOST_DEPTH_OF_A_FIT
    assert len(calls.own_jumps) <= MOST_JUMPS_OF_A_FIT, as_lines(calls.own_jumps)
