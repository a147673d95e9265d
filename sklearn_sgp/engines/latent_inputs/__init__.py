"""Kernel, noise, inducing inputs and latent inputs, learned from a table.

Imports ``latents`` and what is below; ``estimators`` imports it.
"""
