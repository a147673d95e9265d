"""The long run: thousands of cases, with counts, seeds, and small examples of what fails.

    python tests/hostile/run.py --cases 10000 --seed 0
    python tests/hostile/run.py --replay "Case(estimator='SVGPRegressor', course='batches')"

Cases come from hypothesis, a hundred to a seed, in processes of their own: one that dies or hangs
is a failure, and the next seed goes on.
"""

import argparse
import faulthandler
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]
EACH = 100  # cases of a seed
_SEARCH = 10  # examples of one search


def main():
    """Run cases, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument(
        "--about", default="", help="words, one of which a case has in what is not default"
    )
    parser.add_argument("--replay", help="the repr of a case")
    parser.add_argument("--smaller", type=int, default=40, help="tries to simplify a failure")
    parser.add_argument("--refusals", action="store_true", help="print messages of errors")
    parser.add_argument("--strategies", action="store_true", help="count cases and failures")
    parser.add_argument("--worker", nargs=4, metavar=("SEED", "CASES", "ABOUT", "LOG"))
    options = parser.parse_args()
    if options.worker:
        seed, cases, about, log = options.worker
        _work(int(seed), int(cases), about.split(), log)
    elif options.replay:
        _replay(options.replay)
    else:
        sys.exit(_survey(options))


# A process ---------------------------------------------------------------------------------------


def _work(seed, count, about, log):
    import hypothesis
    from hostile_cases import Case, cases

    # Later examples of one search resemble its earlier ones: many short searches differ more.
    settings = hypothesis.settings(
        max_examples=_SEARCH,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    n_done = 0

    def every(case):
        nonlocal n_done
        said = _short(case)
        if n_done == count or case == Case() or not (any(map(said.count, about)) or not about):
            return
        n_done += 1
        _append(log, {"case": repr(case)})
        _append(log, _outcome(case))

    search = 0
    while n_done < count:
        seeded = hypothesis.seed(1_000 * seed + search)
        seeded(settings(hypothesis.given(cases())(every)))()
        search += 1


def _append(log, line):
    with open(log, "a") as file:
        print(json.dumps(line), file=file)


def _outcome(case):
    """Refusals of a case, or its failure: what it is, and where."""
    from hostile_oracle import run

    # of what does not come back to Python
    faulthandler.dump_traceback_later(3600.0, exit=True)
    started = time.perf_counter()
    try:
        outcome = {"refusals": run(case)}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        outcome = {"failure": f"{type(error).__name__}: {error}", "where": _where(error)}
    finally:
        faulthandler.cancel_dump_traceback_later()
    return outcome | {"seconds": time.perf_counter() - started}


def _where(error):
    while error.__cause__ is not None and type(error).__name__ in ("Nonsense", "Broken"):
        error = error.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "sklearn_sgp" in f.filename or f.filename.startswith(str(HERE))]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in ours[:-4:-1])


# All of them -------------------------------------------------------------------------------------


def _survey(options):
    failures, refusals, examples = defaultdict(list), Counter(), {}
    strategies, failed_by = Counter(), Counter()
    done, started, slowest, seed = 0, time.perf_counter(), (0.0, None), options.seed
    while done < options.cases and time.perf_counter() - started < options.seconds:
        count = min(EACH, options.cases - done)
        for case, outcome in _slice(seed, count, options.about):
            done += 1
            of_case = [] if case is None else _strategies(_case(case))
            strategies.update(of_case)
            if "failure" in outcome:
                failed_by.update(of_case)
                found = failures[_signature(outcome)]
                found.append((seed, case, outcome))
                if len(found) == 1:
                    print(f"seed {seed}: {outcome['failure'][:300]}\n{case}", flush=True)
            for template in {_template(text) for text in outcome.get("refusals", ())}:
                refusals[template] += 1
                examples.setdefault(template, case)
            slowest = max(slowest, (outcome.get("seconds", 0.0), case))
        print(f"seed {seed}: {done} cases, {len(failures)} kinds of failure", flush=True)
        seed += 1
    for signature, found in failures.items():
        _report(signature, found, options.smaller)
    if options.refusals:
        for template, times in refusals.most_common():
            print(f"{times:6d} {template}\n       {_short(_case(examples[template]))}")
    if options.strategies:
        for name, times in sorted(strategies.items()):
            print(f"{times:6d} {failed_by[name]:4d} {name}")
    seconds = time.perf_counter() - started
    failed = sum(map(len, failures.values()))
    print(f"slowest: {slowest[0]:.1f} s {slowest[1]}")
    print(
        f"{done} cases of seeds {options.seed} to {seed - 1} in {seconds:.0f} s: {failed} failed "
        f"in {len(failures)} ways, {sum(refusals.values())} refusals of {len(refusals)} kinds"
    )
    return bool(failures)


def _strategies(case):
    """Names of what a case tries, for counts."""
    names = [case.estimator, f"course: {case.course}"]
    names += [f"{name}={value}" for name, value in case.parameters]
    for about in ("inputs", "targets", "weights", "layout", "missing", "blocks"):
        names.append(f"{about}: {getattr(case.table, about)}")
    names += [
        f"{about}: {getattr(case.table, about)}" for about in ("y_layout", "order", "outputs")
    ]
    names.append(f"spoilt: {case.table.spoilt != 'nothing'}")
    names.append(f"units: {case.table.x_scale:g}, {case.table.y_scale:g}")
    return names


def _slice(seed, count, about=""):
    """Pairs of a case and its outcome."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        command = [sys.executable, __file__, "--worker", str(seed), str(count), about, str(log)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=None)
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    starts = [line["case"] for line in lines if "case" in line]
    outcomes = [line for line in lines if "case" not in line]
    if len(starts) > len(outcomes) or done.returncode:
        said = str(done.stderr.strip().splitlines()[-12:])
        outcomes.append({"failure": f"the process ended with {done.returncode}", "where": said})
        starts += [None] * (len(outcomes) - len(starts))
    return list(zip(starts, outcomes, strict=True))


def _signature(outcome):
    return _template(outcome["failure"])[:120] + " @ " + outcome["where"]


def _template(text):
    text = " ".join(text.split("\n[")[0].split())
    return re.sub(r"[-+]?\d[\d.e+-]*", "#", re.sub(r"'[^']*'|\[[^\]]*\]", "_", text))[:300]


def _report(signature, found, tries):
    from hostile_cases import smaller

    _, text, outcome = found[0]
    seeds = sorted({seed for seed, *_ in found})
    print(f"\n## {len(found)} times, seeds {seeds}: {outcome['failure'][:400]}")
    print(f"   {outcome['where']}")
    if text is None:
        return
    case = _case(text)
    if tries and outcome.get("seconds", 0.0) < 10.0:
        case = smaller(case, lambda c: _signature_of(c) == signature, tries)
    print(f"   {_short(case)}")


def _signature_of(case):
    outcome = _outcome(case)
    return _signature(outcome) if "failure" in outcome else None


def _case(text):
    import hostile_cases
    import hostile_tables

    return eval(text, {"Case": hostile_cases.Case, "Table": hostile_tables.Table})


def _short(value):
    """The repr of a case without what is as by default."""
    from dataclasses import fields, is_dataclass

    if not is_dataclass(value):
        return repr(value)
    parts = [
        f"{field.name}={_short(getattr(value, field.name))}"
        for field in fields(value)
        if getattr(value, field.name) != field.default
    ]
    return f"{type(value).__name__}({', '.join(parts)})"


def _replay(text):
    from hostile_oracle import run

    print("refusals:", *run(_case(text)), sep="\n  ")


if __name__ == "__main__":
    main()
