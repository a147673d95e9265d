"""Measured figures on the pages have a source: a result, a test, an example, or how it was done."""

import json
import re
import tomllib
from functools import cache
from itertools import combinations

import pytest
from docs_pages import ROOT, blocks

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md"]
PAGES += [
    DOCS / f"{name}.md"
    for name in ("index", "start", "choosing", "kernels", "papers", "large_data", "coming_from")
]
PAGES += sorted((DOCS / "guide").glob("*.md"))
# What nothing that is stored or run backs. It may become less.
MOST_BY_HAND = 11
# Decimals, and whole numbers with a unit or, of a range or a list, before the one that has it.
_WHOLE = r"\d{1,3}(?:,\d{3})+|\d+"
_OTHERS = rf"(?:(?:,| and|, and| or| to) (?:{_WHOLE})(?:\.\d+)?)*"
_FIGURE = re.compile(
    rf"(?<![\w.,/^*-])[−-]?(?:(?:{_WHOLE})\.\d+(?:e-?\d+)?|(?:{_WHOLE})"
    rf"(?={_OTHERS} (?:(?:s|ms|GB|MB|Pa|nats|times|rows a second)\b|%)))"
)
# A level, a number of rows, of a section, a version, the days of a year.
_NO_RESULT = re.compile(
    r"\b90 %|\bsection \d\.\d|\b[\d.]+ million|365\.25"
    r"|\*\*\w+\*\* \d[\d.]*|\b(?:[Pp]ython|scikit-\w+|bayesian-optimization|Optuna|modAL) \d[\d.]*"
)


def prose(text):
    """Return a page without what is generated, code, its output, headings and addresses."""
    for kind in (
        r"<!-- ten tables: begin -->.*?<!-- ten tables: end -->",
        r"^ *```.*?^ *```$",
        r"^#.*?$",
        r"`[^`]*`",
        r"\]\([^)]*\)",
    ):
        text = re.sub(kind, "", text, flags=re.MULTILINE | re.DOTALL)
    return text


def passages(text):
    """Return paragraphs and entries of lists; a table belongs to what stands before it."""
    return re.split(r"\n\s*\n(?!\s*\|)|\n(?=\s*- )", prose(text))


def figures(passage):
    """Return the measured figures of a passage, in order."""
    return _FIGURE.findall(_NO_RESULT.sub("", passage))


def shown(text):
    """Return what the code of a page says and prints, and numbers it was given."""
    return " ".join(f"{block.code} {block.printed}" for block in blocks(text))


def unprinted(path):
    """Yield passages of a page with the figures that its own code does not show."""
    text = path.read_text(encoding="utf-8")
    known = set(re.findall(r"\d+\.?\d*", shown(text)))
    for passage in passages(text):
        found = [one for one in figures(passage) if one.lstrip("−-") not in known]
        if found:
            yield passage, found


@cache
def measured():
    """Entries of docs/measured.toml."""
    return tomllib.loads((DOCS / "measured.toml").read_text(encoding="utf-8"))["passage"]


@cache
def results():
    path = ROOT / "benchmarks" / "results" / "results.json"
    return json.loads(path.read_text(encoding="utf-8"))["experiments"]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def listed(page, passage):
    """Return the figures of the entries whose words a passage has, in their order."""
    flat = " ".join(passage.split())
    own = [one for one in measured() if one["page"] == page and one["words"] in flat]
    return [figure for one in own for figure in one["figures"]]


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_measured_figures_have_a_source(path):
    """Its own code prints a figure, or docs/measured.toml lists the passage with its figures."""
    page = name_of(path)
    for passage, found in unprinted(path):
        assert listed(page, passage) == found, f"{page}: {' '.join(passage.split())[:200]}"


@pytest.mark.parametrize(
    ("passage", "found"),
    [
        ("A fit takes 4 to 7 s, and 90 % intervals hold 58 % of new rows.", ["4", "7", "58"]),
        (
            "Steps take 58, 12 and 1,100 ms; 127,000 rows a second.",
            ["58", "12", "1,100", "127,000"],
        ),
        ("They differ by 1.7e-13, in 2 of 3 tables.", ["1.7e-13"]),
        ("**GPflow** 2.11 has 2,000 rows.", []),
        ("RMSE 0.15, log density -0.49; 1.9 million rows of 8 columns.", ["0.15", "-0.49"]),
        ("Runs on Python 3.11 and scikit-learn 1.9, with 256 inducing inputs.", []),
    ],
)
def test_figures_are_measured_ones(passage, found):
    """Seconds, shares and decimals are; levels, sizes of data and versions are not."""
    assert figures(passage) == found


def test_entries_have_their_passage():
    """Nothing is listed that no page says any more."""
    said = {
        page: " ".join(prose((ROOT / page).read_text(encoding="utf-8")).split())
        for page in {one["page"] for one in measured()}
    }
    gone = [one["words"] for one in measured() if one["words"] not in said[one["page"]]]
    assert not gone


def stored_values(name, parts):
    """Yield what an experiment has in some parts of its record."""
    for part in parts:
        yield from numbers(results()[name].get(part, {}))


def stored_gains(name):
    """Return differences of log densities of the records that an experiment has of each table."""
    tables = results()[name]["details"].values()
    pairs = [pair for records in tables for pair in combinations(records.values(), 2)]
    return [abs(one["nlpd"] - other["nlpd"]) for one, other in pairs]


def numbers(values):
    """Yield all numbers of a nested result."""
    if isinstance(values, dict):
        values = values.values()
    if isinstance(values, (int, float)):
        yield abs(float(values))
    elif not isinstance(values, str) and values is not None:
        for value in values:
            yield from numbers(value)


def is_among(figure, stored):
    """Whether a result is a figure when it is rounded."""
    digits, _, power = figure.replace(",", "").lstrip("−-").partition("e")
    last = int(power or 0) - len(digits.partition(".")[2])
    half = 0.5001 * 10.0 ** (3 if figure.endswith(",000") else last)
    plain = f"{digits}e{power or 0}"
    return any(abs(float(plain) - value) <= half for value in stored)


@pytest.mark.parametrize("entry", measured(), ids=lambda one: f"{one['page']}: {one['words'][:30]}")
def test_sources_exist(entry):
    """A test or example is there; results or another page have the figures to the last digit."""
    kind, source = entry["source"].split(": ", 1)
    assert kind in ("by hand", "computed", "details", "gains", "page", "paper", "results", "run")
    if kind in ("details", "results"):
        # what it has of ours and of the rivals, or single records
        parts = ("values", "peers") if kind == "results" else ("details",)
        stored = [value for name in source.split(", ") for value in stored_values(name, parts)]
        assert not [one for one in entry["figures"] if not is_among(one, stored)]
    if kind == "gains":
        assert not [one for one in entry["figures"] if not is_among(one, stored_gains(source))]
    if kind == "page":
        path, *words = source.split(" | ")
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not words or any(word in line for word in words)]
        said = re.findall(r"\d[\d,]*\.?\d*", " ".join(kept))
        stored = [float(number.replace(",", "")) for number in said]
        assert not [one for one in entry["figures"] if not is_among(one, stored)]
    if kind == "run":
        path, _, function = source.partition("::")
        assert not path.startswith("benchmarks/"), "what an experiment finds is stored"
        assert f"def {function}" in (ROOT / path).read_text(encoding="utf-8")


def test_little_is_measured_by_hand():
    """What nobody can repeat by a command becomes less."""
    by_hand = [one for one in measured() if one["source"].startswith("by hand: ")]
    assert len(by_hand) <= MOST_BY_HAND
