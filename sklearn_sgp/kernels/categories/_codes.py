"""Codes of categories: whole numbers from 0."""

import numpy as np

from ._covariance import LARGEST_COUNT


def check_codes(values, name):
    """Refuse what is no code of a category.

    Parameters
    ----------
    values : ndarray of shape (n,)
    name : str
        Of the column, for the message.

    Raises
    ------
    ValueError
        If a value is not a whole number, negative or too large.
    """
    if not len(values):
        return
    least, largest = values.min(), values.max()
    whole = np.rint(values) == values
    got = None
    if not whole.all():
        got = f"{values[~whole][0]}, which is no whole number"
    elif least < 0:
        got = f"{least:g}, which is negative"
    elif largest >= LARGEST_COUNT:
        got = f"{largest:g}, which is more than there may be"
    if got is not None:
        raise ValueError(
            f"Categories in {name} of X must be codes 0, 1, 2, ..., at most {LARGEST_COUNT} of "
            f"them. Got {got}: encode them by OrdinalEncoder, or name the column in "
            "categorical_features and leave the kernel out."
        )
