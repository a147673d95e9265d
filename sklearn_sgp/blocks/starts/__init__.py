"""Which start goes on of models that predict from near rows, with and without categories."""
