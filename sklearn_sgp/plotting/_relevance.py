"""How much each input matters: inverse length scales."""

from typing import Self

import numpy as np

from ..kernels import length_scales
from ._common import checked_names, drawing_axes, fitted_model, pyplot


class RelevanceDisplay:
    """Relevance of each feature, as the inverse of its length scale.

    A feature with a long length scale has a short bar and hardly changes the prediction. Inverse
    length scales depend on the units of the features; `from_estimator` draws them in units of the
    features' spread.

    Parameters
    ----------
    relevances : array-like of shape (n_parts, n_features)
        Relevance of every feature in each part of the kernel, 0 for a feature that the part does
        not see.

    feature_names : sequence of str, default=None
        Names of the features; None for "x0", "x1", ...

    part_names : sequence of str, default=None
        Names of the parts, for the legend of kernels with several parts; None for "part 1", ...

    xlabel : str, default="inverse length scale"
        Quantity that the bars show.

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
    ) -> None:
        self.relevances = relevances
        self.feature_names = feature_names
        self.part_names = part_names
        self.xlabel = xlabel

    def plot(self, ax=None, *, sort=True, bar_kwargs=None) -> Self:
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
    ) -> Self:
        """Draw the relevances that a fitted kernel found.

        Every part of the kernel with length scales is drawn (RBF, Matern, RationalQuadratic and
        your own kernels with a ``length_scale``), also inside sums, products, powers and
        ``Columns``. A periodic kernel is left out, because its length scale does not belong to a
        distance between inputs.

        Parameters
        ----------
        estimator : estimator instance
            Fitted, with ``kernel_``; or a pipeline or search that ends in such an estimator. The
            features are the columns that reach the last step.

        feature_names : sequence of str, default=None
            Names of the features; None for the names seen in ``fit``, or "x0", "x1", ...

        scale : array-like of shape (n_features,) or False, default=None
            Standard deviations of the features. With them the bars are standard deviations per
            length scale, which have no units. None takes those of the inducing inputs, False draws
            inverse length scales as they are.

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
        >>> display = RelevanceDisplay.from_estimator(model)
        >>> display.ax_.get_yticklabels()[0].get_text()
        'x1'
        """
        pyplot("RelevanceDisplay.from_estimator")
        model = fitted_model(estimator, "kernel_", "RelevanceDisplay")
        relevances, part_names = _relevances(model)
        xlabel = "inverse length scale"
        scale = _spread(model) if scale is None else scale
        if scale is not False:
            relevances = relevances * _feature_scale(scale, model.n_features_in_)
            xlabel = "standard deviation / length scale"
        if feature_names is None:
            feature_names = getattr(model, "feature_names_in_", None)
        display = cls(relevances, feature_names=feature_names, part_names=part_names, xlabel=xlabel)
        return display.plot(ax, sort=sort, bar_kwargs=bar_kwargs)


def _relevances(model):
    """Return inverse length scales, shape (n_parts, n_features), and the names of the parts.

    What says where values of X are missing is no feature, and parts that see nothing else are none.
    """
    kernel, n_features = model.kernel_, model.n_features_in_
    n_more = len(model._format.columns.incomplete) if hasattr(model, "_format") else 0
    parts = length_scales(kernel, n_features + n_more)
    parts = [part for part in parts if part.columns.min() < n_features]
    if not parts:
        raise ValueError(
            "RelevanceDisplay needs a kernel with a length scale, such as RBF or Matern. Got "
            f"{kernel}."
        )
    relevances = np.zeros((len(parts), n_features + n_more))
    for row, part in zip(relevances, parts, strict=True):
        row[part.columns] = 1.0 / part.values
    return relevances[:, :n_features], _numbered([part.part for part in parts])


def _numbered(names):
    """Number names that occur more than once."""
    return [
        f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]


def _spread(model):
    """Return the standard deviations of the inducing inputs, False where there are too few."""
    Z = np.asarray(model.inducing_points_)
    return Z.std(axis=0) if len(Z) > 1 else False


def _feature_scale(scale, n_features):
    """Return standard deviations of the features, checked."""
    scale = np.asarray(scale, dtype=np.float64)
    if scale.shape != (n_features,) or not (np.isfinite(scale) & (scale >= 0)).all():
        raise ValueError(
            f"The 'scale' parameter must hold {n_features} finite standard deviations, one for "
            f"each feature. Got {scale!r}."
        )
    return scale
