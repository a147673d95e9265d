"""Noise that differs from row to row, learned in turn with the function.

Imports ``engines`` and what is below; ``estimators`` imports it.
"""
