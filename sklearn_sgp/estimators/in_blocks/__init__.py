"""How estimators in blocks of rows learn, from numbers and from labels."""
