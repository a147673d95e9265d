"""The site leaves nothing out: public names, examples and links between files of the repository."""

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


@pytest.mark.parametrize("page", ["docs/examples.md", "examples/README.md"])
def test_every_example_is_listed(page):
    """Both lists are written by hand, under headings."""
    scripts = {path.name for path in (ROOT / "examples").glob("plot_*.py")}
    assert scripts == set(re.findall(r"plot_\w+\.py", (ROOT / page).read_text(encoding="utf-8")))


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
