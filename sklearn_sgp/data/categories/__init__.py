"""Columns of categories: their values become codes."""

from .columns import NO_CODES, PLAIN_COLUMNS, CategoryCodes, InputColumns, categorical_columns

__all__ = ["NO_CODES", "PLAIN_COLUMNS", "CategoryCodes", "InputColumns", "categorical_columns"]
