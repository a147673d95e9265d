"""What fitted classifiers predict: probabilities of classes."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import column_or_1d

from .._parallel import in_chunks
from ..data.checks import check_consistent_length, refuse_iterator
from .base import Predictor
from .observations import OWN_MEAN
from .unforeseen import AveragesUnforeseen


@dataclass(frozen=True)
class Classes(AveragesUnforeseen):
    """Distribution of labels: a predictor, a likelihood and the encoding of labels.

    ``inputs`` of its methods are `data.inputs.Inputs`. It can be pickled without an estimator.
    """

    predictor: Predictor
    likelihood: object
    targets: object
    n_jobs: int | None = None

    told_mean = OWN_MEAN  # labels have none

    @property
    def classes(self):
        """The labels, sorted, (C,)."""
        return self.targets.classes

    def shapes(self, method, options):
        """Return the shape behind the rows of each array that a method returns."""
        n_classes, n_latent = len(self.classes), self.predictor.posterior.h.shape[1]
        return {
            "probabilities": ((n_classes,),),
            "log_probabilities": ((n_classes,),),
            "decision": (() if n_classes == 2 else (n_classes,),),
            "std": (() if n_latent == 1 else (n_latent,),),
        }.get(method, ((),))

    def labels(self, inputs):
        """Return the label of each row that its decision is for, (n,)."""
        decision = self.decision(inputs)
        is_of_two = decision.ndim == 1
        return self.classes[(decision > 0.0).astype(int) if is_of_two else decision.argmax(axis=1)]

    def probabilities(self, inputs):
        """Return the probabilities of the classes, (n, C)."""
        return _mixed(self._of_moments("probabilities", inputs), self.targets.frequencies)

    def left_out(self, rows, places):
        """Return the probabilities of the classes of training rows, each given all others."""
        mean, variance = self.predictor.left_out(rows, places, self.n_jobs)
        p = self._of_likelihood("probabilities", rows.shifted(mean), variance)
        frequencies = self.targets.frequencies
        if frequencies is not None:
            frequencies = frequencies.without(self._places(rows), rows.weights[1])
        return _mixed(p, frequencies)

    def _places(self, rows):
        """Return the positions of the classes of training rows, (n,).

        A site in the place of a label is where this is more probable than all others.
        """
        if self.likelihood.conjugate:
            return self.targets.places(rows.y)
        return self.likelihood.probabilities(rows.y, np.zeros_like(rows.y)).argmax(axis=1)

    def log_probabilities(self, inputs):
        """Return their logarithms, (n, C)."""
        return np.log(np.maximum(self.probabilities(inputs), np.finfo(np.float64).tiny))

    def decision(self, inputs):
        """Return the decision function, (n,) or (n, C)."""
        frequencies = self.targets.frequencies
        if frequencies is None or frequencies.is_least:
            return self._of_moments("decision", inputs)
        log_p = self.log_probabilities(inputs)
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def std(self, inputs):
        """Return standard deviations of the latent functions, (n,) or (n, n_latent)."""
        std = np.sqrt(self.predictor.moments(inputs, self.n_jobs)[1])
        return std[:, 0] if std.shape[1] == 1 else std

    def log_density(self, inputs, y):
        """Return the log probabilities of labels, (n,)."""
        refuse_iterator("y", y)
        y = column_or_1d(y)
        check_consistent_length(inputs.X, y)
        place = self.targets.positions(y)
        return self.log_probabilities(inputs)[np.arange(len(y)), place]

    def _of_moments(self, method, inputs):
        """Return what the likelihood makes of latent means and variances, in chunks."""
        mean, variance = self.predictor.moments(inputs, self.n_jobs)
        return self._of_likelihood(method, inputs.shifted(mean), variance)

    def _of_likelihood(self, method, mean, variance):
        variance = np.ascontiguousarray(np.broadcast_to(variance, mean.shape))
        return in_chunks(getattr(self.likelihood, method), (mean, variance), self.n_jobs)


def _mixed(p, frequencies):
    return p if frequencies is None else frequencies.mixed(p)
