"""The terms of a function whose kernel is a sum, one panel for each."""

from typing import Self

import numpy as np
from scipy.stats import norm

from ._columns import column_of, columns_in
from ._common import checked_names, dataframe_of, drawing_axes, fitted_step, pyplot


class TermsDisplay:
    """Terms of a sum along one feature, such as trend and season, with their bands.

    Parameters
    ----------
    x : array-like of shape (n_samples,)
        Values of the feature, in increasing order: numbers, dates or categories.

    terms : array-like of shape (n_samples, n_terms)
        Means of the terms, as ``predict_terms`` returns them.

    std : array-like of shape (n_samples, n_terms)
        Their standard deviations.

    term_names : sequence of str, default=None
        Titles of the panels; None for "term 1", ...

    feature_name : str, default="x0"
        Label of the horizontal axes.

    level : float, default=0.9
        Probability of each band.

    Attributes
    ----------
    lines_, bands_ : list of matplotlib artists
        Mean and band of each term.

    axes_ : ndarray of matplotlib Axes
        Axes of the panels.

    figure_ : matplotlib Figure
        Figure that contains the axes.

    See Also
    --------
    TermsDisplay.from_estimator : The terms of a fitted regressor.

    Examples
    --------
    >>> from sklearn_sgp.plotting import TermsDisplay
    >>> display = TermsDisplay([0, 1], [[1, 0], [2, 0]], [[0.1, 0.2], [0.1, 0.2]]).plot()
    >>> [axes.get_title() for axes in display.axes_]
    ['term 1', 'term 2']
    """

    def __init__(self, x, terms, std, *, term_names=None, feature_name="x0", level=0.9) -> None:
        self.x = x
        self.terms = terms
        self.std = std
        self.term_names = term_names
        self.feature_name = feature_name
        self.level = level

    def plot(self, ax=None, *, line_kwargs=None, band_kwargs=None) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : array of matplotlib Axes, default=None
            As many as there are terms; None makes a new figure.

        line_kwargs, band_kwargs : dict, default=None
            Keywords for matplotlib's ``plot`` and ``fill_between``.

        Returns
        -------
        display : TermsDisplay
            This object.
        """
        terms, std = (np.asarray(each, dtype=np.float64) for each in (self.terms, self.std))
        n_terms = terms.shape[1]
        names = checked_names(self.term_names, n_terms, "term {}", "term_names", first=1)
        self.axes_ = np.atleast_1d(drawing_axes(ax, "TermsDisplay.plot", n_terms))
        column = column_of(self.x)
        x = column.places(np.asarray(self.x))
        reach, self.lines_, self.bands_ = norm.ppf(0.5 + 0.5 * self.level), [], []
        for k, (axes, name) in enumerate(zip(self.axes_, names, strict=True)):
            mean, half = terms[:, k], reach * std[:, k]
            band = {"alpha": 0.25, "lw": 0, **(band_kwargs or {})}
            self.lines_.append(axes.plot(x, mean, **(line_kwargs or {}))[0])
            self.bands_.append(axes.fill_between(x, mean - half, mean + half, **band))
            column.draw(axes.xaxis)
            axes.set(title=name, xlabel=self.feature_name)
        self.figure_ = self.axes_[0].figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        feature=0,
        term_names=None,
        level=0.9,
        ax=None,
        line_kwargs=None,
        band_kwargs=None,
    ) -> Self:
        """Draw the terms at the rows of X along one of its columns.

        Parameters
        ----------
        estimator : estimator instance
            Fitted regressor of one target with ``predict_terms``; or a pipeline or search that ends
            in one. The columns are those that reach the last step.

        X : array-like of shape (n_samples, n_features)
            Rows, in any order, such as those of a grid on which the other columns are held.

        feature : int or str, default=0
            Column of the horizontal axes, by its place or its name.

        term_names : sequence of str, default=None
            Titles of the panels; None for "term 1", ...

        level : float, default=0.9
            Probability of each band.

        ax : array of matplotlib Axes, default=None
            As many as there are terms; None makes a new figure.

        line_kwargs, band_kwargs : dict, default=None
            Keywords for matplotlib's ``plot`` and ``fill_between``.

        Returns
        -------
        display : TermsDisplay
            The display, drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
        >>> from sklearn_sgp import SVGPRegressor
        >>> from sklearn_sgp.plotting import TermsDisplay
        >>> X = np.linspace(-2, 2, 100)[:, None]
        >>> y = X[:, 0] + np.sin(3 * X[:, 0])
        >>> kernel = DotProduct(0.0, "fixed") + RBF(0.5, "fixed")
        >>> model = SVGPRegressor(kernel, n_inducing=20, random_state=0).fit(X, y)
        >>> display = TermsDisplay.from_estimator(model, X, term_names=["trend", "waves"])
        >>> len(display.lines_)
        2
        """
        pyplot("TermsDisplay.from_estimator")
        if not 0.0 < level < 1.0:
            raise ValueError(f"The 'level' parameter must lie between 0 and 1. Got {level!r}.")
        model, inputs = fitted_step(estimator, dataframe_of(X))
        if not hasattr(model, "predict_terms"):
            raise TypeError(
                "TermsDisplay.from_estimator needs a regressor with predict_terms, such as "
                f"SVGPRegressor. Got {model!r}."
            )
        terms, std = model.predict_terms(inputs, return_std=True)
        if terms.ndim > 2:
            raise ValueError(
                "TermsDisplay draws the terms of one target. Got a model of "
                f"{terms.shape[1]} targets: pass one output of predict_terms to the constructor."
            )
        values, name = _feature(inputs, feature)
        order = np.argsort(column_of(values).places(values), kind="stable")
        names = {"term_names": term_names, "feature_name": name, "level": level}
        display = cls(values[order], terms[order], std[order], **names)
        return display.plot(ax, line_kwargs=line_kwargs, band_kwargs=band_kwargs)


def _feature(X, feature):
    """Return the values of a column of X, and its name."""
    names = list(X.columns) if hasattr(X, "columns") else None
    values, count = columns_in(X), np.shape(X)[1]
    if names is not None and feature in names:
        return values[names.index(feature)], str(feature)
    if isinstance(feature, (int, np.integer)) and 0 <= feature < count:
        return values[feature], f"x{feature}" if names is None else str(names[feature])
    has = "no names" if names is None else f"names {names}"
    raise ValueError(
        "The 'feature' parameter must be the index of a column of X, or its name. Got "
        f"{feature!r} for {count} columns with {has}."
    )
