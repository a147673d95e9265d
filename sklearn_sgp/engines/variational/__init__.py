"""Variational models of independent rows: L-BFGS on growing subsets, minibatches, later batches.

Imports the modules beside it and what is below; ``noise`` and ``estimators`` import it.
"""
