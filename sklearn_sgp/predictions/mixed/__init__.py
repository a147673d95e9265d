"""Predictions of outputs that mix latent functions, joint over these."""
