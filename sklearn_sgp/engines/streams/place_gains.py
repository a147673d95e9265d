"""What of the predictions of left-out rows is a gain, and not that of a few rows alone."""

import numpy as np

from ...data.scaling import GRID

# Nats a row of the sample that bands by place must gain over those that are equal everywhere. With
# 0.03 eight made series (pseudo-periodic, noisy, a chirp, bursts, planes) with half the inducing
# inputs that they need end with .08 to 1.01 nats a row more than without; of 60 random streams six
# have such bands, and .05 to 1.24 nats more. With 0.1 the pseudo-periodic series of the papers ends
# as without, which is .20 less.
LEAST_PLACE_GAIN = 0.03
# Standard errors that the gain must be above 0, with so many nats of a row at most: where one row
# in fifty is far off, at random, the others near a place do not tell.
_ERRORS_OF_A_GAIN, _MOST_GAIN_OF_A_ROW = 2.0, 1.0


def squares_of(residuals):
    """Return squared residuals of scaled targets, none less than rounding."""
    return np.maximum(residuals**2, GRID**2)


def log_density(squares, variance):
    """Return log densities of residuals, (n * t,), a constant apart, or NaN."""
    return -0.5 * (np.log(variance) + squares / variance).ravel()


def is_gain(gains):
    """Return whether gains are enough, nats a row and standard errors, and not of a few rows."""
    gains = gains[np.isfinite(gains)]
    gains = np.clip(gains, -_MOST_GAIN_OF_A_ROW, _MOST_GAIN_OF_A_ROW)
    error = gains.std() / np.sqrt(max(len(gains), 1))
    return gains.mean() > max(LEAST_PLACE_GAIN, _ERRORS_OF_A_GAIN * error)
