"""Problems drawn from random numbers, a tenth of their rows for testing."""

import numpy as np

from problems.standardise import standardised

# Of the synthetic problem, for inputs uniform in [-1, 1]; their standard deviation is 1 / sqrt(3).
LENGTH_SCALES = np.array([0.3, 0.5, 0.8, 1.0, 2.0, 4.0, 10.0, 10.0])
STANDARDISED_LENGTH_SCALES = LENGTH_SCALES * np.sqrt(3.0)
NOISE_STD = 0.3


def synthetic(n=100_000, seed=0, name="synthetic"):
    """A draw from an 8-dimensional ARD squared exponential GP plus noise, a tenth for testing.

    2,000 random Fourier features, inputs uniform in [-1, 1], unit variance, noise sd 0.3.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, len(LENGTH_SCALES)))
    frequencies = rng.standard_normal((len(LENGTH_SCALES), 2000)) / LENGTH_SCALES[:, None]
    phases = rng.uniform(0.0, 2.0 * np.pi, 2000)
    weights = np.sqrt(2.0 / 2000) * rng.standard_normal(2000)
    f = np.concatenate(
        [np.cos(X[lo : lo + 2000] @ frequencies + phases) @ weights for lo in range(0, n, 2000)]
    )
    y = f + NOISE_STD * rng.standard_normal(n)
    return standardised(name, X, y, random_tenth(n))


def noise_floor(n=2000, seed=0):
    """A smooth function of two inputs with almost no noise: sd 1e-6."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    y = np.sin(3.0 * X[:, 0]) + X[:, 0] * X[:, 1] + 1e-6 * rng.standard_normal(n)
    return standardised("noise floor", X, y, random_tenth(n))


def random_tenth(n):
    """Mask of a random tenth of the rows; always the same."""
    test = np.zeros(n, dtype=bool)
    test[np.random.default_rng(0).permutation(n)[: n // 10]] = True
    return test
