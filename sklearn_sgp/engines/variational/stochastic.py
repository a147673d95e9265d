"""The stochastic stage: minibatch steps on q(u) and on all parameters together."""

import numpy as np

from ...optimize.adam import adam_step
from ...optimize.momentum import stochastic_optimizer
from ..ascent import Run
from ..minibatches import even_slices, mean_by_rows


def ascend_stochastic(problem, parameters, budget):
    """Learn by natural gradient on q(u) and Adam or "sgd" on the rest, until the bound is flat.

    In the first epoch only q(u) moves, as in Hensman et al. (2013, section 4.1). Returns a `Run`,
    whose iterations are epochs, and the number of steps.
    """
    steps = StochasticSteps(problem, parameters)
    plateau, n_iter, cut_by = problem.plateau(), 0, None
    problem.trace.begin(f"stochastic steps of {problem.settings.batch_size} rows")
    for epoch in range(problem.settings.max_iter):
        value, complete = steps.epoch(moves=epoch > 0, budget=budget)
        n_iter += 1
        if value is not None and problem.trace.add(value, lambda now=steps.parameters: now):
            break
        if not complete:
            cut_by = "max_time" if budget.left() < 0.0 else "max_steps"
            break
        if plateau.reached(value):
            break
    else:
        cut_by = "max_iter" if plateau.is_gaining else None
    known = steps.q, problem.rows.total_weight
    return Run(steps.parameters, value, n_iter, cut_by, known), steps.n_steps


class StochasticSteps:
    """q(u) and parameters between stochastic steps.

    The data part of q(u) stays fixed, in the coordinates in use, when the parameters move: q(u)
    follows the kernel at once. The steps begin at the parameters.
    """

    def __init__(self, problem, parameters):
        self.problem, self.parameters = problem, parameters
        prior, settings = problem.prior(parameters), problem.settings
        self.delta = prior.delta
        self.q = problem.inference.first_q(prior, parameters, problem.rows, settings)
        self.adam = stochastic_optimizer(len(problem.space.pack(parameters)), settings)
        self.n_steps = 0

    def epoch(self, moves, budget):
        """Pass over all rows once, in random order.

        Returns
        -------
        value : float or None
            Mean of the estimates of the bound, one for each step; None if there was no step.
        complete : bool
            False if a budget ended it.
        """
        settings, rows = self.problem.settings, self.problem.rows
        values, sizes, complete = [], [], True
        order = self.problem.rng.permutation(len(rows))
        for part in even_slices(len(rows), settings.batch_size):
            spent = settings.max_steps is not None and self.n_steps >= settings.max_steps
            if spent or budget.left() < 0.0:
                complete = False
                break
            batch = rows.select(np.sort(order[part]))
            values.append(self.step(batch, moves))
            sizes.append(len(batch))
        return mean_by_rows(values, sizes) if values else None, complete

    def step(self, batch, moves):
        """Take one step with some rows; return the estimate of the bound before it."""
        problem, settings = self.problem, self.problem.settings
        # not the ratio of weights, which is no unbiased estimate (docs/theory.md, section 5)
        scale = len(problem.rows) / len(batch)
        terms = problem.inference.minibatch(
            self.q, self.parameters, batch, scale, problem.space.learns("Z"), settings.n_jobs
        )
        self.n_steps += 1
        self.q = self.q.towards(terms.target, settings.natural_step)
        if moves:
            moved = adam_step(self.adam, problem.space, self.parameters, terms.gradient, self.delta)
            if moved is not None:
                self.parameters, prior = moved
                self.q = problem.inference.under(
                    self.q, prior, self.parameters, problem.rows, settings
                )
        return terms.value
