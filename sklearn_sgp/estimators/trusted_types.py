"""Which types a file of a model may name, for readers that ask before they load."""

from scipy import stats
from sklearn.gaussian_process import kernels

from ..kernels import Categorical, Columns, Linear
from ..likelihoods._names import CLASSIFICATION, REGRESSION
from .anytime_classifier import AnytimeSGPClassifier
from .anytime_regressor import AnytimeSGPRegressor
from .bayesian_gplvm import BayesianGPLVM
from .streaming_classifier import StreamingSGPClassifier
from .streaming_regressor import StreamingSGPRegressor
from .svgp_classifier import SVGPClassifier
from .svgp_regressor import SVGPRegressor

_ESTIMATORS = [
    SVGPRegressor,
    SVGPClassifier,
    AnytimeSGPRegressor,
    AnytimeSGPClassifier,
    StreamingSGPRegressor,
    StreamingSGPClassifier,
    BayesianGPLVM,
]
# Estimators write kernels, likelihoods and distributions as words. Grids of searches hold them as
# they are, and searches may hold a scorer.
_PARAMETERS = [
    Columns,
    Categorical,
    Linear,
    *REGRESSION.values(),
    *CLASSIFICATION.values(),
    *(
        found
        for found in vars(kernels).values()
        if isinstance(found, type) and issubclass(found, kernels.Kernel)
    ),
    type(stats.norm()),
    *{type(found) for found in vars(stats).values() if isinstance(found, stats.rv_continuous)},
]
_SCORERS = ["sklearn_sgp.metrics.log_density_scorer", "sklearn_sgp.metrics.neg_crps_scorer"]
# Categories as pandas.cut makes them: by the names of pandas 3 and 2.
_CATEGORIES = ["pandas.Interval", "pandas._libs.interval.Interval"]

#: Names of the types that files of models may hold, searches and pipelines around them included:
#: what ``skops.io.load`` takes as ``trusted``, and MLflow as ``skops_trusted_types``.
TRUSTED_TYPES = [
    *(f"{kind.__module__}.{kind.__qualname__}" for kind in _ESTIMATORS + _PARAMETERS),
    *_SCORERS,
    *_CATEGORIES,
]
