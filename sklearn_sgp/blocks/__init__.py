"""Models whose factors belong to blocks of rows: partition, learning, anytime solver, PIC.

Imports `fitting` and what is below it; `predictions` and `estimators` use it.
"""
