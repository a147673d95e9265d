"""Outputs that share latent functions: how their mixing starts, and how q(u) is found."""
