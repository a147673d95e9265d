"""How models are fitted: a problem goes in, a fitted model comes out, and later batches join it.

An engine for each family of models. Imports ``objectives``, ``optimize``, ``predict`` and what is
below them; ``selection``, ``noise`` and ``estimators`` import it.
"""
