"""Optimisers over named groups of parameters, and when they stop.

Imports `factors`, `gp` and what is below them; knows no model: objectives come as functions.
"""
