"""Heavy tails of several outputs are independent: each is learned and predicted by itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from slow_variants import slow, slow_but

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.likelihoods import HeteroscedasticStudentT, StudentT
from sklearn_sgp.noise import heteroscedastic as alternation

MODELS = ["svgp", "vfe", "fitc", "pitc", "pic", "lma", "vif", "stream"]
KINDS = ["svgp", "fitc", "vif", "stream"]
KERNEL = ConstantKernel() * RBF(1.0)
NOISE, DF = np.array([0.05, 0.2]), [30.0, 2.5]
X_TEST = np.linspace(0.0, 10.0, 60)[:, None]


def made(model, likelihood, **parameters):
    given = {"kernel": KERNEL, "n_inducing": 20, "random_state": 0, "max_iter": 60, **parameters}
    if model in ("svgp", "stream"):
        kind = SVGPRegressor if model == "svgp" else StreamingSGPRegressor
        return kind(likelihood=likelihood, **given)
    near = {"model": model, "block_size": 100, "n_neighbors": 20}
    return AnytimeSGPRegressor(likelihood=likelihood, **near, **given)


def fixed(model, likelihood, **parameters):
    """A regressor whose kernel and noise variances stay as they are."""
    given = {"optimizer": None, "normalize_y": False, "noise_variance": NOISE}
    return made(model, likelihood, **{**given, **parameters})


def data(n=300, seed=0):
    """A sine with Gaussian noise, and a cosine whose noise has heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 10.0, (n, 1))
    noise = np.column_stack([rng.standard_normal(n), rng.standard_t(2.5, n)])
    return X, np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])]) + 0.3 * noise


def close_in(model, varies=False):
    """Tolerances: iterations for g, and those by sites, end where all outputs gain little."""
    in_turn = varies or model in ("svgp", "stream")
    return {"rtol": 3e-3, "atol": 1e-3} if in_turn else {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture
def six_rounds(monkeypatch):
    """Function and noise take turns as often for two outputs as for one."""
    monkeypatch.setattr(alternation, "_LEAST_NOISE_GAIN", -np.inf)


def assert_same_answers(both, alone, close):
    """Two outputs answer what a model of each does, and a row's log density is their sum."""
    new, total = np.column_stack([np.sin(X_TEST), np.cos(X_TEST)]) + 0.5, 0.0
    for c, own in enumerate(alone):
        for method in ("predict", "predict_std", "noise_std", "predict_quantiles"):
            found, expected = (getattr(one, method)(X_TEST) for one in (both, own))
            assert_allclose(found[:, c], expected, **close, err_msg=method)
        found, expected = (one.predict_distribution(X_TEST) for one in (both, own))
        assert_allclose(found.cdf(new)[:, c], expected.cdf(new[:, c]), **close)
        assert_allclose(found.sf(new)[:, c], expected.sf(new[:, c]), **close)
        found, expected = (one.predict(X_TEST[:9], return_cov=True)[1] for one in (both, own))
        assert_allclose(found[:, :, c], expected, **close)
        total = total + own.log_density(X_TEST, new[:, c])
    assert_allclose(both.log_density(X_TEST, new), total, **close)


@pytest.mark.quick_cases("svgp-False", "fitc-True", "stream-False")
@pytest.mark.parametrize(
    ("model", "varies"),
    [*((one, False) for one in MODELS), ("fitc", True)]
    + [slow(one, True) for one in KINDS if one != "fitc"],
)
def test_outputs_are_those_of_models_of_their_own(model, varies, six_rounds):
    """At fixed parameters all that two outputs are asked for is what each alone answers."""
    (X, Y), close = data(), close_in(model, varies)
    of_df = (lambda df: HeteroscedasticStudentT(df, KERNEL, 8)) if varies else StudentT
    both = fixed(model, of_df(DF)).fit(X, Y)
    alone = [fixed(model, of_df(df), noise_variance=s2) for df, s2 in zip(DF, NOISE, strict=True)]
    for c, own in enumerate(alone):
        own.fit(X, Y[:, c])
    assert_allclose(both.objective_, sum(own.objective_ for own in alone), rtol=1e-4)
    assert_same_answers(both, alone, close)
    both.partial_fit(X[:90] + 0.01, Y[:90])
    for c, own in enumerate(alone):
        own.partial_fit(X[:90] + 0.01, Y[:90, c])
    assert_same_answers(both, alone, close)


def turns(K, y, noise, df):
    """Function and q(tau) of one output of the exact process, in turns until nothing moves."""
    tau = np.ones(len(y))
    for _ in range(500):
        solved = np.linalg.solve(K + np.diag(noise / tau), np.column_stack([y, K]))
        mean, variance = K @ solved[:, 0], np.diagonal(K - K @ solved[:, 1:])
        squares = ((y - mean) ** 2 + variance) / noise
        tau = (df + 1.0) / (df + squares)
    S = K + np.diag(noise / tau)
    gaussian = -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(2.0 * np.pi * S)[1])
    gaussian -= 0.5 * np.log(tau).sum()  # the normaliser of a row has no precision
    x = 0.5 * df
    each = gammaln(x + 0.5) - gammaln(x) - 0.5 * np.log(x) - (x + 0.5) * np.log1p(squares / df)
    return mean, gaussian + (each + 0.5 * tau * squares).sum()


@pytest.mark.quick_cases("vfe")
@pytest.mark.parametrize("model", slow_but(["vfe", "vif"], ["vfe", "fitc", "pic", "vif"]))
def test_the_bound_is_that_of_a_tau_for_each_row_and_output(model, six_rounds, monkeypatch):
    """Of the exact process: function and objective are those of a dense ascent, by output."""
    monkeypatch.setattr(alternation, "_NOISE_ROUNDS", 100)
    X, Y = data(60)
    exact = {"inducing": X, "n_neighbors": 59, "jitter": 1e-10, "block_size": 60}
    found = fixed(model, StudentT(DF)).set_params(**exact).fit(X, Y)
    dense = [turns(KERNEL(X), Y[:, c], NOISE[c], DF[c]) for c in range(2)]
    means, bounds = zip(*dense, strict=True)
    assert_allclose(found.predict(X), np.column_stack(means), atol=2e-5)
    assert_allclose(found.objective_, sum(bounds), atol=2e-3)


@pytest.mark.slow_cases("vif-likelihood6", "lma-likelihood5")
@pytest.mark.parametrize(
    ("model", "likelihood"),
    [
        *((one, StudentT()) for one in MODELS),
        *((one, HeteroscedasticStudentT(4.0, KERNEL, 8)) for one in KINDS),
    ],
)
def test_an_error_of_one_output_says_nothing_of_the_other(model, likelihood, six_rounds):
    """At fixed parameters the first output is what it was, whatever happens to the second."""
    X, Y = data()
    spoilt = Y.copy()
    spoilt[::10, 1] += 50.0
    before, after = (fixed(model, likelihood).fit(X, y) for y in (Y, spoilt))
    close = {"atol": 1e-7 if isinstance(likelihood, StudentT) else 2e-3}
    assert_allclose(after.predict(X_TEST)[:, 0], before.predict(X_TEST)[:, 0], **close)
    assert_allclose(after.predict_std(X_TEST)[:, 0], before.predict_std(X_TEST)[:, 0], **close)
    assert np.abs(after.predict(X_TEST)[:, 1] - np.cos(X_TEST[:, 0])).max() < 0.4


@pytest.mark.quick_cases("svgp-likelihood0", "fitc-likelihood1")
@pytest.mark.parametrize(
    ("model", "likelihood"),
    [*((one, StudentT(None)) for one in KINDS), slow("fitc", "heteroscedastic_student_t")],
)
def test_bands_of_each_output_hold_what_they_say(model, likelihood):
    """A Gaussian output beside one with heavy tails: 90 % bands hold 90 % of new rows in both."""
    model = made(model, likelihood).fit(*data(600))
    X, Y = data(4000, seed=1)
    low, high = np.moveaxis(model.predict_quantiles(X, [0.05, 0.95]), -1, 0)
    assert_allclose(((low < Y) & (high > Y)).mean(axis=0), 0.9, atol=0.02)
    assert model.likelihood_.df[0] > 15.0 and model.likelihood_.df[1] < 3.0
    model.partial_fit(*data(200, seed=2))
    assert model.likelihood_.df.shape == (2,) and np.isfinite(model.objective_)


@pytest.mark.parametrize("model", KINDS)
def test_draws_are_those_of_the_bands(model):
    """Draws of each output have its own tails, and sizes of errors are not correlated."""
    found = fixed(model, StudentT([300.0, 2.2])).fit(*data())
    draws = found.sample_y(X_TEST[:2], 40_000, random_state=0)
    assert draws.shape == (2, 2, 40_000)
    levels = np.array([0.01, 0.1, 0.5, 0.9])
    below = draws[:, :, None] < found.predict_quantiles(X_TEST[:2], levels)[..., None]
    assert_allclose(below.mean(axis=-1), np.broadcast_to(levels, (2, 2, 4)), atol=0.01)
    ranks = np.argsort(np.argsort(np.abs(draws - found.predict(X_TEST[:2])[..., None])))
    assert abs(np.corrcoef(ranks[0])[0, 1]) < 0.02
    rvs = found.predict_distribution(X_TEST[:2]).rvs((40_000, 2, 2), random_state=0)
    below = rvs[..., None] < found.predict_quantiles(X_TEST[:2], levels)
    assert_allclose(below.mean(axis=0), np.broadcast_to(levels, (2, 2, 4)), atol=0.01)


@pytest.mark.quick_cases("svgp-likelihood0", "fitc-likelihood1", "stream-likelihood3")
@pytest.mark.parametrize(
    ("model", "likelihood"),
    [
        *((one, StudentT(None)) for one in KINDS),
        ("svgp", HeteroscedasticStudentT(None, KERNEL, 8)),
        *(slow(one, HeteroscedasticStudentT(None, KERNEL, 8)) for one in KINDS[1:]),
    ],
)
def test_one_noise_variance_and_tails_of_each(model, likelihood):
    """That of a WhiteKernel is one number, in learning as in all that is told of it."""
    given = {"kernel": KERNEL + WhiteKernel(0.3), "normalize_y": False}
    found = made(model, likelihood, **given).fit(*data())
    level = found.kernel_.k2.noise_level
    assert_allclose(found.noise_variance_, [level, level], rtol=1e-12)
    assert 0.02 < level < 0.2
    assert found.likelihood_.df[0] > 5.0 > found.likelihood_.df[1]
    before = found.objective_
    found.set_params(warm_start=True).fit(*data())
    assert found.objective_ > before - 0.5
    found.partial_fit(*data(90, seed=1))
    level = found.kernel_.k2.noise_level
    assert_allclose(found.noise_variance_, [level, level], rtol=1e-12)


@pytest.mark.parametrize("model", KINDS)
def test_a_noise_variance_that_is_shared_is_that_of_each(model, six_rounds):
    """With a WhiteKernel that is fixed, outputs are those of models with the same one."""
    X, Y = data()
    kernel = KERNEL + WhiteKernel(0.1)
    given = {"kernel": kernel, "noise_variance": None}
    both = fixed(model, StudentT(DF), **given).fit(X, Y)
    for c in range(2):
        own = fixed(model, StudentT(DF[c]), **given).fit(X, Y[:, c])
        for method in ("predict", "predict_std"):
            found, expected = (getattr(one, method)(X_TEST) for one in (both, own))
            assert_allclose(found[:, c], expected, **close_in(model))


@pytest.mark.parametrize("model", KINDS)
def test_numbers_of_outputs_are_checked(model):
    """One number for each output is as many as there are outputs."""
    with pytest.raises(ValueError, match=r"one for each of 2 outputs.* Got"):
        made(model, StudentT([3.0, 4.0, 5.0])).fit(*data(50))
    given = clone(made(model, StudentT(np.array(DF)), max_iter=5)).fit(*data(50))
    assert_allclose(given.likelihood_.df, DF)
    assert given.partial_fit(*data(30)).likelihood_.df.shape == (2,)
