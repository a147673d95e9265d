"""Run the benchmarks: ``python benchmarks/run.py --help``."""

import argparse
import json
import os
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from experiments.catalogue import EXPERIMENTS, NEEDS_DATA, ON_REQUEST
from experiments.context import Context
from protocol import AdapterError, call
from tables import plots, report
from tables.machine import hardware

HERE = Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description="Benchmarks of sklearn_sgp and its peers.")
    parser.add_argument("--data", type=Path, help="folder of the .npz data sets")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        choices=EXPERIMENTS,
        help="experiments to run: %(choices)s",
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        default=[],
        metavar="NAME=PYTHON",
        help="gpflow and gpytorch: the interpreter of each one's environment",
    )
    parser.add_argument("--seconds", type=float, default=240.0, help="of training, on the curves")
    parser.add_argument("--splits", type=int, default=20, help="of the small sets")
    parser.add_argument("--output", type=Path, help="folder for results.json and pictures")
    parser.add_argument("--smoke", action="store_true", help="everything of ours at toy size")
    parser.add_argument(
        "--report",
        action="store_true",
        help="only rewrite README.md and the pictures from the stored results",
    )
    return parser.parse_args()  # fmt: skip


def named_peers(pairs):
    """Interpreters by library; a name that is not known ends the run."""
    peers = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if len(peers) < len(pairs) or not set(peers) <= {"gpflow", "gpytorch"}:
        sys.exit(f"--peers takes gpflow=PYTHON and gpytorch=PYTHON. Got {' '.join(pairs)}.")
    return peers


def chosen(args):
    """Names of the experiments to run."""
    names = args.only or [name for name in EXPERIMENTS if args.smoke or name not in ON_REQUEST]
    if args.data is None and not args.smoke:
        left_out = [name for name in names if name in NEEDS_DATA]
        if left_out:
            print(f"without --data, not run: {', '.join(left_out)}")
        names = [name for name in names if name not in NEEDS_DATA]
    return names


def stored(path):
    """Results so far, so that a run of some experiments keeps the others."""
    if path.exists():
        return json.loads(path.read_text())
    return {"experiments": {}, "loads": {}, "notes": [], "peer_versions": {}}


def run(names, context, results, path):
    """Run experiments, and store the results after each.

    Returns
    -------
    failed : bool
        Whether something of ours ended with an error.
    """
    failed = False
    for name in names:
        print(f"{name} ...", end=" ", flush=True)
        begin, context.notes = time.perf_counter(), []
        results["loads"][name] = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        results["notes"] = [note for note in results["notes"] if note[0] != name]
        try:
            found = EXPERIMENTS[name](context)
        except AdapterError as error:
            failed = True
            context.notes.append(str(error))
        else:
            results["experiments"][name] = {"peers": {}, "peer_seconds": context.seconds, **found}
        results["notes"] += [[name, note] for note in context.notes]
        print(f"{time.perf_counter() - begin:.1f} s")
        for note in context.notes:
            print(note)
        path.write_text(json.dumps(results, indent=1))
    return failed


def main():
    args = arguments()
    output = args.output or HERE / "results"
    if args.report:
        results = report.load(output / "results.json")
        report.rewrite(HERE / "README.md", results, plots.draw(results, output))
        return 0
    peers = named_peers(args.peers)
    with tempfile.TemporaryDirectory() as folder:
        if args.smoke and args.output is None:
            output = Path(folder) / "results"
        output.mkdir(parents=True, exist_ok=True)
        context = Context(
            args.data,
            peers,
            args.seconds,
            args.splits,
            args.smoke,
            Path(folder),
            None if args.smoke else output / "rivals.json",
        )
        results = stored(output / "results.json")
        results |= {"date": date.today().isoformat(), "machine": hardware()}
        results["toy"] = args.smoke
        for library, python in peers.items():
            (found,) = call(python, f"peers/{library}_regression", "versions")
            results["peer_versions"][library] = found
        failed = run(chosen(args), context, results, output / "results.json")
        pictures = plots.draw(results, output)
        if args.smoke:
            print("\ntoy sizes: whether it runs, not how fast or how well")
        print(f"\n{report.as_text(results)}")
        if not (args.smoke and args.output is None):
            print(f"\nstored in {output}: results.json, {', '.join(p.name for p in pictures)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
