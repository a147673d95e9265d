"""The check of the built site finds what is broken, and passes what is not."""

import importlib.util

import pytest
from docs_pages import ROOT

PAGE = '<html><body><h2 id="first">First</h2>{}</body></html>'


@pytest.fixture(scope="module")
def check_site():
    spec = importlib.util.spec_from_file_location("check_site", ROOT / "tools" / "check_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(check_site, folder, body):
    """Problems of a site of two pages, one of which has this body."""
    (folder / "guide").mkdir(exist_ok=True)
    (folder / "guide" / "other page.html").write_text(PAGE.format(""), encoding="utf-8")
    (folder / "index.html").write_text(PAGE.format(body), encoding="utf-8")
    return check_site.problems(folder)[0]


@pytest.mark.parametrize(
    "body",
    [
        '<a href="guide/other%20page.html#first">there</a>',
        '<a href="#first">here</a>',
        '<a href="guide/other%20page.html#:~:text=First">a text there</a>',
        '<a href="https://example.org/page.html#anywhere">elsewhere</a>',
        '<link rel="canonical" href="https://example.org/"><img src="data:," alt="">',
    ],
)
def test_what_is_right_passes(check_site, tmp_path, body):
    assert told(check_site, tmp_path, body) == []


@pytest.mark.parametrize(
    "body, message",
    [
        ('<a href="guide/none.html">there</a>', "which is no file"),
        ('<img src="none.png" alt="a picture">', "which is no file"),
        ('<a href="guide/other%20page.html#second">there</a>', "which is no anchor there"),
        ('<script src="https://example.org/mathjax.js"></script>', "loads https://example.org"),
        ('<link rel="stylesheet" href="//example.org/site.css">', "loads //example.org"),
        ('<img src="data:,">', "without a text"),
    ],
)
def test_what_is_broken_is_told(check_site, tmp_path, body, message):
    (found,) = told(check_site, tmp_path, body)
    assert found.startswith("index.html") and message in found
