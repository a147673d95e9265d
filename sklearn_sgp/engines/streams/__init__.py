"""Streams: one batch after another, with moving inducing inputs.

Imports the modules beside it and what is below; ``estimators`` imports it.
"""
