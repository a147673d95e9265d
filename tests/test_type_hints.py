"""The stub of the public estimators says what the classes have; `mypy` checks how it is used."""

import ast
import inspect

import pytest
from docs_pages import ROOT

import sklearn_sgp

STUB = ROOT / "sklearn_sgp" / "__init__.pyi"
ESTIMATORS = [
    name for name in sklearn_sgp.__all__ if hasattr(getattr(sklearn_sgp, name), "get_params")
]

pytestmark = pytest.mark.skipif(not STUB.exists(), reason="the source of the package is not here")


@pytest.fixture(scope="module")
def classes():
    """Classes of the stub by name."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def lineage(classes, name):
    """A class of the stub and those it derives from."""
    bases = [base.id for base in classes[name].bases if base.id in classes]
    return [classes[name], *(found for base in bases for found in lineage(classes, base))]


def members(classes, name, kind):
    return [node for each in lineage(classes, name) for node in each.body if isinstance(node, kind)]


def parameters(function):
    """Names and kinds of the parameters of a function of the stub."""
    names = {arg.arg: "either" for arg in function.args.posonlyargs + function.args.args}
    return names | {arg.arg: "keyword" for arg in function.args.kwonlyargs}


def test_all_is_that_of_the_package():
    """The stub exports what the package exports."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    (exported,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    assert exported == sklearn_sgp.__all__


@pytest.mark.parametrize("name", ESTIMATORS)
def test_constructors_have_the_parameters(classes, name):
    """The first parameter stands in the constructor, the others in a dictionary with types."""
    (constructor,) = (
        node for node in classes[name].body if getattr(node, "name", "") == "__init__"
    )
    _, first = constructor.args.args
    keywords = constructor.args.kwarg.annotation.slice.id
    found = [node.target.id for node in members(classes, keywords, ast.AnnAssign)]
    given = inspect.signature(getattr(sklearn_sgp, name)).parameters
    assert sorted([first.arg, *found]) == sorted(given)
    assert first.arg == next(iter(given))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_methods_have_the_parameters(classes, name):
    """Every public method of ours is in the stub, with its parameters, in each of its forms."""
    estimator = getattr(sklearn_sgp, name)
    functions = [
        node for node in members(classes, name, ast.FunctionDef) if node.name != "__init__"
    ]
    for function in functions:
        expected = inspect.signature(getattr(estimator, function.name)).parameters
        found = parameters(function)
        assert list(found) == list(expected), function.name
        keyword_only = {p.name for p in expected.values() if p.kind is p.KEYWORD_ONLY}
        assert keyword_only <= {arg for arg, kind in found.items() if kind == "keyword"}
    public = {
        method
        for method, value in inspect.getmembers(estimator, inspect.isfunction)
        if not method.startswith("_")
        and value.__module__.startswith("sklearn_sgp")
        and not method.endswith("_request")
        and hasattr(estimator(), method)  # not what is there for other estimators only
    }
    assert public <= {function.name for function in functions}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_attributes_are_documented(classes, name):
    """Fitted attributes of the stub stand in the docstring of the class."""
    documented = getattr(sklearn_sgp, name).__doc__
    own = {node.target.id for node in members(classes, name, ast.AnnAssign)}
    assert {attribute for attribute in own if attribute not in documented} == set()
    section = documented.partition("Attributes\n")[2].partition("See Also")[0]
    names = {
        attribute.strip()
        for line in section.splitlines()
        if line.startswith("    ") and not line.startswith("     ") and " : " in line
        for attribute in line.partition(" : ")[0].split(",")
    }
    assert names <= own
