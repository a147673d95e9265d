"""What categories with few rows each share is learned where it says more than parameters do."""

from types import SimpleNamespace

import numpy as np
import pytest
from slow_variants import slow

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.engines import alike_categories
from sklearn_sgp.kernels import Categorical

ABOUT = "what categories share"


def table(kind, n_categories=20, rows_of_each=14, seed=0):
    """Return rows, the function of others, and these: a number and a code each."""
    rng = np.random.default_rng(seed)
    n = n_categories * rows_of_each
    code, x = rng.integers(n_categories, size=n + 500), rng.uniform(-2.0, 2.0, n + 500)
    if kind == "levels":
        f = np.sin(2.0 * x) + rng.normal(size=n_categories)[code]
    else:  # each has one of four functions
        f = rng.choice([1.0, -1.0, 2.0, -2.0], n_categories)[code] * np.sin(2.0 * x)
    X = np.column_stack([x, code])
    return X[:n], f[:n] + 0.3 * rng.standard_normal(n), X[n:], f[n:]


def taken(model):
    return [one["candidate"] for one in model.choices_ if one["choice"] == ABOUT and one["taken"]]


def is_learned(model):
    names = [name for name in model.kernel_.get_params() if name.endswith("factor")]
    return any(np.ptp(model.kernel_.get_params()[name][:, 0]) > 0.0 for name in names)


@pytest.mark.parametrize(
    "model",
    [SVGPRegressor(), slow(AnytimeSGPRegressor(model="dtc"))],
    ids=["svgp", "dtc"],
)
@pytest.mark.parametrize("kind, learned", [("levels", False), ("functions", True)])
def test_what_is_shared_is_learned_where_rows_say_it(model, kind, learned):
    X, y, T, f = table(kind)
    model.set_params(categorical_features=[1], random_state=0).fit(X, y)
    (name,) = taken(model)
    assert name.endswith("all categories alike") != learned == is_learned(model)
    mean, deviation = model.predict(T), model.predict_std(T, include_noise=False)
    assert np.sqrt(np.mean((mean - f) ** 2)) < (0.2 if learned else 0.13)
    if not learned:  # with F they hold 0.35 to 0.6
        assert 0.7 < np.mean(np.abs(mean - f) < 1.645 * deviation) < 0.99


def test_what_a_level_costs_is_that_of_its_covariance():
    """The dense definition: log determinants of 9 rows with and without a common level."""
    n, v, s2 = 9, 1.7, 0.3
    _, of_level = np.linalg.slogdet(s2 * np.eye(n) + v * np.ones((n, n)))
    y = np.random.default_rng(0).standard_normal((4 * n, 1))
    y *= np.sqrt((v + s2) / y.var())
    rows = SimpleNamespace(targets=y, total_weight=4.0 * n)
    problem = SimpleNamespace(rows=rows, n_observations=4.0 * n)
    few = {2: [np.zeros((4, 2)), np.zeros((4, 1))]}
    expected = alike_categories._TIMES_A_NUMBER * 4 * 0.5 * (of_level - n * np.log(s2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alike_categories, "_few", lambda *_: few)
        fitted = SimpleNamespace(parameters=SimpleNamespace(expression=None))
        again = SimpleNamespace(noise_variance=np.array([s2]))
        got = alike_categories._gain_of_parameters(problem, fitted, again)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "options, few",
    [
        ({"kernel": Categorical(2)}, True),
        ({"optimizer": None}, True),
        ({"categorical_features": [1]}, False),
    ],
    ids=["given", "held", "many rows"],
)
def test_nothing_is_compared_where_there_is_no_choice(options, few):
    X, y, *_ = table("levels", *((20, 14) if few else (4, 41)))
    if "kernel" in options:
        X = X[:, 1:]
    elif few:
        options = options | {"categorical_features": [1]}
    model = SVGPRegressor(n_inducing=10, max_iter=3, random_state=0, **options)
    assert not taken(model.fit(X, y))


def test_later_batches_decide_for_first_ones():
    X, y, *_ = table("levels")
    model = SVGPRegressor(categorical_features=[1], n_inducing=10, max_iter=3, random_state=0)
    assert not taken(model.partial_fit(X, y))
    assert taken(model.fit(X, y))


def test_a_warm_start_compares_again():
    X, y, T, _ = table("levels")
    model = SVGPRegressor(categorical_features=[1], warm_start=True, random_state=0).fit(X, y)
    before = model.predict(T)
    assert taken(model.fit(X, y)) and not is_learned(model)
    np.testing.assert_allclose(model.predict(T), before, atol=0.05)


def test_another_unit_of_known_noise_asks_the_same():
    """Weights are precisions then: their sum said that there were many rows, or hardly any."""
    X, y, *_ = table("levels")
    options = {"noise_variance_bounds": "fixed", "normalize_y": False, "n_inducing": 40}
    for unit in (1e-3, 1e3):
        model = SVGPRegressor(
            noise_variance=1.0, categorical_features=[1], random_state=0, **options
        ).fit(X, unit * y, np.full(len(y), (unit * 0.3) ** -2))
        assert taken(model)[0].endswith("alike")


def test_an_output_that_never_changes_costs_nothing():
    X, y, *_ = table("levels")
    costs, inner = [], alike_categories._gain_of_parameters
    for targets in (y, np.column_stack([y, np.zeros(len(y))])):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                alike_categories,
                "_gain_of_parameters",
                lambda *parts: costs.append(inner(*parts)) or costs[-1],
            )
            SVGPRegressor(categorical_features=[1], n_inducing=40, random_state=0).fit(X, targets)
    np.testing.assert_allclose(costs[1], costs[0], rtol=0.05)


def test_a_fast_column_that_was_found_is_tried_with_alike_categories():
    rng = np.random.default_rng(0)
    numbers, code = rng.uniform(-2.0, 2.0, (300, 6)), rng.integers(20, size=300)
    y = np.sin(9.0 * numbers[:, 0]) + rng.normal(size=20)[code] + 0.1 * rng.standard_normal(300)
    X = np.column_stack([numbers, code])
    model = SVGPRegressor(categorical_features=[6], random_state=0).fit(X[:250], y[:250])
    assert taken(model)
    assert model.score(X[250:], y[250:]) > 0.85
