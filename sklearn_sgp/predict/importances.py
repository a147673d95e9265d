"""How much of the predicted function each column of the inputs carries."""

import numpy as np

# Inputs, and orders in which columns take their values from one another, that it is averaged over.
_MOST_INPUTS, _ORDERS = 256, 4


def column_shares(mean, X):
    """Return the share of each column in the changes of a function, (d,), adding up to one.

    It is the mean of squared changes where one column alone takes its value from another row, as
    in total Sobol indices. All are zero where the function is constant. It has no units, and takes
    any kernel, categories included.

    Parameters
    ----------
    mean : callable
        ``mean(X)``, (n, t), in units in which functions compare.
    X : ndarray of shape (n, d)
    """
    rng, d = np.random.RandomState(0), X.shape[1]
    if len(X) > _MOST_INPUTS:
        X = X[np.sort(rng.permutation(len(X))[:_MOST_INPUTS])]
    X, changes = np.array(X, dtype=np.float64), np.zeros(d)
    here = mean(X)
    for _ in range(_ORDERS):
        order = rng.permutation(len(X))
        for k in range(d):
            changed = X.copy()
            changed[:, k] = X[order, k]
            changes[k] += ((mean(changed) - here) ** 2).sum()
    total = changes.sum()
    return changes / total if total > 0.0 else changes
