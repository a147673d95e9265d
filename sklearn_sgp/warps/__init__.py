"""Monotone functions of the targets, fitted so that a Gaussian process suits what they return.

Functions with their inverses, and how they are learned (docs/theory.md, section 13). Imports what
learns a fit; only `estimators` imports from it, `data.targets` is handed what it makes.
"""
