"""Adapters of `sklearn_sgp`; `internals` is the only file that knows its private modules."""
