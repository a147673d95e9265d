"""Left-out rows doubt bands of counts, and probabilities of classes, that are too sure."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPClassifier, AnytimeSGPRegressor, SVGPClassifier, SVGPRegressor
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines import left_out_bands
from sklearn_sgp.estimators.numbers import later_rows
from sklearn_sgp.likelihoods import Censored, Likelihood, Probit

ESTIMATORS = {
    "variational": lambda **o: SVGPRegressor(1.0 * RBF(1.0), n_inducing=15, random_state=0, **o),
    "near rows": lambda **o: AnytimeSGPRegressor(
        1.0 * RBF(1.0), n_inducing=15, init_size=300, random_state=0, **o
    ),
}
EVERYWHERE = pytest.mark.parametrize("where", ESTIMATORS)


def counts(overdispersed, n=600):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (n, 1))
    rate = np.exp(3.0 + np.sin(X[:, 0]))
    return X, rng.poisson(rate * (rng.gamma(5.0, 0.2, n) if overdispersed else 1.0)).astype(float)


@pytest.mark.quick_cases("variational")
@EVERYWHERE
def test_counts_that_vary_more_are_told(where):
    """Where Poisson's bands hold too few counts a warning says how many, and what to take."""
    with pytest.warns(UserWarning, match=r"Intervals of 90%.*likelihood='negative_binomial'"):
        ESTIMATORS[where](likelihood="poisson").fit(*counts(True))


@pytest.mark.quick_cases("*-variational")
@EVERYWHERE
@pytest.mark.parametrize(
    ("likelihood", "overdispersed"), [("poisson", False), ("negative_binomial", True)]
)
def test_counts_as_they_should_be_are_not(where, likelihood, overdispersed):
    """Nobody is warned of Poisson counts, nor of others with a dispersion."""
    ESTIMATORS[where](likelihood=likelihood).fit(*counts(overdispersed))


@pytest.mark.parametrize("max_iter", [2, 4])
@pytest.mark.parametrize("overdispersed", [True, False])
def test_counts_are_looked_at_where_learning_was_cut_short(max_iter, overdispersed):
    """Where max_iter was too small bands that hold too few are told, and no right ones."""
    model = SVGPRegressor(
        1.0 * RBF(1.0), n_inducing=15, random_state=0, likelihood="poisson", max_iter=max_iter
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*counts(overdispersed))
    told = [str(one.message) for one in caught]
    assert any(one.startswith("max_iter") for one in told)
    about_bands = [one for one in told if one.startswith("Intervals")]
    assert len(about_bands) == overdispersed
    assert all("Raise max_iter first. Take likelihood" in one for one in about_bands)


def test_limits_are_inside_where_bands_reach_beyond():
    """A target at a limit is held by a band that reaches there or beyond it."""
    likelihood = Censored(lower=0.0, noise_variance=1.0)
    y, mean = np.zeros((3, 1)), np.array([[-9.0], [1.0], [9.0]])
    inside = likelihood.is_inside(y, mean, np.zeros((3, 1)), None, 0.9)
    assert inside.ravel().tolist() == [True, True, False]


def test_without_quantiles_nothing_is_looked_at():
    """A likelihood that has no quantiles is not asked whether bands hold their share."""
    assert Likelihood().is_inside(np.zeros((2, 1)), *np.zeros((2, 2, 1)), None, 0.9) is None


def test_left_out_moments_are_those_of_a_fit_without_the_row():
    """Without its own site a row is predicted as by a fit of the others."""
    X, y = counts(False, 40)
    fit = {"kernel": 1.0 * RBF(1.0), "inducing": X, "optimizer": None, "likelihood": "poisson"}
    seen = []

    def note(problem, fitted, rows, moments):
        seen.append((rows, moments))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(left_out_bands, "_check", note)
        model = SVGPRegressor(**fit).fit(X, y)
        left_out_bands.check_left_out(_problem_of(model, X, y), model._fitted)
    rows, (mean, variance) = seen[-1]
    for place in (0, 7, 20):
        others = np.delete(np.arange(40), np.flatnonzero(X[:, 0] == rows.X[place, 0]))
        alone = SVGPRegressor(**fit).set_params(likelihood=model.likelihood_)
        alone.fit(X[others], y[others])
        at = alone._fitted.posterior.mean_variance(rows.X[place : place + 1])
        expected, spread = float(at[0].item()), float(at[1].item())
        assert abs(mean[place].item() - expected) < 0.1 * np.sqrt(spread)
        assert_allclose(variance[place].item(), spread, rtol=0.1)


def _problem_of(model, X, y):
    """The problem of a fitted model's rows, as far as it is asked."""
    rows = later_rows(model._fitted, Inputs(X), y, None)
    return SimpleNamespace(rows=rows, settings=SimpleNamespace(n_jobs=1))


@pytest.mark.parametrize("kind", [SVGPClassifier, AnytimeSGPClassifier])
def test_classes_that_are_as_sure_as_right_are_not_told(kind):
    """Two classes that overlap are learned without a warning."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + rng.normal(size=400) > 0.0
    kind(1.0 * RBF(1.0), likelihood="probit", n_inducing=15, random_state=0).fit(X, y)


def test_probabilities_that_are_too_sure_are_told():
    """Where the most probable class is right for far fewer rows than told, a warning says so."""
    rng, doubts = np.random.default_rng(0), []
    X, y = np.zeros((300, 1)), rng.choice([-1.0, 1.0], (300, 1))
    rows = Rows(X, y, None, np.zeros(1), np.ones(1))
    problem = SimpleNamespace(trace=SimpleNamespace(doubt=doubts.append))
    fitted = SimpleNamespace(likelihood=Probit(), cut_by=None)
    left_out_bands._check(problem, fitted, rows, (np.full((300, 1), 2.0), np.zeros((300, 1))))
    assert len(doubts) == 1 and "98% for the most probable class" in doubts[0]
    left_out_bands._check(problem, fitted, rows, (np.zeros((300, 1)), np.ones((300, 1))))
    assert len(doubts) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        left_out_bands._check(problem, fitted, rows, (np.full((300, 1), np.nan),) * 2)


def test_classes_that_are_as_probable_are_not_told():
    """Where nothing is learned from labels in balance, no left-out row is right, nor too sure."""
    X, y = np.linspace(0.0, 1.0, 200)[:, None], np.arange(200) % 2
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Probabilities should be")
        warnings.filterwarnings("ignore", message="The optimal value found")
        SVGPClassifier(5.0 * RBF(3.0, "fixed"), n_inducing=20, random_state=0).fit(X, y)
