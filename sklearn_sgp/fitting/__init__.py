"""How a fit goes: starting values, stages, minibatch steps, one more batch, time budget.

Imports `objectives`, `optimize` and what is below them; whoever is above uses
it.
"""
