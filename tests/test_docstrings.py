"""Docstrings of the seven estimators name what exists, and say the same of the same thing.

scikit-learn repeats the text of a parameter in every class, and tests that the copies agree. Its
`assert_docstring_consistency` needs numpydoc; the few lines of parsing here do not.
"""

import ast
import inspect
import re
from itertools import combinations

import numpy as np
import pytest

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

SVGP = (SVGPRegressor, SVGPClassifier)
ANYTIME = (AnytimeSGPRegressor, AnytimeSGPClassifier)
LATENT = (BayesianGPLVM,)
STREAMS = (StreamingSGPRegressor, StreamingSGPClassifier)
REGRESSORS = (SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor)
CLASSIFIERS = (SVGPClassifier, StreamingSGPClassifier)
ESTIMATORS = (*SVGP, *ANYTIME, *STREAMS, *LATENT)
SUPERVISED = (*SVGP, *ANYTIME, *STREAMS)
BATCH_AND_STREAM = ((*SVGP, *ANYTIME), STREAMS)
LATENT_AS_BATCH = ((*SVGP, *ANYTIME, *LATENT), STREAMS)
LATENT_APART = (*BATCH_AND_STREAM, LATENT)
BY_SOLVER = (SVGP, ANYTIME, STREAMS, LATENT)
# Only these mean something else in other classes. Within each group of classes the text is one.
GROUPS = {
    "kernel": (
        (SVGPRegressor,),
        (StreamingSGPRegressor,),
        (AnytimeSGPRegressor,),
        (AnytimeSGPClassifier,),
        CLASSIFIERS,
        LATENT,
    ),
    "likelihood": (
        (SVGPRegressor, StreamingSGPRegressor),
        (AnytimeSGPRegressor,),
        CLASSIFIERS,
        (AnytimeSGPClassifier,),
    ),
    "n_latent": ((SVGPRegressor,), (StreamingSGPRegressor,)),
    "alpha_divergence": (ANYTIME, (StreamingSGPRegressor,)),
    "trust_region": ((StreamingSGPRegressor,), (StreamingSGPClassifier,)),
    "inducing": LATENT_APART,
    "optimize_inducing": ((*SVGP, *LATENT), ANYTIME, STREAMS),
    "optimizer": BY_SOLVER,
    "init_size": BY_SOLVER,
    "batch_size": ((*SVGP, *LATENT), STREAMS),
    "max_iter": ((*SVGP, *ANYTIME), *((kind,) for kind in STREAMS), LATENT),
    "max_steps": LATENT_AS_BATCH,
    "max_time": LATENT_APART,
    "tol": (SVGP, (*ANYTIME, *STREAMS), LATENT),
    "jitter": (
        (SVGPRegressor, AnytimeSGPRegressor),
        (SVGPClassifier, AnytimeSGPClassifier, *LATENT),
        STREAMS,
    ),
    "natural_step": LATENT_AS_BATCH,
    "random_state": LATENT_AS_BATCH,
    "verbose": LATENT_AS_BATCH,
    "noise_variance_": (
        (SVGPRegressor, StreamingSGPRegressor),
        (AnytimeSGPRegressor,),
        LATENT,
    ),
    "objective_": (SVGP, (AnytimeSGPRegressor,), (AnytimeSGPClassifier,), STREAMS, LATENT),
    "objectives_": LATENT_AS_BATCH,
    "n_iter_": LATENT_APART,
    "n_steps_": LATENT_AS_BATCH,
    "kernel_priors": (
        (SVGPRegressor, AnytimeSGPRegressor),
        (SVGPClassifier, AnytimeSGPClassifier),
        (StreamingSGPRegressor,),
        (StreamingSGPClassifier,),
    ),
    "offset_column": (REGRESSORS, (*CLASSIFIERS, AnytimeSGPClassifier)),
    "noise_variance": (REGRESSORS, LATENT),
    "noise_variance_bounds": (
        (SVGPRegressor, AnytimeSGPRegressor),
        (StreamingSGPRegressor,),
        LATENT,
    ),
    "inducing_points_": (SUPERVISED, LATENT),
    "n_samples_seen_": (SUPERVISED, LATENT),
    "n_features_in_": (SUPERVISED, LATENT),
    "feature_names_in_": (SUPERVISED, LATENT),
}
each_estimator = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


def sections(thing):
    """Sections of a docstring by title, as text without common indentation."""
    parts = re.split(r"^(.+)\n-{3,}\n", inspect.getdoc(thing), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(thing, title):
    """What a section says: name -> (type, default or None, description), blanks made one.

    Several names on one line share their type and description, and have a default each.
    """
    found = {}
    text = sections(thing).get(title, "")
    for entry in re.findall(r"^\S.*\n(?:(?:[ \t].*)?(?:\n|\Z))*", text, flags=re.MULTILINE):
        head, _, description = entry.partition("\n")
        if re.search(r",\s*$", head):  # a type that goes on in the next line
            more, _, description = description.partition("\n")
            head += more
        names, _, kind = head.partition(" : ")
        kind, _, defaults = (" ".join(part.split()) for part in kind.partition("default="))
        names = names.split(", ")
        values = [None] * len(names)
        if defaults:
            value = ast.literal_eval(defaults)
            values = [value] if len(names) == 1 else value
        for name, value in zip(names, values, strict=True):
            assert name not in found, f"{name} is described twice"
            found[name] = kind.rstrip(", "), (value,) if defaults else None, description.split()
    return found


def test_the_parser_reads_what_is_written():
    """The parser finds names, types, defaults and descriptions, in one line or in several."""

    def example():
        """Do it.

        Parameters
        ----------
        a : {"x", "y"} or array-like, \
                default="x"
            First line,
            second line.

            Second paragraph.

        b, c : float, default=0.5, 2.0
            Both.

        Returns
        -------
        d : int
            The result.
        """

    found = entries(example, "Parameters")
    words = "First line, second line. Second paragraph.".split()
    assert found == {
        "a": ('{"x", "y"} or array-like', ("x",), words),
        "b": ("float", (0.5,), ["Both."]),
        "c": ("float", (2.0,), ["Both."]),
    }
    assert entries(example, "Returns") == {"d": ("int", None, ["The", "result."])}


@each_estimator
def test_every_parameter_is_documented_and_no_other(kind):
    """The docstring has the parameters of the constructor, in their order, with their defaults."""
    signature = inspect.signature(kind).parameters
    documented = entries(kind, "Parameters")
    assert list(documented) == list(signature)
    for name, parameter in signature.items():
        assert documented[name][1] == (parameter.default,), name
    assert set(kind._parameter_constraints) == set(signature)


def vars_of_classes(kind):
    """Names and values of what the classes of the package say of an estimator."""
    ours = [one for one in kind.__mro__ if one.__module__.startswith("sklearn_sgp")]
    return [pair for one in ours for pair in vars(one).items()]


@each_estimator
def test_every_fitted_attribute_is_documented_and_no_other(kind, rng):
    """The docstring has all public attributes of a fitted model, and a fitted model has them."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rng.standard_normal((40, 2)), columns=["a", "b"])
    y = (X["a"] > 0).astype(float)
    y = y.astype(int) if hasattr(kind, "predict_proba") else y + X["b"]
    model = kind(n_inducing=5, max_iter=2)
    if kind.__name__ == "AnytimeSGPClassifier":  # sites have fewer
        model.set_params(likelihood="dirichlet")
    model.fit(X, np.asarray(y))
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    computed = {name for name, value in vars_of_classes(kind) if isinstance(value, property)}
    fitted |= {name for name in computed if name.endswith("_")}
    assert set(entries(kind, "Attributes")) == fitted


@pytest.mark.parametrize("title", ["Parameters", "Attributes"])
def test_the_same_thing_has_the_same_words(title):
    """Two estimators describe a shared parameter or attribute alike, unless its meaning differs."""
    documented = {kind: entries(kind, title) for kind in ESTIMATORS}
    for one, other in combinations(ESTIMATORS, 2):
        for name in documented[one].keys() & documented[other].keys():
            same = any(one in group and other in group for group in GROUPS.get(name, [ESTIMATORS]))
            (kind, _, text), (other_kind, _, other_text) = (
                documented[e][name] for e in (one, other)
            )
            pair = f"{name} of {one.__name__} and {other.__name__}"
            assert (text == other_text) == same, pair
            assert not same or kind == other_kind, pair


def test_groups_name_classes_that_have_the_parameter():
    """Every group of the table consists of the classes that have the name, and no other."""
    for name, groups in GROUPS.items():
        title = "Attributes" if name.endswith("_") else "Parameters"
        have = {kind for kind in ESTIMATORS if name in entries(kind, title)}
        assert {kind for group in groups for kind in group} == have, name


def public_methods(kind):
    """Methods of our own, that is not of scikit-learn, by name."""
    functions = inspect.getmembers(kind, inspect.isfunction)
    return {
        name: function
        for name, function in functions
        if not name.startswith("_")
        and inspect.unwrap(function).__module__.startswith("sklearn_sgp")
    }


@each_estimator
def test_every_argument_of_a_method_is_documented_and_no_other(kind):
    """Docstrings of public methods have the arguments of their signatures, with their defaults."""
    methods = public_methods(kind)
    answers = {"predict", "predict_std", "log_density"}
    if kind is BayesianGPLVM:
        answers = {"transform", "inverse_transform", "score_samples", "impute", "sample"}
    assert {"fit", "partial_fit", *answers} <= set(methods)
    for name, method in methods.items():
        signature = dict(inspect.signature(method).parameters)
        del signature["self"]
        documented = entries(method, "Parameters")
        assert list(documented) == list(signature), name
        for argument, parameter in signature.items():
            required = parameter.default is inspect.Parameter.empty
            assert documented[argument][1] == (None if required else (parameter.default,)), name
        assert "Returns" in sections(method), name


@pytest.mark.parametrize("kind", REGRESSORS, ids=lambda kind: kind.__name__)
def test_errors_of_predictions_are_documented(kind):
    """Docstrings of predictions and densities say which errors bad arguments raise."""
    for method in (kind.predict, kind.predict_quantiles, kind.log_density, kind.sample_y):
        assert "Error" in sections(method)["Raises"], method.__name__


@pytest.mark.parametrize("kinds", [REGRESSORS, (*CLASSIFIERS, AnytimeSGPClassifier)])
def test_methods_of_one_task_are_described_once(kinds):
    """Public methods of all regressors are those of their base, so of all classifiers."""
    first = public_methods(kinds[0])
    for kind in kinds[1:]:
        shared = public_methods(kind).keys() & first.keys()
        assert {"fit", "partial_fit", "predict", "predict_std", "log_density"} <= shared
        for name in shared:  # `available_if` makes a function of each class
            assert inspect.unwrap(public_methods(kind)[name]) is inspect.unwrap(first[name]), name
