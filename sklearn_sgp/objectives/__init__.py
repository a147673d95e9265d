"""Bounds and evidences with their gradients: functions of parameters and data, in nats.

Imports `factors`, `gp` and what is below them; knows neither optimisers nor estimators.
They raise `NotPositiveDefiniteError` where a covariance does not factorise, or a value is not
finite.
"""
