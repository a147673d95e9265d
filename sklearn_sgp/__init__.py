"""Sparse Gaussian processes for big data, as scikit-learn estimators."""

from .svgp import SVGPRegressor

__all__ = ["SVGPRegressor"]
__version__ = "0.1.0"
