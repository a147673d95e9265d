"""Predictions for dask collections: dask arrays, not computed before they are asked for.

A task gets the fitted model and one partition, so rows stay where they are and what comes out stays
with them.
"""

import copy
import functools
import inspect
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._compat import validate_data
from ..partitions.partition import position_of
from .alignment import partitions_of
from .blocks import blocks_here
from .compute import computed, each
from .detection import any_collection, is_collection
from .rows import loaded_rows
from .sealing import sealed

# Arguments with a row for each row of X.
_OF_ROWS = ("X", "y", "blocks")


class Answer(NamedTuple):
    """One array that a method returns: its shape behind the rows, and its type."""

    tail: tuple
    dtype: object = np.float64


def lazily(answers):
    """Decorate a predicting method so that it returns dask arrays for a dask collection.

    Of data sets on disk the answers are arrays in memory.

    Parameters
    ----------
    answers : callable
        ``answers(model, arguments)`` returns an `Answer`, or a tuple of them, for a fitted model
        and the arguments of a call by their names.

    Returns
    -------
    decorate : callable
    """

    def decorate(method):
        signature = inspect.signature(method)

        @functools.wraps(method)
        def either(self, *args, **kwargs):
            if not any_collection(*args, *kwargs.values()):
                return method(self, *args, **kwargs)
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            arguments = dict(bound.arguments)
            del arguments["self"]
            result = _lazy_arrays(method.__name__, self, arguments, answers)
            if any(map(is_collection, arguments.values())):
                return result
            arrays = computed(result if isinstance(result, tuple) else [result])  # files may close
            return tuple(arrays) if isinstance(result, tuple) else arrays[0]

        return either

    return decorate


def _lazy_arrays(method, model, arguments, answers):
    from dask import array

    check_is_fitted(model, "_result")
    of_rows = {name: value for name, value in arguments.items() if name in _OF_ROWS}
    others = {name: value for name, value in arguments.items() if name not in _OF_ROWS}
    asked = answers(model, arguments)
    partitions = partitions_of(**of_rows)
    validate_data(model, partitions.example, reset=False, skip_check_array=True)
    blocks = getattr(getattr(model, "_blocks", None), "blocks", None)
    if blocks is not None and blocks.rows.live_elsewhere:
        answer = functools.partial(_answers_at_blocks, partitions.sizes)
        _check_blocks_given(of_rows, partitions, model)
    else:
        answer = _answers
    model = copy.copy(model)  # later fits replace fitted attributes, and leave these as they are
    model.n_jobs = 1
    several = isinstance(asked, tuple) and not isinstance(asked, Answer)
    asked = asked if several else (asked,)
    shared = method, model, tuple(of_rows), others, asked, several
    tasks = answer(sealed(partitions), *shared)
    arrays = []
    for k, (tail, dtype) in enumerate(asked):
        parts = [
            array.from_delayed(task[k], (_rows(size), *tail), dtype)
            for task, size in zip(tasks, partitions.sizes, strict=True)
        ]
        arrays.append(array.concatenate(parts))
    return tuple(arrays) if several else arrays[0]


def _answers(parts, *shared):
    """Return a task for each partition."""
    return each(_answered, parts, *shared)


# Tasks of a lazy prediction by a model whose blocks stay on their workers.
_MOST_TASKS = 100_000


def _check_blocks_given(of_rows, partitions, model):
    fitted, given = model._blocks, of_rows.get("blocks")
    if given is not None and fitted.labels is None:
        fitted.check_labels(given, 0)  # which refuses them
    n_tasks = len(partitions.parts) * len(fitted.blocks.rows.parts)
    if n_tasks > _MOST_TASKS or (given is None and fitted.labels is not None):
        raise ValueError(
            "blocks must be given where X is a dask collection and the model was fitted to one "
            f"with blocks, and their partitions make at most {_MOST_TASKS} pairs. Got "
            f"{'no blocks' if given is None else 'blocks'} and {n_tasks} pairs."
        )


def _answers_at_blocks(sizes, parts, method, model, names, others, asked, several):
    """Return for each partition a task that joins the answers of the workers with the blocks.

    Workers get the rows of several partitions at once, as their blocks cost more than the rows do.
    """
    from dask import delayed

    blocks, tasks = model._blocks.blocks, []
    model._blocks = replace(model._blocks, blocks=None)  # the rows are there already
    if "blocks" not in names:  # of noise alone
        return _answers(parts, method, model, names, others, asked, several)
    put_together, homes = delayed(_put_together, pure=False), blocks.rows.parts
    sent = each(_sent, parts, model, names, blocks.labels, blocks.home, len(homes))
    shared = blocks.rows.load, method, model, names, others, asked
    for lo, hi in _together(sizes, len(blocks.rows), len(homes)):
        questions = [(*part, [one[k] for one in sent[lo:hi]]) for k, part in enumerate(homes)]
        there = each(_answered_there, questions, *shared)
        tasks += [put_together([answers[i] for answers in there]) for i in range(hi - lo)]
    return tasks


def _together(sizes, n_rows, n_parts):
    """Return bounds of runs of partitions of at most ``n_rows`` rows, or of one partition.

    A partition of unknown size counts as an equal part of the rows.
    """
    bounds, total = [0], 0.0
    for i, size in enumerate(sizes):
        size = n_rows / n_parts if np.isnan(size) else size
        if i > bounds[-1] and total + size > n_rows:
            bounds.append(i)
            total = 0.0
        total += size
    return list(zip(bounds, [*bounds[1:], len(sizes)], strict=True))


def _sent(*arguments):
    """Split test rows by the partitions that have their blocks: positions, and arrays.

    Test rows of a block that nobody has go to the first of them.
    """
    *arrays, model, names, labels, home, count = arguments
    X, given = arrays[names.index("X")], arrays[names.index("blocks")]
    if not len(X):
        place = np.empty(0, dtype=np.intp)
    elif given is None:
        place = model._blocks.assign(model._validated_inputs(X))
    else:
        place = position_of(model._blocks.check_labels(given, len(X)), labels)
    if given is None:
        arrays[names.index("blocks")] = np.where(place < 0, -1, labels[place])
    there, sent = np.where(place < 0, 0, home[place]), []
    for k in range(count):
        rows = np.flatnonzero(there == k)
        sent.append((rows, [None if array is None else _rows_at(array, rows) for array in arrays]))
    return sent


def _rows_at(array, index):
    return array.iloc[index] if hasattr(array, "iloc") else np.asarray(array)[index]


def _answered_there(*arguments):
    """Return for several partitions the positions of some rows, and the answers for these.

    It is a worker that has the blocks of these rows.
    """
    *part, sent, load, method, model, names, others, asked = arguments
    places = [place for place, _ in sent]
    if not any(map(len, places)):
        nothing = tuple(np.empty((0, *tail), dtype) for tail, dtype in asked)
        return [(place, nothing) for place in places]
    blocks, labels = blocks_here(loaded_rows(*part, load))
    model = copy.copy(model)
    model._blocks = replace(model._blocks, blocks=blocks, labels=labels, partition=None)
    model._cache = type(model._cache)(model._cache.max_bytes)  # blocks have other numbers here
    tables = zip(*(arrays for place, arrays in sent if len(place)), strict=True)
    named = dict(zip(names, map(_concatenated, tables), strict=True))
    result = getattr(model, method)(**named, **others)
    ends = np.cumsum([*map(len, places)])[:-1]
    arrays = result if isinstance(result, tuple) else (result,)
    split = [np.split(array, ends) for array in arrays]
    return list(zip(places, zip(*split, strict=True), strict=True))


def _concatenated(tables):
    """Concatenate several arrays or dataframes; None of None."""
    if tables[0] is None:
        return None
    if hasattr(tables[0], "iloc"):
        from pandas import concat  # whose dataframes they are

        return concat(tables)
    return np.concatenate(tables)


def _put_together(answers):
    places, arrays_of = zip(*answers, strict=True)
    order = np.argsort(np.concatenate(places))
    return tuple(np.concatenate(arrays)[order] for arrays in zip(*arrays_of, strict=True))


def _rows(size):
    return size if np.isnan(size) else int(size)


def _answered(*arguments):
    """Call the method for one partition; return a tuple."""
    *parts, method, model, names, others, asked, several = arguments
    if not len(parts[0]):
        return tuple(np.empty((0, *tail), dtype) for tail, dtype in asked)
    result = getattr(model, method)(**dict(zip(names, parts, strict=True)), **others)
    return result if several else (result,)


# ---- What the methods of regressors and classifiers return


def of_targets(model, arguments):
    """Return the answer with a number for each target."""
    targets = model._targets
    return Answer(() if targets.ndim == 1 else (targets.n_outputs,))


def of_targets_twice(model, arguments):
    """Return that of means, and of standard deviations where these are asked for."""
    if arguments["return_cov"]:
        raise ValueError(
            "return_cov must be False for a dask collection, as the covariance of all its rows has "
            "their number squared. Got True: pass some of the rows as an array."
        )
    one = of_targets(model, arguments)
    return (one, one) if arguments["return_std"] else one


def of_quantiles(model, arguments):
    """Return the answer with a number for each target and level."""
    return Answer((*of_targets(model, arguments).tail, np.size(arguments["quantiles"])))


def of_rows(model, arguments):
    """Return the answer with a number."""
    return Answer(())


def of_labels(model, arguments):
    """Return the answer with a label."""
    return Answer((), model.classes_.dtype)


def of_classes(model, arguments):
    """Return the answer with a number for each class."""
    return Answer((len(model.classes_),))


def of_decisions(model, arguments):
    """Return the answer with a number for each class, one number for two classes."""
    n_classes = len(model.classes_)
    return Answer(() if n_classes == 2 else (n_classes,))


def of_functions(model, arguments):
    """Return the answer with a number for each latent function, without an axis for one."""
    n_latent = model._result.posterior.h.shape[1]
    return Answer(() if n_latent == 1 else (n_latent,))
