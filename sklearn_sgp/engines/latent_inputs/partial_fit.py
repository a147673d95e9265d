"""One more batch of rows into a learned model of latent inputs."""

import copy
import time
from dataclasses import replace

from ...latents.passes import joined_inputs
from ...latents.row_posteriors import Pace, find_inputs
from ...optimize import time_shares
from ...optimize.parameters import ParameterSpace
from ..minibatches import even_slices
from .final_posterior import choose_candidates
from .stochastic import Minibatches, each_own


def add(fitted, problem):
    """Find q(x) of the rows of a later batch, add their information to q(u), and take steps.

    When the time is over, or after the most steps, kernel, noise and inducing inputs stay, and
    without time rows rest; all rows join. The rows of the problem are the `Table` of the batch.
    """
    table, settings, before = problem.rows, problem.settings, fitted.state
    P, n, n_steps, seconds = table.Y.shape[1], len(table), 0, problem.trace.clock.left()
    end = time.perf_counter() + seconds
    state = Minibatches(
        fitted.parameters,
        each_own(fitted.posterior, table.pattern),
        fitted.n_samples,
        fitted.start.space if settings.optimizer is not None else ParameterSpace(()),
        settings,
        copy.deepcopy(before.adam),
    )
    parts, first = [], Pace(time_shares.FIRST_PASS * seconds, n)
    for some in even_slices(n, settings.batch_size):
        part = table.select(some)
        left = first.deadline(len(part)) - time.perf_counter()
        how = {"candidates": before.candidates, "n_jobs": settings.n_jobs, "seconds": left}
        q, _ = find_inputs(state.model(P), part, **how)
        target = state.information(part, q)
        state.posterior = state.posterior.joined(target)
        state.n_rows += len(part)
        if state.space.groups and time.perf_counter() < end and n_steps != settings.max_steps:
            state.move(part, q, target)
            n_steps += 1
        parts.append(q)
    q, model, left = joined_inputs(parts), state.model(P), end - time.perf_counter()
    # where time is short rows go on from where they are
    candidates = before.candidates if left >= time_shares.FIRST_PASS * seconds else None
    how = {"candidates": candidates, "n_jobs": settings.n_jobs, "seconds": left}
    q, values = find_inputs(model, table, start=q, **how)
    q = joined_inputs([before.q, q])
    return replace(
        fitted,
        parameters=state.parameters,
        predictor=model,
        objective=state.n_rows * float(values.mean()) - model.posterior.kl(),
        n_steps=fitted.n_steps + n_steps,
        weight=float(state.n_rows),
        n_samples=state.n_rows,
        state=replace(
            before,
            q=q,
            candidates=choose_candidates(q, problem.rng),
            log_scale=before.log_scale + float(table.log_scales().sum()),
            adam=state.adam,
        ),
    )
