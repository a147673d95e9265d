"""Gaussian processes whose inputs are latent: expectations over q(x), bounds, and their learning.

The folder imports ``gp``, ``factors``, ``optimize``, ``data`` and ``kernels``, and ``estimators``
import it.
"""
