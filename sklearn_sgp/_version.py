"""The version, and the form of saved estimators, below everything that pickles carry them with."""

__version__ = "0.2.0"

# Of what a fitted estimator holds. It is raised with every change after which older pickles could
# not be read, or would mean something else: tests/estimators/test_saved_models.py tells.
SAVED_FORMAT = 11
