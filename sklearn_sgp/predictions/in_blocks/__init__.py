"""What estimators in blocks of rows predict: methods that take the blocks of the rows."""
