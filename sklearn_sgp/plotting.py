"""Pictures of fitted estimators, after scikit-learn's conventions for displays.

``from_estimator`` computes and draws; the constructor only stores, for numbers computed elsewhere.
"""

import warnings
from contextlib import contextmanager

import numpy as np
from scipy.special import ndtri
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .metrics import final_step

__all__ = ["ConvergenceDisplay", "PosteriorDisplay", "RelevanceDisplay"]


class ConvergenceDisplay:
    """Objective, or a test score, as learning goes on.

    Parameters
    ----------
    positions : array-like of shape (n_entries,)
        Where each value belongs on the horizontal axis, such as seconds or steps.

    values : array-like of shape (n_entries,)
        Objective or score at each entry.

    xlabel : str, default="steps"
        What the positions are.

    ylabel : str, default="objective"
        What the values are.

    name : str, default=None
        Name of the curve in the legend; None for no legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.

    ax_ : matplotlib Axes
        Axes with the curve.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    See Also
    --------
    ConvergenceDisplay.from_estimator : The trace that an estimator kept.

    Examples
    --------
    >>> from sklearn_sgp.plotting import ConvergenceDisplay
    >>> seconds, rmse = [0.5, 1.0, 2.0], [3.1, 2.4, 2.2]
    >>> display = ConvergenceDisplay(seconds, rmse, xlabel="seconds", ylabel="test RMSE").plot()
    >>> display.ax_.get_ylabel()
    'test RMSE'
    """

    def __init__(self, positions, values, *, xlabel="steps", ylabel="objective", name=None):
        self.positions = positions
        self.values = values
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.name = name

    def plot(self, ax=None, *, line_kwargs=None):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw, for instance into the ``ax_`` of another display to compare the two;
            None makes a new figure.

        line_kwargs : dict, default=None
            Keywords for matplotlib's ``plot``.

        Returns
        -------
        display : ConvergenceDisplay
            This object.
        """
        ax = _axes(ax, "ConvergenceDisplay.plot")
        style = {"label": self.name, "marker": ".", **(line_kwargs or {})}
        (self.line_,) = ax.plot(self.positions, self.values, **style)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.name is not None:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls, estimator, *, x="seconds", per_row=False, name=None, ax=None, line_kwargs=None
    ):
        """Draw the trace of the objective that a fitted estimator kept.

        Parameters
        ----------
        estimator : estimator instance
            Fitted, with ``objectives_`` and ``fit_times_``; or a pipeline or search that ends in
            one.

        x : {"seconds", "entries"}, default="seconds"
            The horizontal axis: seconds since ``fit`` began, or the number of the entry.

        per_row : bool, default=False
            Whether to divide the objective by ``n_samples_seen_``, so that fits to different
            numbers of rows compare.

        name : str, default=None
            Name of the curve in the legend; None for no legend.

        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        line_kwargs : dict, default=None
            Keywords for matplotlib's ``plot``.

        Returns
        -------
        display : ConvergenceDisplay
            The display, drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_sgp import SVGPRegressor
        >>> from sklearn_sgp.plotting import ConvergenceDisplay
        >>> X = np.linspace(0, 6, 100)[:, None]
        >>> model = SVGPRegressor(n_inducing=10, random_state=0).fit(X, np.sin(X[:, 0]))
        >>> display = ConvergenceDisplay.from_estimator(model, per_row=True)
        >>> display.ax_.get_ylabel()
        'objective (nats per row)'
        """
        _pyplot("ConvergenceDisplay.from_estimator")
        if x not in ("seconds", "entries"):
            raise ValueError(f"The 'x' parameter must be 'seconds' or 'entries'. Got {x!r}.")
        model = _fitted_model(estimator, "objectives_", "ConvergenceDisplay")
        values, ylabel = np.asarray(model.objectives_), "objective (nats)"
        if per_row:
            values, ylabel = values / model.n_samples_seen_, "objective (nats per row)"
        if x == "seconds":
            positions, xlabel = np.asarray(model.fit_times_), "seconds of fitting"
        else:
            positions, xlabel = np.arange(1, len(values) + 1), "entry of the trace"
        display = cls(positions, values, xlabel=xlabel, ylabel=ylabel, name=name)
        return display.plot(ax, line_kwargs=line_kwargs)


class RelevanceDisplay:
    """Relevance of each feature, as the inverse of its length scale.

    A feature with a long length scale, a short bar, hardly moves the prediction. Inverse length
    scales compare features of like spread only; divide that out with ``scale``.

    Parameters
    ----------
    relevances : array-like of shape (n_parts, n_features)
        For each part of the kernel the relevance of every feature, 0 where it does not see one.

    feature_names : sequence of str, default=None
        Names of the features; None for "x0", "x1", ...

    part_names : sequence of str, default=None
        Names of the parts, for the legend of kernels with several; None for "part 1", ...

    xlabel : str, default="inverse length scale"
        What the bars are.

    Attributes
    ----------
    bars_ : list of matplotlib BarContainer
        The bars of each part.

    ax_ : matplotlib Axes
        Axes with the bars.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    See Also
    --------
    RelevanceDisplay.from_estimator : The relevances of a fitted kernel.

    Examples
    --------
    >>> from sklearn_sgp.plotting import RelevanceDisplay
    >>> display = RelevanceDisplay([[0.1, 2.0]], feature_names=["weekday", "hour"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['hour', 'weekday']
    """

    def __init__(
        self, relevances, *, feature_names=None, part_names=None, xlabel="inverse length scale"
    ):
        self.relevances = relevances
        self.feature_names = feature_names
        self.part_names = part_names
        self.xlabel = xlabel

    def plot(self, ax=None, *, sort=True, bar_kwargs=None):
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        sort : bool, default=True
            Whether to put the most relevant feature first, judged by its longest bar; False keeps
            the order of the features.

        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``barh``.

        Returns
        -------
        display : RelevanceDisplay
            This object.
        """
        ax = _axes(ax, "RelevanceDisplay.plot")
        relevances = np.atleast_2d(np.asarray(self.relevances, dtype=np.float64))
        n_parts, n_features = relevances.shape
        names = _names(self.feature_names, n_features, "x{}", "feature_names")
        parts = _names(self.part_names, n_parts, "part {}", "part_names", first=1)
        order = np.arange(n_features)
        if sort:
            order = np.argsort(-relevances.max(axis=0), kind="stable")
        height = 0.8 / n_parts
        self.bars_ = []
        for i, (part, relevance) in enumerate(zip(parts, relevances, strict=True)):
            offset = (i - (n_parts - 1) / 2) * height
            style = {"height": height, "label": part, **(bar_kwargs or {})}
            self.bars_.append(ax.barh(np.arange(n_features) + offset, relevance[order], **style))
        ax.set_yticks(np.arange(n_features), labels=[names[j] for j in order])
        ax.set_ylim(n_features - 0.5, -0.5)  # the first feature on top
        ax.set_xlabel(self.xlabel)
        if n_parts > 1:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator,
        *,
        feature_names=None,
        scale=None,
        sort=True,
        ax=None,
        bar_kwargs=None,
    ):
        """Draw the relevances that a fitted kernel found.

        Every part of the kernel with length scales is drawn (RBF, Matern, RationalQuadratic and
        kernels of your own with a ``length_scale``), also inside sums, products, powers and
        ``Columns``. A periodic kernel's length scale is left out: it measures another distance.

        Parameters
        ----------
        estimator : estimator instance
            Fitted, with ``kernel_``; or a pipeline or search that ends in one, whose features
            are then those that reach the last step.

        feature_names : sequence of str, default=None
            Names of the features; None for those seen in ``fit``, or "x0", "x1", ...

        scale : array-like of shape (n_features,), default=None
            Standard deviations of the features. The bars are then standard deviations per length
            scale, free of units, and compare features of any spread.

        sort : bool, default=True
            Whether to put the most relevant feature first.

        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        bar_kwargs : dict, default=None
            Keywords for matplotlib's ``barh``.

        Returns
        -------
        display : RelevanceDisplay
            The display, drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_sgp import SVGPRegressor
        >>> from sklearn_sgp.plotting import RelevanceDisplay
        >>> X = np.random.default_rng(0).uniform(-2, 2, (200, 2))
        >>> model = SVGPRegressor(n_inducing=20, random_state=0).fit(X, np.sin(2 * X[:, 1]))
        >>> display = RelevanceDisplay.from_estimator(model, scale=X.std(axis=0))
        >>> display.ax_.get_yticklabels()[0].get_text()
        'x1'
        """
        _pyplot("RelevanceDisplay.from_estimator")
        model = _fitted_model(estimator, "kernel_", "RelevanceDisplay")
        relevances, part_names = _relevances(model.kernel_, model.n_features_in_)
        xlabel = "inverse length scale"
        if scale is not None:
            relevances = relevances * _feature_scale(scale, model.n_features_in_)
            xlabel = "standard deviation / length scale"
        if feature_names is None:
            feature_names = getattr(model, "feature_names_in_", None)
        display = cls(relevances, feature_names=feature_names, part_names=part_names, xlabel=xlabel)
        return display.plot(ax, sort=sort, bar_kwargs=bar_kwargs)


class PosteriorDisplay:
    """Posterior of a regressor over one or two features.

    One feature gives the mean with a central band, and the inducing inputs as marks on the axis;
    two give maps of the mean and of the standard deviation, with the inducing inputs as dots.

    Parameters
    ----------
    grid : tuple of one or two ndarrays
        Places along each feature.

    mean : ndarray of shape (n_0,) or (n_0, n_1)
        Predictive mean at the places; the first axis belongs to the first feature.

    band : ndarray of shape (n_0, 2), default=None
        Lower and upper end of the band. For one feature only.

    std : ndarray of shape (n_0, n_1), default=None
        Standard deviation. For two features only.

    inducing_points : ndarray of shape (n_inducing, n_features), default=None
        Inducing inputs.

    X : ndarray of shape (n_samples, n_features), default=None
        Inputs of observations to draw, together with ``y``.

    y : ndarray of shape (n_samples,), default=None
        Observations to draw.

    feature_names : sequence of str, default=None
        Names of the features; None for "x0", "x1".

    band_name : str, default="band"
        What the band is, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D or None
        The mean; None for two features.

    band_ : matplotlib Collection or None
        The band; None for two features.

    images_ : list of matplotlib QuadMesh or None
        The two maps; None for one feature.

    data_ : matplotlib Artist or None
        The observations, if drawn.

    inducing_ : list of matplotlib Line2D
        The inducing inputs, on each of the axes.

    ax_ : matplotlib Axes, or ndarray of two
        Axes with the picture: one for one feature, two for two.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    See Also
    --------
    PosteriorDisplay.from_estimator : The posterior of a fitted regressor.

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
    ):
        self.grid = grid
        self.mean = mean
        self.band = band
        self.std = std
        self.inducing_points = inducing_points
        self.X = X
        self.y = y
        self.feature_names = feature_names
        self.band_name = band_name

    def plot(self, ax=None):
        """Draw the posterior.

        Parameters
        ----------
        ax : matplotlib Axes, or sequence of two for two features, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : PosteriorDisplay
            This object. Its artists are attributes, for a style of your own.
        """
        n_panels = len(self.grid)
        ax = _axes(ax, "PosteriorDisplay.plot", n_panels)
        names = _names(self.feature_names, n_panels, "x{}", "feature_names")
        self.line_ = self.band_ = self.images_ = self.data_ = None
        self.inducing_ = []
        if n_panels == 1:
            self._draw_curve(ax, *names)
            self.ax_, self.figure_ = ax, ax.figure
        else:
            self._draw_maps(ax, *names)
            self.ax_, self.figure_ = ax, ax[0].figure
        return self

    def _draw_curve(self, ax, xlabel):
        (x,) = self.grid
        (self.line_,) = ax.plot(x, self.mean, label="mean")
        color = self.line_.get_color()
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
            # across the axis at the bottom, whatever the limits of y
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
            style = {"cmap": self.images_[0].cmap, "norm": self.images_[0].norm, "s": 6}
            self.data_ = axes[0].scatter(*self.X.T, c=self.y, **style)

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X=None,
        y=None,
        *,
        grid_resolution=200,
        confidence=0.9,
        include_noise=True,
        target=0,
        subsample=1000,
        random_state=None,
        ax=None,
    ):
        """Draw the posterior of a fitted regressor of one or two features.

        Parameters
        ----------
        estimator : estimator instance
            Fitted sparse GP regressor; or a pipeline or search that ends in one.

        X : array-like of shape (n_samples, n_features), default=None
            Inputs whose range the picture covers; None for the range of the inducing inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Observations at ``X``, drawn if given: as dots, in colours of the mean's map for two
            features.

        grid_resolution : int, default=200
            Number of places along each feature.

        confidence : float, default=0.9
            Probability of the central band, for one feature.

        include_noise : bool, default=True
            True for the spread of new observations, False for that of the latent function.

        target : int, default=0
            Which output to draw, if there are several.

        subsample : int, default=1000
            Draw so many of the observations at most, chosen at random; None for all.

        random_state : int, RandomState instance or None, default=None
            Seed of that choice.

        ax : matplotlib Axes, or sequence of two for two features, default=None
            Where to draw; None makes a new figure.

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
        _pyplot("PosteriorDisplay.from_estimator")
        if not 0 < confidence < 1:
            raise ValueError(
                f"The 'confidence' parameter must be between 0 and 1, exclusive. Got {confidence}."
            )
        _fitted_model(estimator, "predict_quantiles", "PosteriorDisplay")
        inducing_points = _inducing_points(estimator)
        data = _observations(X, y, target, subsample, random_state)
        grid = _grid(X, inducing_points, grid_resolution)
        kind = "observations" if include_noise else "the function"
        display = cls(
            grid,
            **_posterior_on_grid(estimator, grid, confidence, include_noise, target),
            **data,
            inducing_points=inducing_points,
            feature_names=getattr(estimator, "feature_names_in_", None),
            band_name=f"{100 * confidence:g} % band of {kind}",
        )
        return display.plot(ax)


def _pyplot(caller):
    """matplotlib.pyplot, or an ImportError that names who needs it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib. Install it with `pip install matplotlib`."
        ) from error
    return plt


def _axes(ax, caller, n_panels=1):
    """The given axes, checked, or those of a new figure: an array if there are several."""
    plt = _pyplot(caller)
    if ax is None:
        size = (plt.rcParams["figure.figsize"][0] * n_panels, plt.rcParams["figure.figsize"][1])
        return plt.subplots(1, n_panels, figsize=size, layout="constrained")[1]
    given = np.ravel(np.asarray(ax, dtype=object))
    if len(given) != n_panels:
        wanted = "two axes, from plt.subplots(1, 2)" if n_panels == 2 else "one matplotlib Axes"
        raise ValueError(f"The 'ax' parameter must be {wanted}. Got {len(given)} instead.")
    return given if n_panels > 1 else given[0]


def _names(names, count, template, parameter, first=0):
    """Given names, checked for their number, or numbered ones."""
    if names is None:
        return [template.format(i + first) for i in range(count)]
    if len(names) != count:
        raise ValueError(
            f"The '{parameter}' parameter must hold {count} names. Got {len(names)}: {names!r}."
        )
    return [str(name) for name in names]


def _fitted_model(estimator, attribute, display):
    """The model inside pipelines and searches; it must be fitted and have ``attribute``."""
    check_is_fitted(estimator)
    model, _ = final_step(estimator)
    if not hasattr(model, attribute):
        raise TypeError(
            f"{display}.from_estimator needs an estimator with {attribute}, such as "
            f"SVGPRegressor, or a pipeline or search that ends in one. Got {estimator!r}."
        )
    return model


def _relevances(kernel, n_features):
    """Inverse length scales, shape (n_parts, n_features), and the names of the parts."""
    parts = list(_parts_with_length_scale(kernel, np.arange(n_features)))
    if not parts:
        raise ValueError(
            "RelevanceDisplay needs a kernel with a length scale, such as RBF or Matern. Got "
            f"{kernel}."
        )
    relevances = np.zeros((len(parts), n_features))
    for row, (part, columns) in zip(relevances, parts, strict=True):
        row[columns] = 1.0 / np.asarray(part.length_scale)
    kinds = [type(part).__name__ for part, _ in parts]
    names = [
        f"{kind} {kinds[: i + 1].count(kind)}" if kinds.count(kind) > 1 else kind
        for i, kind in enumerate(kinds)
    ]
    return relevances, names


def _parts_with_length_scale(kernel, columns):
    """Pairs (part, the columns it sees), depth first."""
    if hasattr(kernel, "columns"):
        yield from _parts_with_length_scale(kernel.kernel, columns[list(kernel.columns)])
    elif hasattr(kernel, "k1"):
        yield from _parts_with_length_scale(kernel.k1, columns)
        yield from _parts_with_length_scale(kernel.k2, columns)
    elif hasattr(kernel, "kernel"):
        yield from _parts_with_length_scale(kernel.kernel, columns)
    elif hasattr(kernel, "length_scale") and not hasattr(kernel, "periodicity"):
        yield kernel, columns


def _feature_scale(scale, n_features):
    scale = np.asarray(scale, dtype=np.float64)
    if scale.shape != (n_features,) or not (np.isfinite(scale) & (scale >= 0)).all():
        raise ValueError(
            f"The 'scale' parameter must hold {n_features} finite standard deviations, one for "
            f"each feature. Got {scale!r}."
        )
    return scale


def _inducing_points(estimator):
    """Inducing inputs as inputs of ``estimator``; None where a step before has no inverse."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(estimator, Pipeline):
        return estimator.inducing_points_
    Z = _inducing_points(estimator[-1])
    if len(estimator) == 1 or Z is None:
        return Z
    before = estimator[:-1]
    if not hasattr(before, "inverse_transform"):
        return None
    with _nameless_features_allowed():
        points = before.inverse_transform(Z)
        # some inverses are the identity by default
        return points if np.allclose(before.transform(points), Z) else None


def _grid(X, inducing_points, resolution):
    """Places along each of the one or two features, a little beyond the range of X."""
    places = inducing_points if X is None else check_array(X)
    if places is None:
        raise ValueError("X must be given: the pipeline's steps cannot be inverted.")
    if places.shape[1] > 2:
        raise ValueError(
            f"PosteriorDisplay draws one or two features. Got {places.shape[1]}: use predict on "
            "a grid of your own, with the other features held."
        )
    low, high = places.min(axis=0), places.max(axis=0)
    margin = np.where(high > low, 0.05 * (high - low), 1.0)
    return tuple(np.linspace(low - margin, high + margin, resolution).T)


def _posterior_on_grid(estimator, grid, confidence, include_noise, target):
    """Mean, and band (one feature) or standard deviation (two), at the places of the grid."""
    shape = tuple(len(places) for places in grid)
    X = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, len(grid))
    with _nameless_features_allowed():
        model, inputs = final_step(estimator, X)
        mean = model.predict(inputs)
        if len(grid) == 1:
            name, spread = "band", _band(model, inputs, mean, confidence, include_noise)
        else:
            name, spread = "std", model.predict_std(inputs, include_noise=include_noise)
    if mean.ndim == 2:
        mean, spread = mean[:, target], spread[:, target]
    return {"mean": mean.reshape(shape), name: spread.reshape(shape + spread.shape[1:])}


def _band(model, inputs, mean, confidence, include_noise):
    """Ends of the central band on a last axis."""
    tail = (1.0 - confidence) / 2.0
    if include_noise:
        return model.predict_quantiles(inputs, quantiles=(tail, 1.0 - tail))
    half_width = ndtri(1.0 - tail) * model.predict_std(inputs, include_noise=False)
    return np.stack([mean - half_width, mean + half_width], axis=-1)


def _observations(X, y, target, subsample, random_state):
    """At most ``subsample`` rows of X and one output of y to draw; nothing without y."""
    if y is None:
        return {}
    if X is None:
        raise ValueError("X must be given together with y.")
    X, y = check_array(X), check_array(y, ensure_2d=False, input_name="y")
    check_consistent_length(X, y)
    if subsample is not None and subsample < len(X):
        rows = check_random_state(random_state).choice(len(X), subsample, replace=False)
        X, y = X[rows], y[rows]
    return {"X": X, "y": y[:, target] if y.ndim == 2 else y}


@contextmanager
def _nameless_features_allowed():
    """The grid is a plain array also where the estimator was fitted to named columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield
