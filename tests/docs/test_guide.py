"""The code of the site's pages runs, and prints what the pages say it prints."""

import doctest
import io
import os
import warnings
from contextlib import redirect_stdout
from importlib.util import find_spec

import pytest
from docs_pages import ROOT, blocks

PAGES = sorted(
    path.relative_to(ROOT / "docs").as_posix()
    for path in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
    if any(not block.not_run for block in blocks(path.read_text(encoding="utf-8")))
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.slow_cases(
    "guide/forecasts.md",
    "guide/large_data.md",
    "guide/latent_variables.md",
    "guide/dates.md",
    "kernels.md",
    "guide/regression.md",
    "guide/noise.md",
    "guide/outputs_and_categories.md",
    "guide/classes_and_counts.md",
    "guide/local_structure.md",
)
@pytest.mark.parametrize("page", PAGES)
def test_page_runs_as_it_stands(page, tmp_path, monkeypatch):
    """From top to bottom in one namespace, as a reader who copies it would run it."""
    path = ROOT / "docs" / page
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    namespace, checker = {}, doctest.OutputChecker()
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.not_run or any(find_spec(package) is None for package in block.needs.split()):
            continue
        printed = io.StringIO()
        with redirect_stdout(printed), warnings.catch_warnings():
            if block.needs:  # what other libraries warn of is theirs
                warnings.simplefilter("ignore")
            exec(compile("\n" * block.line + block.code, str(path), "exec"), namespace)
        assert checker.check_output(block.printed, printed.getvalue(), FLAGS), (
            f"{page}, line {block.line}, prints\n{printed.getvalue()}"
            f"and the page says\n{block.printed}"
        )
