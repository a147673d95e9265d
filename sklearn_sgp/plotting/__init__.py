"""Pictures of fitted estimators, after scikit-learn's conventions for displays.

``from_estimator`` computes and draws; the constructor only stores, for numbers computed elsewhere.
"""

from ._convergence import ConvergenceDisplay
from ._posterior import PosteriorDisplay
from ._relevance import RelevanceDisplay

__all__ = ["ConvergenceDisplay", "PosteriorDisplay", "RelevanceDisplay"]
