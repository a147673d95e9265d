"""How large the functions of classes are: as large as labels of left-out rows say.

The noise that labels are given as targets is far more than they scatter by, and the evidence of the
regressions does not know which variance predicts labels best. Groups of near rows tell, of which
each row is left out, before q(u) is found.
"""

import time
from copy import deepcopy
from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...kernels._length_scales import with_larger_variance, with_shorter_scales
from ...objectives.scores import Score
from ...optimize.choices import Tried, climb
from .composite_learning import CompositeLearning

# So many rows are enough to hold some out, and the whole model of the others is asked.
LEAST_HELD_OUT = 8192
# All variances are multiplied by powers of this, the next one while it gains.
_TIMES, _MOST_POWERS = 2.5, 4
# Rows that are left out.
_ROWS_LEFT_OUT = 2048


def with_variance_of_labels(problem, parameters):
    """Multiply the kernel by what predicts classes of left-out rows best.

    A factor has to gain more than the standard error over that before it. Log probabilities of new
    rows and errors, two draws of elec2 (3,000 rows): -.3072 and -.3006, .134 and .135 as learned,
    -.2995 and -.2836, .124 and .122 with six times the variance. Of 37 draws of twelve tables of
    166 to 3,000 rows, two to ten classes, 23 had another variance: 19 gained up to .0235, two lost,
    .0028 and .0041. Half of the rows were too few: ten digits lost .0096. The kernel was chosen,
    and the parameters are as learned.
    """
    rows = problem.rows
    if not rows.of_classes or len(rows) >= LEAST_HELD_OUT or not problem.space.learns("theta"):
        return parameters
    predict = _left_out(problem, parameters)

    def score(changed):
        return problem.raised(predict(changed).score(), changed)

    judge = Judge(problem.start.space, parameters, score, _TIMES)
    how = (1, -1), _MOST_POWERS, Score.is_better
    about = f"variance, powers of {_TIMES:g}"
    return climb(judge.tried(0), judge.tried, *how, about, problem.trace).result


def _left_out(problem, parameters):
    """Return a function that predicts classes of rows in groups, each given the others."""
    rng = deepcopy(problem.rng)  # no draw is taken away
    sample = CompositeLearning(replace(problem, rng=rng, is_interim=True))
    return sample.leaving_out(parameters, problem.start.likelihood, _ROWS_LEFT_OUT)


class Judge:
    """Scores parameters whose variances, and length scales, are multiplied by powers of factors.

    ``score(parameters)`` returns a `Score`; ``times`` and ``scales`` are factors of variances and
    of length scales.
    """

    def __init__(self, space, parameters, score, times, scales=1.0):
        self.space, self.parameters, self.score = space, parameters, score
        self.times, self.scales = times, scales

    def tried(self, power):
        """Return what these powers score; None where bounds leave no room."""
        begin, before = time.perf_counter(), self.parameters
        theta = with_larger_variance(before.expression, before.theta, self.times**power)
        if self.scales != 1.0:
            theta = with_shorter_scales(before.expression, theta, self.scales**power)
        changed = before.with_values(theta=theta)
        clipped = self.space.clipped(changed).theta
        if power and (np.array_equal(theta, before.theta) or not np.array_equal(clipped, theta)):
            return None
        try:
            score = self.score(changed)
        except NotPositiveDefiniteError:
            score = Score.none()
        name = f"power {power}" if power else "as learned"
        return Tried(name, changed, score, time.perf_counter() - begin)
