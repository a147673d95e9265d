"""Noise of each row: precisions that keep the model Gaussian given them."""
