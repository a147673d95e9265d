"""Words of the package: one name for one number, and docstrings that begin with a verb."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "sklearn_sgp"

# Packages and modules whose docstrings begin with a verb, or with a noun for what is no function.
CLEAN = [
    "collections",
    "data/categories",
    "data/checks.py",
    "data/clusters.py",
    "data/label_checks.py",
    "data/continued_warps.py",
    "data/inducing.py",
    "data/repeats.py",
    "data/rows.py",
    "data/warps.py",
    "data/winsorize.py",
    "engines",
    "estimators",
    "factors",
    "gp",
    "kernels",
    "latents",
    "noise",
    "objectives",
    "optimize",
    "partitions",
    "plotting",
    "predict",
    "selection",
    "_compat.py",
    "_floating_point.py",
    "_linalg.py",
    "_parallel.py",
    "_reference_link.py",
    "_saved.py",
    "_show_versions.py",
    "_warnings.py",
    "metrics.py",
]
NO_VERBS = {"What", "Whether", "Of", "As", "Where", "Which", "How", "That"}


def modules(name):
    """Return the modules of a package, or the one module."""
    path = ROOT / name
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def numbers(tree):
    """Yield names and values of the numeric constants at the top of a module."""
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            paired = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            names = target.elts if paired else [target]
            values = node.value.elts if paired else [node.value]
            for name, value in zip(names, values, strict=True):
                text = ast.unparse(value)
                if isinstance(name, ast.Name) and any(map(str.isdigit, text)):
                    yield name.id, text


def test_a_constant_has_one_value():
    """No numeric constant of the package has another value under the same name elsewhere."""
    values = defaultdict(dict)
    for path in modules("."):
        for name, text in numbers(ast.parse(path.read_text(encoding="utf-8"))):
            values[name].setdefault(text, str(path.relative_to(ROOT)))
    assert {name: places for name, places in values.items() if len(places) > 1} == {}


def docstrings(path):
    """Yield qualified names and docstrings of the functions and classes of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", ast.get_docstring(node)


@pytest.mark.parametrize("name", CLEAN)
def test_docstrings_begin_with_a_verb(name):
    """No docstring begins as a clause: What, Whether, Of, As, Where, Which, How or That."""
    clauses = [
        where
        for path in modules(name)
        for where, text in docstrings(path)
        if text.split()[0] in NO_VERBS
    ]
    assert clauses == []
