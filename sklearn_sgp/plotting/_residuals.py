"""Standardised residuals against prediction and inputs."""

from typing import Self

import numpy as np
from sklearn.utils import check_array, check_consistent_length, check_random_state

from ..metrics import predicted_observations
from ._columns import Categories, column_of, columns_in
from ._common import checked_names, dataframe_of, drawing_axes, pyplot, step_with_deviations

MAX_PANELS = 9  # of a new figure
CENTRAL_90 = 1.645  # standard deviations


class ResidualDisplay:
    """Standardised residuals against the prediction and against each input.

    A standardised residual is observation minus mean, divided by the standard deviation that was
    predicted for it. If mean and noise are right, they have mean 0 and, under Gaussian noise, nine
    of ten are between -1.645 and 1.645, wherever one looks. The line is their mean over neighbours
    along the axis, the band holds nine of ten of these. A line off zero is structure that the mean
    leaves. A band wider or narrower than the dashed lines is noise that the model does not know.

    Parameters
    ----------
    residuals : array-like of shape (n_samples,)
        Standardised residuals.

    columns : list of array-like of shape (n_samples,)
        What they are drawn against, a panel for each. Values that are neither numbers nor dates
        are categories, missing ones among them; missing numbers and dates are left out.

    names : sequence of str, default=None
        Names of the columns; None for "x0", "x1".

    n_bins : int, default=12
        Number of bins of equally many rows that the line and the band have.

    subsample : int, default=1000
        Largest number of dots, chosen at random; None for all. Line and band are of all rows.

    random_state : int, RandomState instance or None, default=None
        Seed of the random choice.

    Attributes
    ----------
    dots_ : list of matplotlib Line2D
        The residuals of each panel.

    lines_ : list of matplotlib Line2D
        Their means.

    bands_ : list of matplotlib Collection
        Their bands.

    axes_ : ndarray of matplotlib Axes
        A panel for each column.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    See Also
    --------
    ResidualDisplay.from_estimator : Predicts, and draws the residuals.
    ResidualDisplay.from_predictions : Draws the residuals of predictions.
    CalibrationDisplay : How many observations intervals hold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp.plotting import ResidualDisplay
    >>> rng = np.random.default_rng(0)
    >>> display = ResidualDisplay(rng.normal(size=100), [np.arange(100)], names=["hour"]).plot()
    >>> display.axes_[0].get_xlabel()
    'hour'
    """

    def __init__(
        self, residuals, columns, *, names=None, n_bins=12, subsample=1000, random_state=None
    ) -> None:
        self.residuals = residuals
        self.columns = columns
        self.names = names
        self.n_bins = n_bins
        self.subsample = subsample
        self.random_state = random_state

    def plot(self, ax=None) -> Self:
        """Draw the residuals.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, one for each column, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ResidualDisplay
            This object.
        """
        residuals, n_panels = np.asarray(self.residuals), len(self.columns)
        names = checked_names(self.names, n_panels, "x{}", "names")
        self.axes_ = _panels(ax, n_panels)
        shown = np.arange(len(residuals))
        if self.subsample is not None and self.subsample < len(shown):
            choice = check_random_state(self.random_state).choice
            shown = choice(shown, self.subsample, replace=False)
        self.dots_, self.lines_, self.bands_ = [], [], []
        for pane, column, name in zip(self.axes_, self.columns, names, strict=True):
            column, places = _column_and_places(column)
            self.dots_ += pane.plot(places[shown], residuals[shown], ".", color="0.6", ms=3)
            known, are_names = ~np.isnan(places), isinstance(column, Categories)
            along = _along(places[known], residuals[known], self.n_bins, are_names)
            middle, mean, low, high = along
            self.lines_ += pane.plot(middle, mean, color="C0", lw=1.5)
            self.bands_.append(pane.fill_between(middle, low, high, color="C0", alpha=0.25, lw=0))
            for height in (-CENTRAL_90, 0.0, CENTRAL_90):
                pane.axhline(height, color="0.3", ls="--", lw=0.8)
            pane.set(xlabel=name, ylabel="standardised residual")
            column.draw(pane.xaxis)
        self.figure_ = self.axes_[0].figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        features=None,
        target=0,
        n_bins=12,
        subsample=1000,
        random_state=None,
        ax=None,
    ) -> Self:
        """Predict and draw the standardised residuals.

        Take rows that the estimator was not fitted to.

        Parameters
        ----------
        estimator : estimator instance
            Fitted regressor whose ``predict`` takes ``return_std``; or a pipeline or search that
            ends in one.

        X : array-like of shape (n_samples, n_features)
            Inputs. Names come from the columns of a data frame.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        features : sequence of int or str, default=None
            Columns of ``X`` to draw against, besides the prediction. None means all, at most the
            first eight.

        target : int, default=0
            Which output to draw, if there are several.

        n_bins : int, default=12
            Number of bins of equally many rows that the line and the band have.

        subsample : int, default=1000
            Largest number of dots, chosen at random; None for all.

        random_state : int, RandomState instance or None, default=None
            Seed of the random choice.

        ax : sequence of matplotlib Axes, one for each panel, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ResidualDisplay
            The display, drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_sgp import SVGPRegressor
        >>> from sklearn_sgp.plotting import ResidualDisplay
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 6, (400, 1))
        >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(400)
        >>> model = SVGPRegressor(n_inducing=10, random_state=0).fit(X[:200], y[:200])
        >>> display = ResidualDisplay.from_estimator(model, X[200:], y[200:])
        >>> [pane.get_xlabel() for pane in display.axes_]
        ['prediction', 'x0']
        """
        pyplot("ResidualDisplay.from_estimator")
        X = dataframe_of(X)
        model, inputs = step_with_deviations(estimator, X, "ResidualDisplay")
        mean, std = predicted_observations(model, inputs)
        names, columns = _columns(X, features)
        options = {"n_bins": n_bins, "subsample": subsample, "random_state": random_state}
        return cls.from_predictions(
            y, mean, std, columns=columns, names=names, target=target, ax=ax, **options
        )

    @classmethod
    def from_predictions(
        cls,
        y,
        mean,
        std,
        *,
        columns=(),
        names=None,
        target=0,
        n_bins=12,
        subsample=1000,
        random_state=None,
        ax=None,
    ) -> Self:
        """Draw the standardised residuals of predictions.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        mean : array-like of the shape of ``y``
            Predictive means.

        std : array-like of the shape of ``y``
            Predictive standard deviations of an observation, noise included. Positive.

        columns : list of array-like of shape (n_samples,), default=()
            What to draw against besides the prediction.

        names : sequence of str, default=None
            Names of these columns; None for "x0", "x1".

        target : int, default=0
            Which output to draw, if there are several.

        n_bins : int, default=12
            Number of bins of equally many rows that the line and the band have.

        subsample : int, default=1000
            Largest number of dots, chosen at random; None for all.

        random_state : int, RandomState instance or None, default=None
            Seed of the random choice.

        ax : sequence of matplotlib Axes, one for each panel, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ResidualDisplay
            The display, drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_sgp.plotting import ResidualDisplay
        >>> y = np.random.default_rng(0).normal(size=100)
        >>> display = ResidualDisplay.from_predictions(y, np.zeros(100), np.ones(100))
        >>> len(display.axes_)
        1
        """
        pyplot("ResidualDisplay.from_predictions")
        y, mean, std = (
            check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
            for name, values in (("y", y), ("mean", mean), ("std", std))
        )
        check_consistent_length(y, mean, std, *columns)
        y, mean, std = (
            values[:, target] if values.ndim == 2 else values for values in (y, mean, std)
        )
        if not (std > 0).all():
            raise ValueError(f"std must be positive. Got {std.min():g}.")
        names = ["prediction", *checked_names(names, len(columns), "x{}", "names")]
        options = {"n_bins": n_bins, "subsample": subsample, "random_state": random_state}
        return cls((y - mean) / std, [mean, *columns], names=names, **options).plot(ax)


def _columns(X, features):
    """Return names and values of the chosen columns of an array or a data frame."""
    values = columns_in(X)
    if hasattr(X, "columns"):
        all_names = [str(name) for name in X.columns]
    else:
        all_names = [f"x{j}" for j in range(len(values))]
    if features is None:
        features = range(min(len(values), MAX_PANELS - 1))
    try:
        chosen = [
            all_names.index(f) if isinstance(f, str) else range(len(values))[f] for f in features
        ]
    except (ValueError, IndexError) as error:
        raise ValueError(
            f"The 'features' parameter must hold columns of X, of {all_names} or their numbers. "
            f"Got {list(features)}."
        ) from error
    return [all_names[j] for j in chosen], [values[j] for j in chosen]


def _panels(ax, n_panels):
    """Return the given axes, or those of a new figure with at most three in a line."""
    if ax is not None or n_panels == 1:
        return np.atleast_1d(drawing_axes(ax, "ResidualDisplay.plot", n_panels))
    plt = pyplot("ResidualDisplay.plot")
    n_columns = min(3, n_panels)
    n_rows = -(-n_panels // n_columns)
    size = (4.2 * n_columns, 3.2 * n_rows)
    axes = plt.subplots(n_rows, n_columns, figsize=size, sharey=True, layout="constrained")[1]
    for unused in axes.flat[n_panels:]:
        unused.set_axis_off()
    return axes.ravel()[:n_panels]


def _column_and_places(values):
    """Return what a column is, and where its values are drawn."""
    column = column_of(values)
    return column, column.places(np.asarray(values))


def _along(places, residuals, n_bins, is_categorical):
    """Return place, mean and the quantiles of 5 and 95 % of residuals in bins along an axis.

    There are no bins where no place is known.
    """
    order = np.argsort(places, kind="stable")
    if is_categorical:
        parts = np.split(order, np.flatnonzero(np.diff(places[order])) + 1)
    else:
        parts = np.array_split(order, max(1, min(n_bins, len(order) // 5)))
    bins = [
        (places[rows].mean(), residuals[rows].mean(), *np.quantile(residuals[rows], [0.05, 0.95]))
        for rows in parts
        if len(rows)
    ]
    return np.array(bins).reshape(-1, 4).T
