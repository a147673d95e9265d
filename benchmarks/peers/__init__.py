"""Adapters of rival libraries: a file's name begins with the library that it runs."""
