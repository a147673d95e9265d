"""What probabilities of classes are calibrated with: rows that are left out of their own group.

Imports what learns from near rows; the estimators import it.
"""
