"""Which mean predicts rows that are left out: squares decide, as only they see far tails.

Where a few large targets make nearly all of the squares these hardly tell one level from another.
The mean of the residuals does, and must be 0 within its standard errors.
"""

from typing import NamedTuple

import numpy as np

from ..objectives.scores import mean_and_error

# Squares of the distribution's own mean, in units of the best combination's, up to which that is
# not worth a second model: a root of 1.005, half of what a choice may cost at all. Where that model
# has been learned it costs predictions only.
_LITTLE_MORE, _LITTLE_MORE_OF_LEARNED = 1.01, 1.0025
# Standard deviation, about one half, of the shares that combinations have: what left-out squares
# say of a share counts as their standard error allows. Means of two models have smaller errors than
# either as a rule. Nine draws of six tables of 300 to 1,000 rows, in units of the default's errors:
# halves .972 in the mean, .993 at most, the least left-out squares .975 and .994, this .973 and
# .993, the distribution's own mean .972 and 1.032.
_SPREAD_OF_SHARES = 0.25
# And what that is: the largest ratio of roots where one of two distributions is taken.
_LARGEST_RATIO = 1.01
# Standard errors by which the left-out residuals may be off 0 in the mean, as chance has them in 5
# of 100 fits, at no cost: the other mean has at most `_LITTLE_MORE` squares. With 3 one of five
# draws with 90 and 97 % zeros kept a mean of .13 where targets have .23. Of 1,500 rows of which
# 97 % are 0 a mean near 0 costs 0.3 and 0.7 % of the squares of one at the right level, .05, and is
# off by 4.7 and 4.1 standard errors (two draws).
_MOST_ERRORS = 2.0


class MeanChoice(NamedTuple):
    """The mean that is told of one output.

    Attributes
    ----------
    share : float
        Of the distribution's own mean; the rest is the reference's.
    is_cut : bool
        True if the own one is cut to the range of the training targets.
    """

    share: float
    is_cut: bool


def best_mean(y, weight, own, cut, reference, is_learned=False):
    """Choose the mean of one output by left-out squares.

    Parameters
    ----------
    y, weight : ndarray of shape (n,)
        Of rows that are left out.
    own, cut, reference : ndarray of shape (n,)
        What is predicted of each from all others: the mean of the distribution, that of the
        distribution within the range of the training targets, and that of the reference.
    is_learned : bool
        Whether the reference's kernel has been learned for it.

    Returns
    -------
    choice : MeanChoice
        The own mean where there are no rows that judge.
    """
    if len(y) == 0:
        return MeanChoice(1.0, False)
    is_cut = bool(_square(y, weight, cut) < _square(y, weight, own))
    own = cut if is_cut else own
    share = _best_share(y, weight, own, reference)
    best = _square(y, weight, share * own + (1.0 - share) * reference)
    little_more = _LITTLE_MORE_OF_LEARNED if is_learned else _LITTLE_MORE
    if _square(y, weight, own) <= little_more * best:
        share = 1.0
    if _is_off(y, weight, share * own + (1.0 - share) * reference, reference):
        share = 0.0
    return MeanChoice(share, is_cut)


def costs_mean(y, weight, own, reference):
    """Return whether the distribution's own mean is off, or has 1 % larger roots of squares."""
    if len(y) == 0:
        return False
    if _is_off(y, weight, own, reference):
        return True
    return _square(y, weight, own) > _LARGEST_RATIO**2 * _square(y, weight, reference)


def _is_off(y, weight, told, reference):
    """Return whether a mean is not at the level of the targets, and the reference's is nearer.

    It is not where the squares tell that the reference's is worse.
    """
    if len(y) < 2 or not np.isfinite(told).all():
        return False
    if _square(y, weight, reference) > _LITTLE_MORE * _square(y, weight, told):
        return False
    (bias, error), (other, _) = (mean_and_error(y - mean, weight) for mean in (told, reference))
    return bool(abs(bias) > max(_MOST_ERRORS * error, abs(other)))


def _best_share(y, weight, own, reference):
    """Return the share of own, from 0 to 1, with the least squares that are to be expected.

    The share with the least left-out squares is 1/2 plus half of their difference in units of the
    square by which the means are apart; it is drawn to 1/2 as far as it is uncertain.
    """
    apart = np.average((own - reference) ** 2, weights=weight)
    if not apart > 0.0:
        return 1.0
    less, error = mean_and_error((y - reference) ** 2 - (y - own) ** 2, weight)
    known = _SPREAD_OF_SHARES**2 / (_SPREAD_OF_SHARES**2 + (0.5 * error / apart) ** 2)
    return float(np.clip(0.5 + known * 0.5 * less / apart, 0.0, 1.0))


def _square(y, weight, mean):
    """Return the mean squared error, inf where it is no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.average((y - mean) ** 2, weights=weight)
    return float(square) if np.isfinite(square) else np.inf
