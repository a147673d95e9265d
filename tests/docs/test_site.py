"""The site leaves nothing out: public names, examples and links between files of the repository."""

import inspect
import re
from importlib import import_module

import pytest
from docs_pages import ROOT

DOCS = ROOT / "docs"
# Names that folders export to other folders of the package, not to users.
INTERNAL = {
    "BoundKernel",
    "Groups",
    "KernelExpression",
    "__version__",
    "category_counts",
    "compile_kernel",
    "length_scales",
    "split_noise",
}
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)")


@pytest.mark.parametrize("module", ["", ".kernels", ".likelihoods", ".metrics", ".plotting"])
def test_reference_has_every_public_name(module):
    """A name that is exported has a page of its own."""
    pytest.importorskip("matplotlib")
    listed = (DOCS / "reference.rst").read_text(encoding="utf-8")
    section = listed.partition(f".. currentmodule:: sklearn_sgp{module}\n")[2]
    section = section.partition(".. currentmodule::")[0]
    public = set(import_module(f"sklearn_sgp{module}").__all__) - INTERNAL
    assert public <= set(re.findall(r"^   (\w+)$", section, re.MULTILINE))


def public_calls():
    """Every call of the reference: functions, constructors and methods.

    Methods of likelihoods are an interface that `Likelihood` tells in one text, and users get
    a `PredictiveDistribution` from its regressor.
    """
    listed = (DOCS / "reference.rst").read_text(encoding="utf-8")
    for section in listed.split(".. currentmodule:: ")[1:]:
        module = import_module(section.partition("\n")[0])
        if module.__name__.endswith(".plotting"):
            pytest.importorskip("matplotlib")
        for name in re.findall(r"^   (\w+)$", section, re.MULTILINE):
            value = getattr(module, name)
            if callable(value) and name not in ("PredictiveDistribution", "ExpectedLogDensity"):
                yield name, value
            if isinstance(value, type) and not module.__name__.endswith(".likelihoods"):
                for method, function in inspect.getmembers(value, callable):
                    if not method.startswith("_") and "sklearn_sgp" in function.__module__:
                        yield f"{name}.{method}", function


def test_every_parameter_is_documented():
    """The site has an entry with a link for each, but for `**kwargs` and the like."""
    missing = []
    for name, function in public_calls():
        documented = inspect.cleandoc(function.__doc__).partition("Parameters\n")[2]
        entries = re.findall(r"^([\w*, ]+) :", documented, re.MULTILINE)
        found = {entry.strip() for line in entries for entry in line.split(",")}
        for parameter in inspect.signature(function).parameters.values():
            named = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if named and parameter.name not in found | {"self"}:
                missing.append(f"{name}({parameter.name})")
    assert missing == []


@pytest.mark.parametrize("page", ["docs/examples.md", "examples/README.md"])
def test_every_example_is_listed(page):
    """Both lists are written by hand, under headings."""
    scripts = {path.name for path in (ROOT / "examples").glob("plot_*.py")}
    assert scripts == set(re.findall(r"plot_\w+\.py", (ROOT / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("plot_*.py")), ids=lambda p: p.stem
)
def test_pictures_are_done_where_they_begin(path):
    """The gallery takes a picture at the end of the cell that opens it: it must be saved there."""
    cells = re.split("^# %%.*$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    opened = [k for k, cell in enumerate(cells) if re.search(r"plt\.(subplots|figure)\(", cell)]
    saved = [k for k, cell in enumerate(cells) if "savefig(" in cell]
    assert set(opened) <= set(saved)


def pages():
    """Every page of Markdown, in the site and beside it."""
    beside = ["*.md", "examples/**/*.md", "benchmarks/**/*.md", "docs/*.md", "docs/guide/*.md"]
    paths = [path for pattern in beside for path in ROOT.glob(pattern)]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


@pytest.mark.parametrize("page", pages())
def test_links_to_files_have_a_target(page):
    """Markdown is read in the repository, too. Pages that the build makes are left out."""
    folder = (ROOT / page).parent
    for target in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        path = (folder / target).resolve()
        if not re.search("auto_examples|generated", target):
            assert path.exists(), f"{page} links to {target}"


def test_contributors_are_led_to_the_glossary():
    """The words were named without a link; on the site it leads to the page that has them."""
    link = "](docs/design.md#glossary)"
    assert (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").count(link) == 2
    assert link in (DOCS / "_extensions" / "links.py").read_text(encoding="utf-8")
    assert "\n## Glossary\n" in (DOCS / "design.md").read_text(encoding="utf-8")
