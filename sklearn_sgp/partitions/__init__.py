"""Rows in blocks and groups, and the rows that these are conditioned on.

Imports `data` and what is below it; `collections`, `predict` and `engines` import it. Rows are near
in units that callers give.
"""
