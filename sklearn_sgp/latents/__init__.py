"""Gaussian processes whose inputs are latent: expectations over q(x), bounds, q(x) of each row.

Imports ``factors``, ``gp``, ``kernels`` and what is below them; ``engines`` and ``estimators``
import it.
"""
