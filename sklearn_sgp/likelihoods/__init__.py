"""Observation models, and what a new one must say (docs/theory.md, section 10).

`Probit`, `Logit` and `Softmax` are for classes, `Poisson` for counts, `StudentT` for numbers with
outliers, `Gaussian` for numbers without. Estimators take them by name or as instances.
"""

from ._base import ExpectedLogDensity
from ._binary import Logit, Probit
from ._counts import Poisson
from ._gaussian import Gaussian
from ._heavy_tails import StudentT
from ._softmax import Softmax

__all__ = ["ExpectedLogDensity", "Gaussian", "Logit", "Poisson", "Probit", "Softmax", "StudentT"]
