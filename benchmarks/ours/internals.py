"""The inside of `sklearn_sgp` as the benchmarks see it: the only file that knows its modules.

Each function or class prepares one part of a fit, so that an adapter can run and time it alone. The
other files of this folder use what is here and the public interface.
"""

from dataclasses import replace

import numpy as np
from problems.batches import minibatches
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import SVGPClassifier, SVGPRegressor
from sklearn_sgp._core import _linalg
from sklearn_sgp._parallel import resolved_jobs, single_blas_thread
from sklearn_sgp.data.column_spread import column_mean_std
from sklearn_sgp.data.inducing import choose_inducing
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.blocks.models import specification
from sklearn_sgp.engines.blocks.natural_gradient import NaturalGradientAscent
from sklearn_sgp.engines.blocks.schedules import Average
from sklearn_sgp.engines.variational.inference import ConjugateInference
from sklearn_sgp.engines.variational.stochastic import StochasticSteps
from sklearn_sgp.estimators import recipes
from sklearn_sgp.estimators.fit import Fit as FitOfSteps
from sklearn_sgp.estimators.labels import checked_labels
from sklearn_sgp.estimators.numbers import checked_numbers
from sklearn_sgp.estimators.steps import merge_repeated_rows
from sklearn_sgp.factors.block_sums import block_sums
from sklearn_sgp.factors.multi_output import outputs_by_rows
from sklearn_sgp.factors.passes import Pieces
from sklearn_sgp.factors.row_sums import row_sums
from sklearn_sgp.gp.coordinates import (
    DIRECT_LIMIT,
    Direct,
    Whitened,
    choose_coordinates,
    rounding_amplification,
)
from sklearn_sgp.gp.jitter import factorise_with_jitter
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.objectives.multi_output import (
    coregionalised_bound,
    optimal_coregionalised,
)
from sklearn_sgp.optimize.parameters import Parameters
from sklearn_sgp.optimize.progress import Clock, Trace
from sklearn_sgp.partitions.blocks import Blocks

_FORMS = {"direct": Direct, "whitened": Whitened}
FORMS = tuple(_FORMS)
_DELTA = 1e-6


def product(A, B, C):
    """C := A B, through the BLAS that the package uses."""
    return _linalg.gemm(A, B, C)


def default_inducing(X, n_inducing):
    """The inducing inputs that our default, ``random_state=0``, starts from."""
    return kmeans_inducing(X, n_inducing, column_mean_std(X, None)[1])


def kmeans_inducing(X, n_inducing, spread):
    """k-means centres of inputs whose columns are divided by their spread."""
    expression, rng = compile_kernel(RBF(), np.zeros(X.shape[1])), np.random.RandomState(0)
    kernel = expression.bind(expression.theta)
    return choose_inducing("kmeans", X, None, n_inducing, kernel, spread, rng)


def _posed(recipe, checked):
    """The problem of checked rows, of which repeated ones are not merged."""
    prepare = [step for step in recipe.prepare if step is not merge_repeated_rows]
    fit = replace(FitOfSteps.of(*checked), trace=Trace(Clock()))
    for step in prepare:
        fit = step(fit)
    return fit.problem


class Fit:
    """A fit of `SVGPRegressor` just before its first stage: rows, parameters, prior.

    Parameters
    ----------
    X, y : ndarray
    Z : ndarray of shape (m, d), or None for the default choice
    **options
        Parameters of `SVGPRegressor`.
    """

    def __init__(self, X, y, Z=None, **options):
        options.setdefault("random_state", 0)
        if Z is not None:
            options["inducing"] = Z
        self.model = SVGPRegressor(**options)
        checked = checked_numbers(self.model, X, np.asarray(y, dtype=np.float64), None, reset=True)
        self.problem = _posed(recipes.svgp_regressor(self.model, None), checked)
        self.rows, self.parameters = self.problem.rows, self.problem.start.parameters
        self.prior = self.problem.prior(self.parameters)

    @property
    def sizes(self):
        """Rows, inducing inputs and columns: n, m, d."""
        return (len(self.rows), *self.parameters.Z.shape)

    @property
    def condition(self):
        """Of the kernel matrix of the inducing inputs."""
        return self.prior.condition

    @property
    def direct_is_safe(self):
        noise = self.parameters.noise_variance
        return bool(rounding_amplification(self.prior, self.rows, noise) < DIRECT_LIMIT)

    def steps(self, form=None, seed=0):
        """Stochastic steps from the prior, in a form or, for None, in the one that is chosen."""
        return Steps(self, _FORMS.get(form), seed)

    def evaluation(self, n_rows=None, form=None):
        """Function that evaluates the collapsed bound of the first rows with all gradients.

        To be called where BLAS is held as it is during a run of L-BFGS: see `held_blas`.
        """
        rows = self.rows if n_rows is None else self.rows.select(slice(0, n_rows))
        options = {"n_jobs": resolved_jobs(self.model.n_jobs), "coordinates": _FORMS.get(form)}
        return lambda: collapsed_bound(self.parameters, rows, self.prior.delta, **options)

    def held_blas(self):
        return single_blas_thread()

    def exact_pass(self, form, n_jobs):
        """Function that forms the sums of all rows."""
        L_inv = self.prior.L_inv if form == "whitened" else None
        kernel, Z = self.parameters.kernel, self.parameters.Z
        return lambda: row_sums(kernel, Z, L_inv, Pieces.of_rows(self.rows, n_jobs=n_jobs))


class _InForm(ConjugateInference):
    """Holds q(u) in one form; None lets the condition number decide."""

    form = None

    def under(self, q, prior, parameters, rows, settings):
        q, noise = q.under(prior), parameters.noise_variance
        form = self.form or choose_coordinates(rows, prior, noise)
        return q if isinstance(q, form) else form.from_posterior(q.posterior)


class Steps:
    """Stochastic steps of a `Fit` from the prior, one by one.

    Parameters
    ----------
    fit : Fit
    form : type or None
        Coordinates that hold q(u); None lets the condition number decide.
    seed : int
        Of the order of rows.
    """

    def __init__(self, fit, form, seed):
        inference = _InForm(fit.problem.start.likelihood, n_outputs=1)
        inference.form = form
        self._rows = fit.rows
        self._steps = StochasticSteps(replace(fit.problem, inference=inference), fit.parameters)
        self._indices = minibatches(len(fit.rows), fit.model.batch_size, seed)

    def take(self, move=True):
        """One more step; ``move`` says whether kernel, noise and Z move too."""
        self._steps.step(self._rows.select(np.sort(next(self._indices))), move)

    def is_in(self, form):
        """Whether q(u) is still held in a form."""
        return isinstance(self._steps.q, _FORMS[form])

    def mean(self, X):
        """Predicted mean, in the units of the standardised targets."""
        return self._steps.q.posterior.mean(X)[:, 0]

    def learned(self):
        """Parameters of an `SVGPRegressor` with the kernel, noise and Z of this moment."""
        parameters = self._steps.parameters
        return {
            "kernel": parameters.kernel.sklearn_kernel,
            "noise_variance": parameters.noise_variance,
            "inducing": parameters.Z,
        }


def classifier_step(problem, batch_size):
    """Function that takes one stochastic step of a classifier from the prior.

    It moves q(u), kernel and inducing inputs.

    Returns
    -------
    step : callable
    n_latent : int
        Number of latent functions.
    """
    model = SVGPClassifier(inducing=problem.Z, batch_size=batch_size, random_state=0)
    checked = checked_labels(model, problem.X, problem.y, None, reset=True)
    fit = _posed(recipes.svgp_classifier(model, None, None), checked)
    steps = StochasticSteps(fit, fit.start.parameters)
    indices = minibatches(len(fit.rows), batch_size)

    def step():
        steps.step(fit.rows.select(np.sort(next(indices))), moves=True)

    return step, fit.inference.n_latent


def block_labels(model, X_test):
    """Blocks of the training rows of a fitted `AnytimeSGPRegressor`, and of test rows."""
    state = model._fitted.state
    blocks = state.blocks
    labels = np.empty(len(blocks.order), dtype=np.intp)
    labels[blocks.order] = np.repeat(np.arange(len(blocks)), np.diff(blocks.bounds))
    return labels, state.partition.assign(X_test)


def block_steps(X, y, kernel, n_inducing, block_size, noise_variance, models):
    """Functions that take one anytime step at fixed hyperparameters, model by model.

    The first rows are the inducing inputs, and each run of ``block_size`` rows is a block.

    Yields
    ------
    name : str
        Of the model.
    step : callable
    """
    rows = Rows(X, y, None, np.zeros(1), np.ones(1))
    expression = compile_kernel(kernel, np.zeros(X.shape[1]))
    prior = factorise_with_jitter(expression.bind(expression.theta), X[:n_inducing], 1e-8)
    blocks = Blocks(rows, np.arange(len(X)) // block_size)
    for name in models:
        model = specification(name, 1.0).model
        ascent = NaturalGradientAscent(prior, noise_variance, model, blocks, Average())
        order = Average().draw(len(blocks), 1, np.random.RandomState(0))
        yield name, lambda ascent=ascent, order=order: ascent.step(next(order))


def block_pass(model, X=None, y=None):
    """Function of ``n_jobs``: the sums over all blocks of a fitted `AnytimeSGPRegressor`.

    A model of independent rows keeps none: it needs them again.
    """
    fitted = model._fitted
    blocks = fitted.state.blocks
    if not blocks.is_kept:
        rows = Rows(X, y[:, None], None, np.zeros(1), np.ones(1))
        blocks = Blocks(rows, np.arange(len(X)) // 1024)
    every = [blocks(k) for k in range(len(blocks))]
    prior, specified = fitted.posterior.prior, fitted.state.specification.model

    def run(n_jobs):
        pieces = Pieces(every, n_jobs=resolved_jobs(n_jobs))
        return block_sums(prior, pieces, model.noise_variance_, specified)

    return run


def known_outputs(X, y, m, mixing, noise_variance):
    """q(u) of outputs whose mixing (t, Q), kernel of length scale 1, and noise are known.

    Inducing inputs are an even grid of one column.
    """
    expression, t = compile_kernel(RBF(), np.zeros(1)), y.shape[1]
    prior = Prior.build(
        expression.bind(expression.theta), np.linspace(X.min(), X.max(), m)[:, None], _DELTA
    )
    rows = Rows(X, y, None, np.zeros(t), np.ones(t))
    return optimal_coregionalised(prior, rows, mixing, np.full(t, noise_variance))[0]


def bound_of_outputs(X, y, m, mixing):
    """A task: the bound of some outputs and its gradient, mixed by W (t, Q) or, for None, plain.

    Inducing inputs are the first rows, the kernel has length scales of 1.
    """
    expression, t = compile_kernel(RBF(np.ones(X.shape[1])), np.zeros(X.shape[1])), y.shape[1]
    rows = Rows(X, y, None, np.zeros(t), np.ones(t))
    values = {"theta": expression.theta, "log_noise": -1.0, "Z": X[:m].copy()}
    if mixing is None:
        parameters = Parameters(expression, values)
        return lambda: collapsed_bound(parameters, rows, _DELTA, n_jobs=1)
    values |= {"log_noise": np.full(t, -1.0), "mixing": mixing}
    parameters, patterns = Parameters(expression, values), outputs_by_rows(y)
    return lambda: coregionalised_bound(parameters, rows, _DELTA, patterns=patterns, n_jobs=1)
