"""Sparse Gaussian processes for big data, as scikit-learn estimators."""

from ._show_versions import show_versions
from ._version import __version__

try:
    from .estimators.anytime_classifier import AnytimeSGPClassifier
    from .estimators.anytime_regressor import AnytimeSGPRegressor
    from .estimators.bayesian_gplvm import BayesianGPLVM
    from .estimators.streaming_classifier import StreamingSGPClassifier
    from .estimators.streaming_regressor import StreamingSGPRegressor
    from .estimators.svgp_classifier import SVGPClassifier
    from .estimators.svgp_regressor import SVGPRegressor
    from .estimators.trusted_types import TRUSTED_TYPES
    from .factors.own_model import BlockModel
except ImportError as error:
    if not (error.name or "").startswith("sklearn_sgp._core"):
        raise
    raise ImportError(
        f"{__path__[0]} is the source folder of sklearn_sgp, and its compiled part is not built. "
        "Leave the folder that holds it, and Python finds the installed package; or build it "
        "there with 'pip install -e .'.",
        name=error.name,
    ) from error

__all__ = [
    "TRUSTED_TYPES",
    "AnytimeSGPClassifier",
    "AnytimeSGPRegressor",
    "BayesianGPLVM",
    "BlockModel",
    "SVGPClassifier",
    "SVGPRegressor",
    "StreamingSGPClassifier",
    "StreamingSGPRegressor",
    "__version__",
    "show_versions",
]
