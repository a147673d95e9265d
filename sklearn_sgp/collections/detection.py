"""What counts as a collection, told without importing dask."""

# Libraries of arrays on disk, which are read in pieces.
_STORES = ("h5py", "zarr")


def is_collection(value):
    """Return whether a value is a dask collection, such as an array or a dataframe."""
    return hasattr(type(value), "__dask_graph__")


def is_stored(value):
    """Return whether a value is a data set on disk, of HDF5 or Zarr."""
    library = type(value).__module__.partition(".")[0]
    return library in _STORES and hasattr(value, "shape") and hasattr(value, "dtype")


def any_collection(*values):
    """Return whether one of the values is either."""
    return any(is_collection(value) or is_stored(value) for value in values)
