"""What fitted models predict: objects that can be pickled without their estimator.

Imports ``gp``, ``factors`` and what is below; ``engines`` and ``estimators`` import it.
"""
