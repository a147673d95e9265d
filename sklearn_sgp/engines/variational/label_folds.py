"""Labels that are held out in turn: what a softmax of the other rows says of them.

A fifth of few rows is few labels: by 60 of 300 the standard error of what length scales gain is as
large as what they gain. So other parts of the rows are held out, too, until there are enough.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ...data.held_out import held_out_pieces
from ...data.rows import random_index
from ...objectives.left_out_classes import LeftOutClasses
from ...objectives.scores import Score
from ...objectives.sites import SiteBound
from ...optimize.choices import Tried

# Labels that are judged by, if there are so many rows.
_LABELS_THAT_JUDGE = 512
# Inducing inputs where there are several parts, whose passes then take a quarter of the time. By
# 128 of 256 the gain of 24 draws of eight tables is that by all (0.017 nats), by 64 two thirds.
_INPUTS_THAT_JUDGE = 128
# Gain of the bound, in nats a row, with which iterations for q(u) end while labels are judged.
_JUDGED_TOL = 1e-3


@dataclass(frozen=True)
class JudgedLabels:
    """Parameters, what they say of all labels that are held out, and q(u) of a first part."""

    parameters: object
    left_out: LeftOutClasses
    q: object


@dataclass(frozen=True)
class LabelFolds:
    """Parts of labels that are held out in turn.

    Parameters
    ----------
    folds : list of (SiteBound, Rows)
        Of what is known, and held out.
    some : ndarray of int
        Inducing inputs of the functions: few where there are several parts.
    """

    problem: object
    folds: list
    some: np.ndarray

    @classmethod
    def of(cls, problem, parts, deadline):
        """Hold out parts, pairs of known rows and others, with no steps after a deadline."""
        folds = [(_bound(problem, known, deadline), held_out) for known, held_out in parts]
        parameters = problem.start.parameters
        m, is_whole = len(parameters.Z), len(parts) == 1 or parameters.has_features
        size = m if is_whole else min(m, _INPUTS_THAT_JUDGE)
        return cls(problem, folds, np.sort(random_index(m, size, problem.rng)))

    def tried(self, name, parameters):
        """Return `Tried` of some parameters; its result are `JudgedLabels`."""
        began, judged = perf_counter(), self.judged(parameters, self.problem.start.likelihood)
        score = Score(judged.left_out.log_probabilities(1.0), judged.left_out.weight)
        score = self.problem.raised(score, parameters)
        return Tried(name, judged, score, perf_counter() - began)

    def by_bound(self, name, parameters):
        """Return `Tried` of some parameters, scored by the bound of the first part's known labels.

        The result are the parameters.
        """
        began, bound = perf_counter(), self.folds[0][0]
        prior = self.problem.prior(parameters.with_values(Z=parameters.Z[self.some]))
        value = bound.at(parameters, prior)[-1]
        score = Score.of_objective(value, bound.rows.total_weight)
        return Tried(name, parameters, score, perf_counter() - began)

    def inputs_come_again(self):
        """Return whether known inputs of the first part come twice and more, in the mean."""
        X = np.asarray(self.folds[0][0].rows.X)
        return 2 * len(np.unique(X, axis=0)) <= len(X)

    def known_counts(self):
        """Return what the known labels of each class of the first part count, (C,)."""
        return self.folds[0][0].rows.code_counts(self.problem.inference.n_latent)

    def judged(self, parameters, likelihood):
        """Return `JudgedLabels` of some parameters and a likelihood of one temperature."""
        prior = self.problem.prior(parameters.with_values(Z=parameters.Z[self.some]))
        every_q = [bound.at(parameters, prior)[1] for bound, _ in self.folds]
        held_out = [rows for _, rows in self.folds]
        each = [q.mean_variance(rows.X) for q, rows in zip(every_q, held_out, strict=True)]
        moments = tuple(np.concatenate(moment) for moment in zip(*each, strict=True))
        place = np.concatenate([rows.y[:, 0] for rows in held_out]).astype(np.intp)
        weight = np.concatenate([rows.weights[0] for rows in held_out])
        left_out = LeftOutClasses(likelihood, moments, place, weight)
        return JudgedLabels(parameters, left_out, every_q[0])


def _bound(problem, rows, deadline):
    inference, tol = problem.inference, _JUDGED_TOL * rows.total_weight
    options = {"with_inputs": False, "n_jobs": problem.settings.n_jobs, "deadline": deadline}
    return SiteBound(rows, inference.likelihood, inference.n_latent, tol, **options)


def parts_of(known, held_out, rng):
    """Return pairs of rows that are known and rows that are held out, the given pair first.

    Further ones until enough labels are judged by, or each of the rows is held out once. Both are
    rows of one table.
    """
    every, size = known.joined(held_out), len(held_out)
    others = held_out_pieces(known, size, rng)[: max(_LABELS_THAT_JUDGE - size, 0) // size]
    return [(known, held_out), *((every.without(one), every.select(one)) for one in others)]
