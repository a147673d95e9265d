"""Expectation propagation in a group of rows, under the exact process (docs/theory.md, section 13).

A site exp(shift f - precision f^2 / 2) stands for the likelihood of one observation of a row. All
sites of a group are updated at once from the marginals of its posterior, whose covariance is

    K - K R K,   R = W^(1/2) inv(I + W^(1/2) K W^(1/2)) W^(1/2),   W: the sites' precisions

A row that stands for several observations has as many sites, all alike; one of weight below 1 has
a site for that power of its likelihood.
"""

from typing import NamedTuple

import numpy as np

from .._core._groups import add_slopes_given_sites, given_sites
from .._core._memory import empty
from .._linalg import NotPositiveDefiniteError

# Least precision of a site: nothing, beside what near rows say of any function.
LEAST_PRECISION = 1e-7
# Share of a variance that a site itself must take away for what is left to be told by that: the
# share is right to 1e-16, so that the rest is right to 1e-8.
_SURELY_KNOWN = 1e-8
# Sweeps over all rows of a group, at most.
MOST_SWEEPS = 100
# And once time is over, over a group that is new, and over one whose sites are known.
_LATE_SWEEPS = 5, 1
# Sites go such a share of the way to what they would be if no other changed. It grows where a
# sweep's change is so much less than that of the one before, and shrinks where it is hardly less.
# Where 250 rows of one class are all but one function value, sites that know nothing of one another
# say it 250 times: full steps swing forever, and steps of a half take 14 sweeps where 7 are enough.
# Of 20 groups that were drawn from five kernels all come to rest, in 7 to 38 sweeps but for the
# flattest kernel.
_FIRST_STEP, _LEAST_STEP, _STEP_GROWS, _STEP_SHRINKS = 0.6, 0.2, 1.2, 0.6
_MUCH_LESS, _HARDLY_LESS = 0.6, 0.9


class Sites(NamedTuple):
    """Sites of some rows: what each of their observations says.

    Attributes
    ----------
    precision, shift : ndarray of shape (n,)
    """

    precision: np.ndarray
    shift: np.ndarray

    @classmethod
    def none(cls, n):
        """Return sites that say nothing."""
        return cls(np.zeros(n), np.zeros(n))

    def select(self, index):
        """Return the sites at a slice or an array of indices."""
        return Sites(self.precision[index], self.shift[index])


class Observed(NamedTuple):
    """Observations of one output at the rows of a group.

    Attributes
    ----------
    y : ndarray of shape (n, 1)
    counts : ndarray of shape (n,)
        Numbers of observations.
    held : ndarray of bool, shape (n,), or None
        Rows whose sites stay as they are; None for none.
    offset : ndarray of shape (n,) or None
        What is added to the function.
    """

    y: np.ndarray
    counts: np.ndarray
    held: np.ndarray | None = None
    offset: np.ndarray | None = None

    @property
    def repeats(self):
        """Numbers of sites of the rows, as they are repeated."""
        return np.maximum(self.counts, 1.0)

    @property
    def powers(self):
        """Powers of the likelihood that a site stands for."""
        return np.minimum(self.counts, 1.0)

    def tilted(self, likelihood, cavity):
        """Return the `TiltedMoments` of one observation of each row."""
        mean, variance = cavity
        mean = mean if self.offset is None else mean + self.offset
        return likelihood.tilted_moments(self.y, mean, variance, self.powers)

    def select(self, index):
        """Return the part of some rows."""
        return Observed(*(None if part is None else part[index] for part in self))


class Approximation(NamedTuple):
    """The fixed point of a group, to a tolerance.

    Attributes
    ----------
    sites : Sites
    following : Sites
        Where sweeps would go on: nearer to the fixed point where these were too few.
    evidence : float
        Expectation propagation's logarithm of the probability of the targets; of rows whose sites
        are held the integral of these.
    cavity : (ndarray, ndarray) of shape (n,)
        Means and variances without one site of a row.
    log_scale : ndarray of shape (n,)
        Logarithm of what the sites of each row, exp(shift f - precision f^2 / 2), are multiplied
        by; 0 where they are held.
    slope : ndarray of shape (n,)
        The posterior mean is K slope.
    L_inv : ndarray of shape (n, n)
        Inverse of the Cholesky factor of I + W^(1/2) K W^(1/2).
    root : ndarray of shape (n,)
        W^(1/2).
    """

    sites: Sites
    following: Sites
    evidence: float
    cavity: tuple
    log_scale: np.ndarray
    slope: np.ndarray
    L_inv: np.ndarray
    root: np.ndarray

    def add_slopes(self, sign, K_bar, n):
        """Add the evidence's derivatives in K at fixed sites, (slope slope^T - R) / 2.

        Parameters
        ----------
        sign : float
        K_bar : ndarray of shape (n (n + 1) / 2,)
            Of the upper triangle of n rows, whose first have these sites: off its diagonal of both
            equal entries.
        """
        add_slopes_given_sites(sign, self.L_inv, self.root, self.slope, K_bar, n)


def propagate(K, observed, likelihood, sites, tol, most_sweeps=MOST_SWEEPS):
    """Find the fixed point of expectation propagation.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Prior covariance. The prior mean is zero, but for the offset of the likelihood.
    likelihood : Likelihood
        Of one output.
    sites : Sites
        Where to begin.
    tol : float
        Change of marginal means, in deviations, and of log variances, with which sweeps end.
    most_sweeps : int
        With fewer than it takes, sites are not at the fixed point, and the evidence is off by the
        square of their error.

    Raises
    ------
    NotPositiveDefiniteError
        If a covariance is not, or a moment is not finite.
    """
    prior, step, before, last = np.diagonal(K).copy(), _FIRST_STEP, None, np.inf
    for _ in range(most_sweeps):
        posterior = _Posterior.of(K, prior, observed.repeats, sites)
        cavity = posterior.without(sites)
        moments = observed.tilted(likelihood, cavity)
        change = np.inf if before is None else posterior.change(before)
        used = sites
        if change <= tol * step:
            break
        step, last, before = _next_step(step, change, last), change, posterior
        sites = moved(used, step, cavity, moments, observed.held)
    scale = posterior.log_scale(used, cavity, moments.log_integral, observed)
    evidence = posterior.log_integral(used, observed) + float(scale.sum())
    if not np.isfinite(evidence):
        raise NotPositiveDefiniteError("the evidence of near rows is not finite")
    return Approximation(used, sites, evidence, cavity, scale, *posterior[2:5])


def sweeps_in_time(most, clock, is_known=False):
    """Return how many sweeps a group gets: ``most``, or few where a `Clock` has none left."""
    return most if clock is None or clock.left() > 0.0 else min(most, _LATE_SWEEPS[is_known])


def _next_step(step, change, last):
    if not last < np.inf:  # nothing is known yet
        return step
    if change < _MUCH_LESS * last:
        return min(1.0, _STEP_GROWS * step)
    return max(_LEAST_STEP, _STEP_SHRINKS * step) if change > _HARDLY_LESS * last else step


def moved(sites, step, cavity, moments, held):
    """Return sites that match the tilted moments, as far as a step goes."""
    mean, variance = cavity
    # of the variance, by the likelihood; rounding leaves none of a variance that is huge
    shrinkage = np.maximum(1.0 + variance * moments.curvature, np.finfo(np.float64).eps)
    precision = np.maximum(-moments.curvature / shrinkage, LEAST_PRECISION)
    # so that the mean is matched, whatever became of the precision
    shift = moments.slope * (1.0 + variance * precision) + mean * precision
    if not (np.isfinite(precision).all() and np.isfinite(shift).all()):
        raise NotPositiveDefiniteError("sites of near rows are not finite")
    new = Sites(*(a + step * (b - a) for a, b in zip(sites, (precision, shift), strict=True)))
    return (
        new
        if held is None
        else Sites(*(np.where(held, *both) for both in zip(sites, new, strict=True)))
    )


class _Posterior(NamedTuple):
    """The posterior of a group, given its sites; `Approximation` has the attributes.

    ``log_root`` is the logarithm of the root of a determinant, that of I + W^(1/2) K W^(1/2).
    """

    mean: np.ndarray
    variance: np.ndarray
    slope: np.ndarray
    L_inv: np.ndarray
    root: np.ndarray
    log_root: float

    @classmethod
    def of(cls, K, prior, repeats, sites):
        root, b = np.sqrt(repeats * sites.precision), repeats * sites.shift
        L_inv, (squares, slope, mean) = empty(K.shape), np.empty((3, len(K)))
        log_root = given_sites(K, root, b, L_inv, squares, slope, mean)
        if np.isnan(log_root):
            raise NotPositiveDefiniteError("prior and sites of near rows are not finite")
        known = 1.0 - squares > _SURELY_KNOWN
        variance = np.where(known, (1.0 - squares) / np.where(known, root, 1.0) ** 2, prior)
        if not known.all():  # what a site adds itself is rounding; others may say much
            A = L_inv @ (root[:, None] * K[:, ~known])
            explained = np.einsum("ij,ij->j", A, A)
            least = np.finfo(float).eps * prior[~known]
            variance[~known] = np.maximum(prior[~known] - explained, least)
        return cls(mean, variance, slope, L_inv, root, log_root)

    def without(self, sites):
        """Return means and variances without one site of each row."""
        precision = 1.0 / self.variance - sites.precision
        variance = 1.0 / precision
        return variance * (self.mean / self.variance - sites.shift), variance

    def change(self, before):
        """Return the largest change of a mean, in deviations, or of a log variance."""
        mean = np.abs(self.mean - before.mean) / np.sqrt(self.variance)
        return max(mean.max(), np.abs(np.log(self.variance / before.variance)).max())

    def log_integral(self, sites, observed):
        """Return the logarithm of the integral of prior and sites."""
        b = observed.repeats * sites.shift
        return 0.5 * float(b @ self.mean) - self.log_root

    def log_scale(self, sites, cavity, log_integral, observed):
        """Return the scales with which cavity and sites have the integrals that the rows ask for.

        ``log_integral`` is that of the likelihood of one observation.
        """
        mean, variance = cavity
        squares = self.mean**2 / self.variance - mean**2 / variance
        of_sites = 0.5 * (squares - np.log1p(sites.precision * variance))
        scale = observed.repeats * (log_integral - of_sites)
        return scale if observed.held is None else np.where(observed.held, 0.0, scale)
