"""The version, below everything that pickles carry it with."""

__version__ = "0.1.0"
