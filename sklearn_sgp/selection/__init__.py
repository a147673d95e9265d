"""What a fit chooses by rows left out or by evidence: warps of targets, settings of classifiers.

Imports ``engines`` and what is below; ``estimators`` imports it.
"""
