"""Sparse Gaussian processes for big data, as scikit-learn estimators."""

from .anytime import AnytimeSGPRegressor
from .svgp import SVGPRegressor

__all__ = ["AnytimeSGPRegressor", "SVGPRegressor"]
__version__ = "0.1.0"
