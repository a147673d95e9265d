"""A map of rows: latent inputs, how uncertain they are, and where the model knows its map."""

from numbers import Integral
from typing import Self

import numpy as np

from ..metrics import final_step
from ._common import checked_names, drawing_axes, fitted_model, pyplot


class EmbeddingDisplay:
    """Latent inputs of rows in two dimensions.

    Points are means of latent inputs, bars their standard deviations. The grey behind them tells
    where the model knows the columns: white where their standard deviations are smallest, dark
    where they are those of the prior.

    Parameters
    ----------
    embedding : ndarray of shape (n_samples, 2)
        Means of the latent inputs in the two dimensions of the picture.

    std : ndarray of shape (n_samples, 2), default=None
        Their standard deviations; None for no bars.

    labels : array-like of shape (n_samples,), default=None
        Classes, each with a colour of its own; None for one colour.

    grid : tuple of two ndarrays, default=None
        Places of the map in each dimension.

    spread : ndarray of shape (n_0, n_1), default=None
        Mean of the columns' standard deviations on the grid; None for no map.

    dimension_names : sequence of str, default=None
        Names of the two dimensions; None for "latent 0", "latent 1".

    Attributes
    ----------
    points_ : list of matplotlib Line2D
        Points of each class.

    bars_ : list of matplotlib ErrorbarContainer
        Bars of each class; empty without ``std``.

    image_ : matplotlib QuadMesh or None
        The map; None without ``spread``.

    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    See Also
    --------
    EmbeddingDisplay.from_estimator : The map of a fitted model.

    Examples
    --------
    >>> from sklearn_sgp.plotting import EmbeddingDisplay
    >>> display = EmbeddingDisplay([[0.0, 1.0], [1.0, 0.0]], labels=["a", "b"]).plot()
    >>> [line.get_label() for line in display.points_]
    ['a', 'b']
    """

    def __init__(
        self, embedding, *, std=None, labels=None, grid=None, spread=None, dimension_names=None
    ) -> None:
        self.embedding = embedding
        self.std = std
        self.labels = labels
        self.grid = grid
        self.spread = spread
        self.dimension_names = dimension_names

    def plot(self, ax=None, *, point_kwargs=None, bar_kwargs=None) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        point_kwargs : dict, default=None
            Keywords for matplotlib's ``plot``.

        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``errorbar``.

        Returns
        -------
        display : EmbeddingDisplay
            This object.

        Raises
        ------
        ValueError
            If the arrays of the display do not have the shapes that they must have.
        """
        ax = drawing_axes(ax, "EmbeddingDisplay.plot")
        X, std, labels, spread = self._checked()
        names = checked_names(self.dimension_names, 2, "latent {}", "dimension_names")
        self.image_, self.points_, self.bars_ = None, [], []
        if spread is not None:
            style = {"cmap": "gray_r", "shading": "auto", "rasterized": True, "alpha": 0.7}
            self.image_ = ax.pcolormesh(*self.grid, spread.T, **style)
        for k, label in enumerate(np.unique(labels)):
            rows = labels == label if label == label else labels != labels  # NaN
            style = {"ls": "", "marker": ".", "ms": 4, "color": f"C{k}", "label": str(label)}
            if std is not None:
                bars = {"ls": "", "color": f"C{k}", "alpha": 0.35, "lw": 0.6, **(bar_kwargs or {})}
                xerr, yerr = std[rows].T
                self.bars_.append(ax.errorbar(*X[rows].T, xerr=xerr, yerr=yerr, **bars))
            self.points_ += ax.plot(*X[rows].T, **{**style, **(point_kwargs or {})})
        if self.labels is not None:
            ax.legend(handles=self.points_)
        ax.set(xlabel=names[0], ylabel=names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _checked(self):
        """Return points, bars, labels and map as arrays; None for bars or map that are missing."""
        X = _array(self.embedding, "embedding", (None, 2))
        n = len(X)
        std = None if self.std is None else _array(self.std, "std", (n, 2))
        if std is not None and (std < 0.0).any():
            raise ValueError(f"The 'std' parameter must not be negative. Got {std.min():g}.")
        labels = np.zeros(n, dtype=int) if self.labels is None else np.asarray(self.labels)
        if labels.shape != (n,):
            raise ValueError(
                f"The 'labels' parameter must hold one label for each of the {n} rows. Got shape "
                f"{labels.shape}."
            )
        if len({type(label) for label in labels.tolist()}) > 1:
            labels = labels.astype(str)  # None beside names has no order
        if self.spread is None:
            return X, std, labels, None
        if self.grid is None or len(self.grid) != 2:
            raise ValueError(
                "The 'grid' parameter must hold the places of 'spread' in both dimensions. Got "
                f"{self.grid!r}."
            )
        return X, std, labels, _array(self.spread, "spread", tuple(len(one) for one in self.grid))

    @classmethod
    def from_estimator(
        cls,
        estimator,
        Y=None,
        *,
        labels=None,
        dimensions=None,
        show_std=True,
        resolution=60,
        ax=None,
        point_kwargs=None,
        bar_kwargs=None,
    ) -> Self:
        """Draw the map that a model of latent inputs has found.

        Parameters
        ----------
        estimator : estimator instance
            A fitted `BayesianGPLVM`, or a pipeline that ends in one.

        Y : array-like of shape (n_samples, n_features), default=None
            Rows to draw; None for the training rows.

        labels : array-like of shape (n_samples,), default=None
            Classes, each with a colour of its own.

        dimensions : pair of int, default=None
            Latent dimensions to draw; None for the two most relevant ones.

        show_std : bool, default=True
            Whether to draw standard deviations as bars.

        resolution : int, default=60
            Places of the map in each dimension, the other dimensions being held at 0; 0 for no map.

        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        point_kwargs : dict, default=None
            Keywords for matplotlib's ``plot``.

        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``errorbar``.

        Returns
        -------
        display : EmbeddingDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the model has one latent dimension only, ``dimensions`` are not two of them,
            ``resolution`` is not a number of places, or labels are not those of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_sgp import BayesianGPLVM
        >>> from sklearn_sgp.plotting import EmbeddingDisplay
        >>> Y = np.random.default_rng(0).normal(size=(30, 4))
        >>> model = BayesianGPLVM(2, n_inducing=5, max_iter=3).fit(Y)
        >>> display = EmbeddingDisplay.from_estimator(model)
        >>> display.embedding.shape
        (30, 2)
        """
        pyplot("EmbeddingDisplay.from_estimator")
        model = fitted_model(estimator, "embedding_", "EmbeddingDisplay")
        chosen = _dimensions(dimensions, model.relevance_)
        if not isinstance(resolution, Integral) or resolution < 0 or resolution == 1:
            raise ValueError(
                "The 'resolution' parameter must be an int of at least 2, or 0 for no map. Got "
                f"{resolution!r}."
            )
        if Y is None:
            mean, std = model.embedding_, model.embedding_std_
        else:
            mean, std = model.transform(final_step(estimator, Y)[1], return_std=True)
            mean = np.asarray(mean)  # a frame where set_output asks for one
        grid, spread = None, None
        if resolution:
            grid, spread = _map(model, mean[:, chosen], chosen, resolution)
        display = cls(
            mean[:, chosen],
            std=std[:, chosen] if show_std else None,
            labels=labels,
            grid=grid,
            spread=spread,
            dimension_names=[f"latent {q}" for q in chosen],
        )
        return display.plot(ax, point_kwargs=point_kwargs, bar_kwargs=bar_kwargs)


def _dimensions(dimensions, relevance):
    """Return the two latent dimensions to draw."""
    count = len(relevance)
    if count < 2:
        raise ValueError(
            f"EmbeddingDisplay draws two latent dimensions. Got a model with {count}: draw a "
            "histogram of embedding_."
        )
    if dimensions is None:
        return np.argsort(-relevance, kind="stable")[:2]
    chosen = np.asarray(dimensions)
    whole = chosen.shape == (2,) and np.issubdtype(chosen.dtype, np.integer)
    if not whole or not np.isin(chosen, np.arange(count)).all() or chosen[0] == chosen[1]:
        raise ValueError(
            f"The 'dimensions' parameter must be two different numbers from 0 to {count - 1}. Got "
            f"{dimensions!r}."
        )
    return chosen


def _array(values, name, shape):
    """Return numbers of a shape, of which None stands for any length."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The '{name}' parameter must hold numbers. Got {values!r}.") from error
    fits = array.ndim == 2 and all(
        wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("n" if size is None else str(size) for size in shape)
        raise ValueError(
            f"The '{name}' parameter must have the shape ({wanted}). Got {array.shape}."
        )
    return array


def _map(model, places, chosen, resolution):
    """Return a grid around the places, and the mean over columns of standard deviations there."""
    low, high = places.min(axis=0), places.max(axis=0)
    margin = np.where(high > low, 0.1 * (high - low), 1.0)
    grid = tuple(np.linspace(low - margin, high + margin, resolution).T)
    X = np.zeros((resolution**2, len(model.relevance_)))
    X[:, chosen] = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
    _, std = model.inverse_transform(X, return_std=True)
    return grid, (std / model.scale_).mean(axis=1).reshape(resolution, resolution)
