"""The inference with which kernel and inducing inputs of several classes are learned.

The last q(u) is not its business.
"""

import numpy as np

from ...gp.prior import Prior
from ...objectives.class_regressions import ClassRegressions
from ...objectives.left_out_classes import LeftOutClasses
from ...objectives.scores import Score
from .inference import ClosedForm, in_measured_units, nothing_known

# Of fewer rows a fifth, held out, says less of variance and length scales than the bound does.
# Made tables, three draws each, nats a row: 60 rows of 30 columns -.71 -> -.57, 120 rows at 30
# places -.45 -> -.43 and -.90 -> -.80, 160 rows of clusters -.58 -> -.56, in a fifth of the time.
# Eight of R's tables, 97 to 146 rows: .025 more in the mean (five .03 to .10, one -.05), in a third
# of the time; of 169 to 194 rows three lose .01 to .03.
_LEAST_REGRESSED_ROWS = 160


class RegressionInference(ClosedForm):
    """The `LearningInference` of regressions of classes (docs/theory.md, section 14).

    Parameters
    ----------
    likelihood : Dirichlet
        With an offset.
    last : inference.SiteInference
        What makes the last q(u), whose cost is to be known.
    held_out : Rows or None
        On which kernels are compared.
    weight : float
        Of all rows.
    """

    cost = 1  # in passes with one H

    @property
    def last_cost(self):
        """The cost of a pass for the last q(u)."""
        return self.last.last_cost

    def __init__(self, likelihood, last, held_out, weight):
        self.likelihood, self.last = likelihood, last
        self.held_out, self.weight = held_out, weight

    def objective(self, space, parameters, rows, delta, has_learned, n_jobs, deadline):
        def optimal(prior, sample):
            return ClassRegressions(sample, self.likelihood, n_jobs).optimal_q(prior)[0]

        space = in_measured_units(space, parameters, rows, delta, has_learned, optimal)
        regressions = ClassRegressions(rows, self.likelihood, n_jobs)

        def objective(candidate):
            prior = Prior.build(candidate.kernel, candidate.Z, delta)
            return regressions.bound(prior, space.learns("Z"))

        return space, objective, nothing_known

    def selection_score(self, parameters, rows, settings, value, bic_penalty):
        """Return the log probability of held-out labels, of all rows, less the BIC penalty.

        The bound counts instead where no labels are held out.
        """
        if self.held_out is None:
            return value - bic_penalty
        prior, weight = settings.prior(parameters), self.weight
        q, _ = ClassRegressions(rows, self.likelihood, settings.n_jobs).optimal_q(prior)
        held_out = held_out_classes(self.likelihood, q, self.held_out)
        score = Score(held_out.log_probabilities(1.0), held_out.weight)
        return weight * score.mean - bic_penalty

    def densities(self, prior, parameters, rows, others, n_jobs):
        """Return log probabilities (n,) of the labels of other rows."""
        q, _ = ClassRegressions(rows, self.likelihood, n_jobs).optimal_q(prior)
        return held_out_classes(self.likelihood, q, others).log_probabilities(1.0)

    def pass_task(self, prior, parameters, rows, sample, n_jobs):
        """Return that of the last q(u)."""
        return self.last.pass_task(prior, parameters, rows, sample, n_jobs)


def begins_with_regressions(likelihood):
    """Return whether the classes begin so; other than a `Likelihood` it need not say so."""
    return getattr(likelihood, "as_regressions", None) is not None


def learns_by_regressions(problem):
    """Return whether kernel and inducing inputs are those of the regressions.

    Then the likelihood is a softmax, whose temperature makes up for what the bound would have said.
    Of few rows that says more than labels that are held out.
    """
    return prefers_regressions(problem) and len(problem.rows) >= _LEAST_REGRESSED_ROWS


def prefers_regressions(problem):
    """Return whether kernel and inducing inputs of so many classes are, where rows are many."""
    likelihood, is_auto = problem.start.likelihood, problem.settings.optimizer == "auto"
    is_of_many = hasattr(likelihood, "temperature") and not likelihood.max_classes
    return is_auto and begins_with_regressions(likelihood) and is_of_many


def has_bound_of_labels(problem):
    """Return whether kernel and inducing inputs of classes are learned by their own bound."""
    is_known = begins_with_regressions(problem.start.likelihood)
    return problem.learns and is_known and not learns_by_regressions(problem)


def held_out_classes(likelihood, q, rows):
    """Return `LeftOutClasses` of rows that q(u) does not know."""
    place, weight = rows.y[:, 0].astype(np.intp), rows.weights[0]
    return LeftOutClasses(likelihood, q.mean_variance(rows.X), place, weight)


def regressions_of(likelihood, rows, n_classes):
    """Return the likelihood of regressions whose targets are centred by means over some rows."""
    return likelihood.as_regressions(rows.code_counts(n_classes))
