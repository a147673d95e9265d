"""The mean that is told: that of the predicted distribution, or with a part of another fit's.

A mean under a warp can rest on the tail of the warp beyond the data, and noise that was chosen by
density may cost squares. What rows that are left out vouch for is told instead; median, quantiles
and density stay those of the distribution (docs/theory.md, eq. 89).
"""

from dataclasses import dataclass, replace

import numpy as np


class OwnMean:
    """The mean of the predicted distribution itself."""

    is_own = True
    share = 1.0

    def parts(self, inputs, n_jobs):
        """Return the factor of the distribution's own mean, and what is added to it."""
        return 1.0, 0.0

    def mapped(self, function):
        """Return the same: there is no reference."""
        return self


OWN_MEAN = OwnMean()


@dataclass(frozen=True)
class CombinedMean:
    """A share of the distribution's own mean, the rest from a fit with Gaussian noise and no warp.

    Parameters
    ----------
    reference : object
        That fit, an `engines.base.Fitted` of a package above.
    share : ndarray of shape (t,)
        Of each output, from 0 to 1.
    """

    reference: object
    share: np.ndarray

    is_own = False

    def parts(self, inputs, n_jobs):
        """Return the factor of the distribution's own mean, and what is added to it."""
        predictor, targets = self.reference.predictor, self.reference.targets
        mean, share = predictor.mean(inputs, n_jobs), targets.squeezed(self.share)
        return share, (1.0 - share) * targets.mean_in_units(mean)

    def mapped(self, function):
        """Return the same with what a function makes of the reference."""
        return replace(self, reference=function(self.reference))


def combined(own, parts):
    """Return the mean of own means and `parts`, all of the shape of y."""
    share, rest = parts
    return share * own + rest
