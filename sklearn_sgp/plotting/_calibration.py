"""Nominal against observed coverage of central intervals."""

from typing import Self

import numpy as np
from scipy.stats import norm
from sklearn.utils import check_array, check_consistent_length

from ..metrics import interval_coverage
from ._columns import Categories, in_order
from ._common import checked_names, dataframe_of, drawing_axes, pyplot, step_with_deviations

LEVELS = np.linspace(0.05, 0.95, 19)


class CalibrationDisplay:
    """Coverage of central intervals: share of observations inside, against the nominal one.

    On the diagonal, intervals of probability p hold a share p of the observations. Below it, they
    are too narrow; above it, too wide. The grey band is where nineteen of twenty shares lie if the
    intervals are right and the rows independent; groups of their own size have bands of their own,
    in the colour of their line.

    Parameters
    ----------
    levels : array-like of shape (n_levels,)
        Probabilities of the intervals.

    coverage : array-like of shape (n_levels,) or (n_groups, n_levels)
        Shares of the observations in these intervals, for each group of rows.

    n_samples : int or array-like of shape (n_groups,), default=None
        Number of rows that the shares are of, for the bands: that of each group, or one that all
        have; None for no band.

    group_names : sequence of str, default=None
        Names of the groups in the legend; None for no legend.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The coverage of each group.

    diagonal_ : matplotlib Line2D
        Where coverage is as it should be.

    band_ : matplotlib Collection or None
        The grey band, of the first group.

    bands_ : list of matplotlib Collection
        All bands: one, or one for each group.

    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    See Also
    --------
    CalibrationDisplay.from_estimator : Predicts, and draws the coverage.
    CalibrationDisplay.from_predictions : Draws the coverage of predictions.
    sklearn_sgp.metrics.interval_coverage : The share at one level.

    Examples
    --------
    >>> from sklearn_sgp.plotting import CalibrationDisplay
    >>> display = CalibrationDisplay([0.5, 0.9], [0.45, 0.93], n_samples=200).plot()
    >>> display.ax_.get_xlabel()
    'probability of the interval'
    """

    def __init__(self, levels, coverage, *, n_samples=None, group_names=None) -> None:
        self.levels = levels
        self.coverage = coverage
        self.n_samples = n_samples
        self.group_names = group_names

    def plot(self, ax=None, *, line_kwargs=None) -> Self:
        """Draw the coverage.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        line_kwargs : dict, default=None
            Keywords for matplotlib's ``plot``, for all groups.

        Returns
        -------
        display : CalibrationDisplay
            This object.
        """
        ax = drawing_axes(ax, "CalibrationDisplay.plot")
        levels, coverage = np.asarray(self.levels), np.atleast_2d(self.coverage)
        names = checked_names(self.group_names, len(coverage), "{}", "group_names")
        (self.diagonal_,) = ax.plot([0, 1], [0, 1], "--", color="0.4", lw=1)
        self.lines_ = []
        for shares, name in zip(coverage, names, strict=True):
            style = {"marker": ".", "lw": 1.2, "label": name, **(line_kwargs or {})}
            self.lines_ += ax.plot(levels, shares, **style)
        self.bands_ = self._bands(ax)
        self.band_ = self.bands_[0] if self.bands_ else None
        ax.set(xlabel="probability of the interval", ylabel="share of observations in it")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        if self.group_names is not None:
            ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _bands(self, ax):
        """Draw the bands: the first is grey, others have the colours of their lines."""
        if self.n_samples is None:
            return []
        sizes = np.atleast_1d(self.n_samples)
        if len(sizes) not in (1, len(self.lines_)):
            raise ValueError(
                "The 'n_samples' parameter must be one number, or one for each of the "
                f"{len(self.lines_)} groups. Got {self.n_samples!r}."
            )
        p, bands = np.linspace(0, 1, 101), []
        for k, (size, line) in enumerate(zip(sizes, self.lines_, strict=False)):
            spread = 1.96 * np.sqrt(p * (1 - p) / size)
            style = {"color": line.get_color(), "alpha": 0.12} if k else {"color": "0.85"}
            bands.append(ax.fill_between(p, p - spread, p + spread, lw=0, zorder=0.5, **style))
        return bands

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, groups=None, levels=LEVELS, ax=None, line_kwargs=None
    ) -> Self:
        """Predict and draw how many observations central intervals hold.

        Take rows that the estimator was not fitted to.

        Parameters
        ----------
        estimator : estimator instance
            Fitted regressor with ``predict_distribution``, or whose ``predict`` takes
            ``return_std``, taken as Gaussian; or a pipeline or search that ends in one.

        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations. Shares are means over the outputs.

        groups : str or array-like of shape (n_samples,), default=None
            A label for each row, or the name of a column of ``X`` that has them: each group has a
            line besides that of all rows. Rows without a label are the group "missing".

        levels : array-like of shape (n_levels,), default=0.05, 0.1, ..., 0.95
            Probabilities of the intervals.

        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        line_kwargs : dict, default=None
            Keywords for matplotlib's ``plot``, for all groups.

        Returns
        -------
        display : CalibrationDisplay
            The display, drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_sgp import SVGPRegressor
        >>> from sklearn_sgp.plotting import CalibrationDisplay
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 6, (400, 1))
        >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(400)
        >>> model = SVGPRegressor(n_inducing=10, random_state=0).fit(X[:200], y[:200])
        >>> display = CalibrationDisplay.from_estimator(model, X[200:], y[200:])
        >>> len(display.lines_)
        1
        """
        pyplot("CalibrationDisplay.from_estimator")
        X = dataframe_of(X)
        model, inputs = step_with_deviations(estimator, X, "CalibrationDisplay")
        if isinstance(groups, str):
            if groups not in getattr(X, "columns", ()):
                raise ValueError(
                    "The 'groups' parameter must name a column of the data frame X, or be a label "
                    f"for each row. Got {groups!r}."
                )
            groups = np.asarray(X[groups])
        if hasattr(model, "predict_distribution"):
            predictions = model.predict_distribution(inputs)
        else:
            predictions = model.predict(inputs, return_std=True)
        options = {"groups": groups, "levels": levels, "ax": ax, "line_kwargs": line_kwargs}
        return cls.from_predictions(y, predictions, **options)

    @classmethod
    def from_predictions(
        cls, y, predictions, *, groups=None, levels=LEVELS, ax=None, line_kwargs=None
    ) -> Self:
        """Draw how many observations the central intervals of predictions hold.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations. Shares are means over the outputs.

        predictions : tuple of (mean, std) or object with ``interval``
            Means and standard deviations of Gaussian predictions, each of the shape of ``y``; or
            distributions such as `predict_distribution` or :mod:`scipy.stats` give.

        groups : array-like of shape (n_samples,), default=None
            A label for each row: each group has a line besides that of all rows. Rows without a
            label are the group "missing".

        levels : array-like of shape (n_levels,), default=0.05, 0.1, ..., 0.95
            Probabilities of the intervals.

        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        line_kwargs : dict, default=None
            Keywords for matplotlib's ``plot``, for all groups.

        Returns
        -------
        display : CalibrationDisplay
            The display, drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_sgp.plotting import CalibrationDisplay
        >>> y = np.random.default_rng(0).normal(size=500)
        >>> hour = np.arange(500) % 2
        >>> display = CalibrationDisplay.from_predictions(
        ...     y, (np.zeros(500), np.ones(500)), groups=hour
        ... )
        >>> [line.get_label() for line in display.lines_]
        ['all', '0', '1']
        """
        pyplot("CalibrationDisplay.from_predictions")
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        levels = _checked_levels(levels)
        if isinstance(predictions, tuple):
            predictions = norm(*(np.asarray(part, dtype=np.float64) for part in predictions))
        ends = [np.stack(predictions.interval(level)) for level in levels]
        masks, names = [np.ones(len(y), dtype=bool)], None
        if groups is not None:
            labels, of_row = _numbered(groups)
            check_consistent_length(y, of_row)
            masks += [of_row == k for k in range(len(labels))]
            names = ["all", *labels]
        coverage = [
            [interval_coverage(y[chosen], *pair[:, chosen]) for pair in ends] for chosen in masks
        ]
        sizes = [int(chosen.sum()) for chosen in masks]
        display = cls(levels, np.array(coverage), n_samples=sizes, group_names=names)
        return display.plot(ax, line_kwargs=line_kwargs)


def _numbered(groups):
    """Return the names of groups in their order, and the number of each row's."""
    # an array of strings would have NaN as one of them
    groups = np.asarray(groups, dtype=None if hasattr(groups, "dtype") else object)
    if groups.ndim != 1:
        raise ValueError(
            "The 'groups' parameter must hold a label for each row. Got an array of shape "
            f"{groups.shape}: pass one column."
        )
    values = groups.tolist()
    column = Categories(in_order(values))
    names = ["missing" if value is None else str(value) for value in column.names]
    return names, column.places(values)


def _checked_levels(levels):
    """Return probabilities in increasing order."""
    levels = np.sort(np.asarray(levels, dtype=np.float64).ravel())
    if not len(levels) or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            "The 'levels' parameter must hold probabilities between 0 and 1, exclusive. Got "
            f"{levels.tolist()}."
        )
    return levels
