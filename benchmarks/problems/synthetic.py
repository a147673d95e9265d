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
    return standardised(name, X, _noisy_draw(rng, X, LENGTH_SCALES), random_tenth(n))


def graded(n, d, seed):
    """Columns of any number: as many as `synthetic` has matter as they do there, others do not.

    Returns
    -------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
    """
    rng = np.random.default_rng(seed)
    X, length_scales = rng.uniform(-1.0, 1.0, (n, d)), LENGTH_SCALES[:d]
    return X, _noisy_draw(rng, X[:, : len(length_scales)], length_scales)


def _noisy_draw(rng, X, length_scales):
    frequencies = rng.standard_normal((len(length_scales), 2000)) / length_scales[:, None]
    phases = rng.uniform(0.0, 2.0 * np.pi, 2000)
    weights = np.sqrt(2.0 / 2000) * rng.standard_normal(2000)
    f = np.concatenate(
        [
            np.cos(X[lo : lo + 2000] @ frequencies + phases) @ weights
            for lo in range(0, len(X), 2000)
        ]
    )
    return f + NOISE_STD * rng.standard_normal(len(X))


def noise_floor(n=2000, seed=0):
    """A smooth function of two inputs with almost no noise: sd 1e-6."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    y = np.sin(3.0 * X[:, 0]) + X[:, 0] * X[:, 1] + 1e-6 * rng.standard_normal(n)
    return standardised("noise floor", X, y, random_tenth(n))


def random_test(n, share, seed):
    """Mask of a random share of the rows, another one for each seed."""
    test = np.zeros(n, dtype=bool)
    test[np.random.default_rng(seed).permutation(n)[: round(share * n)]] = True
    return test


def random_tenth(n):
    """Mask of a random tenth of the rows; always the same."""
    test = np.zeros(n, dtype=bool)
    test[np.random.default_rng(0).permutation(n)[: n // 10]] = True
    return test


# Of the mixture: standard deviation of the centres, which leaves classes that overlap a little.
_SPREAD, _PER_CLASS = 1.5, 8


def mixture(n_classes=26, n=16_000, seed=0, d=16, n_test=4_000):
    """Classes of eight normal components each, of unit covariance, at random centres.

    Returns
    -------
    problem : Problem
    error : float
        Of the best classifier there can be, on the test rows.
    """
    rng = np.random.default_rng(seed)
    centres = _SPREAD * rng.standard_normal((n_classes, _PER_CLASS, d))
    y = rng.integers(0, n_classes, n + n_test)
    X = centres[y, rng.integers(0, _PER_CLASS, len(y))] + rng.standard_normal((len(y), d))
    log_p = np.empty((n_test, n_classes))
    for c, own in enumerate(centres):
        squares = ((X[n:, None] - own) ** 2).sum(axis=2)
        log_p[:, c] = np.logaddexp.reduce(-0.5 * squares, axis=1)
    name = f"mixture_{n_classes}"
    problem = standardised(name, X, y, np.arange(len(y)) >= n)
    return problem, float(np.mean(log_p.argmax(axis=1) != y[n:]))
