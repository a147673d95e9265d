"""How estimators learn from rows that are not in this process."""
