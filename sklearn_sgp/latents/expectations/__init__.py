"""Expectations of kernels under Gaussian inputs.

The modules beside this folder import it; it imports ``kernels``, ``_core`` and ``packed``.
"""

from .choice import chunk_of, expectations_of
from .squared_exponential import Cotangents

__all__ = ["Cotangents", "chunk_of", "expectations_of"]
