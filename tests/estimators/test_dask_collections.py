"""Models learn from dask arrays and dataframes what they learn from arrays."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from slow_variants import slow

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPClassifier, SVGPClassifier, SVGPRegressor
from sklearn_sgp.collections.compute import each, in_one
from sklearn_sgp.data.rows import make_rows
from sklearn_sgp.estimators.collections import labels_of
from sklearn_sgp.factors.passes import added
from sklearn_sgp.likelihoods import Censored
from sklearn_sgp.objectives.sites import SiteProblem

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
N = 3000


@pytest.fixture
def data(rng):
    X = rng.uniform(0.0, 6.0, (N, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(N)
    # more rows of positive weight than come into memory, 2,048
    return X, y, rng.choice([0.0, 1.0, 2.0], N, p=[0.1, 0.5, 0.4])


def regressor(**parameters):
    given = {"n_inducing": 15, "init_size": 400, "max_iter": 4, "random_state": 0}
    # centre and scale to the last bit, as L-BFGS amplifies the rounding of theirs
    return SVGPRegressor(**(given | {"normalize_y": (0.9, 1.0)} | parameters))


def assert_same_model(got, expected, X, rtol=1e-8):
    assert_allclose(got.inducing_points_, expected.inducing_points_, rtol=rtol)
    assert_allclose(got.objective_, expected.objective_, rtol=rtol)
    for one, other in zip(got.predict(X, True), expected.predict(X, True), strict=True):
        assert_allclose(one, other, rtol=rtol, atol=rtol)
    assert got.n_samples_seen_ == expected.n_samples_seen_
    assert got.n_iter_ == expected.n_iter_


@pytest.mark.slow_cases("student_t-True")
@pytest.mark.parametrize("weighted", [slow(False), True])
@pytest.mark.parametrize(
    "parameters",
    [
        {"max_iter": 1},  # iterations of L-BFGS amplify the rounding of the sums
        {"init_size": 150},  # samples of the rows
        {"init_size": 8192},  # all rows
        {"optimizer": "lbfgs", "max_iter": 2},
        {"optimizer": None, "kernel": Matern(nu=1.5)},
        {"inducing": "greedy", "normalize_y": False, "kernel": Matern(nu=1.5)},
        {"likelihood": "student_t", "optimizer": None, "kernel": Matern(nu=1.5)},
    ],
    ids=["auto", "sampled", "all", "lbfgs", "none", "greedy", "student_t"],
)
def test_a_fit_on_an_array_of_chunks_is_that_on_an_array(data, parameters, weighted):
    """Samples, bound and posterior are those of the rows in memory, with any chunks."""
    X, y, weight = data
    weight = weight if weighted else None
    expected = regressor(**parameters).fit(X, y, weight)
    chunked = [None if a is None else da.from_array(a, 500) for a in (y, weight)]
    got = regressor(**parameters).fit(da.from_array(X, chunks=(700, 1)), *chunked)
    assert_same_model(got, expected, X[:50], rtol=1e-7)  # the objective of "all": 1e-8


def test_scaling_of_targets_is_that_of_all_rows(data):
    """Centre and scale come from all partitions, with weights."""
    X, y, weight = data
    targets = np.column_stack([y + 1e6, 3.0 * y])
    model = regressor(normalize_y=True, optimizer=None)
    got = model.fit(da.from_array(X, 600), da.from_array(targets, (600, 1)), weight)
    mean = np.average(targets, axis=0, weights=weight)
    assert_allclose(got.y_mean_, mean, rtol=1e-14)
    variance = np.average((targets - mean) ** 2, axis=0, weights=weight)
    assert_allclose(got.y_scale_, np.sqrt(variance), rtol=1e-8)
    assert got.predict(X[:3]).shape == (3, 2)


def test_dataframes(data):
    """Names of columns are kept and checked; sizes of partitions need not be known."""
    X, y, weight = data
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, w=weight)
    chunks = dd.from_pandas(table, npartitions=5)
    model = regressor(optimizer=None, kernel=Matern(nu=1.5))
    got = model.fit(chunks[["a", "b"]], chunks["y"], chunks["w"])
    expected = regressor(optimizer=None, kernel=Matern(nu=1.5)).fit(X, y, weight)
    assert got.feature_names_in_.tolist() == ["a", "b"]
    mean = got.predict(chunks[["a", "b"]])
    assert np.isnan(mean.shape[0])
    assert_allclose(mean.compute(), expected.predict(X), rtol=1e-8)
    with pytest.raises(ValueError, match="same order"):
        got.predict(chunks[["b", "a"]])
    unknown = chunks[["a", "b"]].to_dask_array()
    assert_allclose(got.fit(unknown, chunks["y"], chunks["w"]).objective_, expected.objective_)


def test_partitions_without_rows_of_weight(data):
    """Empty partitions and partitions of weight zero are left out."""
    X, y, _ = data
    weight = np.ones(N)
    weight[1000:2000] = 0.0
    table = pd.DataFrame(X).assign(y=y, w=weight)
    chunks = dd.from_pandas(table, npartitions=3)
    chunks = chunks[chunks["y"] > 0.5]
    keep = (y > 0.5) & (weight > 0.0)
    model = regressor(optimizer=None, kernel=Matern(nu=1.5), normalize_y=False)
    parts = chunks[[0, 1]].to_dask_array(), chunks["y"], chunks["w"]
    got = model.fit(*parts).objective_
    assert model.n_samples_seen_ == keep.sum()
    assert_allclose(got, model.fit(X[keep], y[keep]).objective_, rtol=1e-8)


def test_few_rows_are_merged(rng):
    """Up to 2,048 rows are gathered, so that weights and repetitions are the same to the bit."""
    X, y = rng.uniform(size=(40, 1)), rng.standard_normal(40)
    twice, weights = np.repeat(X, 2, axis=0), np.full(40, 2.0)
    one = regressor(optimizer=None).fit(da.from_array(twice, 30), np.repeat(y, 2))
    other = regressor(optimizer=None).fit(da.from_array(X, 30), da.from_array(y, 10), weights)
    assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.quick_cases("parameters1-2")
@pytest.mark.parametrize(
    ("parameters", "n_classes"),
    [
        ({}, 4),
        ({"init_size": 150}, 2),
        ({"class_weight": "balanced"}, 2),
        slow({}, 2),
        slow({"init_size": 150}, 4),
        slow({"class_weight": "balanced"}, 4),
    ],
)
def test_a_classifier_on_chunks_is_that_on_arrays(data, n_classes, parameters):
    """Labels, their frequencies and held-out rows are those in memory."""
    X, y, weight = data
    names = np.array(["no", "perhaps", "rather", "yes"])[:n_classes]
    labels = names[np.digitize(y, np.linspace(0.2, 2.0, n_classes - 1))]
    model = SVGPClassifier(n_inducing=8, init_size=400, max_iter=2, random_state=0)
    model.set_params(**parameters)
    expected = model.fit(X, labels, weight).predict_proba(X[:50])
    chunks = da.from_array(X, 800), da.from_array(labels, 800), da.from_array(weight, 800)
    assert_allclose(model.fit(*chunks).predict_proba(X[:50]), expected, rtol=1e-8, atol=1e-10)
    assert_array_equal(model.classes_, names)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bound_of_sites_on_chunks(data, n_classes):
    """Bound, target and gradient of another likelihood are those of the rows in memory."""
    X, y, weight = data
    labels = np.digitize(y, [0.5, 1.5][: n_classes - 1])
    chunks = [da.from_array(part, 800) for part in (X, labels, weight + 1.0)]
    model = SVGPClassifier(n_inducing=8, optimizer=None, random_state=0)
    result = model.fit(X, labels, weight + 1.0)._fitted
    here = make_rows(X, result.targets.encode(labels), weight + 1.0, result.targets)
    there = labels_of(model, *chunks).X
    q = result.posterior.towards(result.posterior.scaled(0.3), 0.5)  # not the optimum
    found = []
    for rows in (here, there):
        problem = SiteProblem(q.prior, rows, result.likelihood, result.parameters.noise_variance)
        at = problem.site_pass(q)
        gradient = problem.gradient_sums(q, at).gradient(problem.prior)
        narrow = problem._narrow(10.0, q, None)
        found.append([at.value, *at.target.H, at.target.h, narrow.h, *narrow.H, *gradient.values()])
    for one, other in zip(*found, strict=True):
        assert_allclose(other, one, rtol=1e-8, atol=1e-8 * np.abs(one).max())


@pytest.mark.slow
def test_lbfgs_of_sites_on_chunks(data):
    """L-BFGS on all rows of another likelihood finds the same optimum of two length scales."""
    X, _, _ = data
    label = np.sin(X[:, 0]) + 0.5 * np.random.default_rng(0).standard_normal(N) > 0.0
    model = SVGPClassifier(
        ConstantKernel(4.0, "fixed") * RBF([1.0, 2.0]), n_inducing=20, optimize_inducing=False
    )
    model.set_params(random_state=0, optimizer="lbfgs")
    expected = model.fit(X, label).objective_
    got = model.fit(da.from_array(X, 1500), da.from_array(label, 1500)).objective_
    assert_allclose(got, expected, rtol=1e-4)


def test_labels_are_checked(data):
    """A label that is missing is refused, as in memory."""
    X, y, _ = data
    labels = np.where(y > 1.0, 1.0, 0.0)
    labels[2000] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SVGPClassifier().fit(da.from_array(X, 1000), da.from_array(labels, 1000))


def test_a_fit_leaves_no_collection_behind(data):
    """The fitted model is small, and can be pickled."""
    X, y, _ = data
    model = regressor().fit(da.from_array(X, 1000), da.from_array(y, 1000))
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    assert len(pickle.dumps(model)) < 30_000


def test_counts_on_chunks(data):
    """Counts have the logarithm of the mean count of all rows."""
    X, y, _ = data
    counts = np.random.default_rng(0).poisson(np.exp(y))
    model = regressor(likelihood="poisson", optimizer=None)
    expected = model.fit(X, counts).predict(X[:20])
    got = model.fit(da.from_array(X, 800), da.from_array(counts, 800)).predict(X[:20])
    assert_allclose(got, expected, rtol=1e-8)
    with pytest.raises(ValueError, match="counts"):
        model.fit(da.from_array(X, 800), da.from_array(counts - 1, 800))


@pytest.mark.parametrize(
    "likelihood",
    ["negative_binomial", "gamma", "beta", Censored(lower=0.2, upper=0.8)],
    ids=["counts", "positive", "shares", "limits"],
)
def test_other_targets_on_chunks(data, likelihood):
    """Likelihoods that are learned by sites find in chunks what they find in arrays."""
    X, y, _ = data
    shares = 1.0 / (1.0 + np.exp(-y))
    y = np.round(10.0 * shares) if likelihood == "negative_binomial" else shares
    model = regressor(likelihood=likelihood, optimizer=None)
    expected = model.fit(X, y).predict(X[:20])
    got = model.fit(da.from_array(X, 800), da.from_array(y, 800)).predict(X[:20])
    assert_allclose(got, expected, rtol=1e-6)


def test_likelihoods_that_chunks_do_not_have(data):
    """Sites among near rows, and limits that are ends of all targets, are refused with a cure."""
    X, y, _ = data
    chunks, counts = da.from_array(X, 800), da.from_array(np.round(np.abs(y)), 800)
    blocks = AnytimeSGPRegressor(model="pic", solver="exact", likelihood="poisson")
    with pytest.raises(ValueError, match="'poisson' in blocks, which SVGPRegressor takes"):
        blocks.fit(chunks, counts)
    with pytest.raises(ValueError, match="limits are taken from the targets: give them"):
        regressor(likelihood="censored").fit(chunks, counts)


@pytest.mark.quick_cases("poisson-1", "svgp-1")
@pytest.mark.parametrize("columns", [1, slow(2)])
@pytest.mark.parametrize(
    "model",
    [
        SVGPRegressor(likelihood="poisson"),
        SVGPRegressor(),
        AnytimeSGPRegressor(block_size=300),
    ],
    ids=["poisson", "svgp", "pic"],
)
def test_predictions_are_lazy(data, model, columns):
    """Predictions of regressors are dask arrays, with the shapes and numbers of arrays."""
    X, y, _ = data
    y = np.abs(np.round(np.column_stack([y, 2 * y])[:, :columns])).squeeze()
    model = model.set_params(n_inducing=10, optimizer=None, random_state=0).fit(X, y)
    chunks = da.from_array(X, (900, 1))
    calls = {
        "predict": {},
        "predict_std": {"include_noise": False},
        "predict_quantiles": {"quantiles": (0.1, 0.9)},
        "log_density": {"y": y},
    }
    for name, arguments in calls.items():
        lazy = getattr(model, name)(chunks, **arguments)
        expected = getattr(model, name)(X, **arguments)
        assert isinstance(lazy, da.Array)
        assert lazy.shape == expected.shape
        assert lazy.dtype == expected.dtype
        assert lazy.chunks[0] == (900, 900, 900, 300)
        assert_allclose(lazy.compute(), expected, rtol=1e-8, atol=1e-10)
    both = model.predict(chunks, return_std=True)
    assert_allclose(both[1].compute(), model.predict_std(X), rtol=1e-8)
    with pytest.raises(ValueError, match="return_cov"):
        model.predict(chunks, return_cov=True)


@pytest.mark.quick_cases("model0-3")
@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (SVGPClassifier(), 3),
        (StreamingSGPClassifier(), 2),
        slow(SVGPClassifier(), 2),
        slow(StreamingSGPClassifier(), 3),
    ],
)
def test_probabilities_are_lazy(data, model, n_classes):
    """So are those of classifiers, with the type of the labels."""
    X, y, _ = data
    labels = np.array(["a", "b", "c"])[np.digitize(y, [0.5, 1.5][: n_classes - 1])]
    model = model.set_params(n_inducing=8, max_iter=1, random_state=0).fit(X[:500], labels[:500])
    chunks = da.from_array(X, 1000)
    names = "predict", "predict_proba", "decision_function", "predict_std"
    for name in (*names, "log_density"):
        more = (labels,) if name == "log_density" else ()
        lazy, expected = getattr(model, name)(chunks, *more), getattr(model, name)(X, *more)
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        if name == "predict":
            assert_array_equal(lazy.compute(), expected)
        else:
            assert_allclose(lazy.compute(), expected, rtol=1e-8, atol=1e-10)


def test_a_later_fit_does_not_change_what_was_asked_for(data):
    """A lazy prediction is that of the model as it was."""
    X, y, _ = data
    model = regressor(optimizer=None).fit(X, y)
    lazy, expected = model.predict(da.from_array(X, 1000)), model.predict(X)
    model.fit(X, -y)
    assert_allclose(lazy.compute(), expected, rtol=1e-8)


def test_nothing_is_computed_for_a_prediction():
    """A partition that cannot be read is not read before it is asked for."""

    def broken(block):
        raise AssertionError("read")

    model = regressor(optimizer=None).fit(np.arange(20.0)[:, None], np.arange(20.0))
    X = da.zeros((100, 1), chunks=50).map_blocks(broken, dtype=float, meta=np.empty((0, 0)))
    lazy = model.predict(X)
    with pytest.raises(AssertionError, match="read"):
        lazy.compute()


def wrong_values(X, y, w):
    bad_y, bad_w = y.copy(), w.copy()
    bad_y[1500], bad_w[1500] = np.nan, -1.0
    bad_X = X.copy()
    bad_X[2500, 1] = np.inf
    C, c = da.from_array(X, 1000), da.from_array(y, 1000)
    unknown = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    return {
        "NaN": (C, da.from_array(bad_y, 1000)),
        "infinity": (da.from_array(bad_X, 1000), c),
        "sample_weight must hold finite": (C, c, da.from_array(bad_w, 1000)),
        "as many rows as X": (C, c[:2000]),
        "compute_chunk_sizes": (unknown, y),
        r"compute_chunk_sizes\(\) on the arrays": (unknown, c.rechunk(600)),
        "Got a partition of": (unknown, c.rechunk(((900, 1100, 1000),))),
        "Expected 2D array": (c, c),
        "X must be a dask collection": (X, c),
        "positive weight": (C, c, np.zeros(N)),
        "one or two axes": (C, da.zeros((N, 1, 1))),
        "dask array or dataframe": (C.to_delayed()[0, 0], c),
    }


@pytest.mark.parametrize("words", wrong_values(np.zeros((N, 2)), np.zeros(N), np.ones(N)))
def test_what_does_not_fit_is_refused(data, words):
    """An error says what must hold; the estimator is as before."""
    X, y, weight = data
    model = regressor(optimizer=None).fit(X, y)
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=words):
        model.fit(*wrong_values(X, y, weight)[words])
    assert model.__dict__ == before


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"optimizer": "adam"}, "optimizer"),
        ({"likelihood": "heteroscedastic"}, "likelihood"),
        ({"likelihood": "auto"}, "likelihood"),
        ({"normalize_y": "warped"}, "normalize_y"),
        ({"n_latent": 1}, "n_latent"),
        ({"categorical_features": [0]}, "categorical_features"),
    ],
)
def test_parameters_that_need_all_rows_are_refused(data, parameters, words):
    """What a collection cannot do is said by the name of the parameter."""
    chunks = da.from_array(data[0], 1000)
    with pytest.raises(ValueError, match=words):
        regressor(**parameters).fit(chunks, data[1])


def test_a_model_that_is_not_fitted():
    """A lazy prediction needs a fit, and the columns of it."""
    with pytest.raises(NotFittedError):
        regressor().predict(da.zeros((10, 2)))
    model = regressor(optimizer=None).fit(np.arange(20.0)[:, None], np.arange(20.0))
    with pytest.raises(ValueError, match="features"):
        model.predict(da.zeros((10, 2)))


def test_weights_of_classes_must_be_above_zero(data):
    """A class of weight zero would leave rows out that were counted."""
    X, y, _ = data
    model = SVGPClassifier(class_weight={False: 0.0, True: 1.0})
    with pytest.raises(ValueError, match="class_weight"):
        model.fit(da.from_array(X, 1000), da.from_array(y > 1.0, 1000))


def test_dask_is_not_imported_for_arrays():
    """A fit on arrays imports no dask."""
    code = (
        "import sys, numpy as np; from sklearn_sgp import SVGPRegressor; "
        "X = np.arange(9.0)[:, None]; SVGPRegressor(optimizer=None).fit(X, X[:, 0]).predict(X); "
        "assert 'dask' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sums_are_added_in_a_tree():
    """Nested sums of many partitions add up, and no part changes."""
    tasks = each(lambda k: (k, [np.full(2, k)], None, {"a": k}), [(k,) for k in range(70)])
    total = in_one(tasks).compute(scheduler="sync")
    assert (total[0], total[2], total[3]) == (2415, None, {"a": 2415})
    assert total[1][0].tolist() == [2415, 2415]
    first = np.ones(2)
    added(first, first)
    assert_array_equal(first, 1.0)


@pytest.mark.parametrize("model", ["sor", "vfe", "fitc", "fic"])
def test_models_of_rows_on_chunks(data, model):
    """Models in blocks whose factors are rows have the posterior of the rows in memory."""
    X, y, weight = data
    given = {"optimizer": None, "n_inducing": 10, "random_state": 0, "kernel": Matern(nu=1.5)}
    estimator = AnytimeSGPRegressor(model=model, solver="exact", normalize_y=(0.9, 1.0), **given)
    expected = estimator.fit(X, y, weight)
    mean, std, objective = *expected.predict(X[:50], True), expected.objective_
    got = estimator.fit(da.from_array(X, 700), da.from_array(y, 500), da.from_array(weight, 500))
    assert_allclose(got.objective_, objective, rtol=1e-8)
    for one, other in zip(got.predict(X[:50], True), (mean, std), strict=True):
        assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def test_models_of_rows_learn_on_chunks(data):
    """Kernel, noise and inducing inputs are learned from sampled rows."""
    X, y, _ = data
    model = AnytimeSGPRegressor(
        model="fitc", solver="exact", n_inducing=20, init_size=1000, max_iter=15, random_state=0
    )
    model.fit(da.from_array(X, 700), da.from_array(y, 700))
    assert model.score(X, y) > 0.97


def labelled(X, labels):
    """Inputs with labels of blocks in their second column."""
    return np.insert(X, 1, labels, axis=1)


@pytest.mark.parametrize("model", ["pitc", "pic"])
def test_blocks_with_labels_on_chunks(data, model):
    """Blocks of a user stay in their partitions; the posterior is that of the rows in memory."""
    X, y, weight = data
    labels = np.repeat(np.arange(30), N // 30)
    given = {"optimizer": None, "n_inducing": 10, "random_state": 0, "kernel": Matern(nu=1.5)}
    estimator = AnytimeSGPRegressor(
        model=model, solver="exact", normalize_y=False, block_column=1, **given
    )
    new, at = X[::7] + 0.01, labels[::7].copy()
    at[:5] = 99  # nobody has these
    rows, new = labelled(X, labels), labelled(new, at)
    expected = estimator.fit(rows, y, weight).predict(new, True)
    there = estimator.predict(da.from_array(new, (200, -1)), True)
    for one, other in zip(there, expected, strict=True):
        assert_allclose(one.compute(), other, rtol=1e-8, atol=1e-8)
    chunks = [da.from_array(a, 1000) for a in (rows, y, weight)]
    got = estimator.fit(*chunks)
    assert got.n_blocks_ == 30
    here = got.predict(new, True)
    lazy = got.predict(da.from_array(new, 200), True)
    for one, other, third in zip(here, expected, lazy, strict=True):
        assert_allclose(one, other, rtol=1e-8, atol=1e-8)
        assert_allclose(third.compute(), other, rtol=1e-8, atol=1e-8)
    theta = got.kernel_.theta  # of other rows, in blocks of their own
    value = got.log_marginal_likelihood(theta, X=rows, y=y, sample_weight=weight)
    assert_allclose(value, got.objective_, rtol=1e-8)
    density = got.log_density(da.from_array(new, 200), y[::7])
    assert_allclose(density.compute(), got.log_density(new, y[::7]), rtol=1e-8)
    with pytest.raises(ValueError, match="one partition"):
        estimator.fit(da.from_array(labelled(X, np.arange(N) % 7), 1000), chunks[1])
    with pytest.raises(ValueError, match="stayed on the workers"):
        got.partial_fit(rows[:10], y[:10])


def test_blocks_with_labels_learn_on_chunks(data):
    """Kernel and noise are learned from whole blocks, which are gathered."""
    X, y, _ = data
    order = np.argsort(X[:, 0])
    X, y, labels = X[order], y[order], np.repeat(np.arange(30), N // 30)
    model = AnytimeSGPRegressor(model="pic", solver="exact", n_inducing=10, max_iter=4)
    rows = labelled(X, labels)
    model.set_params(block_column=1).fit(da.from_array(rows, 1000), da.from_array(y, 1000))
    assert model.score(rows, y) > 0.97
    with pytest.raises(ValueError, match="has 2 features"):
        model.predict(da.from_array(X, 1000))


@pytest.mark.parametrize("kind", ["array", "dask"])
@pytest.mark.parametrize("names", ["strings", "numbers"])
def test_blocks_in_a_named_column(data, names, kind):
    """A column of a dataframe names the blocks, in any partitions of the rows to predict."""
    X, y, _ = data
    labels = np.repeat(np.arange(30), N // 30)
    if names == "strings":
        labels = np.char.add("route ", labels.astype(str))
    table = pd.DataFrame(X, columns=["a", "b"])
    table.insert(1, "route", labels)
    model = AnytimeSGPRegressor(
        Matern(nu=1.5), model="pic", solver="exact", n_inducing=10, block_column="route"
    )
    model.set_params(optimizer=None, normalize_y=(0.9, 1.0), random_state=0)
    expected, std = model.fit(table, y).predict(table[::7], True)
    if kind == "dask":
        model.fit(dd.from_pandas(table, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3))
    assert model.feature_names_in_.tolist() == ["a", "route", "b"]
    new = dd.from_pandas(table[::7], npartitions=4)
    lazy = model.predict(new, return_std=True)
    assert_allclose(lazy[0].compute(), expected, rtol=1e-8, atol=1e-8)
    assert_allclose(lazy[1].compute(), std, rtol=1e-8)
    assert_allclose(model.predict(table[::7]), expected, rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match="same order"):
        model.predict(new[["route", "a", "b"]])


def test_categories_on_chunks(data):
    """A model fitted on a table with categories predicts partitions that have some of them."""
    X, y, _ = data
    town = np.array(["Bath", "Leeds", "York"])[np.arange(N) // 100 % 3]
    table = pd.DataFrame(X, columns=["a", "b"]).assign(town=pd.Categorical(town))
    model = regressor(categorical_features="from_dtype", optimizer=None)
    expected = model.fit(table, y).predict(table)
    for one in (table, table.assign(town=town)):
        lazy = model.predict(dd.from_pandas(one, npartitions=7))
        assert_allclose(lazy.compute(), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "parameters", [{}, {"model": "lma"}, {"model": "fitc", "solver": "anytime"}]
)
def test_models_of_near_rows_are_refused(data, parameters):
    """Models that predict from training rows say what to do."""
    with pytest.raises(ValueError, match="parallel_config"):
        AnytimeSGPRegressor(**parameters).fit(da.from_array(data[0], 700), data[1])


@pytest.mark.parametrize("size", [8192, 40])
def test_blocks_made_of_chunks(data, size):
    """PIC makes its blocks from a sample; rows of a block come together, on one worker."""
    X, y, weight = data[0], data[1], data[2] + 1.0
    model = AnytimeSGPRegressor(model="pic", solver="exact", n_inducing=10, block_size=100)
    model.set_params(optimizer=None, random_state=0, kernel=Matern(nu=1.5), init_size=size)
    model.set_params(normalize_y=(0.9, 1.0))
    new = X[::7] + 0.01
    expected = model.fit(X, y, weight).predict(new, True)
    got = model.fit(*(da.from_array(a, 800) for a in (X, y, weight)))
    chunks = da.from_array(new, 200)
    here, lazy = got.predict(new, True), got.predict(chunks, True)
    assert_allclose(lazy[1].compute(), here[1], rtol=1e-8)
    assert_allclose(got.noise_std(chunks).compute(), got.noise_std(new))
    if size == 8192:  # the sample is all rows
        assert_allclose(here[0], expected[0], rtol=1e-8, atol=1e-8)
    else:
        assert 10 < got.n_blocks_ < 120
        error = np.sqrt(np.mean((here[0] - expected[0]) ** 2))
        assert error < 0.1
    with pytest.raises(ValueError, match="expecting 2 features"):
        got.predict(da.from_array(labelled(new, 0.0), 200))


@pytest.mark.slow
def test_blocks_made_of_chunks_learn(data):
    """PIC learns from a sample as it does from arrays."""
    X, y, _ = data
    model = AnytimeSGPRegressor(model="pic", solver="exact", n_inducing=10, max_iter=4)
    model.set_params(random_state=0, block_size=100, n_neighbors=20)
    model.fit(da.from_array(X, 800), da.from_array(y, 800))
    assert model.score(X, y) > 0.97
    with pytest.raises(ValueError, match="partition"):
        model.set_params(partition="random").fit(da.from_array(X, 800), y)


class Spied:
    """A data set on disk that notes how many rows are read at a time."""

    def __init__(self, stored, seen):
        self.stored, self.seen = stored, seen

    shape = property(lambda self: self.stored.shape)
    dtype = property(lambda self: self.stored.dtype)
    ndim = property(lambda self: len(self.shape))

    def __getitem__(self, index):
        part = self.stored[index]
        self.seen.append(len(part))
        return part


Spied.__module__ = "h5py.spied"


@pytest.mark.parametrize("library", ["h5py", "zarr"])
def test_data_sets_on_disk(data, tmp_path, monkeypatch, library):
    """HDF5 and Zarr are read some rows at a time; what is predicted of them is in memory."""
    stores = pytest.importorskip(library)
    X, y, weight = (part.astype(np.float32) for part in data)
    if library == "h5py":
        with stores.File(tmp_path / "rows.h5", "w") as file:
            file["X"], file["y"], file["w"] = X, y, weight
        file = stores.File(tmp_path / "rows.h5")
    else:
        file = {name: stores.array(part) for name, part in zip("Xyw", (X, y, weight), strict=True)}
    monkeypatch.setattr("sklearn_sgp.collections.alignment._BYTES_READ", 8 * 600)
    model = regressor(optimizer=None, kernel=Matern(nu=1.5))
    expected = model.fit(X, y, weight).predict(X)
    seen = []
    model.fit(Spied(file["X"], seen), file["y"], file["w"])
    assert max(seen) == 600
    got = model.predict(file["X"], return_std=True)
    assert isinstance(got[0], np.ndarray)
    assert_allclose(got[0], expected, rtol=1e-8)
    if library == "h5py":
        file.close()


def test_tables_in_files(data, tmp_path):
    """Parquet is read by the workers, partition by partition."""
    pytest.importorskip("pyarrow")
    X, y, _ = data
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    for k in range(3):
        table[1000 * k : 1000 * (k + 1)].to_parquet(tmp_path / f"part{k}.parquet")
    chunks = dd.read_parquet(tmp_path)
    model = regressor(optimizer=None, kernel=Matern(nu=1.5))
    got = model.fit(chunks[["a", "b"]], chunks["y"]).predict(chunks[["a", "b"]]).compute()
    assert_allclose(got, regressor(optimizer=None, kernel=Matern(nu=1.5)).fit(X, y).predict(X))


def test_what_was_learned_is_told_of_collections(rng):
    """Slopes, terms, novelty and the function's deviations come back as lazy arrays of the same."""
    X = rng.uniform(-2.0, 2.0, (60, 2))
    y = np.sin(X[:, 0])
    model = SVGPRegressor(RBF() + RBF(3.0), n_inducing=6, optimizer=None, random_state=0).fit(X, y)
    lazy = da.from_array(X, chunks=(25, 2))
    for name in ("predict_gradient", "predict_terms"):
        for got, expected in zip(
            getattr(model, name)(lazy, return_std=True),
            getattr(model, name)(X, return_std=True),
            strict=True,
        ):
            assert_allclose(got.compute(), expected)
    assert_allclose(model.novelty(lazy).compute(), model.novelty(X))
    _, std = model.predict(lazy, return_std=True, include_noise=False)
    assert_allclose(std.compute(), model.predict_std(X, include_noise=False))


def test_steps_that_targets_were_rounded_to_are_found(data):
    """`resolution_` was 0 for collections of more rows than come into memory."""
    X, y, weight = data
    y = np.column_stack([np.round(y, 1), y])
    expected = regressor(optimizer=None).fit(X, y, weight).resolution_
    chunked = (da.from_array(one, (500, *one.shape[1:])) for one in (X, y, weight))
    got = regressor(optimizer=None).fit(*chunked).resolution_
    assert_allclose(got, expected)
    assert_allclose(got, [0.1, 0.0])


def test_targets_of_rows_that_do_not_count_may_be_any_numbers(data):
    """A count of -1 of weight zero was refused, which arrays in memory may have."""
    X, _, weight = data
    y = np.where(weight > 0.0, np.arange(N) % 3, -1.0)
    chunks = [da.from_array(one, 500) for one in (X, y, weight)]
    for rows in ((X, y, weight), chunks):
        model = regressor(likelihood="poisson", optimizer=None, normalize_y=False).fit(*rows)
        assert model.n_samples_seen_ == np.count_nonzero(weight)
    y[np.flatnonzero(weight == 0.0)[0]] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        regressor(likelihood="poisson").fit(chunks[0], da.from_array(y, 500), chunks[2])
