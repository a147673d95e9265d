"""Sums over rows that have some of several outputs."""
