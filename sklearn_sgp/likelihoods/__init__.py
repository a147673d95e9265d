"""Observation models, and what a new one must say (docs/theory.md, section 10).

`Probit`, `Logit` and `Softmax` are for classes, `Poisson` for counts, `StudentT` for numbers with
outliers, `Gaussian` for numbers without. Estimators take them by name or as instances.
"""

from ._base import ExpectedLogDensity
from ._bernoulli import Logit, Probit
from ._poisson import Poisson
from ._gaussian import Gaussian
from ._student_t import StudentT
from ._softmax import Softmax

__all__ = ["ExpectedLogDensity", "Gaussian", "Logit", "Poisson", "Probit", "Softmax", "StudentT"]
