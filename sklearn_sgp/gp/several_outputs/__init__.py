"""q(u) of outputs that mix latent functions."""
