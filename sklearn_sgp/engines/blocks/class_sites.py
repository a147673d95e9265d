"""Several classes near rows by sites, each class against the rest, where regressions began.

Edges between classes are sharper than the noise that regressions give to labels: their kernel has
length scales that are too short and variances that are too small for sites. Labels of left-out
rows say which are right.
"""

import numpy as np

from ..._parallel import single_blas_thread
from ...objectives.near_sites import NearSites
from ...objectives.scores import Score
from ...optimize.choices import climb
from ...partitions.sampling import LARGEST_WHOLE, whole_group
from .class_variance import Judge

# Factors of variances, then of both; powers of these are tried. A softmax of inducing inputs has
# the same ones.
_VARIANCE, _LONGER, _MOST_POWERS = 4.0, 1.5, 4
# Rows that are one group, times classes, at most. 300 rows of three classes take 1.0 s of CPU in
# the place of 0.3 s; 1,000 rows of oil_flow, of which groups have to be made, took 16 to 20 s in
# the place of 2.3 s, and stayed with regressions.
_MOST_ROWS_OF_CLASSES = 3 * LARGEST_WHOLE


def affords_sites(problem):
    """Return whether sites of all rows, of each class, are found in little time."""
    n, n_classes = problem.rows.y.shape
    return n <= LARGEST_WHOLE and n * n_classes <= _MOST_ROWS_OF_CLASSES


def with_kernel_of_labels(problem, parameters):
    """Change variances and length scales to what predicts classes of left-out rows best.

    Parameters
    ----------
    problem : Problem
        With a likelihood that has sites, and few rows.
    parameters : Parameters
        As learned by regressions.

    Returns
    -------
    best : Tried
        Its result are parameters.
    """
    likelihood, rows = problem.start.likelihood, problem.rows
    evidence = NearSites([whole_group(rows)], likelihood, problem.settings.n_jobs)
    _, weight = rows.weights

    def score(changed):
        left_out = evidence.left_out(changed)
        return Score(likelihood.log_predictive_density(rows.y, *left_out), weight)

    with single_blas_thread():  # the group is small
        for name, scales in (("variance", 1.0), ("variance and length scales", _LONGER)):
            judge = Judge(problem.start.space, parameters, score, _VARIANCE, scales)
            how = (1, -1), _MOST_POWERS, Score.is_better
            best = climb(judge.tried(0), judge.tried, *how, f"sites: {name}", problem.trace)
            parameters = best.result
    return best


def left_out_score(fitted, rows, place, n_jobs):
    """Return the log probabilities of classes of rows, each given all others: `Score`.

    Parameters
    ----------
    place : ndarray of shape (n,)
        Numbers of the classes.
    """
    mean, variance = fitted.predictor.left_out(rows, None, n_jobs)
    variance = np.ascontiguousarray(np.broadcast_to(variance, mean.shape))
    log_p = fitted.likelihood.log_predictive_density(place[:, None], mean, variance)
    return Score(log_p, rows.weights[1])
