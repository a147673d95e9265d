"""Tables from results: text for the terminal, Markdown for README.md."""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from measures import TABLES

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
_COLUMNS = ("measure", "ours", "reach", "met", "known before", "peers, same run", "times better")


def hardware():
    """What the figures depend on, as data."""
    from threadpoolctl import threadpool_info

    import sklearn_sgp._core._linalg  # noqa: F401  (loads the BLAS that is asked about)

    names = ("numpy", "scipy", "scikit-learn", "joblib")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory_gb(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in names} | {"sklearn_sgp": _own_version()},
        "blas": [
            f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}, "
            f"{pool['num_threads']} threads"
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ],
    }


def _own_version():
    import sklearn_sgp

    where = Path(sklearn_sgp.__file__).resolve().parent
    command = ["git", "-C", str(where), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return sklearn_sgp.__version__
    return f"{sklearn_sgp.__version__} ({done.stdout.strip()})"


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def _memory_gb():
    if not hasattr(os, "sysconf"):
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def _number(value):
    """Four significant digits, without an exponent where that is readable."""
    if value is None:
        return "not reached"
    if not 1e-4 <= abs(value) < 1e7 and value != 0:
        return f"{value:.2e}"
    digits = 0 if abs(value) >= 1000 else 4 if abs(value) < 1 else 2
    return f"{value:,.{digits}f}"


def _duration(seconds):
    return f"{_number(1e3 * seconds)} ms" if seconds > 1e-4 else f"{_number(1e6 * seconds)} µs"


def _met(measure, value):
    met = measure.met(value)
    return "" if met is None else "yes" if met else "NO"


def _ratios(measure, value, peers):
    if not measure.ratio or value is None:
        return ""
    better = []
    for name, other in peers.items():
        if other is None:
            better.append(f"{name}: never")
        else:
            ratio = value / other if measure.unit == "rows/s" else other / value
            better.append(f"{name}: {ratio:.2g}")
    return "; ".join(better)


def rows(results, measures):
    """Cells of a table, only for experiments that have run."""
    for measure in measures:
        found = results["experiments"].get(measure.experiment)
        if found is None:
            continue
        title = f"{measure.title} [{measure.unit}]" if measure.unit else measure.title
        if measure.key not in found.get("values", {}):
            if measure.rival:
                yield (title, f"needs {measure.rival}", *[""] * (len(_COLUMNS) - 2))
            continue
        value, peers = found["values"][measure.key], found["peers"].get(measure.key, {})
        toy = results.get("toy", False)  # what is to be reached means nothing there
        shown = None if value is None else value * measure.factor
        beside = [
            f"{name} {_number(other if other is None else other * measure.factor)}"
            for name, other in peers.items()
        ]
        yield (
            title,
            _number(shown),
            "" if toy else measure.target,
            "" if toy else _met(measure, shown),
            "" if toy else measure.reference,
            "; ".join(beside),
            _ratios(measure, value, peers),
        )


def _step_rows(results):
    """Where the time of each part goes: arithmetic owed, arithmetic done, overhead."""
    found = results["experiments"].get("micro")
    if found is None or "details" not in found:
        return
    for part in found["details"]["parts"]:
        rate = part["gflop_done"] / part["seconds"]
        yield (
            f"{part['part']}, {part['form']}",
            _duration(part["seconds"]),
            f"{part['gflop_owed']:.3g}",
            f"{part['gflop_done']:.3g}",
            f"{rate:.0f} GFLOP/s",
            f"{part['share_owed']:.0%}",
            f"{part['share_done']:.0%}",
            f"{1 - part['share_done']:.0%}",
        )


_STEP_COLUMNS = ("part", "time", "Gflop owed", "Gflop done", "rate", "owed at peak", "done at peak",
                 "overhead")  # fmt: skip


def _growth_rows(results):
    for axis in "nmd":
        found = results["experiments"].get(f"growth_{axis}")
        for point in found.get("details", {}).get("points", []) if found else []:
            timed = [
                _number(1e3 * point[key]) if key in point else ""
                for key in ("fit", "evaluation", "step", "inducing")
            ]
            sizes = [f"{point[key]:,}" for key in ("n", "m", "d", "n_jobs")]
            form = "whitened" if point["whitened"] else "direct"
            yield (axis, *sizes, form, *timed, _number(point["megabytes"]))


_GROWTH_COLUMNS = ("grows", "n", "m", "d", "n_jobs", "form", "exact fit, ms", "evaluation, ms",
                   "step, ms", "k-means, ms", "fit memory, MB")  # fmt: skip


def tables(results):
    """(title, columns, rows) of every table that has rows."""
    made = [(title, _COLUMNS, list(rows(results, some))) for title, some in TABLES.items()]
    made.insert(2, ("Where the time goes", _STEP_COLUMNS, list(_step_rows(results))))
    made.append(("Growth, point by point", _GROWTH_COLUMNS, list(_growth_rows(results))))
    return [table for table in made if table[2]]


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
