"""Training data as the models see them: weighted rows, encoded targets, inducing inputs.

Imports kernels and what is below them; every package from `gp` on may read it.
"""
