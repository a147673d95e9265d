"""The code of the site's pages and what it prints, read from their Markdown."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"<!-- (not run|needs): (.*?) -->\n$")


@dataclass
class Block:
    """One block of Python, and the output that the page shows right below it."""

    code: str
    printed: str
    line: int
    end: int  # offset in the page
    not_run: str  # why, or empty
    needs: str  # packages, separated by spaces


def blocks(text):
    """Blocks of a page in order.

    A comment on the line before a block, ``<!-- not run: why -->`` or ``<!-- needs: package -->``,
    says what keeps it from being run.
    """
    found = []
    for match in _BLOCK.finditer(text):
        kind, body = match.groups()
        if kind == "text":
            if found and not text[found[-1].end : match.start()].strip():
                found[-1].printed = body
            continue
        marker = dict([m.groups()] if (m := _MARKER.search(text[: match.start()])) else [])
        line = text.count("\n", 0, match.start()) + 1
        found.append(
            Block(body, "", line, match.end(), marker.get("not run", ""), marker.get("needs", ""))
        )
    return found
