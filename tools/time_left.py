"""Compare the seconds left that a fit tells with those that it took, on the CPU's clock.

    python tools/time_left.py TABLE.npz ROWS ESTIMATOR [likelihood]

``TABLE.npz`` has X and y, of which so many random rows are fitted. At a third, a half and two
thirds of the fit it prints what a line tells, and the seconds that were left.
"""

import sys
import time
import warnings

time.perf_counter = time.process_time

import numpy as np  # noqa: E402

import sklearn_sgp  # noqa: E402
from sklearn_sgp.optimize.progress import Trace  # noqa: E402


def followed(table, n_rows, name, options):
    """Fit; return its seconds, and for each entry the seconds so far and what is told."""
    order = np.random.default_rng(100).permutation(len(table["y"]))[:n_rows]
    told, add, begin = [], Trace.add, time.process_time()

    def noted(trace, *entry):
        stops = add(trace, *entry)
        if trace.on_iteration is not None:  # not of a part of the fit with a clock of its own
            told.append((time.process_time() - begin, trace.seconds().partition("(")[2][:-1]))
        return stops

    Trace.add = noted
    model = getattr(sklearn_sgp, name)(random_state=0, **options)
    model.fit(table["X"][order].astype(float), table["y"][order])
    return time.process_time() - begin, told


def main(path, n_rows, name, *likelihood):
    """Print what was told, and what was left."""
    options = {"likelihood": likelihood[0]} if likelihood else {}
    end, told = followed(np.load(path), int(n_rows), name, options)
    for share in (1 / 3, 1 / 2, 2 / 3):
        now, said = next((one for one in told if one[0] >= share * end), told[-1])
        print(f"{share:.2f} of {end:.2f} s: {said or 'nothing told'}, {end - now:.2f} s were left")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
