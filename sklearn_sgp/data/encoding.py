"""What targets and class labels have in common: an encoding that a fit makes and a model keeps."""


class Encoding:
    """The interface of what encodes targets or labels; these defaults move and count nothing.

    `Targets`, `WarpedTargets`, `ObservedTargets`, `ClassLabels` and `ClassTargets` are encodings.
    They are frozen: methods that change something return a changed copy.

    Attributes
    ----------
    mean, scale : ndarray of shape (t,)
        A model learns ``(encode(y) - mean) / scale``.
    grid : float
        What scaled targets are rounded to multiples of, 0 where they are not; see `scaling.GRID`.
    log_scale : float
        Difference of the log density of a row as learned and in the units of y.
    follows_rows : bool
        Whether mean and scale are those of rows, and not given.
    attributes : dict
        Public fitted attributes, copies.
    """

    log_scale = grid = 0.0
    follows_rows = False

    @property
    def n_outputs(self):
        return len(self.mean)

    def columns(self, y):
        """Check later targets, and return them as `joined` takes them."""
        return y

    def of_rows(self, y, weight):
        """Count the log-Jacobian of these rows alone, in the place of those so far."""
        return self

    def joined(self, y, weight):
        """Add the log-Jacobian of more rows, as `columns` returns them."""
        return self

    def is_informative(self, rows):
        """Tell if rows can say anything about the kernel."""
        return True

    def widths(self, rows):
        """Return the widths of the intervals that targets of rows were rounded from, or 0."""
        return 0.0
