"""Observations that a stream cannot believe: damped, unless their neighbours say the same.

Gaussian noise has no word for a broken reading: one of a million standard deviations moves the
function by as much, and no later batch undoes that. A suspect differs from its prediction by many
prior standard deviations. It is damped if the rows nearest to it, of the batch or suspects before,
do not differ alike, and if such rows are rare. So a function that has moved is believed at once
where a batch shows it more than once, and at the second row otherwise.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..._warnings import warn_caller

# Prior standard deviations of an observation by which a suspect differs from its prediction. The
# posterior's are no measure: where a model is too sure, good rows differ by many of them.
_HOPELESS = 10.0
# Most rows near a suspect that are asked, and the correlation above which a row is near.
_ASKED, _NEAR_CORRELATION = 5, 0.5
# Least share of a suspect's difference by which a row differs that agrees with it: the function of
# good rows seldom gets so far.
_ALIKE = 0.2
# If a larger share of the recent rows is suspect, the model is wrong and they are not.
_RARE = 0.1
_RECENT_ROWS = 100.0
# Number of suspects that are remembered.
_REMEMBERED = 20


@dataclass(frozen=True)
class Outliers:
    """Outliers of a stream so far; replaced by every batch, never changed.

    Parameters
    ----------
    count : int
        Rows that were damped so far.
    X, targets : ndarray of shape (k, d), (k, t), or None
        The last suspects that no row was near to since, targets scaled.
    recent, recent_rows : float
        Suspects that nothing agreed with, and rows, of late.
    """

    count: int = 0
    X: np.ndarray | None = None
    targets: np.ndarray | None = None
    recent: float = 0.0
    recent_rows: float = 0.0

    def seen(self, n_rows):
        """Count rows that were not examined."""
        fade = np.exp(-n_rows / _RECENT_ROWS)
        return replace(
            self, recent=fade * self.recent, recent_rows=fade * self.recent_rows + n_rows
        )

    def damped(self, rows, fitted, units):
        """Return the rows of a batch, hopeless ones with less weight.

        Parameters
        ----------
        fitted : Fitted
            Before the batch, with Gaussian noise.
        units : data.targets.Targets
            Says what targets are in units of y.
        """
        after = self.seen(len(rows))
        posterior, noise = fitted.posterior, fitted.parameters.noise_variance
        mean, variance = posterior.mean_variance(rows.X)
        off = rows.targets - mean  # NaN where an output was not observed
        amplitude = 1.0
        if fitted.parameters.mixing is not None:
            amplitude = (fitted.parameters.mixing**2).sum(axis=1)
        most = posterior.prior.kernel.diag(rows.X)[:, None] * amplitude + noise
        suspect = (off**2 > _HOPELESS**2 * most).any(axis=1)
        if not suspect.any():
            return rows, after._forgetting(rows.X, posterior)
        X, targets = rows.X[suspect], rows.targets[suspect]
        alone = ~self._agreed(X, off[suspect], rows.X[~suspect], off[~suspect], posterior)
        after = replace(after, recent=after.recent + np.count_nonzero(alone))
        after = after._remembering(X[alone], targets[alone])._forgetting(
            rows.X[~suspect], posterior
        )
        if not alone.any() or after.recent > _RARE * after.recent_rows:
            return rows, after
        which = np.flatnonzero(suspect)[alone]
        _warn(rows, which, mean, units)
        # the weighted square is that of an ordinary row, so that the noise hardly rises
        size = np.nanmax(off[which] ** 2 / (variance[which] + noise), axis=1)
        weight, _ = rows.weights
        weight[which] /= size
        return replace(rows, weight=weight), replace(after, count=self.count + len(which))

    def _agreed(self, X, off, other_X, other_off, posterior):
        """Return whether most of the nearest rows differ from predictions as a suspect does.

        Rows of the batch may do so in the other direction: where a function begins to move, it goes
        up and down. At the edge of a jump one near suspect is enough for which this holds.
        """
        n_rows = len(X) + len(other_X)
        if self.X is not None:
            other_X = np.concatenate([other_X, self.X])
            other_off = np.concatenate([other_off, self.targets - posterior.mean(self.X)])
        near = _correlation(posterior.prior.kernel, X, np.concatenate([X, other_X]))
        np.fill_diagonal(near, -np.inf)
        all_off = np.concatenate([off, other_off])
        asked = np.argsort(-near, axis=1, kind="stable")[:, :_ASKED]
        is_near = np.take_along_axis(near, asked, axis=1) >= _NEAR_CORRELATION
        worst = np.nanargmax(np.abs(off), axis=1)[:, None]  # its most hopeless output
        share = all_off[asked, worst] / np.take_along_axis(off, worst, axis=1)
        is_near &= ~np.isnan(share)
        agrees = is_near & (np.where(asked < n_rows, np.abs(share), share) >= _ALIKE)
        believed = 2 * agrees.sum(axis=1) > is_near.sum(axis=1)
        linked = agrees & (asked < len(X))
        while True:
            more = believed | (linked & believed[np.minimum(asked, len(X) - 1)]).any(axis=1)
            if (more == believed).all():
                return believed
            believed = more

    def _remembering(self, X, targets):
        if self.X is not None:
            X, targets = np.concatenate([self.X, X]), np.concatenate([self.targets, targets])
        return replace(self, X=X[-_REMEMBERED:], targets=targets[-_REMEMBERED:])

    def _forgetting(self, X, posterior):
        """Forget suspects that good rows are near to."""
        if self.X is None or not len(self.X) or not len(X):
            return self
        stays = (_correlation(posterior.prior.kernel, self.X, X) < _NEAR_CORRELATION).all(axis=1)
        return replace(self, X=self.X[stays], targets=self.targets[stays])


def _correlation(kernel, A, B):
    """Return prior correlations of function values, (len(A), len(B))."""
    size = np.sqrt(np.outer(kernel.diag(A), kernel.diag(B)))
    return kernel.block(A, B) / np.maximum(size, np.finfo(np.float64).tiny)


def _warn(rows, which, mean, units):
    worst = which[0]
    observed, predicted = units.in_units(np.stack([rows.targets[worst], mean[worst]]))
    warn_caller(
        "y must be near what the stream predicts, or rows near by must differ as much. Got "
        f"{len(which)} of {len(rows)} rows that do not, the first with y = "
        f"{np.array2string(observed, precision=4)} where "
        f"{np.array2string(predicted, precision=4)} is predicted. They were given almost no "
        'weight. If outliers are common, take likelihood="student_t".',
        UserWarning,
    )
