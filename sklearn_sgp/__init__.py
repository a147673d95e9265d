"""Sparse Gaussian processes for big data, as scikit-learn estimators."""

from .estimators.anytime_regressor import AnytimeSGPRegressor
from .estimators.streaming_classifier import StreamingSGPClassifier
from .estimators.streaming_regressor import StreamingSGPRegressor
from .estimators.svgp_classifier import SVGPClassifier
from .estimators.svgp_regressor import SVGPRegressor

__all__ = [
    "AnytimeSGPRegressor",
    "SVGPClassifier",
    "SVGPRegressor",
    "StreamingSGPClassifier",
    "StreamingSGPRegressor",
]
__version__ = "0.1.0"
