"""Checks of tables, numbers and labels that several packages need."""

from collections.abc import Iterator
from functools import wraps
from numbers import Integral

import numpy as np
from sklearn.utils.multiclass import check_classification_targets as _check_targets
from sklearn.utils.validation import check_array as _check_array
from sklearn.utils.validation import check_consistent_length as _check_consistent_length
from sklearn.utils.validation import check_X_y as _check_X_y
from sklearn.utils.validation import validate_data as _validate_data

from .._compat import _check_feature_names, _check_sample_weight
from .._warnings import warn_caller

# Squares of larger numbers, over noise variances and times weights, can overflow.
LARGEST = 1e100
FARTHEST = 1e50  # of targets as scaled: squares of larger ones, over length scales, can overflow
SMALLEST = 1e-146  # of scales: squares of smaller ones lose digits, or are zero
LARGEST_VARIANCE = 1e150  # of a prior: squares of larger ones are not finite
# Slopes along a column that varies by 1e-300 are 1e300 times as many nats. Of 60 rows of weight 1
# none was beyond 1e308 there, but with columns of 1e-303, and with weights of 1e8.
_LEAST_EXTENT = 1e-302
# With less noise than this residuals, and what factors undo, count as many times as much each. Of
# 60 rows of 1e-300 and 1e-295 with noise of 1e-10 and 1e-12 all overflowed, of 1e-295 and 1e-290
# none. Noise below rounding counts no more than that.
_STEEP_NOISE = 1e-6
ORDINARY = 1e5  # in size: even the 15th power of a linear kernel is finite
# Least mean of weights that says nothing. 150 and 600 rows of three classes or a smooth function:
# with a mean of 0.1 eleven of twelve fits learn about what they learn with 1, with 0.03 eight of
# them, with 0.01 three, with one over the number of rows none.
_LEAST_MEAN_WEIGHT = 0.05
# What a stream knows is a sum of rounded numbers. One row of so much weight among 60 of weight 1
# loses 2e-8 to 3e-4 of what these say (kernels and noise given, beside arithmetic of 50 digits),
# one of 1e12 a hundredth; 60 rows of 1e12 lose nothing. A tenth of the rows may be lost.
_LARGEST_WEIGHT, _SHARE_LOST = 1e8, 0.1
# Weights of which each of five tables of 300 rows, 1e3 to 1e12 times as many, had shifts in every
# batch, since as many rows to the last bit the same have no noise. So had all rows of a fit: 120
# rows of two and three classes, all of weight 1e4, fell from -.19 and -.44 nats a row to -.69 and
# -.71 by SVGPClassifier and -1.7 and -1.0 by a stream; of 1e12 probabilities of 0 came.
_MOST_OF_COUNTS = 1e3
# Targets are too far from their median at so many times the distance that others have, and equal to
# it where they differ by so small a share, as sums and products of equal numbers do.
_FAR_OFF, _SHARE_OF_ROUNDING = 1.5e6, 1e-12


_CURES = {  # of errors of scikit-learn's that have none
    "inconsistent numbers": "X, y and sample_weight must have as many rows as each other: select "
    "the same rows of all.",
    "should be a 1d array": "Pass one column; sklearn.multioutput.MultiOutputClassifier has a "
    "classifier for each of several.",
    "Input y contains infinity": "Leave these rows out.",
    "feature names should match": "Pass X[list(model.feature_names_in_)], the columns of fit in "
    "their order; one that is no longer there may be added as NaN.",
}


def name_cure(error):
    """Raise an error of scikit-learn's again with a cure behind it, if it names none."""
    text = str(error).strip()
    end = "\n" if "\n" in text else " " if text.endswith(".") else ". "
    for words, cure in _CURES.items():
        if words in text:
            raise ValueError(text + end + cure) from error


def _in_own_words(check):
    """Check without a warning of sums of infinities of both signs, which are refused anyway.

    Errors that name no cure get one.
    """

    @wraps(check)
    def silent(*args, **kwargs):
        try:
            with np.errstate(invalid="ignore"):
                return check(*args, **kwargs)
        except ValueError as error:
            name_cure(error)
            raise

    return silent


check_array = _in_own_words(_check_array)
check_feature_names = _in_own_words(_check_feature_names)
check_consistent_length = _in_own_words(_check_consistent_length)
check_X_y = _in_own_words(_check_X_y)
check_classification_targets = _in_own_words(_check_targets)  # casts labels of any size


@_in_own_words
def validate_data(*args, **kwargs):
    """Validate as scikit-learn does, but name NaN among labels."""
    try:
        return _validate_data(*args, **kwargs)
    except ValueError as error:
        if str(error) != "Input contains NaN":
            raise
        raise ValueError(
            "y must hold a label in every row. Got NaN: leave rows without a label out."
        ) from error


@_in_own_words
def check_sample_weight(sample_weight, X):
    """Validate sample weights: non-negative, and not all zero.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), number or None
        A number is the weight of every row, None means 1.

    X : array-like of shape (n_samples, n_features)
        Inputs, already validated.

    Returns
    -------
    sample_weight : ndarray of shape (n_samples,), float64
    """
    given = sample_weight
    refuse_iterator("sample_weight", given)
    try:
        if _are_dates(given):
            raise TypeError("dates are no weights")
        sample_weight = _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True)
    except (TypeError, ValueError, OverflowError) as error:
        _explain_weights(given, error)
        raise
    if not sample_weight.any():  # scikit-learn itself refuses these from 1.9 on
        raise ValueError("sample_weight must hold a weight above zero. Got zero for every row.")
    return sample_weight


def _are_dates(values):
    """Return whether numpy's dates or durations are among values, which it reads as numbers."""
    if isinstance(values, list | tuple):
        values = np.asarray(values)
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    dates = np.datetime64, np.timedelta64
    return kind in ("m", "M") or (kind == "O" and any(isinstance(one, dates) for one in values))


def _explain_weights(given, error):
    """Raise what says more than scikit-learn's or numpy's error on reading weights; or nothing."""
    text = str(error)
    if "Input sample_weight contains" in text:
        raise ValueError(
            f"{first_words(error)}: give these rows the weight 0, or leave them out."
        ) from error
    if "Negative values" in text or "Sample weights must be" in text:
        raise ValueError(
            f"{first_words(error)}. sample_weight must hold one number for each row, 0 or more. "
            f"Got {shortened(repr(given))}: pass an array of shape (n_samples,), with the weight 0 "
            "for rows that are to be left out."
        ) from error
    if "zero" in text:  # for every row, which scikit-learn from 1.9 on refuses in these words
        return
    if "sample_weight.shape" in text:
        raise ValueError(
            f"{first_words(error)}. sample_weight must hold one number for each row of X. Got "
            f"shape {np.shape(given)}: select the same rows of both."
        ) from error
    raise ValueError(
        f"sample_weight must hold one number for each row. Got {shortened(repr(given))}: pass an "
        "array. For classes that weigh the same it is "
        'sklearn.utils.class_weight.compute_sample_weight("balanced", y).'
    ) from error


def refuse_iterator(name, values):
    """Refuse what can be read once only."""
    if isinstance(values, Iterator):
        raise TypeError(
            f"{name} must be an array, a list or a table. Got an iterator of type "
            f"{type(values).__name__}, which can be read only once: pass list({name})."
        )


def first_words(error):
    """Return the first line of what an error says, without its full stop, or its beginning."""
    return shortened(str(error).partition("\n")[0].rstrip("."), 120)


def shortened(text, most=80):
    """Return the beginning of a long text."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def check_size(name, values):
    """Refuse numbers whose squares could overflow, and what is not a number."""
    largest = float(max(values.max(), -values.min()))
    if not largest <= LARGEST:
        refuse_size(name, largest)


def refuse_size(name, largest, where=""):
    """Raise the error of numbers whose squares could overflow, and of what is not a number."""
    if np.isnan(largest):
        raise ValueError(
            f"{name} must hold finite numbers. Got None or NaN{where}: leave these rows out, or "
            "fill them."
        )
    raise ValueError(
        f"{name} must hold numbers of at most {LARGEST:g} in size, so that their squares are "
        f"finite. Got {largest:g}: use another unit{where}."
    )


def check_spread(X, weight, noise, known):
    """Refuse columns of a stream's batch whose slopes, in nats, are not finite.

    Slopes are along ``known`` inputs, too, if any; ``noise`` is the least variance that there may
    be, in units of the targets as scaled.
    """
    if not len(X):
        return
    total = float(len(X) if weight is None else weight.sum())
    steeper = max(_STEEP_NOISE / max(noise, np.finfo(np.float64).eps), 1.0) ** 2
    least = _LEAST_EXTENT * max(total, 1.0) * steeper
    X = X if known is None else np.vstack([X, known])
    spread = X.max(axis=0) - X.min(axis=0)
    small = np.flatnonzero((spread > 0.0) & (spread < least))
    if len(small):
        column = int(small[0])
        raise ValueError(
            f"Columns of X must vary by more than {least:.3g}, beside rows of weight {total:.3g} "
            f"and noise variances down to {noise:.3g}, so that slopes along them are finite. Got "
            f"{spread[column]:.3g} in column {column}: use another unit, set what is next to zero "
            "to 0, divide all weights by their mean, or raise noise_variance_bounds."
        )


def warn_of_small_weights(total, n_rows):
    """Warn of weights that count many rows as few, such as those that add up to one.

    ``total`` is the sum of the weights, ``n_rows`` counts rows of positive weight.
    """
    if total < _LEAST_MEAN_WEIGHT * n_rows:
        warn_caller(
            "sample_weight should have a mean of about 1, as weight 2 counts a row twice. Got a "
            f"sum of {total:.3g} for {n_rows} rows of positive weight, so that they count as that "
            "many rows and next to nothing is learned. Weights that are normalised to add up to "
            "one must be multiplied by the number of rows.",
            UserWarning,
        )


def warn_of_large_weights(size, name):
    """Warn of rows that count as thousands each, from which noise or classes are to be learned.

    ``size`` is that of the weights, ``name`` what of them that is.
    """
    if size > _MOST_OF_COUNTS:
        warn_caller(
            f"sample_weight should count rows, as weight 2 counts a row twice. Got {name} of "
            f"{size:.3g}: so many rows that are the same leave hardly any noise to learn, and "
            "hardly any doubt of a class. Divide all weights by their mean, cap the largest where "
            "few are so large, or, of a regressor, fix the noise by noise_variance_bounds.",
            UserWarning,
        )


def check_weights_of_stream(weight, seen, learns_noise):
    """Refuse weights that drown other rows in rounding; warn of those that are no counts.

    Rows that weigh less than 1 are compared as if they weighed 1: beside the prior, which weighs as
    much, they say next to nothing anyway. ``seen`` is the mean weight of the rows so far; inf where
    there are none.
    """
    counted = np.zeros(0) if weight is None else weight[weight > 0.0]
    if not len(counted):
        return
    largest, least = float(counted.max()), float(np.quantile(counted, _SHARE_LOST))
    most, few = max(largest, seen if np.isfinite(seen) else 0.0), min(least, seen)
    if most > _LARGEST_WEIGHT * max(few, 1.0):
        raise ValueError(
            f"sample_weight of a stream must be at most {_LARGEST_WEIGHT:g} times that of other "
            f"rows, as what these say would be lost in rounding. Got {most:g}, where rows have "
            f"{few:.3g}. Weight 2 counts a row twice: give weights of one size."
        )
    if learns_noise and counted.mean() <= _MOST_OF_COUNTS:  # else that is said already
        warn_of_large_weights(largest, "weights")


def check_scaled(targets, y):
    """Refuse targets that are too large in the units in which they are learned.

    y is in units of y; NaN is no target.
    """
    largest = _largest_scaled(targets, y)
    if largest > FARTHEST:
        raise ValueError(
            f"y must hold numbers of at most {FARTHEST:g} in size, as scaled by normalize_y, or by "
            f"mean and standard deviation of the first rows. Got {largest:g}: leave rows of such "
            "targets out, use another unit, or fit all rows with normalize_y=True."
        )


def check_lowest(targets, y):
    """Refuse targets (n, t) below the lowest that there may be; NaN is no target."""
    below = y < targets.lowest
    if below.any():
        lowest = np.broadcast_to(targets.lowest, y.shape)[below][0]
        raise ValueError(
            f"y must hold numbers of at least {lowest:g}, as the first rows did: many of them were "
            f"{lowest:g}, which normalize_y takes for the lowest that there may be. Got "
            f"{y[below].min():g}: leave rows of such targets out, or fit again with some of them "
            'among the first rows, or with normalize_y="yeo-johnson".'
        )


def _largest_scaled(targets, y):
    extremes = np.stack([np.fmin.reduce(y, axis=0), np.fmax.reduce(y, axis=0)])
    with np.errstate(over="ignore"):
        return float(np.fmax.reduce(np.abs(targets.scaled(extremes)), axis=None, initial=0.0))


def check_first_scaled(targets, y):
    """Refuse targets of a fit that are too large or too small in the units in which it learns.

    Parameters as in `check_scaled`. It warns of targets whose own units have no square.
    """
    check_scaled(targets, y)
    if targets.follows_rows:
        if (targets.scale < SMALLEST).any():
            warn_caller(
                f"y should vary by more than {SMALLEST:g}, so that squares are numbers. Got a "
                f"standard deviation of {targets.scale.min():.3g}: means, standard deviations, "
                "quantiles and densities are right, variances, covariances and scores are not. "
                "Use another unit.",
                UserWarning,
            )
        return
    largest = _largest_scaled(targets, y)
    if 0.0 < largest < 1.0 / FARTHEST:
        raise ValueError(
            f"y must hold numbers of at least {1.0 / FARTHEST:g} in size, as scaled by "
            f"normalize_y, unless all are 0. Got {largest:g}: use another unit, or "
            "normalize_y=True."
        )


def warn_of_far_targets(y, weight):
    """Warn of targets (n, t) beside which all others are alike, where noise has no word for them.

    One of 1e9 among 200 of size 1: predictions of the default models are off by 2e8 to 1e9 at all
    rows, with `likelihood="student_t"` as if it were not there.
    """
    y = y if weight is None else y[np.asarray(weight) > 0.0]
    median = np.median(y, axis=0)
    distance, rounding = np.abs(y - median), _SHARE_OF_ROUNDING * np.abs(median)
    usual = [_usual(*column) for column in zip(distance.T, rounding, strict=True)]
    if (distance.max(axis=0) > _FAR_OFF * np.array(usual)).any():
        warn_caller(
            "Numbers of y should be of one size. Got some that are more than a million times as "
            "far from the median as the others: with Gaussian noise next to nothing is learned "
            'from the others. Leave such rows out, or take likelihood="student_t" or "auto".',
            UserWarning,
        )


def _usual(distance, rounding):
    """Return the median of distances from the median, or of those of the others if most are 0."""
    usual = np.median(distance)
    if usual > rounding:
        return usual
    others = distance[distance > rounding]
    return np.median(others) if len(others) else np.inf


def check_n_samples(n_samples, least=0):
    """Refuse what is no whole number, and smaller ones."""
    if isinstance(n_samples, bool) or not isinstance(n_samples, Integral) or n_samples < least:
        raise ValueError(
            f"The 'n_samples' parameter must be an int of at least {least}. Got {n_samples!r}."
        )


def is_missing(value):
    """Return True for None, NaN, NaT, and pandas' NA, which is not equal to anything."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def check_variance(kernel, X, label="column {}".format):
    """Refuse inputs at which the prior variance, and so what rests on it, is not finite.

    It is found where all columns are as far from zero as they get: no kernel of scikit-learn's has
    a larger one elsewhere. What lives elsewhere is read row by row later, and not looked through
    here.
    """
    if not hasattr(X, "__array__") or max(X.max(), -X.min()) < ORDINARY:
        return
    farthest = np.maximum(X.max(axis=0), -X.min(axis=0))[None].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(kernel.diag(farthest)[0])
    if not largest <= LARGEST_VARIANCE:
        raise ValueError(
            f"X must hold numbers at which the kernel is at most {LARGEST_VARIANCE:g}. Got "
            f"{largest:g} from {kernel.sklearn_kernel!r} for numbers of up to {farthest.max():g} "
            f"in size, in {label(int(np.argmax(farthest)))}: use another unit, or a stationary "
            "kernel."
        )
