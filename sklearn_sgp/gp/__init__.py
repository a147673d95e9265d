"""The Gaussian process at the inducing inputs: p(u), q(u), and what they predict.

Imports kernels and what is below them; every package from `factors` on works with these objects.
"""
