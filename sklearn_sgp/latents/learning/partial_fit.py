"""One more batch of rows into a learned model of latent inputs."""

import copy
from dataclasses import replace

import numpy as np

from ...optimize.parameters import ParameterSpace
from ..passes import LatentInputs
from ..row_posteriors import find_inputs
from .result import ROW_ITERATIONS, ROW_TOL, choose_candidates
from .stochastic import Minibatches, each_own


def add_rows(result, start, table, settings, rng):
    """The result after a later batch.

    Parameters
    ----------
    result : LatentResult
    start : LatentStart
    table : Table
        The batch.
    settings : Settings
    rng : numpy.random.RandomState

    Returns
    -------
    result : LatentResult
    start : LatentStart
        With the state of Adam.
    """
    P, n_steps = table.Y.shape[1], 0
    space = start.space if settings.optimizer is not None else ParameterSpace(())
    own = each_own(result.model.posterior, table.pattern)
    state = Minibatches(
        result.parameters, own, result.n_rows, space, settings, copy.deepcopy(start.adam)
    )
    parts, candidates = [], result.candidates
    for lo in range(0, len(table), settings.batch_size):
        part = table.select(slice(lo, lo + settings.batch_size))
        q, _ = find_inputs(
            state.model(P),
            part,
            candidates=candidates,
            max_iter=ROW_ITERATIONS,
            tol=ROW_TOL,
            n_jobs=settings.n_jobs,
        )
        found = state.information(part, q)
        state.posterior = state.posterior.joined(found)
        state.n_rows += len(part)
        value = state.move(part, q, found)
        n_steps += 1
        parts.append(q)
    q = LatentInputs(*(np.concatenate([part[k] for part in parts]) for k in (0, 1)))
    model = state.model(P)
    q, _ = find_inputs(
        model,
        table,
        start=q,
        candidates=candidates,
        max_iter=ROW_ITERATIONS,
        tol=ROW_TOL,
        n_jobs=settings.n_jobs,
    )
    every = LatentInputs(*(np.concatenate([result.q[k], q[k]]) for k in (0, 1)))
    found = replace(
        result,
        parameters=state.parameters,
        model=model,
        q=every,
        candidates=choose_candidates(every, rng),
        objective=value,
        log_scale=result.log_scale + float(table.log_scales().sum()),
        n_steps=result.n_steps + n_steps,
        n_rows=state.n_rows,
    )
    return found, replace(start, adam=state.adam)
