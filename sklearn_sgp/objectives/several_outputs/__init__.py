"""The bound of outputs that mix latent functions."""
