"""Noise of each row in a stream: its logarithm is a stream of its own, beside that of the function.

Its rows are squared errors. Each batch chooses its inducing inputs anew, learns its kernel on the
online bound, and lets what was known fade as that of the function does.
"""

from dataclasses import dataclass, replace

from ..engines.base import Settings
from ..engines.streams.batch import next_batch
from ..engines.streams.inducing import StreamInducing
from ..engines.streams.plan import StreamPlan
from ..objectives.sites import UnboundedSitesError
from ..optimize.progress import Clock, Trace
from .log_noise import LATER_ITERATIONS, MOST_INDUCING, rows_of_squares, with_squares

# As of functions: squares that the mean explains, in variances; below it the kernel says nothing,
# and begins again. See `engines/streams/rounds.py`.
_SIGNAL = 20.0


@dataclass(frozen=True)
class StreamedSquares:
    """Adds the squared errors of a batch to what is known of the log noise; see `with_squares`.

    ``share`` is what the squared errors so far count, ``weight_seen`` the weight of all rows so
    far.
    """

    settings: Settings
    share: float
    weight_seen: float
    seed: object

    def __call__(self, before, rows, squares, n_jobs, counting):
        """Return the log noise after a batch."""
        of_squares = rows_of_squares(rows, squares, before.start.likelihood)
        plan = self._plan(before, of_squares)
        try:
            return next_batch(before, of_squares, self.weight_seen, plan)[0]
        except UnboundedSitesError:
            # a wide kernel may have no finite bound at squares that have changed
            return with_squares(before, rows, squares, n_jobs, counting)

    def _plan(self, before, rows):
        learns = self.settings.optimizer is not None
        most = max(MOST_INDUCING, len(before.parameters.Z))
        return StreamPlan(
            start=before.start,
            settings=replace(self.settings, optimizer="auto", max_iter=LATER_ITERATIONS),
            inducing=StreamInducing("greedy", most, None),
            n_outputs=rows.y.shape[1],
            alpha=0.0,
            forget_factor=self.share,
            trust_region=1.0,
            restarts=learns and not self._has_signal(before),
            keeps_scales=False,
            weight_learned=self.weight_seen,
            learns=learns,
            seed=self.seed,
            trace=Trace(Clock()),
        )

    def _has_signal(self, before):
        varies = before.posterior.mean(before.parameters.Z).var(axis=0)
        return bool((varies * self.weight_seen > _SIGNAL).any())


def faded(fitted, share):
    """Return a stream in which large noise of long ago is borne out no longer."""
    noise = fitted.row_noise
    if not noise.differs or share == 1.0:
        return fitted
    return replace(fitted, row_noise=noise.fading(share))
