"""Estimators that learn from all rows at once, or from one batch after another."""
