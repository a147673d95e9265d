"""Several classes near rows by sites, each class against the rest, where regressions began.

Edges between classes are sharper than the noise that regressions give to labels: their kernel has
length scales that are too short and variances that are too small for sites. Labels of rows that are
held out say which are right, and whether sites are better than regressions at all.
"""

from dataclasses import replace

import numpy as np

from ..._parallel import single_blas_thread
from ...data.rows import ConditionedRows
from ...objectives.composite_likelihood import CompositeLikelihood
from ...objectives.left_out_classes import LeftOutClasses
from ...objectives.near_sites import NearSites
from ...objectives.scores import Score
from ...optimize.choices import climb
from ...partitions.sampling import LARGEST_WHOLE
from .class_variance import Judge

# Factors of variances, then of both; powers of these are tried. A softmax of inducing inputs has
# the same ones.
_VARIANCE, _LONGER, _MOST_POWERS = 4.0, 1.5, 4
# Rows that are one group, times classes, at most: 1,000 rows of oil_flow, of which groups have to
# be made, took 16 to 20 s in the place of 2.3 s, and stayed with regressions.
_MOST_ROWS_OF_CLASSES = 3 * LARGEST_WHOLE
# Parts of the rows, each predicted from the others, and sweeps over those that are new, and over
# those whose sites are known at another kernel. By cavities 200 rows of three classes, six draws,
# were up to 0.34 nats a row surer than new rows: other sites have seen the row that is left out.
_HELD_PARTS, _SWEEPS = 5, (25, 10)
# Factor of the weight of a row that regressions do not see.
_NEXT_TO_NOTHING = 1e-6
# Nats a row that are missing to a probability of 1, below which nothing is worth a choice. Pairs of
# pendigits lacked 0.0007 and 0.002: sites were no better and took four to eight times the fit.
_LEAST_MISSING = 5e-3


def affords_sites(problem):
    """Return whether sites of all rows, of each class, are found in little time."""
    n, n_classes = problem.rows.y.shape
    return n <= LARGEST_WHOLE and n * n_classes <= _MOST_ROWS_OF_CLASSES


class LabelsHeldOut:
    """Parts of few rows whose classes are held out, for regressions and for sites.

    Parameters
    ----------
    problem : Problem
        Of the regressions.
    """

    def __init__(self, problem):
        order, self.n_jobs = problem.rng.permutation(len(problem.rows)), problem.settings.n_jobs
        self.parts = np.array_split(order, min(_HELD_PARTS, len(order)))

    def _groups(self, rows):
        return [_held_out(rows, own) for own in self.parts]

    def of_regressions(self, rows, parameters, likelihood):
        """Return log probabilities by regressions: `Score`."""
        groups = [_without_say(piece) for piece in self._groups(rows)]
        with single_blas_thread():  # groups are small
            evidence = CompositeLikelihood(groups, self.n_jobs)
            return LeftOutClasses.of_groups(evidence, parameters, likelihood).score()

    def of_sites(self, problem, climbs):
        """Return what is best of sites, whose result are parameters: `Tried`.

        Parameters
        ----------
        problem : Problem
            With a likelihood that has sites, and the parameters of the regressions.
        climbs : bool
            Whether variances and length scales change to what predicts classes best.
        """
        likelihood, groups = problem.start.likelihood, self._groups(problem.rows)
        evidence = NearSites(groups, likelihood, self.n_jobs, sweeps=_SWEEPS)
        own = [piece.rows.select(piece.groups[0][1]) for piece in groups]
        y, weight = np.vstack([rows.y for rows in own]), np.concatenate([r.weights[1] for r in own])

        def score(changed):
            moments = evidence.predicted(changed)
            densities = likelihood.log_predictive_density(y, *moments)
            return problem.raised(Score(densities, weight), changed)

        with single_blas_thread():
            return _best(problem, score, climbs)


def _best(problem, score, climbs):
    parameters, space = problem.start.parameters, problem.start.space
    for name, scales in (("variance", 1.0), ("variance and length scales", _LONGER)):
        judge = Judge(space, parameters, score, _VARIANCE, scales)
        best = judge.tried(0)
        if not climbs:
            return best
        how = (1, -1), _MOST_POWERS, Score.is_better
        best = climb(best, judge.tried, *how, f"sites: {name}", problem.trace)
        parameters = best.result
    return best


def _held_out(rows, own):
    """Return rows whose own ones are predicted from the others: `ConditionedRows`."""
    others = np.setdiff1d(np.arange(len(rows)), own)
    return ConditionedRows(rows, ((others, own),))


def _without_say(piece):
    """Return a group whose own rows say next to nothing of one another."""
    (_, own), rows = piece.groups[0], piece.rows
    weight = rows.weights[0]
    weight[own] *= _NEXT_TO_NOTHING
    return replace(piece, rows=replace(rows, weight=weight))


def is_worth_a_choice(score):
    """Return whether more could be gained than is worth it: a probability is at most 1."""
    return score.mean < -_LEAST_MISSING
