"""How much each input matters: inverse length scales."""

import numpy as np

from ._common import checked_names, drawing_axes, fitted_model, pyplot


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
        ax = drawing_axes(ax, "RelevanceDisplay.plot")
        relevances = np.atleast_2d(np.asarray(self.relevances, dtype=np.float64))
        n_parts, n_features = relevances.shape
        names = checked_names(self.feature_names, n_features, "x{}", "feature_names")
        parts = checked_names(self.part_names, n_parts, "part {}", "part_names", first=1)
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
        pyplot("RelevanceDisplay.from_estimator")
        model = fitted_model(estimator, "kernel_", "RelevanceDisplay")
        relevances, part_names = _relevances(model.kernel_, model.n_features_in_)
        xlabel = "inverse length scale"
        if scale is not None:
            relevances = relevances * _feature_scale(scale, model.n_features_in_)
            xlabel = "standard deviation / length scale"
        if feature_names is None:
            feature_names = getattr(model, "feature_names_in_", None)
        display = cls(relevances, feature_names=feature_names, part_names=part_names, xlabel=xlabel)
        return display.plot(ax, sort=sort, bar_kwargs=bar_kwargs)


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
