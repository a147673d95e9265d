"""What a likelihood must say for every row, and nothing more.

A likelihood gives, for latent means and variances of the rows, the expected log density under
N(mean, variance) and its two derivatives, from which the bound, the natural-gradient step and all
hyperparameter gradients follow (docs/theory.md, eqs. 12 to 15 and 23).
"""

from typing import NamedTuple

import numpy as np


class ExpectedLogDensity(NamedTuple):
    """Expected log density of each row and its derivatives.

    ``value`` (n,) is summed over outputs, in nats; ``d_mean`` and ``d_variance`` are (n, t);
    ``d_log_noise`` (n,) is the derivative of ``value`` in the logarithm of the noise variance.
    """

    value: np.ndarray
    d_mean: np.ndarray
    d_variance: np.ndarray
    d_log_noise: np.ndarray
