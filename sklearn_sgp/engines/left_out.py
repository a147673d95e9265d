"""Training rows that are to be predicted from all others, in the order in which they came."""

from dataclasses import replace

import numpy as np

from ..objectives.composite_likelihood import share_known
from ..objectives.left_out_classes import LeftOutClasses

# Rows at most that tell how sure a model is of classes: a second for 25,000 of two.
_ROWS_OF_CLASSES = 8192


def left_out_rows(name, fitted, given, places, n_seen):
    """Return rows to leave out, and their places among those that the model keeps.

    Parameters
    ----------
    name : str
        Of the estimator.
    given : Rows or None
        As the user gave them again; None for those that are kept.
    places : ndarray of int or None
        Of the first rows as they came, among those that are kept; None if they are the same.
    n_seen : int
        Rows of positive weight so far.
    """
    if fitted.parameters.mixes_outputs:
        raise ValueError(
            "leave_one_out needs outputs that are independent. Got n_latent, by which a row tells "
            "of several functions: predict rows that were left out of fit."
        )
    if not (fitted.likelihood.conjugate or fitted.state.keeps_rows):
        raise ValueError(
            "leave_one_out needs Gaussian noise, or Gaussian given each row's precision. Got "
            f"{type(fitted.likelihood).__name__}: predict rows that were left out of fit."
        )
    _check_factors(fitted)
    _check_whole(fitted, n_seen)
    if not fitted.start.likelihood.conjugate:
        _check_sites(fitted, given, n_seen)
    if given is None:
        return _kept_in_order(name, fitted, places, n_seen)
    if len(given) != n_seen:
        raise ValueError(
            f"X and y must be all {n_seen} training rows of positive weight. Got {len(given)}."
        )
    if not fitted.state.keeps_rows:
        return given, None
    kept = kept_rows(fitted.state)
    places = _places_among(kept, given, fitted.state.partition)
    return _with_precisions(given, kept.select(places)), places


def _check_factors(fitted):
    """Refuse block models of which it is not known what each row says."""
    state = fitted.state
    if not state.is_in_blocks:
        return
    if not state.specification.model.leaves_out:
        raise ValueError(
            "leave_one_out needs one of the models that have names, or a mixture of these. Got a "
            "`model` of your own, whose terms do not tell what each row of a block says: predict "
            "rows that were left out of fit."
        )
    total = sum(share for _, share in state.specification.model.components)
    if state.specification.uses_near_rows and not np.isclose(total, 1.0):
        raise ValueError(
            "leave_one_out of rows near others needs a mixture whose weights sum to 1, in which "
            f"each row counts once. Got a sum of {total:g}: predict rows that were left out of fit."
        )
    if not fitted.predictor.leaves_out:
        raise ValueError(
            "leave_one_out needs the blocks of the rows, which stayed on the workers of a dask "
            "collection. Fit on arrays, or predict rows that were left out of fit."
        )


def _check_whole(fitted, n_seen):
    """Refuse fits that rest on some of the rows, which do not tell which these are."""
    state = fitted.state
    is_whole = state.progress.is_complete if state.is_in_blocks else fitted.n_used is None
    if not is_whole:
        raise ValueError(
            "leave_one_out needs a fit that rests on all its rows. Got q(u) of "
            f"{n_seen}, as learning ended before it came to the others: give it more steps "
            "(max_steps) or time (max_time), or predict rows that were left out of fit."
        )


def _check_sites(fitted, given, n_seen):
    """Refuse likelihoods whose rows have sites, where not all of these are known."""
    name = type(fitted.likelihood).__name__
    n_sites = len(kept_rows(fitted.state))
    if n_sites != n_seen:
        raise ValueError(
            f"leave_one_out needs a site of each row. Got {name}, and {n_seen} training rows of "
            f"which some were equal, with {n_sites} sites: predict rows that were left out of "
            "fit."
        )
    if given is not None:
        raise ValueError(
            f"leave_one_out of {name} takes the rows that the model keeps, whose sites it knows. "
            "Got X and y: call it without them."
        )


def _with_precisions(given, kept):
    """Return rows with the precisions of the kept ones that they are, or are merged in."""
    if kept.counts is None:
        return given
    weight, counts = kept.weights
    return given.with_precision((weight.T / counts).T)


def _kept_in_order(name, fitted, places, n_seen):
    if not fitted.state.keeps_rows:
        raise ValueError(
            f"{name} keeps no training rows here: pass X= and y= of fit, and sample_weight= if fit "
            "had it."
        )
    rows = kept_rows(fitted.state)
    if len(rows) != n_seen:
        raise ValueError(
            f"{n_seen} training rows, of which some were equal, became {len(rows)}: pass X= and y= "
            "of fit, and sample_weight= if fit had it."
        )
    first = np.arange(0) if places is None else places
    places = np.append(first, np.arange(len(first), len(rows)))
    return rows.select(places), places


def places_as_held(state, places):
    """Return places as `left_out_rows` takes them once later rows have joined those that are held.

    Blocks hold first rows block after block, later ones behind these.
    """
    if not state.keeps_rows or not state.blocks.sorted:
        return places
    places = np.arange(len(state.blocks.rows)) if places is None else places
    return state.blocks.held_at(places)


def left_out_moments(fitted, rows, places, n_jobs):
    """Return the moments at training rows, each given all others; see `Predictor.left_out`.

    Rows that a fit does not rest on (`Fitted.times`) have nothing that could be left out.
    """
    if fitted.times is None:
        return fitted.predictor.left_out(rows, places, n_jobs)
    times = fitted.times if places is None else fitted.times[places]
    mean, variance = fitted.predictor.moments(rows, n_jobs)
    variance = np.array(np.broadcast_to(variance, mean.shape))
    seen = np.flatnonzero(times)
    if len(seen):
        own = rows.select(seen).weighted(times.max())
        at = seen if places is None else places[seen]
        mean[seen], variance[seen] = fitted.predictor.left_out(own, at, n_jobs)
    return mean, variance


def left_out_classes(problem, fitted, labels):
    """Predict some of the training rows, each from all others, by the model itself.

    Of a row that stands for equal ones, one of these is left out (`share_known`). Rows that are all
    that is known of the function where they are tell nothing.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Classes of the rows, by the codes of the likelihood.

    Returns
    -------
    left_out : LeftOutClasses
    """
    rows, predictor, counts = kept_rows(fitted.state), fitted.predictor, problem.rows.weights[1]
    places = np.arange(len(rows))
    if len(rows) > _ROWS_OF_CLASSES:
        places = np.sort(predictor.drawn(len(rows), _ROWS_OF_CLASSES, problem.rng))
    classes = np.unique(labels, return_inverse=True)[1]
    one = 1.0 - share_known(counts, classes)[places]
    rows = rows.select(places)
    weight, of_sites = rows.weights
    rows = replace(rows, weight=(weight.T * one).T, counts=of_sites * one)
    mean, variance = predictor.left_out(rows, places, problem.settings.n_jobs)
    known = np.flatnonzero(np.isfinite(mean + variance).all(axis=1))
    moments, places = (mean[known], np.broadcast_to(variance, mean.shape)[known]), places[known]
    return LeftOutClasses(fitted.start.likelihood, moments, labels[places], counts[places])


def kept_rows(state):
    """Return the rows that a model keeps, as they were put in, with their labels."""
    blocks, places = state.blocks, np.arange(len(state.blocks.rows))
    rows = blocks.rows.select(blocks.held_at(places))
    return state.partition.labelled(rows, blocks.cells_at(places))


def cells_of(state, given):
    """Return the cells of training rows that are given again: their own, where these are kept.

    Rows are known by their inputs, as targets of equal ones may have become their mean.
    """
    cells = state.partition.joined_by(given, state.n_blocks)[1]
    if state.keeps_rows and state.partition.by_inputs:
        places = _matched(np.asarray(kept_rows(state).X), np.asarray(given.X))
        is_kept = places >= 0
        cells[is_kept] = state.blocks.cells_at(places[is_kept])
    return cells


def _places_among(kept, given, partition):
    """Return where each given row is among those that are kept, in the same block of the user's."""
    keys = [np.column_stack([np.asarray(rows.X), rows.y]) for rows in (kept, given)]
    if not partition.by_inputs:
        numbers = map(partition.number, (kept, given))
        keys = [np.column_stack(pair) for pair in zip(keys, numbers, strict=True)]
    places = _matched(*keys)
    if (places < 0).any():
        raise ValueError(
            "X and y must be the training rows. Got rows that the model does not keep: "
            f"{np.flatnonzero(places < 0)[:5].tolist()}."
        )
    return places


def _matched(kept, given):
    """Return where each given row is among others, (n,), -1 for nowhere: equal ones in turn.

    Where fewer are kept of equal ones, those that are left over are the last of these.
    """
    _, value = np.unique(np.concatenate([kept, given]), axis=0, return_inverse=True)
    own, asked = np.split(value.ravel(), [len(kept)])
    order = np.argsort(own, kind="stable")
    first, end = (np.searchsorted(own[order], asked, side) for side in ("left", "right"))
    places = order[np.minimum(first + _turns(asked), end - 1)]
    return np.where(end > first, places, -1)


def _turns(values):
    """Return how many equal ones come before each of some numbers."""
    order = np.argsort(values, kind="stable")
    turns = np.empty(len(values), dtype=np.intp)
    turns[order] = np.arange(len(values)) - np.searchsorted(values[order], values[order])
    return turns
