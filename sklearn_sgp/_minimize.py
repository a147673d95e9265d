"""The minimiser behind all that is learned by its slopes: another one takes its place here."""

from functools import partial

from scipy.optimize import minimize

# Called as scipy.optimize.minimize, mostly with ``jac=True`` and ``bounds``.
minimize_lbfgs = partial(minimize, method="L-BFGS-B")
