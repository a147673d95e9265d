"""Rows that are not in this process: dask arrays and dataframes, and data sets on disk.

They give samples that fit in memory, and sums over all rows, one task for each partition. Imported
by `engines/blocks` and `estimators`; dask itself is imported only when a collection comes.
"""
