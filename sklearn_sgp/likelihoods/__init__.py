"""Likelihoods: how targets, counts and classes arise from latent functions.

This folder holds the interface `Likelihood`, the likelihoods that estimators know by name, and
the quadrature they need (docs/theory.md, section 10). It imports only `_core`, private
modules and third parties. Only `estimators` and `noise`, which has a likelihood of its own, import
from it; all other code is given a likelihood.

`Gaussian` is for numbers, `StudentT` for numbers with outliers, `HeteroscedasticGaussian` and
`HeteroscedasticStudentT` for the same with noise that depends on the input, `Poisson` and
`NegativeBinomial` for counts, `Gamma` for positive numbers, `Beta` for shares, `Censored` for
numbers beyond limits, `Probit` and `Logit` for two classes, `Softmax` for several, `Ordinal` for
classes in an order; `Dirichlet` is that of labels learned as numbers. Estimators take them by name
or as instances, the last alone is chosen by its estimator. `RowPrecision` and `NoiseChoice` are how
noise of one's own, or a choice of noises, says what it is.
"""

from ._base import ExpectedLogDensity, Likelihood
from ._bernoulli import Logit, Probit
from ._beta import Beta
from ._censored import Censored
from ._dirichlet import Dirichlet
from ._gamma import Gamma
from ._negative_binomial import NegativeBinomial
from ._ordinal import Ordinal
from ._poisson import Poisson
from ._row_precision import LogNoisePrior, NoiseChoice, NoiseUpdate, RowPrecision
from ._softmax import Softmax
from .noise import Gaussian, HeteroscedasticGaussian, HeteroscedasticStudentT, StudentT

__all__ = [
    "Beta",
    "Censored",
    "Dirichlet",
    "ExpectedLogDensity",
    "Gamma",
    "Gaussian",
    "HeteroscedasticGaussian",
    "HeteroscedasticStudentT",
    "Likelihood",
    "LogNoisePrior",
    "Logit",
    "NegativeBinomial",
    "NoiseChoice",
    "NoiseUpdate",
    "Ordinal",
    "Poisson",
    "Probit",
    "RowPrecision",
    "Softmax",
    "StudentT",
]
