"""The project's first page is short, runs as it stands, and links to what there is."""

import io
import re
from contextlib import redirect_stdout

import pytest
from docs_pages import ROOT, blocks

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 110
MOST_WORDS = 25
NUMBER = re.compile(r"-?\d+\.?\d*")


def test_code_prints_what_the_page_says():
    """The first lines of code that a reader meets print the numbers below them.

    Quantiles are learned: another processor's rounding moves one by half of a unit.
    """
    shown = [block for block in blocks(README) if block.printed]
    assert shown
    for block in shown:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(block.code, "README.md", "exec"), {})
        got, said = printed.getvalue(), block.printed
        assert NUMBER.sub("", got).split() == NUMBER.sub("", said).split()
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (got, said)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0, abs=1)


def test_page_is_read_in_two_minutes():
    """At most so many lines, and so many words in a sentence."""
    assert len(README.splitlines()) <= MOST_LINES
    too_long = [said for said in sentences(README) if len(said.split()) > MOST_WORDS]
    assert not too_long


def sentences(text):
    """Sentences of prose: without code, tables, pictures and the addresses of links."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(\||<!--|#|!).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.split(r"(?<=[.?!])\s|\n\n|^- ", text, flags=re.MULTILINE)


def test_links_lead_somewhere():
    """Each relative link and picture is a file or folder of the repository."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(links) > 20
    assert not [link for link in links if not (ROOT / link).exists()]


def test_guide_takes_the_same_estimators_as_this_page():
    """It sent small tables to scikit-learn's exact process, where this page says any size."""
    rows = re.findall(r"^\| a table, any size \| (`\w+\(\))", README, re.MULTILINE)
    guide = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    sized = guide.partition("## By size and speed")[2].partition("##")[0]
    first = sized.splitlines()[4]
    assert rows == ["`AnytimeSGPRegressor()"] and "| up to" in first and rows[0] in first
