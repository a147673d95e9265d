"""Columns of categories: their values become codes."""

from .columns import PLAIN_COLUMNS, CategoryCodes, InputColumns, categorical_columns

__all__ = ["PLAIN_COLUMNS", "CategoryCodes", "InputColumns", "categorical_columns"]
