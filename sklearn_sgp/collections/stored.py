"""Data sets of HDF5 files, as models and workers hold them: by the names of file and data set."""

from pathlib import Path


class StoredRows:
    """A data set of a file, which is opened again where it was closed, or where a copy is read."""

    def __init__(self, dataset):
        self.path, self.name = str(Path(dataset.file.filename).absolute()), dataset.name
        self.shape, self.dtype = dataset.shape, dataset.dtype
        self._dataset = dataset

    ndim = property(lambda self: len(self.shape))

    def __getstate__(self):
        return {**self.__dict__, "_dataset": None}

    def __getitem__(self, index):
        if not self._dataset:  # None, or closed
            self._dataset = self._opened()
        return self._dataset[index]

    def _opened(self):
        import h5py  # whoever has made the data set has it

        try:
            found = h5py.File(self.path, "r")[self.name]
        except (OSError, KeyError) as error:
            raise type(error)(
                f"The model reads its rows from {self.name!r} of {self.path!r}, where they were in "
                f"fit, and cannot: {error}. Put the file there again, or fit anew."
            ) from error
        if found.shape != self.shape:
            raise ValueError(
                f"The model reads its rows from {self.name!r} of {self.path!r}, which must have "
                f"the shape {self.shape} that it had in fit. Got {found.shape}: put that file "
                "there again, or fit anew."
            )
        return found


def reopened_where_closed(dataset):
    """Return `StoredRows` of a data set of an HDF5 file that has a name; others as they are."""
    is_named = getattr(dataset, "name", None) is not None
    return StoredRows(dataset) if is_named and hasattr(dataset, "file") else dataset
