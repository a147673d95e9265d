"""BayesianGPLVM on tables that hold little or nothing, and fits that end early."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel

from sklearn_sgp import BayesianGPLVM
from sklearn_sgp.engines.latent_inputs import start, state
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.latents.table import Scaling, Table

QUICK = {"n_inducing": 8, "max_iter": 10, "random_state": 0}


def table(n=30, P=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    return np.sin(x + np.arange(P)) + 0.1 * rng.normal(size=(n, P))


def answers(model, Y):
    """Everything a model answers with about some rows."""
    return [
        *model.transform(Y, return_std=True),
        model.score_samples(Y),
        *model.impute(Y, return_std=True),
        model.inverse_transform(model.transform(Y)),
    ]


def changed(change):
    Y = table()
    change(Y)
    return Y


def set_nan(Y):
    Y[0], Y[3, 1], Y[::2, 2] = np.nan, np.nan, np.nan


POOR = {
    "a row with nothing observed": changed(set_nan),
    "constant columns": changed(lambda Y: Y.__setitem__((slice(None), [0, 2]), 1e6 + 0.1)),
    "nothing but constants": np.full((20, 3), 0.1),
    "fewer rows than latent dimensions": table(2),
    "duplicates": np.repeat(table(3), 10, axis=0),
    "one column": table(P=1),
    "large numbers": 1e80 * table(),
    "one value in a column": changed(lambda Y: Y.__setitem__((slice(1, None), 1), np.nan)),
    "single precision": table().astype(np.float32),
}


@pytest.mark.quick_cases("*-columns")
@pytest.mark.parametrize("noise", ["shared", "columns"])
@pytest.mark.parametrize("name", POOR)
def test_poor_tables_have_finite_answers(name, noise):
    """Tables that hold little are learned from without a warning, and all answers are finite."""
    Y = POOR[name]
    model = BayesianGPLVM(3, noise=noise, **QUICK).fit(Y)
    for answer in answers(model, Y[:10]):
        assert np.isfinite(answer).all()


def test_a_column_never_observed_is_named():
    """A column of NaN is refused by number or name."""
    Y = table()
    Y[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"Got nothing but NaN in 2:"):
        BayesianGPLVM(**QUICK).fit(Y)
    frame = pytest.importorskip("pandas").DataFrame(Y, columns=list("abcd"))
    with pytest.raises(ValueError, match="'c'"):
        BayesianGPLVM(**QUICK).fit(frame)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200])
def test_infinite_values_are_refused(value):
    """Infinities and numbers whose squares overflow are errors, before and after a fit."""
    Y, bad = table(), table()
    bad[3, 1] = value
    with pytest.raises(ValueError, match=r"infinity|at most"):
        BayesianGPLVM(**QUICK).fit(bad)
    model = BayesianGPLVM(**QUICK).fit(Y)
    with pytest.raises(ValueError, match=r"infinity|at most"):
        model.transform(bad)


def test_missing_values_where_the_first_batch_had_none():
    """Later batches may miss what the first did not, and new rows too."""
    Y, later = table(40), table(30, seed=1)
    later[::3, 1] = np.nan
    model = BayesianGPLVM(**QUICK).fit(Y).partial_fit(later)
    for answer in answers(model, later):
        assert np.isfinite(answer).all()


def test_more_inducing_inputs_than_rows():
    """Fewer rows give fewer inducing inputs."""
    model = BayesianGPLVM(n_inducing=500, max_iter=5).fit(table(12))
    assert len(model.inducing_points_) <= 12


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_components": 0},
        {"kernel": "rbf"},
        {"noise": "rows"},
        {"noise_variance": -1.0},
        {"noise_variance": np.ones(4)},
        {"kernel": Categorical()},
        {"kernel": Columns(Categorical(), [0]) * RBF()},
        {"noise_variance_bounds": (1.0, 0.1)},
        {"inducing": np.ones((3, 7))},
        {"n_starts": 0},
        {"natural_step": 2.0},
    ],
)
def test_bad_parameters_are_named(wrong):
    """An error names the parameter, and the estimator stays as it was."""
    model = BayesianGPLVM(**QUICK).fit(table())
    before = model.embedding_
    with pytest.raises(ValueError, match=next(iter(wrong))):
        model.set_params(**wrong).fit(table())
    assert model.embedding_ is before


@pytest.mark.parametrize("count", [0, -1, 2.5, True, "a", None])
def test_samples_are_counted_in_whole_numbers(count):
    """`sample` takes a positive int, and says so."""
    model = BayesianGPLVM(**QUICK).fit(table())
    with pytest.raises(ValueError, match="'n_samples' parameter must be an int"):
        model.sample(count)


def test_an_interrupted_fit_leaves_the_model(monkeypatch):
    """Ctrl-C in the midst of `fit` or `partial_fit` restores all fitted attributes."""
    Y = table()
    model = BayesianGPLVM(**QUICK).fit(Y)
    before = model.__dict__.copy()

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("sklearn_sgp.engines.latent_inputs.final_posterior.find_inputs", interrupt)
    monkeypatch.setattr("sklearn_sgp.engines.latent_inputs.partial_fit.find_inputs", interrupt)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(KeyboardInterrupt):
            method(Y[:20])
        assert model.__dict__.keys() == before.keys()
        assert all(model.__dict__[name] is before[name] for name in before)


def test_time_and_steps_end_a_fit():
    """A fit that is cut short has a model of all rows."""
    Y = table(300)
    model = BayesianGPLVM(max_time=1e-3, random_state=0).fit(Y)
    assert model.embedding_.shape == (300, 2)
    parts = BayesianGPLVM(init_size=50, batch_size=20, max_steps=3, **QUICK).fit(Y)
    assert parts.n_steps_ == 3 and np.isfinite(parts.embedding_).all()


def test_progress_is_printed(capsys):
    """`verbose` prints a line for each stage, and from 2 on for each iteration."""
    model = BayesianGPLVM(verbose=2, **QUICK).fit(table())
    lines = capsys.readouterr().out.splitlines()
    stages = [line for line in lines if "entry" not in line]
    assert len(lines) - len(stages) == len(model.objectives_) == len(model.fit_times_)
    assert "learning from" in stages[0] and "latent inputs of" in stages[1]
    assert stages[2].startswith("[BayesianGPLVM] done in") and len(stages) == 3


def test_callbacks_see_a_model_and_may_stop():
    """A callback gets attributes with which a model transforms, and True from it ends the fit."""
    callback = pytest.importorskip("sklearn.callback")
    Y = table()
    monitor = callback.ScoringMonitor(scoring={"bound": lambda model, X, y: model.score(X)})
    model = BayesianGPLVM(**QUICK).set_callbacks(monitor).fit(Y, Y[:, 0])
    steps = [row for row in monitor.get_logs().data if row["task_name"] == "step"]
    scores = np.array([row["bound"] for row in steps])
    assert len(scores) == len(model.objectives_) and np.isfinite(scores).all()
    assert scores[-1] > scores[0]

    stopped = BayesianGPLVM(**QUICK)
    trace, add = [], state.LatentTrace.add
    with pytest.MonkeyPatch.context() as patch:

        def stopping(self, *args):
            trace.append(add(self, *args))
            self.stopped = len(trace) >= 3
            return self.stopped

        patch.setattr(state.LatentTrace, "add", stopping)
        stopped.fit(Y)
    assert len(stopped.objectives_) == 3 and np.isfinite(stopped.transform(Y)).all()


@pytest.mark.quick_cases("each")
@pytest.mark.parametrize("noise", [None, "each"])
def test_constant_columns_take_no_part(noise):
    """Thirty constant columns beside two noisy ones change nothing about these.

    They used to take the noise to 0, so that the fit failed or intervals had no width.
    """
    rng = np.random.default_rng(0)
    x, wide = rng.normal(size=(400, 1)), np.zeros(32, dtype=bool)
    wide[[3, 20]] = True
    T = np.tile(rng.normal(size=(1, 32)), (400, 1))
    T[:, wide] = np.c_[np.sin(x), np.cos(x)] + 0.3 * rng.normal(size=(400, 2))
    missing = rng.random(T.shape) < 0.15
    Y = np.where(missing, np.nan, T)
    chosen = {"n_inducing": 15, "max_iter": 20, "random_state": 0}
    chosen |= {} if noise is None else {"noise": "columns"}
    own = None if noise is None else np.full(32, 0.2)
    model = BayesianGPLVM(2, noise_variance=own, **chosen).fit(Y)
    own = None if noise is None else own[wide]
    alone = BayesianGPLVM(2, noise_variance=own, **chosen).fit(Y[:, wide])
    (filled, std), (wanted, wanted_std) = (
        one.impute(rows, return_std=True) for one, rows in ((model, Y), (alone, Y[:, wide]))
    )
    assert np.array_equal(filled[:, wide], wanted)
    assert np.array_equal(std[:, wide], wanted_std)
    assert np.allclose(filled[:, ~wide], T[:, ~wide], rtol=1e-12)
    assert (std[:, ~wide] == np.where(missing[:, ~wide], 1e-3, 0.0)).all()
    assert model.objective_ == alone.objective_
    mean, std = model.inverse_transform(model.embedding_[:5], return_std=True)
    assert mean.shape == std.shape == (5, 32)
    assert np.allclose(mean[:, ~wide], T[:5, ~wide], rtol=1e-12)
    assert np.array_equal(model.mean_[~wide], mean[0, ~wide])
    assert model.scale_.shape == (32,)
    assert np.shape(model.noise_variance_) == (() if noise is None else (32,))
    assert np.isfinite(answers(model.partial_fit(Y[:50]), Y[:10])[-1]).all()


@pytest.mark.parametrize("noise", ["shared", "columns"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_constant_columns_join_when_they_vary(noise, missing):
    """A column that was constant in the first batch is filled in as others once it varies."""
    rng = np.random.default_rng(0)
    Y = np.repeat(table(300), 2, axis=1)[:, ::-1] * np.linspace(1.0, 5.0, 8)
    Y[:100, 3] = Y[:100, 6] = 2.0
    given = np.where(rng.random(Y.shape) < missing, np.nan, Y)
    model = BayesianGPLVM(1, noise=noise, **QUICK).partial_fit(given[:100])
    hidden, wanted = Y[100:].copy(), Y[100:, 3]
    hidden[:, 3] = np.nan
    assert np.ptp(model.impute(hidden)[:, 3]) == 0.0
    model.partial_fit(given[100:])
    filled, std = model.impute(hidden, return_std=True)
    assert np.sqrt(np.mean((filled[:, 3] - wanted) ** 2)) < 0.7 * wanted.std()
    assert (std[:, 3] > 0.01).all() and np.isfinite(model.objective_)
    assert model.mean_[3] == model.mean_[6] == 2.0 and (model.scale_ > 0).all()
    assert np.shape(model.noise_variance_) == (() if noise == "shared" else (8,))
    assert np.isfinite(model.partial_fit(given[:20]).impute(hidden)).all()


@pytest.mark.parametrize("bounds", ["fixed", (1e-6, 1e3)])
def test_given_noise_of_columns_that_were_constant(bounds):
    """It was lost: they had the mean of the others, in the place of what was given."""
    Y, noise = table(200), np.array([0.01, 0.1, 0.3, 0.02])
    Y[:100, 2] = 1.0
    given = {"noise": "columns", "noise_variance": noise, "noise_variance_bounds": bounds}
    model = BayesianGPLVM(1, **given, **QUICK, learning_rate=1e-9)
    model.partial_fit(Y[:100]).partial_fit(Y[100:])
    joined = slice(None) if bounds == "fixed" else slice(2, 3)  # others have learned
    np.testing.assert_allclose(model.noise_variance_[joined], noise[joined], rtol=1e-6)


@pytest.mark.parametrize("kernel", [None, RBF() + WhiteKernel(0.1)])
def test_a_single_column_shares_its_noise_with_none(kernel):
    """Columns that joined it had its noise, although each was to have its own."""
    Y = table(200)
    Y[:100, 1:] = 1.0
    model = BayesianGPLVM(1, kernel=kernel, noise="columns", **QUICK, learning_rate=0.05)
    model.partial_fit(Y[:100])
    Y[::7, 2] = np.nan
    model.partial_fit(Y[100:])
    noise = np.broadcast_to(model.noise_variance_, 4)
    assert len(np.unique(noise)) == (4 if kernel is None else 1)
    assert np.isfinite(answers(model.partial_fit(Y[100:120]), Y[:10])[-1]).all()


@pytest.mark.parametrize("seed", range(3))
def test_first_rows_hold_something(seed):
    """Where 110 of 120 rows are empty, the first five to learn from are among the others."""
    Y, empty = table(120), np.random.default_rng(seed).permutation(120)[:110]
    Y[empty] = np.nan
    chosen = QUICK | {"max_iter": 3, "random_state": seed}
    model = BayesianGPLVM(2, init_size=5, batch_size=50, **chosen).fit(Y)
    assert model.embedding_.shape == (120, 2)
    assert (model.embedding_[empty] == 0.0).all()
    sample = start.sample_rows(Table.of(Y, Scaling.fit(Y, True)), 5, np.random.RandomState(seed))
    assert len(sample) == 5
    assert not np.isin(sample, empty).any()


@pytest.mark.parametrize("far", [1e60, 1e90])
def test_latent_inputs_at_which_a_kernel_is_not_finite(far):
    """They are refused, in small units of the columns and in large ones, with the cure."""
    Y = np.random.default_rng(0).normal(size=(20, 3))
    kernel, small = DotProduct() ** 3, {"n_inducing": 5, "max_iter": 1, "random_state": 0}
    for unit in (1.0, 1e98):
        model = BayesianGPLVM(kernel=kernel, n_jobs=1, **small).fit(unit * Y)
        assert np.isfinite(model.inverse_transform(np.full((1, 2), 1e3))).all()
        with pytest.raises(ValueError, match=r"X must .* kernel is at most .* another unit"):
            model.inverse_transform(np.full((1, 2), far))
