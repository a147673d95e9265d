"""Mean, spread and inducing inputs over one or two features."""

from typing import Self

import numpy as np

from ._columns import Dates, Numbers, name_ticks
from ._common import checked_names, dataframe_of, drawing_axes, fitted_model, pyplot
from ._grid import (
    checked_observations,
    checked_rows_of_curves,
    columns_of,
    curves_on_grid,
    drawn_part,
    inducing_points_in_inputs,
    input_grid,
    places_of,
    posterior_on_grid,
    rows_like,
)


class PosteriorDisplay:
    """Posterior of a regressor over one or two features.

    For one feature the picture has the mean, a central band, and the inducing inputs as marks on
    the axis. For two features it has a map of the mean and a map of the standard deviation, with
    the inducing inputs as dots.

    Parameters
    ----------
    grid : tuple of one or two ndarrays
        Values of each feature: numbers or dates.

    mean : ndarray of shape (n_0,) or (n_0, n_1)
        Predictive mean on the grid; the first axis belongs to the first feature.

    band : ndarray of shape (n_0, 2), default=None
        Lower and upper end of the band, for one feature.

    std : ndarray of shape (n_0, n_1), default=None
        Standard deviation on the grid, for two features.

    inducing_points : ndarray of shape (n_inducing, n_features), default=None
        Inducing inputs.

    X : ndarray of shape (n_samples, n_features), default=None
        Inputs of observations to draw, together with ``y``.

    y : ndarray of shape (n_samples,), default=None
        Observations to draw.

    feature_names : sequence of str, default=None
        Names of the features; None for "x0", "x1".

    band_name : str, default="band"
        Name of the band in the legend.

    categories : sequence, default=None
        For each feature None, or the names of its categories, whose codes are the grid's values.

    curves : ndarray of shape (n_curves, n_0), default=None
        Means of single rows on the grid, for one feature.

    Attributes
    ----------
    line_ : matplotlib Line2D or None
        The mean; None for two features.

    curves_ : list of matplotlib Line2D
        The means of single rows.

    band_ : matplotlib Collection or None
        The band; None for two features.

    images_ : list of matplotlib QuadMesh or None
        The two maps; None for one feature.

    data_ : matplotlib Artist or None
        The observations; None if they are not drawn.

    inducing_ : list of matplotlib Line2D
        The inducing inputs: one entry for each of the axes.

    ax_ : matplotlib Axes, or ndarray of two
        One for one feature, two for two features.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    See Also
    --------
    PosteriorDisplay.from_estimator : Draws the posterior of a fitted regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_sgp.plotting import PosteriorDisplay
    >>> x = np.linspace(0, 6, 50)
    >>> band = np.sin(x)[:, None] + [-0.2, 0.2]
    >>> display = PosteriorDisplay((x,), np.sin(x), band=band).plot()
    >>> display.ax_.get_xlabel()
    'x0'
    """

    def __init__(
        self,
        grid,
        mean,
        *,
        band=None,
        std=None,
        inducing_points=None,
        X=None,
        y=None,
        feature_names=None,
        band_name="band",
        categories=None,
        curves=None,
    ) -> None:
        self.grid = grid
        self.mean = mean
        self.band = band
        self.std = std
        self.inducing_points = inducing_points
        self.X = X
        self.y = y
        self.feature_names = feature_names
        self.band_name = band_name
        self.categories = categories
        self.curves = curves

    def plot(self, ax=None, *, aspect="auto") -> Self:
        """Draw the posterior.

        Parameters
        ----------
        ax : matplotlib Axes, or sequence of two for two features, default=None
            Where to draw; None makes a new figure.

        aspect : {"auto", "equal"} or float, default="auto"
            Of the axes of two features, as of matplotlib. "equal" is for two features of one unit,
            such as the coordinates of places.

        Returns
        -------
        display : PosteriorDisplay
            This object. Its artists are attributes, so that you can change their style.
        """
        n_panels = len(self.grid)
        ax = drawing_axes(ax, "PosteriorDisplay.plot", n_panels)
        names = checked_names(self.feature_names, n_panels, "x{}", "feature_names")
        self.line_ = self.band_ = self.images_ = self.data_ = None
        self.inducing_, self.curves_ = [], []
        if n_panels == 1:
            self._draw_curve(ax, *names)
            self._name_ticks([ax])
            self.ax_, self.figure_ = ax, ax.figure
        else:
            self._draw_maps(ax, *names)
            for one in ax:
                one.set_aspect(aspect)
            self._name_ticks(ax)
            self.ax_, self.figure_ = ax, ax[0].figure
        return self

    def _name_ticks(self, axes):
        """Name the ticks by categories."""
        for feature, names in enumerate(self.categories or ()):
            for ax in axes if names is not None else ():
                name_ticks(ax.yaxis if feature else ax.xaxis, names)

    def _draw_curve(self, ax, xlabel):
        (x,) = self.grid
        (self.line_,) = ax.plot(x, self.mean, label="mean")
        color = self.line_.get_color()
        if self.curves is not None:
            style = {"color": color, "alpha": 0.4, "lw": 0.7, "zorder": 1.5}
            self.curves_ = ax.plot(x, np.asarray(self.curves).T, **style)
            self.curves_[0].set_label("means of single rows")
        if self.band is not None:
            lower, upper = np.asarray(self.band).T
            style = {"color": color, "alpha": 0.2, "linewidth": 0}
            self.band_ = ax.fill_between(x, lower, upper, label=self.band_name, **style)
        if self.y is not None:
            (self.data_,) = ax.plot(self.X[:, 0], self.y, ".", color="0.4", ms=4, zorder=1)
            self.data_.set_label("data")
        if self.inducing_points is not None:
            places = self.inducing_points[:, 0]
            style = {"color": "k", "ms": 9, "clip_on": False, "label": "inducing inputs"}
            # at the bottom of the axes, independent of the limits of y
            across = ax.get_xaxis_transform()
            self.inducing_ = ax.plot(places, 0 * places, "|", transform=across, **style)
        ax.set(xlabel=xlabel, ylabel="y")
        ax.legend()

    def _draw_maps(self, axes, xlabel, ylabel):
        self.images_ = []
        panels = [("mean", self.mean, "viridis"), ("standard deviation", self.std, "magma")]
        for ax, (title, values, cmap) in zip(axes, panels, strict=True):
            image = ax.pcolormesh(*self.grid, np.asarray(values).T, cmap=cmap, rasterized=True)
            ax.figure.colorbar(image, ax=ax)
            ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
            self.images_.append(image)
            if self.inducing_points is not None:
                style = {"color": "w", "mec": "k", "ms": 4, "mew": 0.7}
                self.inducing_ += ax.plot(*self.inducing_points.T, "o", **style)
        if self.y is not None:
            image = self.images_[0]
            style = {"cmap": image.cmap, "norm": image.norm, "s": 8, "ec": "k", "lw": 0.2}
            self.data_ = axes[0].scatter(*self.X.T, c=self.y, **style)

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X=None,
        y=None,
        *,
        feature=None,
        curves=0,
        grid_resolution=200,
        confidence=0.9,
        include_noise=True,
        target=0,
        subsample=1000,
        random_state=None,
        ax=None,
        aspect="auto",
    ) -> Self:
        """Draw the posterior of a fitted regressor over one or two features.

        Parameters
        ----------
        estimator : estimator instance
            Fitted sparse GP regressor; or a pipeline or search that ends in one.

        X : array-like of shape (n_samples, n_features), default=None
            The picture covers the range of these inputs; None for the range of the inducing
            inputs. A column of categories (``categorical_features``, or of values other than
            numbers and dates in front of a pipeline) has a place for each of them.

        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Observations at ``X``, to be drawn as dots. For two features the dots have the colours
            of the map of the mean.

        feature : int or str, default=None
            The feature to vary, by index or name, where a model has more than it draws; all others
            are held at their medians among ``X``, categories and labels of blocks at the
            commonest. None draws a model of one or two features whole.

        curves : int, default=0
            Number of rows of ``X``, chosen at random, of which the mean is drawn as well while the
            feature varies: the others stay what they are in the row. Curves that are not parallel
            tell of a feature whose effect depends on others.

        grid_resolution : int, default=200
            Number of grid values of each feature.

        confidence : float, default=0.9
            Probability of the central band, for one feature.

        include_noise : bool, default=True
            True for the spread of new observations, False for the spread of the latent function.

        target : int, default=0
            Which output to draw, if there are several.

        subsample : int, default=1000
            Largest number of observations to draw, chosen at random; None for all.

        random_state : int, RandomState instance or None, default=None
            Seed of the random choice.

        ax : matplotlib Axes, or sequence of two for two features, default=None
            Where to draw; None makes a new figure.

        aspect : {"auto", "equal"} or float, default="auto"
            Of the axes of two features, as of matplotlib. "equal" is for two features of one unit,
            such as the coordinates of places.

        Returns
        -------
        display : PosteriorDisplay
            The display, drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_sgp import SVGPRegressor
        >>> from sklearn_sgp.plotting import PosteriorDisplay
        >>> X = np.linspace(0, 6, 100)[:, None]
        >>> y = np.sin(X[:, 0])
        >>> model = SVGPRegressor(n_inducing=10, random_state=0).fit(X, y)
        >>> display = PosteriorDisplay.from_estimator(model, X, y, confidence=0.95)
        >>> display.band_.get_label()
        '95 % band of observations'
        """
        pyplot("PosteriorDisplay.from_estimator")
        if not 0 < confidence < 1:
            raise ValueError(
                f"The 'confidence' parameter must be between 0 and 1, exclusive. Got {confidence}."
            )
        fitted_model(estimator, "predict_quantiles", "PosteriorDisplay")
        X = dataframe_of(X)
        inducing_points = inducing_points_in_inputs(estimator, X)
        columns = columns_of(estimator, X)
        places = places_of(X, columns)
        data = checked_observations(places, y, target, subsample, random_state)
        names = _names(estimator, X)
        places = inducing_points if places is None else places
        if columns is None:
            columns = [Numbers()] * (0 if places is None else places.shape[1])
        part = drawn_part(feature, places, columns, names)
        shown = part.of(columns)
        labels = checked_names(part.names(names), len(shown), "x{}", "feature_names")
        grid = input_grid(part.of(places), grid_resolution, shown, labels)
        kind = "observations" if include_noise else "the function"
        posterior = posterior_on_grid(
            estimator, grid, part, confidence, include_noise, target, columns, rows_like(X)
        )
        rows = checked_rows_of_curves(places, curves, part, random_state)
        if curves:
            arguments = part, rows, target, columns, rows_like(X)
            posterior["curves"] = curves_on_grid(estimator, grid, *arguments)
        categories = [column.names for column in shown]
        display = cls(
            tuple(
                column.values(one) if isinstance(column, Dates) else one
                for column, one in zip(shown, grid, strict=True)
            ),
            **posterior,
            X=part.of(data.get("X")),
            y=data.get("y"),
            inducing_points=part.of(inducing_points),
            feature_names=part.names(names),
            band_name=f"{100 * confidence:g} % band of {kind}",
            categories=None if all(one is None for one in categories) else categories,
        )
        return display.plot(ax, aspect=aspect)


def _names(estimator, X):
    """Return the names of the columns that enter an estimator, None where they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return getattr(X, "columns", None) if names is None else names
