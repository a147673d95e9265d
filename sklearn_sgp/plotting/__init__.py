"""Pictures of fitted estimators, after scikit-learn's conventions for displays.

``from_estimator`` computes and draws; the constructor stores numbers that were computed elsewhere.
The folder imports only ``kernels`` and ``metrics`` of the package, and only users import it.
"""

from ._calibration import CalibrationDisplay
from ._convergence import ConvergenceDisplay
from ._embedding import EmbeddingDisplay
from ._posterior import PosteriorDisplay
from ._relevance import RelevanceDisplay
from ._residuals import ResidualDisplay
from ._terms import TermsDisplay

__all__ = [
    "CalibrationDisplay",
    "ConvergenceDisplay",
    "EmbeddingDisplay",
    "PosteriorDisplay",
    "RelevanceDisplay",
    "ResidualDisplay",
    "TermsDisplay",
]
