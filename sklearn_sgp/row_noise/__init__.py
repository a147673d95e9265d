"""Noise that differs from row to row: found in turn with the function, by whatever learns that.

The precisions of the rows keep the model Gaussian given them (docs/theory.md, section 13). Imports
`fitting` and `predictions`; only `estimators` imports from it.
"""
