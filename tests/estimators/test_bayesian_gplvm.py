"""BayesianGPLVM: what users get from tables with and without missing entries."""

import pickle

import fitted_models
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from sklearn_sgp import BayesianGPLVM
from sklearn_sgp.kernels import Columns

QUICK = {"n_inducing": 15, "max_iter": 120, "random_state": 0}


def curve(n=150, missing=0.1, seed=0):
    """Rows on a curve in six dimensions, with noise: its place, complete and incomplete rows."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-2.5, 2.5, n)
    truth = np.column_stack([np.sin(t), np.cos(t), t, t**2 / 4, np.sin(2 * t), 3.0 + 0 * t])
    truth[:, 5] += 2 * np.cos(t / 2)
    Y = truth + 0.05 * rng.normal(size=truth.shape)
    incomplete = np.where(rng.random(Y.shape) < missing, np.nan, Y)
    return t, Y, incomplete


@pytest.fixture(scope="module")
def fitted():
    t, Y, incomplete = curve()
    return t, Y, incomplete, BayesianGPLVM(3, **QUICK).fit(incomplete)


def test_a_latent_dimension_is_switched_off(fitted):
    """A curve that lies in a plane of latent inputs leaves a third dimension to the prior."""
    t, _, _, model = fitted
    off = np.argmin(model.relevance_)
    assert model.relevance_[off] < 1e-3 * model.relevance_.max()
    assert_allclose(model.embedding_std_[:, off], 1.0, atol=0.05)
    order = np.argsort(t)
    steps = np.linalg.norm(np.diff(model.embedding_[order], axis=0), axis=1)
    across = np.linalg.norm(model.embedding_[order[0]] - model.embedding_[order[-1]])
    assert np.median(steps) < 0.1 * across  # neighbours on the curve are neighbours in the map


def test_missing_values_come_back_with_their_errors(fitted):
    """Filled-in values are close, and errors are of the size of the standard deviations."""
    _, Y, incomplete, model = fitted
    filled, std = model.impute(incomplete, return_std=True)
    missing = np.isnan(incomplete)
    assert_array_equal(filled[~missing], Y[~missing])
    assert (std[~missing] == 0.0).all() and (std[missing] > 0.0).all()
    errors = (filled - Y)[missing]
    # the worst is a place where the curve meets itself in the columns that are left
    assert np.median(np.abs(errors)) < 0.1
    inside = np.abs(errors / std[missing]) < norm.ppf(0.95)
    assert 0.8 < inside.mean() < 0.98


@pytest.mark.quick_cases("complete")
@pytest.mark.parametrize("learned_with", ["complete", "incomplete"])
def test_intervals_of_new_rows_hold_what_they_should(learned_with):
    """90 % intervals of new rows hold 90 %, whether the table they were learned from has gaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    Y = np.cos(X @ (0.8 * rng.normal(size=(2, 30))) + rng.uniform(0, 6, 30))
    Y = Y @ rng.normal(size=(30, 8)) / 3 + rng.uniform(0.05, 0.3, 8) * rng.normal(size=(900, 8))
    missing = rng.random(Y.shape) < 0.25
    gaps = np.where(missing, np.nan, Y)
    model = BayesianGPLVM(2, **QUICK).fit((Y if learned_with == "complete" else gaps)[:300])
    filled, std = model.impute(gaps[300:], return_std=True)
    where = missing[300:]
    inside = np.abs((filled - Y[300:])[where] / std[where]) < norm.ppf(0.95)
    # factors come from some 200 entries: the share is off by 0.02 as a rule
    assert_allclose(inside.mean(), 0.9, atol=0.05)


def test_training_rows_are_treated_as_new_ones(fitted):
    """`transform` of the training rows is the embedding, and a row alone is the row in a batch."""
    _, _, incomplete, model = fitted
    mean, std = model.transform(incomplete, return_std=True)
    assert_allclose(mean, model.embedding_, atol=1e-3)
    assert_allclose(std, model.embedding_std_, rtol=1e-2)
    alone = np.vstack([model.transform(row[None]) for row in incomplete[:5]])
    assert_array_equal(alone, mean[:5])


def test_a_row_with_nothing_observed_is_the_prior(fitted):
    """Its latent inputs are standard normal, its bound is 0, its values those of the prior."""
    model = fitted[3]
    nothing = np.full((1, 6), np.nan)
    mean, std = model.transform(nothing, return_std=True)
    assert (mean == 0.0).all() and (std == 1.0).all()
    assert model.score_samples(nothing) == 0.0
    assert np.isfinite(model.impute(nothing)).all()


def test_bound_of_a_row_is_below_its_density(fitted):
    """`score_samples` is below log p(y | u) averaged over the prior of x, by sampling."""
    _, _, incomplete, model = fitted
    X = np.random.default_rng(0).normal(size=(200_000, 3))
    mean, std = model.inverse_transform(X, return_std=True)
    for y in incomplete[:5]:
        seen = ~np.isnan(y)
        log_p = norm.logpdf(y[seen], mean[:, seen], std[:, seen]).sum(axis=1)
        log_density = np.logaddexp.reduce(log_p) - np.log(len(X))
        # f is uncertain given u here, so that this density is not quite the one that is bounded
        assert model.score_samples(y[None])[0] < log_density + 0.5


def test_objective_is_the_bound_of_all_rows(fitted):
    """The objective is the sum of the rows' bounds less KL(q(u) || p(u))."""
    _, _, incomplete, model = fitted
    kl = fitted_models.fitted(model).posterior.kl()
    assert_allclose(model.objective_, model.score_samples(incomplete).sum() - kl, rtol=1e-6)
    assert_allclose(model.score(incomplete), model.score_samples(incomplete).mean())


@pytest.mark.slow
def test_units_of_columns_change_nothing_but_units():
    """Columns in other units have the same embedding, and values in their units."""
    _, _, incomplete = curve(60)
    scale, shift = np.array([1e3, 1.0, 1e-2, 5.0, 1.0, 1e4]), np.arange(6.0)
    one = BayesianGPLVM(2, **QUICK).fit(incomplete)
    other = BayesianGPLVM(2, **QUICK).fit(scale * incomplete + shift)
    assert_allclose(other.embedding_, one.embedding_, atol=1e-3)
    filled, std = one.impute(incomplete, return_std=True)
    in_units, std_in_units = other.impute(scale * incomplete + shift, return_std=True)
    assert_allclose(in_units, scale * filled + shift, rtol=1e-2, atol=1e-3)
    assert_allclose(std_in_units, scale * std, rtol=2e-2)
    jacobian = (~np.isnan(incomplete) @ np.log(scale)).sum()
    assert_allclose(other.objective_, one.objective_ - jacobian, rtol=1e-3)


def test_inverse_transform_maps_back(fitted):
    """The embedding of well-observed rows maps back to near the rows."""
    _, Y, _, model = fitted
    back, std = model.inverse_transform(model.transform(Y), return_std=True)
    assert np.sqrt(np.mean((back - Y) ** 2)) < 0.1
    assert std.shape == Y.shape and (std > 0).all()
    assert_allclose(model.inverse_transform(model.transform(Y)), back, rtol=1e-8)
    with pytest.raises(ValueError, match="3 columns"):
        model.inverse_transform(np.ones((2, 5)))


def test_samples_look_like_the_rows(fitted):
    """Drawn rows have the means of the columns, and repeat with their seed."""
    _, Y, _, model = fitted
    drawn = model.sample(4000, random_state=1)
    assert drawn.shape == (4000, 6)
    assert (np.abs(drawn.mean(axis=0) - Y.mean(axis=0)) < 0.7 * Y.std(axis=0)).all()
    assert_array_equal(drawn, model.sample(4000, random_state=1))


@pytest.mark.slow
def test_stochastic_steps_come_near_the_bound_of_lbfgs():
    """With few rows in L-BFGS, minibatches and the finish reach nearly the bound of all rows."""
    _, _, incomplete = curve(300)
    whole = BayesianGPLVM(2, **QUICK).fit(incomplete)
    parts = BayesianGPLVM(2, init_size=100, batch_size=50, **{**QUICK, "max_iter": 60})
    parts.fit(incomplete)
    assert parts.n_steps_ > 0 and parts.embedding_.shape == (300, 2)
    gap = (whole.objective_ - parts.objective_) / len(incomplete)
    assert gap < 0.6
    filled = parts.impute(incomplete)
    _, Y, _ = curve(300)
    missing = np.isnan(incomplete)
    assert np.median(np.abs(filled - Y)[missing]) < 0.15


def test_later_batches_join():
    """`partial_fit` adds rows, learns nothing false, and refuses changed parameters."""
    _, Y, incomplete = curve(200)
    model = BayesianGPLVM(2, **QUICK).partial_fit(Y[:120])  # nothing missing in the first batch
    before = model.score(Y[160:])
    model.partial_fit(incomplete[120:160])
    assert model.embedding_.shape == (160, 2) and model.n_samples_seen_ == 160
    assert model.score(Y[160:]) > before - 1.0
    assert np.isfinite(model.impute(incomplete[160:])).all()
    with pytest.raises(ValueError, match="noise must stay"):
        model.set_params(noise="columns").partial_fit(Y[160:])
    assert model.n_samples_seen_ == 160


def test_later_batches_take_at_most_so_many_steps():
    """Rows that are left over join without a step, as in the other estimators."""
    _, Y, _ = curve(200)
    model = BayesianGPLVM(2, batch_size=20, **QUICK).fit(Y[:120])
    before = model.n_steps_
    model.set_params(max_steps=1).partial_fit(Y[120:])
    assert model.n_steps_ == before + 1 and model.n_samples_seen_ == 200


@pytest.mark.parametrize("first", [None, "auto"])
def test_later_batches_see_another_optimizer(first):
    """After one without an optimiser the next batch with one raised an error of shapes."""
    _, Y, _ = curve(200)
    model = BayesianGPLVM(2, **(QUICK | {"max_iter": 10}), optimizer=first)
    model.partial_fit(Y[:120]).set_params(optimizer=None).partial_fit(Y[120:150])
    theta = model.kernel_.theta
    model.set_params(optimizer="auto").partial_fit(Y[150:])
    assert np.any(model.kernel_.theta != theta)


def test_later_batches_see_another_learning_rate():
    """A rate that was changed after the second batch was ignored."""
    _, Y, _ = curve(240)
    model = BayesianGPLVM(2, **(QUICK | {"max_iter": 10}))
    model.partial_fit(Y[:120]).partial_fit(Y[120:150])
    other = pickle.loads(pickle.dumps(model)).set_params(learning_rate=0.1)
    moves = [m.kernel_.theta - m.partial_fit(Y[150:]).kernel_.theta for m in (model, other)]
    assert_allclose(np.linalg.norm(moves[1]), 100.0 * np.linalg.norm(moves[0]), rtol=0.2)


def test_the_objective_of_a_batch_stands_for_all_rows():
    """After `partial_fit` it is the bound of all rows, estimated from the whole last batch."""
    _, Y, _ = curve(300)
    model = BayesianGPLVM(2, batch_size=20, **QUICK).fit(Y[:150]).partial_fit(Y[150:])
    kl = fitted_models.fitted(model).posterior.kl()
    assert_allclose(model.objective_, 2.0 * model.score_samples(Y[150:]).sum() - kl, rtol=1e-3)
    assert_allclose(model.objective_, model.score_samples(Y).sum() - kl, rtol=0.2)
    assert model.objectives_[-1] == model.objective_


def test_objectives_of_incomplete_tables_are_in_the_units_of_the_last_one():
    """Entries that are hidden while learning lose their log scales as well, as `objective_` does.

    Else the curve would end in a step of so many nats as the units of columns say.
    """
    _, _, incomplete = curve(150)
    steps = []
    for unit in (1.0, 1e-3 ** np.arange(6)):
        model = BayesianGPLVM(1, **QUICK).fit(unit * incomplete)
        steps.append(model.objective_ - np.array(model.objectives_))
    assert_allclose(steps[1], steps[0], atol=5.0)  # 1,190 nats else


@pytest.mark.quick_cases("columns-kernel2", "shared-kernel0", "columns-kernel1")
@pytest.mark.parametrize(
    "kernel", [RBF(1.5), ConstantKernel() * RBF([1.0, 1.0]) + WhiteKernel(0.1), DotProduct()]
)
@pytest.mark.parametrize("noise", ["shared", "columns"])
def test_kernels_and_noise(kernel, noise):
    """Other kernels and noise for each column give finite answers in the given form."""
    _, _, incomplete = curve(40)
    model = BayesianGPLVM(2, kernel=kernel, noise=noise, **{**QUICK, "max_iter": 20})
    filled, std = model.fit(incomplete).impute(incomplete, return_std=True)
    assert np.isfinite(filled).all() and np.isfinite(std).all()
    assert type(model.kernel_) is type(kernel) and model.relevance_.shape == (2,)
    assert np.ndim(model.noise_variance_) == (noise == "columns" and "White" not in repr(kernel))


@pytest.mark.slow
def test_more_starts_are_not_worse():
    """The best of several starts is kept."""
    _, _, incomplete = curve(60)
    one = BayesianGPLVM(2, **{**QUICK, "max_iter": 40}).fit(incomplete)
    three = BayesianGPLVM(2, n_starts=3, **{**QUICK, "max_iter": 40}).fit(incomplete)
    assert three.objective_ > one.objective_ - 1.0
    assert three.n_iter_ > one.n_iter_


@pytest.mark.slow
def test_it_works_in_pipelines_and_searches():
    """A classifier of the latent inputs, the number of dimensions searched."""
    t, _, incomplete = curve(60)
    pipeline = make_pipeline(BayesianGPLVM(**(QUICK | {"max_iter": 10})), KNeighborsClassifier(3))
    choices = [{"bayesiangplvm__n_components": [1, 2]}, {"bayesiangplvm__kernel": [RBF()]}]
    search = GridSearchCV(pipeline, choices, cv=2)
    search.fit(incomplete, t > 0)
    assert search.best_score_ > 0.8
    names = search.best_estimator_[0].get_feature_names_out()
    assert list(names[:1]) == ["bayesiangplvm0"]


def test_frames_come_back_where_asked_for():
    """With ``set_output`` latent inputs are frames with names, of training and of new rows."""
    pandas = pytest.importorskip("pandas")
    _, Y, _ = curve(40)
    frame = pandas.DataFrame(Y, columns=list("abcdef"), index=np.arange(5, 45))
    model = BayesianGPLVM(**{**QUICK, "max_iter": 5}).set_output(transform="pandas")
    embedding, (mean, _) = model.fit_transform(frame), model.transform(frame, return_std=True)
    for one in (embedding, model.transform(frame), mean):
        assert list(one.columns) == ["bayesiangplvm0", "bayesiangplvm1"]
        assert list(one.index) == list(frame.index)
    assert_array_equal(embedding.to_numpy(), model.embedding_)


def test_pickles_and_workers_change_nothing(fitted):
    """A pickle answers to the last bit, and two workers to rounding."""
    _, Y, incomplete, model = fitted
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.transform(incomplete), model.transform(incomplete))
    few = QUICK | {"max_iter": 20}
    both = BayesianGPLVM(3, n_jobs=2, **few).fit(incomplete)
    alone = BayesianGPLVM(3, n_jobs=1, **few).fit(incomplete)
    assert_array_equal(both.embedding_, alone.embedding_)
    assert_array_equal(both.transform(Y), alone.transform(Y))


@pytest.mark.parametrize("max_iter", [10, 30])
def test_few_iterations_learn_the_noise(max_iter):
    """They held it at its start to the end."""
    _, Y, _ = curve(100)
    start = BayesianGPLVM(2, n_inducing=15, max_iter=1, random_state=0).fit(Y)
    model = BayesianGPLVM(2, n_inducing=15, max_iter=max_iter, random_state=0).fit(Y)
    assert np.max(model.noise_variance_) < 0.9 * np.max(start.noise_variance_)


@pytest.mark.parametrize("bounds", ["fixed", (1e-5, 1e5)])
def test_relevance_is_that_of_each_dimension(bounds):
    """Also of scales that are held, and where the kernel has its columns in another order."""
    _, Y, _ = curve(60)
    options = {"n_inducing": 10, "max_iter": 2, "random_state": 0}
    plain = BayesianGPLVM(2, kernel=RBF([1.0, 10.0], bounds), **options).fit(Y)
    turned = BayesianGPLVM(2, kernel=Columns(RBF([10.0, 1.0], bounds), [1, 0]), **options).fit(Y)
    assert_allclose(plain.relevance_, turned.relevance_, rtol=0.05)
    assert plain.relevance_[0] > 3.0 * plain.relevance_[1]
    if bounds == "fixed":
        assert_allclose(plain.relevance_, [1.0, 0.01])


def test_a_column_that_begins_to_vary_by_little_takes_part(rng):
    """A constant that single precision has as well, as 101325, hid changes of a hundredth."""
    Y = np.column_stack([rng.normal(size=(60, 3)), np.full(60, 101325.0)])
    model = BayesianGPLVM(2, max_iter=5, random_state=0).fit(Y[:40])
    Y[40:, -1] += np.linspace(-0.01, 0.01, 20)
    model.partial_fit(Y[40:])
    assert model._fitted.targets.varying.all()


def test_a_constant_of_another_precision_is_constant(rng):
    """0.1 in double precision is not 0.1 in single: the column had a scale of 1.5e-9."""
    Y = np.column_stack([rng.normal(size=(60, 3)), np.full(60, 0.1)])
    model = BayesianGPLVM(2, max_iter=5, random_state=0).fit(Y.astype(np.float32))
    model.partial_fit(Y[:20])
    assert model.objective_ < 500.0
    assert np.isfinite(model.score_samples(Y[:5])).all()
    assert model.score_samples(Y[:5]).max() < 20.0
