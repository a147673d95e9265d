"""Objective or score over the time of a fit."""

from typing import Self

import numpy as np

from ._common import drawing_axes, fitted_model, pyplot


class ConvergenceDisplay:
    """Objective, or a test score, over the time or the steps of a fit.

    Parameters
    ----------
    positions : array-like of shape (n_entries,)
        Positions of the values on the horizontal axis, such as seconds or steps.

    values : array-like of shape (n_entries,)
        Objective or score at each position.

    xlabel : str, default="steps"
        Name of the horizontal axis.

    ylabel : str, default="objective"
        Name of the vertical axis.

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
    ConvergenceDisplay.from_estimator : Draws the objectives that an estimator has stored.

    Examples
    --------
    >>> from sklearn_sgp.plotting import ConvergenceDisplay
    >>> seconds, rmse = [0.5, 1.0, 2.0], [3.1, 2.4, 2.2]
    >>> display = ConvergenceDisplay(seconds, rmse, xlabel="seconds", ylabel="test RMSE").plot()
    >>> display.ax_.get_ylabel()
    'test RMSE'
    """

    def __init__(self, positions, values, *, xlabel="steps", ylabel="objective", name=None) -> None:
        self.positions = positions
        self.values = values
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.name = name

    def plot(self, ax=None, *, line_kwargs=None) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; the ``ax_`` of another display puts both curves into one picture. None
            makes a new figure.

        line_kwargs : dict, default=None
            Keywords for matplotlib's ``plot``.

        Returns
        -------
        display : ConvergenceDisplay
            This object.
        """
        ax = drawing_axes(ax, "ConvergenceDisplay.plot")
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
    ) -> Self:
        """Draw the objectives that a fitted estimator has stored.

        Parameters
        ----------
        estimator : estimator instance
            Fitted, with ``objectives_`` and ``fit_times_``; or a pipeline or search that ends in
            such an estimator.

        x : {"seconds", "entries"}, default="seconds"
            The horizontal axis: seconds since ``fit`` began, or the number of the entry.

        per_row : bool, default=False
            Whether to divide the objective by the number of rows, which makes fits to different
            numbers of rows comparable. False where later batches have joined by ``partial_fit``.

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
        pyplot("ConvergenceDisplay.from_estimator")
        if x not in ("seconds", "entries"):
            raise ValueError(f"The 'x' parameter must be 'seconds' or 'entries'. Got {x!r}.")
        model = fitted_model(estimator, "objectives_", "ConvergenceDisplay")
        values, ylabel = np.asarray(model.objectives_), "objective (nats)"
        if per_row:
            values, ylabel = values / _rows_counted(model), "objective (nats per row)"
        if x == "seconds":
            positions, xlabel = np.asarray(model.fit_times_), "seconds of fitting"
        else:
            positions, xlabel = np.arange(1, len(values) + 1), "entry of the trace"
        display = cls(positions, values, xlabel=xlabel, ylabel=ylabel, name=name)
        return display.plot(ax, line_kwargs=line_kwargs)


def _rows_counted(model):
    """Return how many rows each objective of a fit stands for; refuse those of several batches."""
    if hasattr(model, "forget_factor") and model.n_steps_ > 1:
        raise ValueError(
            "per_row must be False for a stream, whose objectives are of its last batch. Got "
            f"{model.n_steps_} batches."
        )
    n_seen, fitted = model.n_samples_seen_, getattr(model, "_fitted", None)
    if fitted is None or hasattr(model, "forget_factor"):
        return n_seen
    # blocks keep the number of rows of their fit; only a batch ends a course of latent inputs
    has_joined = getattr(fitted.state, "n_added", 0) > 0 or n_seen > fitted.n_samples
    if has_joined or (hasattr(model, "embedding_") and model.objectives_[-1] == model.objective_):
        raise ValueError(
            "per_row must be False where batches have joined a fit, as objectives count only the "
            f"rows until then. Got a model of {n_seen} rows, in several batches: fit them at once."
        )
    return fitted.n_samples  # also where there was no time for some
