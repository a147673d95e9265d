"""Tables as text for the terminal, and as Markdown for README.md."""

import json
import os
import sys
from pathlib import Path

from tables import front, opening
from tables.cells import tables

# What all rows of a page have in common
KEYS = ("commit", "seconds", "splits", "toy")
# Where the page has what it opens with, and all results
OPENING = "<!-- opening: begin -->", "<!-- opening: end -->"
ALL = "<!-- results: begin -->", "<!-- results: end -->"
# Where the project's README has its table.
FRONT = "<!-- ten tables: begin -->", "<!-- ten tables: end -->"


def as_text(results):
    parts, body = [], list(opening.rows(results))
    if body:
        parts = [opening.losses(results), _text_table(opening.TITLE, opening.COLUMNS, body)]
        parts.append(opening.legend(results))
    results, left_out = of_newest_run(results)
    if results["experiments"]:
        parts.append("\n".join(heading(results, left_out)))
    return "\n\n".join([*parts, *(_text_table(*table) for table in tables(results))])


def _text_table(title, columns, body):
    widths = [max(len(row[k]) for row in [columns, *body]) for k in range(len(columns))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
             for row in [columns, tuple("-" * w for w in widths), *body]]  # fmt: skip
    return "\n".join([title, "", *lines])


def of_newest_run(results):
    """The results of the newest run's commit and settings, and the names of all others."""
    kept = {
        name: found
        for name, found in results["experiments"].items()
        if all(found[key] == results["run"][key] for key in KEYS)
    }
    return {**results, "experiments": kept}, sorted(set(results["experiments"]) - set(kept))


def of_other_runs(results):
    """The results that the newest run does not have, by commit and settings, newest first."""
    groups = {}
    for name in of_newest_run(results)[1]:
        found = results["experiments"][name]
        groups.setdefault(tuple(found[key] for key in KEYS), {})[name] = found
    newest = sorted(groups.values(), key=lambda g: max(e["begun"] for e in g.values()))[::-1]
    return [{**results, "experiments": group} for group in newest]


def heading(results, left_out):
    """What the figures depend on: commit, date, machine, load, settings."""
    run, machine = results["run"], results["run"]["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    shown = results["experiments"].items()
    found = [record for _, record in shown]
    loads, days = [e["load"] for e in found], [e["begun"][:10] for e in found]
    whole = f"{sum(e['took'] for e in found) / 60:.0f} minutes"
    lines = [
        f"Commit {run['commit']}. {' to '.join(sorted({min(days), max(days)}))}, {whole} in all. "
        f"Load average at the start of each experiment: {min(loads):.1f} to {max(loads):.1f}.",
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
        f"{machine['system']}. Python {machine['python']}; {versions}; "
        f"{'; '.join(machine['blas'])}.",
        *[f"{', '.join(f'{k} {v}' for k, v in peer.items())}." for peer in run["peers"].values()],
        f"Rivals on the curves: {run['seconds']:g} s of training. Splits: {run['splits']}, where "
        "there are several and the row does not say otherwise.",
    ]
    if "+" in run["commit"]:
        lines.append("What follows the + is a hash of changes that were not committed.")
    if left_out:
        lines.append(f"Measured at another commit or with other settings: {', '.join(left_out)}.")
    ran = [f"{name} {e['begun'][-5:]}, {e['took']:.0f} s, {e['load']:.1f}" for name, e in shown]
    return [*lines, f"When each began, its seconds, and the load then: {'; '.join(ran)}."]


def as_markdown(results):
    others = of_other_runs(results)
    results, left_out = of_newest_run(results)
    if not results["experiments"]:
        return "Nothing was measured at the newest run's commit."
    lines = ["\n\n".join(heading(results, left_out))]
    lines += _sections(results, "###")
    for other in others:
        below = _sections(other, "####")
        lines += ["", f"### {_title(other)}", *below] if below else []
    notes = [
        f"- {name}: `{note.splitlines()[-1]}`"
        for name, found in results["experiments"].items()
        for note in found["notes"]
    ]
    if notes:
        lines += ["", "### What failed or was cut off", "", *notes]
    return "\n".join(lines)


def _sections(results, mark):
    lines = []
    for title, columns, body in tables(results):
        lines += ["", f"{mark} {title}", "", *_markdown_table(columns, body)]
    return lines


def _title(results):
    """What the experiments of another run have in common."""
    found = list(results["experiments"].values())
    return (
        f"Commit {found[0]['commit'][:9]}, {max(e['begun'] for e in found)}, "
        f"{found[0]['splits']} splits at most, load {max(e['load'] for e in found):.1f} at most"
    )


def opening_as_markdown(results):
    """Where ours is behind, and the table that the page opens with."""
    body = list(opening.rows(results))
    if not body:
        return opening.NOTHING
    table, legend = "\n".join(_markdown_table(opening.COLUMNS, body)), opening.legend(results)
    return "\n\n".join([f"## {opening.TITLE}", opening.losses(results), table, legend])


def _markdown_table(columns, body):
    return [f"| {' | '.join(row)} |" for row in [columns, ["---"] * len(columns), *body]]


def rewrite(readme, results, pictures):
    """Put the opening table, all tables and the pictures between their markers of README.md."""
    shown = [f"![{path.stem}]({os.path.relpath(path, Path(readme).parent)})" for path in pictures]
    text = _between(Path(readme).read_text(), OPENING, opening_as_markdown(results), readme)
    text = _between(text, ALL, "\n\n".join([as_markdown(results), *shown]), readme)
    Path(readme).write_text(text)


def rewrite_front(readme, results):
    """Put the table of ten between its markers of the project's README."""
    text = _between(Path(readme).read_text(), FRONT, front.as_markdown(results), readme)
    Path(readme).write_text(text)


def _between(text, markers, body, readme):
    """The text with another body between two markers."""
    begin, end = markers
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{readme} must have the markers {begin} and {end}.")
    return f"{before}{begin}\n\n{body}\n\n{end}{after}"


def load(path):
    """Stored results; what is missing is named."""
    if not Path(path).exists():
        sys.exit(f"There is no {path}: run the benchmarks first, or give their --output.")
    return json.loads(Path(path).read_text())
