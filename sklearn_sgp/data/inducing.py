"""Where inducing inputs start."""

import numpy as np

from .._sampling import fixed_index
from ..kernels._compiled import Groups
from ..kernels.categories._units import units_of
from .categories import PLAIN_COLUMNS
from .checks import check_array
from .clusters import kmeans, nearest
from .column_order import sorted_rows
from .distinct import are_rows
from .missing import NO_MISSING
from .rows import MERGE_ROWS, each_weight, on_grid, order_of_columns, random_index
from .standard_inputs import LEARNING_GRID

# Rows that a choice looks at, for each inducing input.
_ROWS_PER_CENTRE = 20
# And with less than so many seconds left, of 4,000 rows and 256 centres .03 s in the place of .1.
_LITTLE_SECONDS, _ROWS_IN_HASTE = 0.5, 1024
_MIN_ROWS = 8192
_INDUCING_ITERATIONS = 20
_GRAM_ROWS = 1500
_TIE = 1e-10
# Centres for which nearest rows are looked for together.
_NEAREST_CENTRES = 256


def choose_inducing(method, X, weight, n_inducing, kernel, scale, rng, seconds=np.inf):
    """Choose inducing inputs from the rows of positive weight.

    The choice is made among the sorted distinct rows with their weights added up, so that weights
    and repetitions give the same inducing inputs.

    Parameters
    ----------
    method : {"kmeans", "greedy", "random"}
    n_inducing : int
        An upper bound: fewer distinct rows give fewer.
    kernel : BoundKernel
        For the conditional variances of "greedy", and the columns that hold categories.
    scale : ndarray of shape (d,)
        Distances of "kmeans" are taken in ``X / scale``.
    seconds : float
        That are left; where they are few the choice looks at few rows.
    """
    if not n_inducing:
        return np.empty((0, X.shape[1]))
    candidates, mass = distinct_rows(X, weight, n_inducing, rng, seconds)
    if len(candidates) <= n_inducing:
        return candidates
    if method == "random":
        picked = rng.choice(len(candidates), n_inducing, replace=False, p=mass / mass.sum())
        return candidates[np.sort(picked)]
    if method == "greedy":
        return candidates[greedy_variance(kernel, candidates, mass, n_inducing)]
    if method == "kmeans":
        return kmeans_centres(kernel, candidates, mass, n_inducing, scale, rng)
    raise NotImplementedError(f"No inducing inputs by {method!r}.")


def distinct_rows(X, weight, n_inducing, rng, seconds=np.inf):
    """Return sorted distinct rows of a random sample of X, and the weight of each."""
    size = max(_MIN_ROWS, _ROWS_PER_CENTRE * n_inducing)
    is_late = seconds < _LITTLE_SECONDS
    size = max(_ROWS_IN_HASTE, 2 * n_inducing) if is_late else size
    every = weight is None or getattr(weight, "all_positive", False)  # those of partitions are
    index = None if every else np.flatnonzero(weight > 0)
    count = len(X) if index is None else len(index)
    if count > size:
        # no number is drawn there: what follows of some thousand rows is as with more time
        picked = fixed_index(count, size) if is_late else np.sort(random_index(count, size, rng))
        index = picked if index is None else index[picked]
    elif index is None:
        index = np.arange(count)
    sample = np.asarray(X[index], dtype=np.float64)
    first, inverse = sorted_rows(sample, sample.shape[1] if len(X) <= MERGE_ROWS else 0)
    sample_weight = np.ones(len(index)) if weight is None else weight[index]
    return sample[first], np.bincount(inverse, weights=sample_weight, minlength=len(first))


def with_more_inducing(old, method, X, weight, n_inducing, kernel, scale, rng):
    """Add inducing inputs to ``old``; no more in all than distinct rows.

    Parameters as in `choose_inducing`, and the inducing inputs of an earlier fit (k, d).
    """
    candidates, mass = distinct_rows(X, weight, n_inducing, rng)
    count, new = min(n_inducing, len(candidates)) - len(old), is_new(candidates, old)
    if count <= 0 or not new.any():
        return old
    more = choose_inducing(method, candidates[new], mass[new], count, kernel, scale, rng)
    return np.vstack([old, more])


def new_inducing_inputs(method, rows, Z, count, kernel, scale, rng):
    """Choose up to ``count`` inducing inputs among rows that are not inducing inputs yet.

    Parameters as in `choose_inducing`, and the present inducing inputs Z (m, d).
    """
    X = np.asarray(rows.X, dtype=np.float64)
    new = is_new(X, Z)
    if not new.any():
        return Z[:0]
    weight = None if rows.observations is None else rows.observations[new]
    return choose_inducing(method, X[new], weight, count, kernel, scale, rng)


def inputs_of_new_categories(method, rows, Z, n_inducing, kernel, scale, rng):
    """Choose inducing inputs, (k, d), for categories that none of the present ones has.

    Each gets as many as if all inducing inputs were shared equally among the categories of its
    column, together no more than half of them; the categories of the largest weight come first.

    Parameters
    ----------
    method : {"kmeans", "greedy", "random"}
    Z : ndarray of shape (m, d)
        Present inducing inputs.
    n_inducing : int
        Largest number of inducing inputs.
    kernel, scale, rng
        As in `choose_inducing`.
    """
    new, weight = Z[:0], each_weight(rows.observations, len(rows))
    for column in kernel.expression.held_columns:
        codes, code = np.unique(rows.X[:, column], return_inverse=True)
        code = code.ravel()
        known = np.unique(np.concatenate([Z[:, column], new[:, column]]))
        unknown = np.flatnonzero(~np.isin(codes, known))
        share = max(1, n_inducing // (len(known) + len(unknown)))
        mass = np.bincount(code, weights=weight, minlength=len(codes))
        for k in unknown[np.argsort(-mass[unknown], kind="stable")]:
            count, index = min(share, n_inducing // 2 - len(new)), np.flatnonzero(code == k)
            X = np.asarray(rows.X[index], dtype=np.float64)
            more = choose_inducing(method, X, weight[index], count, kernel, scale, rng)
            new = np.vstack([new, more])
    return new


def given_inducing(inducing, n_columns, missing=NO_MISSING, columns=PLAIN_COLUMNS):
    """Return the user's inducing inputs (m, d) as a new array, or raise a ValueError.

    Parameters
    ----------
    inducing : array-like
    n_columns : int
        Number of inputs of the kernel.
    missing : NoMissing or MissingValues
        Fills them as it fills X.
    columns : InputColumns
        Those of X. Categories have codes before anything is filled: NaN is one of them.
    """
    n_columns -= len(missing.columns)
    if columns.names is not None:
        _check_names(inducing, list(columns.names[:n_columns]))
    finite = "allow-nan" if missing.columns or columns.categorical else True
    options = {"order": "C", "copy": True, "ensure_all_finite": finite}
    try:
        Z = check_array(inducing, dtype=np.float64, **options)
        got = None if Z.shape[1] == n_columns else f"shape {Z.shape}"
        lacking = set(np.flatnonzero(np.isnan(Z).any(axis=0)).tolist())
        lacking = sorted(lacking.difference(columns.categorical))
        if got is None and lacking and not missing.columns:
            got = f"NaN in columns {lacking}"
    except (TypeError, ValueError) as error:  # TypeError: of a dict, or of a set
        got = f"{type(inducing).__name__}: {error}"
    if got is not None:
        raise ValueError(
            "The 'inducing' parameter must be a string or an array of finite numbers of shape "
            f"(n_inducing, {n_columns}), columns as in X. Got {got}"
        )
    return missing.filled(columns.with_codes(Z))


def _check_names(inducing, names):
    """Refuse a table of columns with other names, or in another order, than those of X."""
    given = list(getattr(inducing, "columns", ()))
    if given and all(isinstance(name, str) for name in given) and given != names:
        raise ValueError(
            "The columns of the 'inducing' parameter must be those of X that the kernel sees, in "
            f"their order, {names}. Got {given}: select these, or pass an array."
        )


def is_new(X, Z):
    """Return a mask of the rows of X that are not rows of Z, to the last bit."""
    return ~are_rows(X, Z)


def kmeans_centres(kernel, candidates, mass, n_inducing, scale, rng):
    """Return centres of k-means; with categories the rows nearest to them, categories and all."""
    held = kernel.expression.held_columns
    centre = candidates.mean(axis=0)
    centre[held] = 0.0
    units = units_of(kernel, scale)
    points = (candidates - centre) / units
    has_own_places = not isinstance(units, np.ndarray)  # of categories, or of directions
    if has_own_places:  # two rows of one cluster are equally near its centre: rounding decided
        points = on_grid(points, LEARNING_GRID)
    # a start, not a clustering: a few iterations are enough
    order = order_of_columns(points, len(points))
    more = {"max_iter": _INDUCING_ITERATIONS, "weight": mass}
    centres = kmeans(np.ascontiguousarray(points[:, order]), n_inducing, rng, **more)
    centres = np.ascontiguousarray(centres[:, np.argsort(order)])
    if has_own_places:
        parts = np.array_split(centres, -(-len(centres) // _NEAREST_CENTRES))
        return candidates[np.unique(np.concatenate([nearest(part, points) for part in parts]))]
    return centres * scale + centre


def greedy_variance(kernel, X, mass, n_inducing, *, tol=1e-10, enough=0.0, least=0):
    """Pick indices one by one where the conditional variance, times the weight, is largest.

    A partial pivoted Cholesky factorisation of K(X, X) (Burt et al. 2020), O(n m^2).

    Parameters
    ----------
    mass : ndarray of shape (n,)
        Positive weights.
    tol : float
        Picking stops when no conditional variance exceeds this share of the largest variance.
    enough : float
        After ``least`` picks it also stops when none exceeds this, in units of the kernel.
    least : int
    """
    variance = kernel.diag(X).astype(np.float64)
    stop = tol * variance.max()
    # Ties, as at first with a stationary kernel, go to the row nearest the centre, so that neither
    # units nor order of rows, columns and categories decide.
    closeness = _closeness(kernel, X)
    # one call for all columns is quicker than one for each
    gram = kernel.gram(X) if len(X) <= _GRAM_ROWS else None
    rows = np.empty((n_inducing, len(X)))
    picked = []
    for k in range(n_inducing):
        limit = stop if k < least else max(stop, enough)
        score = np.where(variance > limit, variance * mass, -1.0)
        best = int(np.argmax(score))
        if score[best] < 0.0:
            break
        tied = np.flatnonzero(score >= (1.0 - _TIE) * score[best])
        if len(tied) > 1:
            best = int(tied[np.argmax(closeness[tied])])
        column = kernel.block(X[best : best + 1], X)[0] if gram is None else gram[best]
        column = column - rows[:k, best] @ rows[:k]
        rows[k] = column / np.sqrt(variance[best])
        variance -= rows[k] ** 2
        variance[best] = 0.0
        picked.append(best)
    return np.array(picked or [0])  # a kernel may be zero at all rows


def _closeness(kernel, X):
    """Return covariances of rows with the centre, as if it had their categories."""
    held, centre = kernel.expression.held_columns, X.mean(axis=0, keepdims=True)
    if not len(held):
        return kernel.block(centre, X)[0]
    codes = X[:, held]
    order = np.lexsort(codes.T)
    kinds = codes[order]
    first = np.flatnonzero(np.append(True, (kinds[1:] != kinds[:-1]).any(axis=1)))
    centres = np.repeat(centre, len(first), axis=0)
    centres[:, held] = kinds[first]
    each, bounds = np.arange(len(first) + 1), np.append(first, len(X))
    closeness = np.empty(len(X))
    closeness[order] = kernel.blocks(centres, X, Groups(each[:-1], order, each, bounds))
    return closeness


def greedy_error(K, means, n_inducing, tol=1e-8):
    """Pick one by one the value that those picked before predict worst; return sorted indices.

    The expected squared error of a prediction is the conditional variance plus the squared
    difference of the posterior mean from what the kept values predict.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Prior covariance.
    means : ndarray of shape (m, t)
        Posterior means. Squares are averaged over columns.
    tol : float
        As in `greedy_variance`: the jitter hides what lies below.
    """
    variance, left = np.diagonal(K).copy(), means.copy()
    stop, columns = tol * variance.max(), np.empty((n_inducing, len(K)))
    picked = []
    for k in range(n_inducing):
        squares = left**2  # a mean of one column takes as long as all the rest
        off = squares[:, 0] if squares.shape[1] == 1 else squares.mean(axis=1)
        score = np.where(variance > stop, variance + off, -1.0)
        best = int(np.argmax(score))
        if score[best] < 0.0:
            break
        columns[k] = K[best] - columns[:k, best] @ columns[:k]
        columns[k] /= np.sqrt(variance[best])
        left -= np.outer(columns[k] / columns[k, best], left[best])
        variance -= columns[k] ** 2
        variance[best] = 0.0
        picked.append(best)
    return np.sort(np.array(picked, dtype=np.intp))
