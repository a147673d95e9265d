"""How much each input matters: inverse length scales."""

from typing import Self

import numpy as np

from ..kernels import category_counts, length_scales, split_noise
from ._common import checked_names, drawing_axes, fitted_model, pyplot
from ._grid import coded_inducing_points

# Rows at which categories are compared: products with kernels that are not stationary differ there.
_MOST_REFERENCES = 16


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
        cls, estimator, *, feature_names=None, scale=None, sort=True, ax=None, bar_kwargs=None
    ) -> Self:
        """Draw the relevances that a fitted kernel found.

        Every part of the kernel with length scales is drawn (RBF, Matern, RationalQuadratic and
        your own kernels with a ``length_scale``), also inside sums, products, powers and
        ``Columns``. A periodic kernel is left out, because its length scale does not belong to a
        distance between inputs.

        Columns of categories have a part of their own, "categories", on the same footing. The bar
        is that of a column of normally distributed numbers: at a random two of them the function
        has the same mean correlation as at categories of two random inducing inputs, all else
        equal. Opposed categories count as those that have nothing in common. These bars have no
        units, whatever the scale. The kernel does not see ``block_column`` and ``offset_column``:
        their bars are zero.

        Parameters
        ----------
        estimator : estimator instance
            Fitted, with ``kernel_``; or a pipeline or search that ends in such an estimator. The
            features are the columns that reach the last step; those of `BayesianGPLVM` are its
            latent dimensions.

        feature_names : sequence of str, default=None
            Names of the features; None for the names seen in ``fit``, or "x0", "x1", ..., or
            "latent 0", "latent 1", ...

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
            relevances = relevances * _feature_scale(scale, _feature_count(model))
            xlabel = "standard deviation / length scale"
        of_categories = _of_categories(model)
        if of_categories.any():
            relevances = np.vstack([relevances, of_categories])
            part_names = [*part_names, "categories"]
        if feature_names is None:
            feature_names = _feature_names(model)
        display = cls(relevances, feature_names=feature_names, part_names=part_names, xlabel=xlabel)
        return display.plot(ax, sort=sort, bar_kwargs=bar_kwargs)


def _feature_count(model):
    """Return the number of features of the kernel: of X, or of latent dimensions."""
    latent = getattr(model, "embedding_", None)
    return model.n_features_in_ if latent is None else np.shape(latent)[1]


def _apart(model):
    """Return the features that the kernel does not see: labels of blocks, and an offset."""
    return model._format.apart if hasattr(model, "_format") else []


def _seen_count(model):
    """Return the number of features that the kernel sees."""
    return _feature_count(model) - len(_apart(model))


def _of_all(model, values):
    """Return values of the features that the kernel sees, and 0 for the others."""
    for k in _apart(model):
        values = np.insert(values, k, 0.0, axis=-1)
    return values


def _feature_names(model):
    """Return the names of these features, None where they have none."""
    if hasattr(model, "embedding_"):
        return [f"latent {q}" for q in range(_feature_count(model))]
    return getattr(model, "feature_names_in_", None)


def _relevances(model):
    """Return inverse length scales, shape (n_parts, n_features), and the names of the parts.

    What says where values of X are missing is no feature, and parts that see nothing else are none.
    """
    kernel, n_features = model.kernel_, _seen_count(model)
    n_columns = _columns_of_kernel(model)
    parts = length_scales(kernel, n_columns)
    parts = [part for part in parts if part.columns.min() < n_features]
    if not parts and not category_counts(kernel, n_columns):
        raise ValueError(
            "RelevanceDisplay needs a kernel with a length scale, such as RBF or Matern. Got "
            f"{kernel}."
        )
    relevances = np.zeros((len(parts), n_columns))
    for row, part in zip(relevances, parts, strict=True):
        row[part.columns] = 1.0 / part.values
    names = _numbered([part.part for part in parts])
    return _of_all(model, relevances[:, :n_features]), names


def _columns_of_kernel(model):
    """Return the number of columns of the kernel, those that say what is missing included."""
    n_more = len(model._format.columns.incomplete) if hasattr(model, "_format") else 0
    return _seen_count(model) + n_more


def _of_categories(model):
    """Return the relevance of each column of categories, 0 for all others."""
    n_columns = _columns_of_kernel(model)
    relevances = np.zeros(_seen_count(model))
    kernel, Z = split_noise(model.kernel_)[0], coded_inducing_points(model)
    for column, count in category_counts(kernel, n_columns).items():
        if len(Z):
            codes = Z[:, column]
            rows = np.pad(Z, [(0, 0), (0, n_columns - Z.shape[1])])
        else:
            codes, rows = np.arange(float(count)), np.zeros((1, n_columns))
        relevances[column] = _of_column(kernel, rows, column, codes)
    return _of_all(model, relevances)


def _of_column(kernel, rows, column, codes):
    """Return s / l of normal numbers with an RBF's mean correlation at two random codes.

    At two random numbers of variance s^2 it is (1 + 2 s^2 / l^2)^(-1/2).
    """
    codes, counts = np.unique(codes, return_counts=True)
    share, common, whole = counts / counts.sum(), 0.0, 0.0
    for row in rows[:: -(-len(rows) // _MOST_REFERENCES)]:
        places = np.tile(row, (len(codes), 1))
        places[:, column] = codes
        K = np.maximum(kernel(places), 0.0)
        common, whole = common + share @ K @ share, whole + share @ np.diagonal(K)
    return np.sqrt(max((whole / common) ** 2 - 1.0, 0.0) / 2.0)


def _numbered(names):
    """Number names that occur more than once."""
    return [
        f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]


def _spread(model):
    """Return the standard deviations of the inducing inputs, False where there are too few."""
    Z = coded_inducing_points(model)
    return _of_all(model, Z.std(axis=0)) if len(Z) > 1 else False


def _feature_scale(scale, n_features):
    """Return standard deviations of the features, checked."""
    scale = np.asarray(scale, dtype=np.float64)
    if scale.shape != (n_features,) or not (np.isfinite(scale) & (scale >= 0)).all():
        raise ValueError(
            f"The 'scale' parameter must hold {n_features} finite standard deviations, one for "
            f"each feature. Got {scale!r}."
        )
    return scale
