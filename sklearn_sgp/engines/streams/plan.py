"""What is to be done with one batch of a stream, what is proposed for it, and what is learned."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ...data.column_spread import column_mean_std
from ...data.rows import Rows
from ...gp.jitter import factorise_with_jitter
from ...gp.prior import Prior
from ...kernels._length_scales import input_scales
from ...optimize.parameters import Parameters
from ...optimize.progress import Trace
from ..base import Problem, Settings, Start
from ..fitted import Fitted
from ..variational.class_regressions import prefers_regressions
from ..variational.inference import INNER_TOL, inference_for
from .exact_bound import exact_or_not
from .inducing import NO_PAIRS, StreamInducing, identity_pairs
from .mixed_bound import MixedOnlineBound
from .old_posterior import OldPosterior
from .online_bound import ConjugateOnlineBound, SiteOnlineBound
from .waiting import NONE_WAITING, Waiting

# A later batch has one iteration of L-BFGS for each so many rows. On 10 parts of four tables in
# batches of 60 densities are 0.002 nats a row lower than with 20 (no table by more than 0.006), in
# three quarters of the time. With 10 rows it is 0.001 and half of the time, but one of 300 random
# streams was too sure, by a mean squared standardised residual of 5.9; with 5 the largest is 3.2.
_ROWS_OF_AN_ITERATION = 5.0
# The next batch goes on from where this one ends, so that a batch ends with the first iteration
# whose gain is less than so many times `tol`, .06 nats of 60 rows. Of 34 made streams (lags, time,
# planes, shifts, six columns) batches take 3 to 5 evaluations for 10 to 13, and two thirds of the
# time; densities are as they were, .003 nats a row lower at most and .004 higher.
_LATER_TOL = 10.0
# Functions that hardly bend have an amplitude of many standard deviations of the targets. With 100
# the jitter asked for, 1e-8 of its square, would count as noise of 1e-4, and bands be 2 to 7 times
# too wide. The ladder begins at such a share of it.
_JITTER_SHARE = 1e-2
# Gains, in nats a row, with which iterations for q(u) end. What thins out inducing inputs needs
# little: ten digits in batches of 200 take 11 passes in the place of 31 for it, and end with the
# same log probability to 0.001. Functions as large as labels held out choose take many passes: with
# 1e-5 a third fewer than with `INNER_TOL`, with log probabilities of new rows as good to 0.002.
THINNING_TOL, _LABELS_TOL = 1e-3, 1e-5
# Least power of the old posterior's factor, unless another is asked for. With 0 what is known of an
# old inducing value counts in full even where the new ones do not determine it, and a posterior
# that has to drop some contradicts itself: on a noise-free series with 100 inducing inputs and room
# for 150 the RMSE went up to 0.3 from 0.04, with 0.5 it ends at 0.02. Nothing changes where old
# inducing inputs are kept.
LEAST_POWER = 0.5


@dataclass(frozen=True)
class Known:
    """Hold all rows of a stream that keeps them, where none may be of after a shift.

    The rows include those of a batch; ``evidence`` is a bound of the log evidence of those before
    it, in its units. Of labels that come class after class the kernel stays, and q(u) is of all.
    """

    rows: Rows
    evidence: float


class Batch(NamedTuple):
    """Rows that are learned from, and what is known before them.

    Attributes
    ----------
    rows : Rows
    old : OldPosterior or None
        Of the rows before; None where there are none, or the rows are all of them.
    weight_seen : float
        Of the rows before.
    """

    rows: Rows
    old: OldPosterior | None = None
    weight_seen: float = 0.0


@dataclass(frozen=True)
class StreamPlan:
    """Plan of a batch.

    Parameters
    ----------
    start : Start
        Of the stream.
    inducing : StreamInducing or None
        None where inducing inputs were given.
    n_outputs : int
        Columns of the targets, or classes.
    alpha : float
        Power of the rows of the batch.
    restarts : bool
        Whether kernel and noise begin at the start again, as there is no signal so far.
    keeps_scales : bool
        Whether the length scales go back to the start then.
    weight_learned : float
        Weight of the rows that kernel and noise were learned from so far.
    learns : bool
        Whether kernel, noise and inducing inputs are learned from this batch.
    seed : int, RandomState or None
    follows_units : bool
        Whether centre and scale of the targets follow the rows; see `units`.
    holds_noise : bool
        Whether the noise variance stays: where noise differs from row to row, that has its level.
    earlier_theta : ndarray or None
        What a default kernel has learned from most of the rows of a first batch.
    before : Fitted or None
        The stream whose kernel is given up for another one; see `beginnings.with_each_kernel`.
    old_power : float
        Power of the old posterior's factor.
    waiting : Waiting
        Earlier rows that this batch is learned from with.
    waits : bool
        Whether its own rows are left to be learned from with later ones.
    known : Known or None
        All rows so far, where a later batch is learned from with them.
    noise_fell : bool
        Whether the batch tells that there is less noise than there was.
    holds_function : bool
        Whether kernel and Fourier features stay; see `optimize.frequencies.holding_function`.
    first_step : float
        How far L-BFGS first moves, as a share of how far it moves otherwise.
    """

    start: Start
    settings: Settings
    inducing: StreamInducing | None
    n_outputs: int
    alpha: float
    forget_factor: float
    trust_region: float
    restarts: bool
    keeps_scales: bool
    weight_learned: float
    learns: bool
    seed: object
    trace: Trace
    follows_units: bool = False
    holds_noise: bool = False
    earlier_theta: np.ndarray | None = None
    before: Fitted | None = None
    old_power: float = LEAST_POWER
    holds_function: bool = False
    waiting: Waiting = NONE_WAITING
    waits: bool = False
    known: Known | None = None
    noise_fell: bool = False
    first_step: float = 1.0

    @property
    def gives_up_kernel(self):
        """True if the kernel is not the one that the stream had before."""
        return self.before is not None and self.start.kernel is not self.before.start.kernel

    @property
    def is_noise_given(self):
        """True if the noise is held, in units of the targets as they are now."""
        return not self.start.space.learns("log_noise")

    def of_later(self, weight):
        """Return the plan of a batch that few rows are learned from, of so much weight."""
        if self.settings.optimizer == "adam":
            return self
        most = min(self.settings.max_iter, max(int(np.ceil(weight / _ROWS_OF_AN_ITERATION)), 1))
        return replace(self, settings=replace(self.settings, max_iter=most))

    def going_on(self, weight):
        """Return the plan of a later batch, of so much weight, where the next one learns on."""
        if self.settings.optimizer == "adam":
            return self
        later = self.of_later(weight)
        settings = replace(later.settings, tol=_LATER_TOL * later.settings.tol, n_iter_no_change=1)
        return replace(later, settings=settings, first_step=first_step(weight))

    def choose(self, batch, parameters, spare=0):
        """Choose inducing inputs (m, d); return also the pairs of new and old that are the same."""
        if self.inducing is None:
            moves = parameters.has_features and not self.holds_function
            return parameters.Z, NO_PAIRS if moves else identity_pairs(parameters.Z)
        rows, old, weight_seen = batch
        old_Z = parameters.Z[:0] if old is None else old.prior.Z
        kernel, noise = parameters.kernel, float(np.min(parameters.noise_variance))
        scale = input_scales(kernel, column_mean_std(rows.X, rows.observations)[1])
        rng = check_random_state(self.seed)
        return self.inducing.choose(rows, kernel, noise, old_Z, weight_seen, scale, rng, spare)

    def prior(self, parameters, noise_variance=np.inf):
        """Factorise p(u) at some parameters, with a jitter that is small beside some noise."""
        jitter = _JITTER_SHARE * self.settings.jitter
        return factorise_with_jitter(parameters.kernel, parameters.Z, jitter, noise_variance)

    def problem(self, rows):
        """Return the problem of a batch alone."""
        likelihood = self.start.likelihood
        inference, rng = inference_for(likelihood, self.n_outputs), check_random_state(self.seed)
        return Problem(rows, self.start, inference, self.settings, self.trace, rng)

    @property
    def inner_tol(self):
        """Gain, in nats a row, with which iterations for q(u) end."""
        return _LABELS_TOL if prefers_regressions(self) else INNER_TOL

    def bound(self, batch, proposal, tol=None):
        """Return the online bound of a batch; its q(u) is found to `inner_tol`, or to ``tol``."""
        likelihood = self.start.likelihood
        arguments = batch.rows, batch.old, proposal.kept, proposal.prior.delta
        options = {
            "with_inputs": self.start.space.learns("Z"),
            "n_jobs": self.settings.n_jobs,
            "power": self.old_power,
        }
        if proposal.parameters.mixes_outputs:
            return MixedOnlineBound(*arguments, **options)
        if likelihood.conjugate:
            bound = ConjugateOnlineBound(*arguments, alpha=self.alpha, **options)
            begins = batch.old is None
            return exact_or_not(bound, proposal, self.prior) if begins else bound
        return SiteOnlineBound(
            *arguments,
            likelihood=likelihood,
            n_latent=likelihood.n_latent(self.n_outputs),
            tol=tol or self.inner_tol,
            rho=self.settings.natural_step,
            **options,
        )


def first_step(weight):
    """Return how far L-BFGS first moves: the standard error of a log variance told by some rows.

    It is a power of two, by which numbers are divided and multiplied without rounding.
    """
    return min(float(np.exp2(np.rint(0.5 * np.log2(2.0 / weight)))), 1.0)


@dataclass(frozen=True)
class Proposal:
    """Inducing inputs and hyperparameters for a batch, with the prior that settled the jitter.

    ``cut_by`` is what ended their learning: see `engines.fitted.Fitted`.
    """

    parameters: Parameters
    kept: np.ndarray
    prior: Prior
    cut_by: str | None = None


class Learned(NamedTuple):
    """The result of learning from a batch, or of adding it without learning.

    Attributes
    ----------
    proposal : Proposal
        With the parameters that were learned.
    posterior : Posterior, or that of outputs that mix functions
        The optimal q(u) there.
    value : float
        The bound.
    n_iter : int
        Iterations, those of what was given up included.
    """

    proposal: Proposal
    posterior: object
    value: float
    n_iter: int = 0

    @property
    def parameters(self):
        """The parameters that were learned."""
        return self.proposal.parameters

    def merit(self, space):
        """Return the bound, raised by what the user expects of the parameters."""
        return self.value + space.expected.value(self.parameters)
