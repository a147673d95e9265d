"""The rate that shares of the peak are shares of."""

import numpy as np
from meters import median_seconds

from ours import internals


def peak_gflops(m=1024):
    """Rate of a general product through the BLAS that the package uses, on all cores."""
    A, B = np.random.default_rng(0).standard_normal((2, m, m))
    C = np.zeros((m, m))
    return 2e-9 * m**3 / median_seconds(lambda: internals.product(A, B, C), 15, warm_up=3)
