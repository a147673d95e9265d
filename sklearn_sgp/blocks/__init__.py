"""Models whose factors belong to blocks of rows: partition, learning, anytime solver, PIC.

Imports `fitting` and what is below it; used by `estimators` only.
"""
