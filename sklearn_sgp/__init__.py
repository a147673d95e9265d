"""Sparse Gaussian processes for big data, as scikit-learn estimators."""

from .anytime import AnytimeSGPRegressor
from .streaming import StreamingSGPRegressor
from .streaming_classifier import StreamingSGPClassifier
from .svgp import SVGPRegressor
from .svgp_classifier import SVGPClassifier

__all__ = [
    "AnytimeSGPRegressor",
    "SVGPClassifier",
    "SVGPRegressor",
    "StreamingSGPClassifier",
    "StreamingSGPRegressor",
]
__version__ = "0.1.0"
