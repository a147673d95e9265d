"""Probabilities of the classes of rows that are left out.

In groups of near rows each row's functions follow in closed form from the other rows of its group,
so that nothing is fitted to the row itself but a few parameters of the kernel (docs/theory.md,
section 14).
"""

from copy import copy
from typing import NamedTuple

import numpy as np

from .scores import Score

# Bounds of the logarithm of a temperature.
_LOG_TEMPERATURE = (np.log(0.1), np.log(10.0))
# Its first step, the accuracy that it is wanted with, and the most evaluations.
_FIRST_LOG_STEP, _LOG_TOLERANCE, _MOST_EVALUATIONS = 0.4, 0.02, 10
# Of the prior of it. Fifty rows may all be right: then the smaller the better, but for this.
_LOG_TEMPERATURE_STD = 0.5
# Rows that tell the temperature at which models are compared: at the top all are much the same, and
# 3,200 rows of 26 classes take 0.2 s by these and 0.5 s by all. Rows that were drawn with
# temperatures of 0.3, 1 and 4 lose less than a third of the standard error.
_COMPARING_ROWS = 1024


class LeastGain(NamedTuple):
    """Least gain of a temperature: nats a row, and standard errors."""

    nats: float
    errors: float


# In groups, which differ from draw to draw, and in rows that the model predicts from all others.
# Gains in these of 1.3 to 1.6 errors were losses of 0.0001 to 0.0013 nats of new rows (islands and
# trees, 3,000 rows), those of two and more gains of 0.0011 to 0.0091 (clusters, checkers, smooth).
OF_GROUPS, OF_MODEL = LeastGain(5e-3, 1.0), LeastGain(1e-3, 2.0)


class LeftOutClasses:
    """Classes of rows that are left out, and what is predicted of their functions.

    Parameters
    ----------
    likelihood : Likelihood
        With a temperature.
    moments : (ndarray, ndarray) of shape (n, C)
        Means and variances of the functions.
    place : ndarray of shape (n,)
        Classes by the codes of the likelihood: numbers of them, or -1 and 1 of two.
    """

    def __init__(self, likelihood, moments, place, weight):
        self.likelihood, self.moments, self.place, self.weight = likelihood, moments, place, weight

    @classmethod
    def of_groups(cls, evidence, parameters, likelihood):
        """Predict each row of some groups, given the others of its group."""
        place, weight = np.concatenate(evidence.classes), np.concatenate(evidence.counts)
        return cls(likelihood, evidence.left_out(parameters), place, weight)

    def at(self, temperature):
        """Return the likelihood with another temperature."""
        changed = copy(self.likelihood)
        changed.temperature = float(temperature)
        return changed

    def log_probabilities(self, temperature):
        """Return log probabilities of the classes, (n,)."""
        return self.at(temperature).log_predictive_density(self.place[:, None], *self.moments)

    def best_temperature(self):
        """Return the best temperature, under a prior few rows do not outweigh, and its value."""
        precision = 0.5 / (len(self.place) * _LOG_TEMPERATURE_STD**2)
        log_t, value = _peak(
            lambda log_t: (
                Score(self.log_probabilities(np.exp(log_t)), self.weight).mean
                - precision * log_t**2
            )
        )
        return float(np.exp(log_t)), value

    def score(self):
        """Return the `Score` of the classes at the best temperature of some rows."""
        some = slice(None, None, -(-len(self.place) // _COMPARING_ROWS))
        moments = tuple(moment[some] for moment in self.moments)
        few = LeftOutClasses(self.likelihood, moments, self.place[some], self.weight[some])
        log_p = self.log_probabilities(few.best_temperature()[0])
        return Score(log_p, self.weight)

    def calibrated(self, least=OF_GROUPS):
        """Return the likelihood with the best temperature; with 1 where it lacks the least gain.

        A single row has no standard error, and of huge weights there may be none that is known.
        """
        if len(self.place) < 2:
            return self.at(1.0)
        temperature, _ = self.best_temperature()
        before, after = (Score(self.log_probabilities(t), self.weight) for t in (1.0, temperature))
        gain, error = after.gain(before)
        is_clear = gain >= least.nats and gain > least.errors * error
        return self.at(temperature if is_clear else 1.0)


def _peak(function):
    """Maximise a function of a log temperature; return the place and the value.

    By parabolas through the best point and its neighbours: about five evaluations, each of which
    takes a second for 10,000 rows of 100 classes.
    """
    step = _FIRST_LOG_STEP
    points = {x: function(x) for x in (-step, 0.0, step)}
    while len(points) < _MOST_EVALUATIONS:
        places = sorted(points)
        i = places.index(max(places, key=points.get))
        if 0 < i < len(places) - 1:
            x = _vertex(*((place, points[place]) for place in places[i - 1 : i + 2]))
            near = max(np.diff(places[i - 1 : i + 2])) <= 1.001 * _FIRST_LOG_STEP
        else:
            step *= 2.0
            x = np.clip(places[i] + (step if i else -step), *_LOG_TEMPERATURE)
            near = abs(places[i] - places[1 if i == 0 else -2]) <= _LOG_TOLERANCE
        if abs(x - places[i]) < _LOG_TOLERANCE:
            if near:
                break
            x = _halfway(places, i)
        points[x] = function(x)
    best = max(points, key=points.get)
    return best, points[best]


def _halfway(places, i):
    """Return the middle between a place and that of its neighbours that is farther away."""
    neighbours = [places[j] for j in (i - 1, i + 1) if 0 <= j < len(places)]
    return 0.5 * (places[i] + max(neighbours, key=lambda place: abs(place - places[i])))


def _vertex(left, middle, right):
    """Return the vertex of the parabola through three points, the middle one the highest."""
    (a, f_a), (b, f_b), (c, f_c) = left, middle, right
    to_left, to_right = (b - a) * (f_b - f_c), (b - c) * (f_b - f_a)
    if to_left == to_right:  # three of one height
        return b
    return b - 0.5 * ((b - a) * to_left - (b - c) * to_right) / (to_left - to_right)
