"""What estimators answer with: predictions, distributions, draws, the objective at a theta.

Mixins that ask their host for what it has learned. Imports `blocks` and what is below it;
`estimators` use it.
"""
