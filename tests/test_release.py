"""The version stands in one place, and the release script reads and writes the changelog."""

import importlib.util
import re
from importlib.metadata import version

import pytest
from docs_pages import ROOT

import sklearn_sgp

SCRIPT = ROOT / "tools" / "release.py"
HAS_SOURCE = (ROOT / "sklearn_sgp" / "_version.py").exists()
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Fixed\n\n- This.\n"
OLDER = "\n## [0.1.0] - 2026-01-31\n\n### Added\n\n- That.\n"


@pytest.fixture(scope="module")
def release():
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not HAS_SOURCE, reason="the source of the package is not here")
def test_the_version_stands_in_one_place(release):
    """The package, its metadata and the citation agree, and pyproject.toml has no number."""
    assert release.version_of_package() == release.version_of_citation() == sklearn_sgp.__version__
    assert version("sklearn_sgp") == sklearn_sgp.__version__
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in settings and not re.search('^version = "', settings, re.M)


def test_the_changelog_has_the_form(release):
    """That of Keep a Changelog, with something under Unreleased or a release before."""
    release.unreleased((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


def test_a_release_is_dated(release):
    """What was unreleased gets version and date, and the changelog that is left can be released."""
    assert release.unreleased(CHANGELOG + OLDER) == "### Fixed\n\n- This."
    text = release.released(CHANGELOG + OLDER, "0.2.0", "2026-02-28")
    assert release.unreleased(text) == ""
    assert re.findall(r"^## \[(.+?)\]", text, re.M) == ["Unreleased", "0.2.0", "0.1.0"]


@pytest.mark.parametrize(
    "text, message",
    [
        (OLDER, "first section"),
        (CHANGELOG + "\n## 0.1.0, in January\n", "Sections must be like"),
        (CHANGELOG + OLDER.replace("Added", "News"), "Headings must be of"),
    ],
)
def test_other_forms_are_refused(release, text, message):
    """Each is told with what came."""
    with pytest.raises(ValueError, match=message):
        release.unreleased(text)
