"""Run the benchmarks: ``python benchmarks/run.py --help``."""

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from experiments.catalogue import EXPERIMENTS, GROUPS, members
from experiments.context import Context
from experiments.records import without_groups
from protocol import AdapterError, call
from tables import front, paper_plots, plots, report
from tables.machine import commit, hardware

HERE = Path(__file__).resolve().parent
README, RESULTS = HERE / "README.md", HERE / "results"
IMAGES = HERE.parent / "docs" / "images"
_ADAPTER = "_regression.py"  # of each library with an environment of its own
LIBRARIES = sorted(
    path.name.removesuffix(_ADAPTER) for path in (HERE / "peers").glob(f"*{_ADAPTER}")
)


def arguments():
    parser = argparse.ArgumentParser(description="Benchmarks of sklearn_sgp and its peers.")
    parser.add_argument("--data", type=Path, help="folder of the .npz data sets")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        choices=[*EXPERIMENTS, *GROUPS],
        help=f"experiments to run, or groups of them ({', '.join(GROUPS)}): %(choices)s",
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        default=[],
        metavar="NAME=PYTHON",
        help=f"{', '.join(LIBRARIES)}: the interpreter of the environment that has the library; "
        "several may share one",
    )
    parser.add_argument(
        "--seconds", type=float, default=45.0, help="of training, ours and the peers' (%(default)s)"
    )
    parser.add_argument(
        "--splits", type=int, default=5, help="of data sets that have several (%(default)s)"
    )
    parser.add_argument(
        "--limit", type=float, default=float("inf"), help="seconds of each experiment, at most"
    )
    parser.add_argument("--output", type=Path, help="folder for results.json and pictures")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few of the tables of unseen_tables; stored only in --output",
    )
    parser.add_argument("--smoke", action="store_true", help="everything of ours at toy size")
    parser.add_argument("--plan", action="store_true", help="only say what would be run")
    parser.add_argument(
        "--report",
        action="store_true",
        help="only rewrite README.md and the pictures from the stored results",
    )
    return parser.parse_args()  # fmt: skip


def named_peers(pairs):
    """Interpreters by library; a name that is not known ends the run."""
    peers = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if len(peers) < len(pairs) or not set(peers) <= set(LIBRARIES):
        known = ", ".join(f"{library}=PYTHON" for library in LIBRARIES)
        sys.exit(f"--peers takes {known}. Got {' '.join(pairs)}.")
    return peers


def chosen(args):
    """Names of the experiments to run."""
    names = members(args.only or ()) or [
        name for name, found in EXPERIMENTS.items() if args.smoke or not found.on_request
    ]
    if args.data is None and not args.smoke:
        left_out = [name for name in names if EXPERIMENTS[name].needs_data]
        if left_out:
            print(f"without --data, not run: {', '.join(left_out)}")
        names = [name for name in names if name not in left_out]
    return names


def print_plan(names, args, results):
    """What is going to run, for how long at most, and how long it took when it ran last."""
    before = results["experiments"]
    for name in names:
        last = f"{before[name]['took']:.0f} s last time" if name in before else "not run before"
        print(f"{name}: at most {EXPERIMENTS[name].limit:g} s; {last}")
    minutes = sum(EXPERIMENTS[name].limit for name in names) / 60
    print(
        f"{len(names)} experiments at commit {results['run']['commit']}, at most {minutes:.0f} "
        f"minutes; {args.seconds:g} s of training on the curves, {args.splits} splits\n"
    )


def stored(path):
    """Results so far, so that a run of some experiments keeps the others of its commit."""
    return json.loads(path.read_text()) if path.exists() else {"experiments": {}}


def described(args, peers):
    """What all rows of this run have in common."""
    return {
        "commit": commit(HERE.parent),
        "machine": hardware(),
        "toy": args.smoke,
        "seconds": args.seconds,
        "splits": args.splits,
        "peers": {
            library: call(python, f"peers/{library}_regression", "versions").records[0]
            for library, python in peers.items()
        },
    }


def run_one(name, context):
    """Record of an experiment, and whether something of ours ended with an error."""
    experiment, failed, found = EXPERIMENTS[name], False, {}
    record = {
        "begun": datetime.now().isoformat(sep=" ", timespec="minutes"),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "limit": experiment.limit,
    }
    begin = time.perf_counter()
    context.begin(experiment.limit)
    try:
        found = without_groups(experiment.run(context))
    except AdapterError as error:
        failed = True
        context.notes.append(str(error))
    except Exception:  # the others still run; this one is on the page as failed
        failed = True
        context.notes.append(traceback.format_exc())
    record |= {"took": time.perf_counter() - begin, "calls": context.calls, "notes": context.notes}
    return {"values": {}, "errors": {}, "peers": {}, **found, **record}, failed


def records(names, context):
    """Yield the record of each experiment, and whether it failed: in turn, toys side by side."""
    if not context.smoke:
        yield from (run_one(name, context) for name in names)
        return

    def alone(name):  # files of its own: another may be writing those of the same name
        folder = context.folder / name
        folder.mkdir()
        return run_one(name, replace(context, folder=folder, notes=[], calls=[]))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(alone, names)


def run(names, context, results, path):
    """Run experiments, and store the results after each; whether one of them failed."""
    any_failed, measured = False, records(names, context)
    for name in names:
        print(f"{name} ...", end=" ", flush=True)
        record, failed = next(measured)
        shared = {key: results["run"][key] for key in report.KEYS}
        results["experiments"][name] = {**shared, **record}
        any_failed |= failed
        print(f"{record['took']:.1f} s")
        for note in record["notes"]:
            print(note)
        path.write_text(json.dumps(results, indent=1, default=float))
    # in the order of the catalogue, whatever was run first
    known = results["experiments"]
    results["experiments"] = {name: known[name] for name in EXPERIMENTS if name in known}
    return any_failed


def main():
    args = arguments()
    if args.smoke:
        args.seconds = min(args.seconds, 2.0)
    output = args.output or RESULTS
    if args.report:
        results = report.load(output / "results.json")
        rewrite(results, output)
        return 0
    peers = named_peers(args.peers)
    with tempfile.TemporaryDirectory() as folder:
        if (args.smoke or args.quick) and args.output is None:
            output = Path(folder) / "results"
        output.mkdir(parents=True, exist_ok=True)
        results, names = stored(output / "results.json"), chosen(args)
        results["run"] = described(args, peers)
        print_plan(names, args, results)
        if args.plan:
            return 0
        context = Context(
            args.data, peers, args.seconds, args.splits, args.smoke, Path(folder),
            results["experiments"], args.limit, args.quick,
        )  # fmt: skip
        failed = run(names, context, results, output / "results.json")
        if args.smoke:
            print("\ntoy sizes: whether it runs, not how fast or how well")
        print(f"\n{report.as_text(results)}")
        if args.smoke:
            plots.draw(report.of_newest_run(results)[0], output)
        elif args.quick:
            print("\nfew of many tables: not for the page")
        elif args.output is None and args.only is None:
            rewrite(results, output)
        elif set(names) & set(GROUPS["papers"]):
            paper_plots.draw(results, IMAGES if args.output is None else output)
        print(f"\nstored in {output}: results.json")
    return int(failed)


def rewrite(results, output):
    """Fill the page, and the table and picture of the project's README."""
    shown = report.of_newest_run(results)[0]
    report.rewrite(README, results, plots.draw(shown, output))
    front.draw(results, IMAGES)
    paper_plots.draw(results, IMAGES)
    report.rewrite_front(HERE.parent / "README.md", results)


if __name__ == "__main__":
    sys.exit(main())
