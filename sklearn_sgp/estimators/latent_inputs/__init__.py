"""Estimators whose inputs are latent: scikit-learn's conventions around ``latents``.

The folder imports ``latents`` and ``estimators.base``; only the package's root imports it.
"""
