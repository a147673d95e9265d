"""Sparse Gaussian processes for big data, as scikit-learn estimators."""

from .anytime import AnytimeSGPRegressor
from .svgp import SVGPRegressor
from .svgp_classifier import SVGPClassifier

__all__ = ["AnytimeSGPRegressor", "SVGPClassifier", "SVGPRegressor"]
__version__ = "0.1.0"
