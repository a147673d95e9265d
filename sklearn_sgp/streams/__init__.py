"""Streams: the state between batches, the online bound, the old posterior as one more factor.

Imports `fitting` and what is below it; used by `estimators` only.
"""
