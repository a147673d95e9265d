"""Tables as text for the terminal, and as Markdown for README.md."""

import json
import os
import sys
from pathlib import Path

from tables.cells import tables

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def as_text(results):
    parts = []
    for title, columns, body in tables(results):
        widths = [max(len(row[k]) for row in [columns, *body]) for k in range(len(columns))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
                 for row in [columns, tuple("-" * w for w in widths), *body]]  # fmt: skip
        parts.append("\n".join([title, "", *lines]))
    return "\n\n".join(parts)


def as_markdown(results):
    machine = results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    peers = results.get("peer_versions", {})
    lines = [
        f"{results['date']}. {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gb']} GB, {machine['system']}. Python {machine['python']}; {versions}; "
        f"{'; '.join(machine['blas'])}.",
        *[f"{', '.join(f'{k} {v}' for k, v in found.items())}." for found in peers.values()],
        f"Load average at the start of each experiment: "
        f"{min(results['loads'].values()):.1f} to {max(results['loads'].values()):.1f}.",
    ]
    for title, columns, body in tables(results):
        lines += ["", f"### {title}", ""]
        lines += [_markdown_row(row) for row in [columns, ["---"] * len(columns), *body]]
    if results["notes"]:
        lines += ["", "### What failed", ""]
        lines += [f"- {name}: `{text.splitlines()[-1]}`" for name, text in results["notes"]]
    return "\n".join(lines)


def _markdown_row(cells):
    return f"| {' | '.join(cells)} |"


def rewrite(readme, results, pictures):
    """Put the tables and pictures between the two markers of README.md."""
    text = Path(readme).read_text()
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{readme} must have the markers {BEGIN} and {END}.")
    shown = [f"![{path.stem}]({os.path.relpath(path, Path(readme).parent)})" for path in pictures]
    body = "\n\n".join([as_markdown(results), *shown])
    Path(readme).write_text(f"{before}{BEGIN}\n\n{body}\n\n{END}{after}")


def load(path):
    """Stored results; what is missing is named."""
    if not Path(path).exists():
        sys.exit(f"There is no {path}: run the benchmarks first, or give their --output.")
    return json.loads(Path(path).read_text())
