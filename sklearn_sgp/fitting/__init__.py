"""How a fit goes: starting values, stages, minibatch steps, one more batch, time budget.

Imports `objectives`, `optimize` and what is below them; `blocks`, `streams` and `estimators` use
it.
"""
