"""Predictions for dask collections: dask arrays, not computed before they are asked for.

A task gets a predictive model, without its estimator, and one partition, so rows stay where they
are and what comes out stays with them. Where a row is predicted from the rows of its block, it goes
to a task that has this block: each block is in one task, which factorises it once.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..data.checks import check_array, validate_data
from ..data.columns_apart import as_labels
from ..data.inputs import InputFormat, Inputs, is_collection
from .alignment import example_of, partitions_of, split_labels
from .blocks import blocks_here, divided
from .compute import computed, each
from .rows import loaded_rows
from .sealing import sealed

# Pairs of a partition to predict and a part of the blocks.
_MOST_TASKS = 100_000
# Parts of the blocks of a model that was fitted to arrays.
_MOST_PARTS = 32


@dataclass(frozen=True)
class Question:
    """Question that each partition is asked.

    Parameters
    ----------
    model : Observations or Classes
    method : str
        One of its methods.
    form : InputFormat
        Of the columns, in a fitted model with this kernel.
    labels : ndarray or None
        Of the blocks that the model knows.
    dtypes : tuple of dtype
        Of the arrays that the method returns.
    """

    model: object
    method: str
    options: dict
    form: InputFormat
    kernel: object
    labels: np.ndarray | None
    dtypes: tuple

    @property
    def is_of_noise(self):
        """True if the answer does not depend on the function."""
        return self.method == "noise_std" and self.model.targets.keeps_means

    def with_predictor(self, predictor):
        """Ask another predictor the same."""
        return replace(self, model=replace(self.model, predictor=predictor))

    def read(self, X, labels):
        """Return checked `Inputs` of one partition."""
        validate = partial(check_array, dtype=[np.float64, np.float32], input_name="X")
        return self.form.of_test_rows(
            Inputs(X, as_labels(labels)), validate, self.kernel, self.labels
        )

    def answer(self, inputs, y):
        """Return the arrays that the method returns, as a tuple."""
        more, model = () if y is None else (np.asarray(y),), self.form.seen_by(self.model, inputs)
        result = getattr(model, self.method)(inputs, *more, **self.options)
        return result if isinstance(result, tuple) else (result,)

    @property
    def shapes(self):
        """Shapes behind the rows."""
        return self.model.shapes(self.method, self.options)

    def nothing(self):
        """Return the arrays for no rows."""
        parts = zip(self.shapes, self.dtypes, strict=True)
        return tuple(np.empty((0, *shape), dtype) for shape, dtype in parts)


def lazy_answers(estimator, model, method, X, y, options):
    """Return what a method of a predictive model returns, as dask arrays.

    Of data sets on disk the answers are arrays in memory.

    Parameters
    ----------
    estimator : BaseSGP
        A fitted one, which knows the columns of X.
    model : Observations or Classes
    method : str
    X, y : dask array, dataframe or series, data set on disk, or None
    options : dict
        Further arguments of the method.
    """
    from dask import array

    if method == "mean_cov":
        raise ValueError(
            "return_cov must be False for a dask collection, as the covariance of all its rows has "
            "their number squared. Got True: pass some of the rows as an array."
        )
    validate_data(estimator, example_of(X), reset=False, skip_check_array=True)
    form, fitted = estimator._format, estimator._fitted
    if form.offset is not None:
        raise ValueError(
            "offset_column must be None for a dask collection. Got a column that is added to the "
            "function: pass arrays, piece by piece."
        )
    stays_lazy = is_collection(X) or is_collection(y)
    X, labels = (X, None) if form.block is None else split_labels(X, form.block)
    partitions = partitions_of(X, y=y, blocks=labels)
    model = replace(model, n_jobs=1)
    shapes = model.shapes(method, options)
    kind = model.classes.dtype if method == "labels" else np.float64
    dtypes = (kind,) * len(shapes)
    question = Question(
        model,
        method,
        options,
        form,
        model.predictor.posterior.prior.kernel,
        fitted.state.labels,
        dtypes,
    )
    tasks = _tasks(sealed(partitions), partitions.sizes, question)
    arrays = []
    for k, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
        parts = [
            array.from_delayed(task[k], (_rows(size), *shape), dtype)
            for task, size in zip(tasks, partitions.sizes, strict=True)
        ]
        arrays.append(array.concatenate(parts))
    if not stays_lazy:
        arrays = computed(arrays)  # files may be closed
    return tuple(arrays) if len(arrays) > 1 else arrays[0]


def _rows(size):
    return size if np.isnan(size) else int(size)


def _tasks(parts, sizes, question):
    """Return a task for each partition."""
    predictor, blocks = question.model.predictor.separated()
    if not question.model.told_mean.is_own:  # two models, each with training rows of its own
        return each(_answered, parts, question)
    if blocks is None or question.is_of_noise:
        return each(_answered, parts, question.with_predictor(predictor))
    if blocks.rows.live_elsewhere:
        homes = blocks.homes
    elif len(parts) == 1:
        return each(_answered, parts, question)
    else:
        homes = divided(blocks, min(len(parts), len(blocks), _MOST_PARTS))
    return _tasks_at_homes(parts, sizes, question.with_predictor(predictor), homes)


def _answered(X, y, labels, question):
    """Return the answers for one partition."""
    if not len(X):
        return question.nothing()
    return question.answer(question.read(X, labels), y)


def _tasks_at_homes(parts, sizes, question, homes):
    """Return for each partition a task that puts together what is answered where the blocks are.

    Rows of several partitions are answered at once, as their blocks cost more than the rows do.
    """
    from dask import delayed

    count = len(homes.parts)
    if len(parts) * count > _MOST_TASKS:
        raise ValueError(
            "X must have so few partitions, where it is a dask collection and the model was fitted "
            f"to one with blocks, that their partitions make at most {_MOST_TASKS} pairs. Got "
            f"{len(parts) * count} pairs: rechunk X."
        )
    put_together, tasks = delayed(_put_together, pure=False), []
    sent = each(_sent, parts, question, homes.home, count)
    numbers = [np.flatnonzero(homes.home == k) for k in range(count)]
    for lo, hi in _together(sizes, homes.n_rows, count):
        asked = [
            (*part, numbers[k], [one[k] for one in sent[lo:hi]])
            for k, part in enumerate(homes.parts)
        ]
        there = each(_answered_there, asked, homes.load, question)
        tasks += [put_together([answers[i] for answers in there]) for i in range(hi - lo)]
    return tasks


def _together(sizes, n_rows, n_parts):
    """Return bounds of runs of partitions, each with at most so many rows, or one partition.

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


def _sent(X, y, labels, question, home, count):
    """Return what is asked of each part that has blocks: places of test rows, their arrays.

    Test rows of a block that nobody has go to the first of them.
    """
    if not len(X):
        return [(np.empty(0, dtype=np.intp), None)] * count
    inputs = question.read(X, labels)
    number = question.model.predictor.number(inputs)
    there, sent = np.where(number < 0, 0, home[number]), []
    unforeseen = inputs.unforeseen
    if unforeseen is None:
        n_filled = len(question.form.missing.columns)
        unforeseen = np.zeros((len(number), inputs.X.shape[1] - n_filled), dtype=bool)
    for k in range(count):
        own = np.flatnonzero(there == k)
        y_own = None if y is None else np.asarray(y)[own]
        sent.append((own, (inputs.X[own], y_own, number[own], unforeseen[own])))
    return sent


def _answered_there(*arguments):
    """Return for each of several partitions places of rows, and what is answered for them.

    It is done where the blocks of these rows are, each of which is factorised once: no cache. What
    a row may be that lacks values is answered in the block of what is expected.
    """
    *part, numbers, sent, load, question = arguments
    places = [own for own, _ in sent]
    if not any(map(len, places)):
        return [(own, question.nothing()) for own in places]
    blocks = blocks_here(loaded_rows(*part, load))
    question = question.with_predictor(question.model.predictor.with_blocks(blocks, numbers))
    X, y, *known = zip(*(arrays for own, arrays in sent if len(own)), strict=True)
    y = None if y[0] is None else np.concatenate(y)
    number, unforeseen = map(np.concatenate, known)
    lacks = unforeseen if unforeseen.any() else None
    answers = question.answer(Inputs(np.concatenate(X), number, unforeseen=lacks), y)
    ends = np.cumsum([*map(len, places)])[:-1]
    split = [np.split(array, ends) for array in answers]
    return list(zip(places, zip(*split, strict=True), strict=True))


def _put_together(answers):
    places, parts = zip(*answers, strict=True)
    order = np.argsort(np.concatenate(places))
    return tuple(np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True))
