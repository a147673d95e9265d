"""The packages are layers: imports go one way, from `estimators` down to `_core`."""

import ast
from functools import cache
from pathlib import Path

import pytest

import sklearn_sgp

ROOT = Path(sklearn_sgp.__file__).parent

# From bottom to top. Packages of one line do not know each other, except for the private modules
# of the second line, which import one another in one direction.
LAYERS = [
    ["_core"],
    [
        "_linalg",
        "_minimize",
        "_parallel",
        "_sampling",
        "_warnings",
        "_floating_point",
        "_compat",
        "_version",
        "_plain",
        "_saved",
        "_reference_link",
        "_show_versions",
    ],
    ["kernels", "likelihoods"],
    ["data"],
    ["partitions"],
    ["gp"],
    ["factors"],
    ["objectives", "optimize", "collections"],
    ["latents", "predict"],
    ["engines"],
    ["noise", "selection"],
    ["estimators"],
    ["__init__"],
]
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Packages beside the layers, and all that they may import of the house.
ASIDE = {"metrics": set(), "plotting": {"metrics", "kernels"}}
MODULES_MAY_IMPORT_EACH_OTHER = set(LAYERS[1])


def imports_of(path, root):
    """Modules of the package that a file imports, as paths of names such as ("gp", "prior")."""
    here = path.relative_to(root).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level]
            if node.module:
                yield (*base, *node.module.split("."))
            else:
                yield from ((*base, alias.name) for alias in node.names)


@cache
def all_arrows(root):
    """Pairs of an importing and an imported module."""
    return [
        (path.relative_to(root).with_suffix("").parts, imported)
        for path in sorted(root.rglob("*.py"))
        for imported in imports_of(path, root)
    ]


def is_allowed(importer, imported, ranks=RANKS):
    """Whether one module may import another."""
    above, below = importer[0], imported[0]
    if above in ASIDE:
        return below == above or below in ASIDE[above]
    if above == below and above not in MODULES_MAY_IMPORT_EACH_OTHER:
        return True  # of one package; the direction is another test's
    if ranks[above] == ranks[below]:
        return above in MODULES_MAY_IMPORT_EACH_OTHER
    return ranks[above] > ranks[below]


def cycle_in(arrows):
    """A cycle of modules that import one another, or None."""
    graph = {}
    for importer, imported in arrows:
        graph.setdefault(importer, set()).add(imported)
    done, path = set(), []

    def visit(module):
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return None
        path.append(module)
        for below in sorted(graph.get(module, ())):
            found = visit(below)
            if found:
                return found
        done.add(path.pop())
        return None

    return next(filter(None, map(visit, sorted(graph))), None)


def test_imports_go_downwards():
    """Every import of the package goes to a lower layer, or within one package."""
    wrong = [arrow for arrow in all_arrows(ROOT) if not is_allowed(*arrow)]
    assert wrong == []


def test_no_module_imports_itself_by_way_of_others():
    """Modules of one package import one another in one direction only."""
    assert cycle_in(all_arrows(ROOT)) is None


def test_every_module_is_on_a_layer():
    """Every module and package of the house is on the list above."""
    names = {path.relative_to(ROOT).with_suffix("").parts[0] for path in ROOT.rglob("*.py")}
    assert names == set(RANKS) | set(ASIDE)


def test_only_estimators_name_a_likelihood():
    """Whoever is below `estimators` gets a likelihood as an argument, and never names its class.

    `noise` derives one of its own from the interface.
    """
    importers = {
        (importer[0], imported[1:])
        for importer, imported in all_arrows(ROOT)
        if imported[0] == "likelihoods" and importer[0] != "likelihoods"
    }
    assert importers == {("estimators", ("_names",)), ("noise", ())}


@pytest.mark.parametrize("package", ["gp", "factors", "objectives"])
def test_models_never_compile_a_kernel(package):
    """The mathematics gets a compiled kernel as an argument."""
    compiled = [imported for importer, imported in all_arrows(ROOT) if importer[0] == package]
    assert ("kernels", "_compile") not in compiled


@pytest.mark.parametrize("name", [name for names in LAYERS[2:-1] for name in names] + ["plotting"])
def test_a_package_says_what_it_is_for(name):
    """The docstring of a package says in two sentences what lives there and who imports it."""
    text = ast.get_docstring(ast.parse((ROOT / name / "__init__.py").read_text(encoding="utf-8")))
    assert "mport" in text
    assert text.count(". ") + text.count(".\n") + text.endswith(".") >= 2


@pytest.mark.parametrize(
    "name", [name for names in LAYERS[2:-1] for name in names if name != "likelihoods"]
)
def test_a_file_has_at_most_360_lines_of_code(name):
    """A file has one job, and few lines besides its docstrings, which are as long as they must."""
    lengths = {path.name: _lines_of_code(path) for path in (ROOT / name).glob("*.py")}
    assert max(lengths.values()) <= 360, lengths


def _lines_of_code(path):
    """Count the lines of a file that are in no docstring."""
    text = path.read_text(encoding="utf-8")
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    pages = [node.body[0] for node in nodes if ast.get_docstring(node)]
    return len(text.splitlines()) - sum(page.end_lineno - page.lineno + 1 for page in pages)


# The layers before the packages existed, and the four arrows that broke them.
_BEFORE = {
    "learning": 1, "posterior": 2, "blocks": 2, "carried": 2, "latents": 2,
    "objectives": 3, "states": 3, "block_objectives": 3, "_start": 5, "_base": 6,
}  # fmt: skip


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("_start", "_base"),
        ("blocks", "objectives"),
        ("carried", "block_objectives"),
        ("latents", "states"),
    ],
)
def test_an_upward_arrow_is_seen(importer, imported):
    """The rule refuses an arrow to a higher layer, and accepts the same arrow downwards."""
    assert not is_allowed((importer,), (imported,), _BEFORE)
    assert is_allowed((imported,), (importer,), _BEFORE)


def test_a_cycle_is_seen():
    """Three modules that import one another in a ring are found."""
    arrows = [(("a",), ("b",)), (("b",), ("c",)), (("c",), ("a",))]
    assert cycle_in(arrows) is not None
    assert cycle_in(arrows[:2]) is None
