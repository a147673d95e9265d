"""All configurations, by name: those of each module are added as it is imported."""

from . import (
    anytime_classifiers,
    anytime_regressors,
    direct,
    latent_models,
    refusals,
    streams_of_classes,
    streams_of_numbers,
    svgp_classifiers,
    svgp_regressors,
)
from .cases import CASES

MODULES = (
    *(svgp_regressors, svgp_classifiers, anytime_regressors, anytime_classifiers),
    *(streams_of_numbers, streams_of_classes, latent_models, refusals, direct),
)

__all__ = ["CASES", "MODULES"]
