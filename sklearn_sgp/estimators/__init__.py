"""The scikit-learn estimators: parameters, validation, fitted attributes, units of y.

Imports everything below; only the package itself imports it.
"""
