"""AnytimeSGPRegressor keeps what its interface promises: definitions, identities, blocks."""

import itertools
import pickle
from functools import partial

import numpy as np
import pytest
from dense import log_normal
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor

try:
    from sklearn.callback import ScoringMonitor
except ImportError:
    ScoringMonitor = None

NAMES = ("sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic")
MODELS = pytest.mark.parametrize("model", NAMES)
PARTITIONS = pytest.mark.parametrize("partition", ["kmeans", "contiguous", "random"])
KERNEL = 2.0 * RBF([1.0, 2.0])
NOISE = 0.1
LABELS = np.random.default_rng(7).integers(0, 4, 60)  # of the rows of `toy`
WITHOUT_LABELS = "ignore:The model was fitted with labels"
X_TEST = np.random.default_rng(5).uniform(-2.0, 2.0, (9, 2))
TEST_LABELS = np.array([1, 0, 0, 9, 2, 2, 3, 9, 1])  # 9 is not among LABELS


def inducing(m=8):
    """Well apart, so that no digit is lost in their covariance."""
    angle = 2.0 * np.pi * np.arange(m) / m
    return 1.4 * np.column_stack([np.cos(angle), np.sin(angle)])


def fixed(model="pic", **parameters):
    """A regressor that learns nothing but the posterior, for inputs of two columns."""
    defaults = {
        "kernel": KERNEL,
        "optimizer": None,
        "inducing": inducing(),
        "noise_variance": NOISE,
        "solver": "exact",
        "random_state": 0,
    }
    return AnytimeSGPRegressor(model=model, **(defaults | parameters))


def definition(model, X, y, labels, alpha=1.0, X_new=X_TEST, new_labels=TEST_LABELS):
    """Objective, mean (s, t), covariance (s, s, t), dense, as MATH section 1 and 2 have them."""
    Y, n, Z = y.reshape(len(y), -1), len(X), inducing()
    offset, scale = Y.mean(axis=0), Y.std(axis=0)
    Y = (Y - offset) / scale
    both = np.vstack([X, X_new])
    labels = np.concatenate([labels, new_labels])
    K, cross = KERNEL(both), KERNEL(Z, both)
    Q = cross.T @ np.linalg.solve(KERNEL(Z), cross)
    same = labels[:, None] == labels
    keep = {"sor": 0.0, "dtc": 0.0, "vfe": 0.0, "pitc": same, "pic": same}
    prior = Q + alpha * keep.get(model, np.eye(len(both))) * (K - Q)
    Kff = prior[:n, :n] + NOISE * np.eye(n)
    Kfs = (prior if model == "pic" else Q)[:n, n:]
    Kss = {"sor": Q, "fic": prior, "pic": prior}.get(model, K)[n:, n:]
    objective = log_normal(Y, Kff) - n * np.log(scale).sum()
    T = (keep.get(model, np.eye(len(both))) * (K - Q))[:n, :n]
    if model == "vfe":
        objective -= Y.shape[1] * np.trace((K - Q)[:n, :n]) / (2.0 * NOISE)
    elif alpha < 1.0:
        log_det = np.linalg.slogdet(np.eye(n) + alpha * T / NOISE)[1]
        objective -= Y.shape[1] * (1.0 - alpha) / (2.0 * alpha) * log_det
    mean = Kfs.T @ np.linalg.solve(Kff, Y) * scale + offset
    cov = Kss - Kfs.T @ np.linalg.solve(Kff, Kfs) + NOISE * np.eye(len(X_new))
    return objective, mean.reshape(-1, *y.shape[1:]), cov[:, :, None] * scale**2


def assert_same_model(one, other, rtol=1e-9, blocks=None, other_blocks=None):
    """Predictions, joint ones too, and objective agree."""
    other_blocks = blocks if other_blocks is None else other_blocks
    mean, cov = one.predict(X_TEST, return_cov=True, blocks=blocks)
    other_mean, other_cov = other.predict(X_TEST, return_cov=True, blocks=other_blocks)
    assert_allclose(other_mean, mean, rtol=rtol, atol=rtol)
    assert_allclose(other_cov, cov, rtol=rtol, atol=rtol)
    std = one.predict_std(X_TEST, blocks=blocks)
    assert_allclose(other.predict_std(X_TEST, blocks=other_blocks), std, rtol=rtol)
    assert_allclose(other.objective_, one.objective_, rtol=rtol)


def exact_predictions(X, y):
    """Mean, std and covariance of scikit-learn's exact GP with the fixed kernel."""
    exact = GaussianProcessRegressor(KERNEL + WhiteKernel(NOISE), optimizer=None, normalize_y=True)
    mean, std = exact.fit(X, y).predict(X_TEST, return_std=True)
    evidence = exact.log_marginal_likelihood_value_ - len(y) * np.log(y.std())
    return mean, std, exact.predict(X_TEST, return_cov=True)[1], evidence


# Definitions


@MODELS
@pytest.mark.parametrize("solver", ["exact", "anytime"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_predictions_and_objective_are_the_definitions(toy_outputs, model, solver, outputs):
    """Mean, std, joint covariance and objective are the dense formulas for given labels."""
    X, y = toy_outputs
    y = y[:, 0] if outputs == 1 else y
    objective, mean, cov = definition(model, X, y, LABELS)
    ours = fixed(model, solver=solver).fit(X, y, blocks=LABELS)
    assert_allclose(ours.objective_, objective, rtol=1e-8)
    assert_allclose(ours.predict(X_TEST, blocks=TEST_LABELS), mean, rtol=1e-7)
    got_mean, got_cov = ours.predict(X_TEST, return_cov=True, blocks=TEST_LABELS)
    assert_allclose(got_mean, mean, rtol=1e-7)
    cov = cov if outputs == 2 else cov[..., 0]
    assert_allclose(got_cov, cov, rtol=1e-7, atol=1e-9 * np.abs(cov).max())
    std = np.sqrt(np.diagonal(cov).T)
    assert_allclose(ours.predict(X_TEST, return_std=True, blocks=TEST_LABELS)[1], std, rtol=1e-7)
    assert_allclose(ours.predict_std(X_TEST, blocks=TEST_LABELS), std, rtol=1e-7)
    latent = ours.predict_std(X_TEST, include_noise=False, blocks=TEST_LABELS)
    noise = NOISE * np.asarray(ours.y_scale_) ** 2
    assert_allclose(latent**2, std**2 - noise, rtol=1e-6, atol=1e-9 * std.max() ** 2)


@pytest.mark.parametrize("model", ["fitc", "fic", "pitc"])
@pytest.mark.parametrize("alpha", [0.3, 0.9])
def test_powers_between_are_power_ep(toy, model, alpha):
    """alpha_divergence is the power of the factors, and objective_ the Power-EP energy."""
    ours = fixed(model, alpha_divergence=alpha).fit(*toy, blocks=LABELS)
    objective, mean, cov = definition(model, *toy, LABELS, alpha)
    if model == "fic":  # only the factors take the power, not the test conditional
        cov = np.einsum("ii...->i...", definition("fitc", *toy, LABELS, alpha)[2])
        std = np.sqrt(cov[..., 0])
    else:
        std = np.sqrt(np.diagonal(cov[..., 0]))
    assert_allclose(ours.objective_, objective, rtol=1e-8)
    assert_allclose(ours.predict(X_TEST), mean, rtol=1e-7)
    assert_allclose(ours.predict_std(X_TEST), std, rtol=1e-7)


@pytest.mark.parametrize("model", ["fitc", "pitc"])
def test_power_zero_is_vfe(toy, model):
    """With alpha_divergence=0 the blocks drop out and the model is VFE."""
    zero = fixed(model, alpha_divergence=0.0).fit(*toy, blocks=LABELS)
    assert_same_model(fixed("vfe").fit(*toy), zero)


def test_objective_increases_with_the_power(toy):
    """Power-EP energies lie in order between VFE and PITC."""
    values = [
        fixed("pitc", alpha_divergence=alpha).fit(*toy, blocks=LABELS).objective_
        for alpha in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    assert (np.diff(values) > 0).all()


# Identities


@pytest.mark.parametrize("m", [1, 3, 12])
@pytest.mark.parametrize("solver", ["exact", "anytime"])
@PARTITIONS
def test_pic_with_one_block_is_the_exact_gp(toy, m, solver, partition):
    """With one block Z plays no role: scikit-learn's GaussianProcessRegressor comes out."""
    mean, std, cov, evidence = exact_predictions(*toy)
    model = fixed(inducing=inducing(m), n_blocks=1, solver=solver, partition=partition).fit(*toy)
    assert model.n_blocks_ == 1
    assert_allclose(model.predict(X_TEST), mean, rtol=1e-6)
    assert_allclose(model.predict_std(X_TEST), std, rtol=1e-6)
    got = model.predict(X_TEST, return_cov=True)[1]
    assert_allclose(got, cov, rtol=1e-6, atol=1e-8 * cov.max())
    assert_allclose(model.objective_, evidence, rtol=1e-6)


@MODELS
@pytest.mark.parametrize("per_step", [1, 3])
def test_an_epoch_of_average_is_the_closed_form(toy, model, per_step):
    """The anytime solver with schedule="average" ends at what the exact solver gives."""
    exact = fixed(model).fit(*toy, blocks=LABELS)
    anytime = fixed(model, solver="anytime", blocks_per_step=per_step).fit(*toy, blocks=LABELS)
    assert anytime.n_steps_ == -(-4 // per_step) and exact.n_steps_ == 0
    assert anytime.n_iter_ == exact.n_iter_ == 1
    assert_same_model(exact, anytime, blocks=TEST_LABELS)


def test_pitc_of_single_rows_is_fitc(toy):
    """With more blocks than rows every row is a block, and PITC is FITC."""
    for partition in ("kmeans", "contiguous", "random"):
        pitc = fixed("pitc", n_blocks=1000, partition=partition).fit(*toy)
        assert pitc.n_blocks_ == 60
        assert_same_model(fixed("fitc").fit(*toy), pitc)


@pytest.mark.parametrize(("one", "other"), [("sor", "dtc"), ("fitc", "fic"), ("pitc", "pic")])
def test_models_that_share_their_training(toy, one, other):
    """SoR and DTC, FITC and FIC, PITC and PIC have one objective."""
    one, other = (fixed(name).fit(*toy, blocks=LABELS) for name in (one, other))
    assert_allclose(one.objective_, other.objective_, rtol=1e-12)


def test_a_mixture_adds_log_factors(toy):
    """With halves of DTC and FITC the information about u is the mean of theirs."""
    X, y = toy
    Z, scaled = inducing(), (y - y.mean()) / y.std()
    Kuu, Kuf = KERNEL(Z), KERNEL(Z, X)
    T = KERNEL.diag(X) - np.sum(Kuf * np.linalg.solve(Kuu, Kuf), axis=0)
    precision = 0.5 / NOISE + 0.5 / (NOISE + T)
    u = Kuu @ np.linalg.solve(Kuu + Kuf * precision @ Kuf.T, Kuf @ (precision * scaled))
    mean = y.mean() + y.std() * KERNEL(X_TEST, Z) @ np.linalg.solve(Kuu, u)
    mixture = fixed([("dtc", 0.5), ("fitc", 0.5)]).fit(X, y)
    assert_allclose(mixture.predict(X_TEST), mean, rtol=1e-7)


# Labels


@PARTITIONS
@pytest.mark.parametrize("model", ["pitc", "pic"])
def test_labels_of_the_partition_give_the_same(toy, model, partition):
    """Labels that equal the partition's own give the same model."""
    X, y = toy
    own = fixed(model, n_blocks=4, partition=partition).fit(X, y)
    blocks, where = own._blocks, {tuple(row): i for i, row in enumerate(X)}
    labels = np.empty(len(X), dtype=int)
    for k in range(len(blocks)):
        labels[[where[tuple(row)] for row in blocks(k).X]] = k
    given = fixed(model).fit(X, y, blocks=labels)
    assert own.n_blocks_ == given.n_blocks_ == labels.max() + 1 > 1
    test_labels = own._partition.assign(X_TEST)
    mean, std = own.predict(X_TEST, return_std=True)
    again, again_std = given.predict(X_TEST, return_std=True, blocks=test_labels)
    assert_allclose(again, mean, rtol=1e-9)
    assert_allclose(again_std, std, rtol=1e-9)
    assert_allclose(given.objective_, own.objective_, rtol=1e-9)


def test_a_clusterer_is_a_partition(toy):
    """A clusterer puts training and test rows into blocks by its predict, on scaled inputs."""
    X, y = toy
    own = fixed(partition=KMeans(3, n_init=1, random_state=0)).fit(X, y)
    assert own.n_blocks_ == 3
    rows = {tuple(row): k for k in range(3) for row in own._blocks(k).X}
    labels = np.array([rows[tuple(row)] for row in X])
    assert_array_equal(own._partition.assign(X), labels)
    given = fixed().fit(X, y, blocks=labels)
    test_labels = own._partition.assign(X_TEST)
    assert_allclose(given.predict(X_TEST, blocks=test_labels), own.predict(X_TEST), rtol=1e-9)


@PARTITIONS
@pytest.mark.parametrize("block_size", [1, 7, 25])
def test_no_block_is_too_large(toy, partition, block_size):
    """No block has more than 1.5 times block_size rows, and all rows are in one."""
    ours = fixed(block_size=block_size, partition=partition).fit(*toy)
    sizes = [len(ours._blocks(k)) for k in range(ours.n_blocks_)]
    assert sum(sizes) == 60 and max(sizes) <= 1.5 * block_size


@pytest.mark.parametrize("names", [["south", "n", "east", "w"], [-5, 1000, 7, 12], [3, 2, 1, 0]])
@pytest.mark.parametrize("kind", [np.array, list, lambda a: np.array(a, dtype=object)])
@MODELS
def test_names_of_labels_do_not_matter(toy, model, names, kind):
    """Strings, objects and integers with gaps, in any order, are labels as good as 0 to 3."""
    plain = fixed(model).fit(*toy, blocks=LABELS)
    named = fixed(model).fit(*toy, blocks=kind([names[k] for k in LABELS]))
    assert named.n_blocks_ == plain.n_blocks_
    unseen = "a label that is longer" if isinstance(names[0], str) else 99
    test = kind([names[k] if k < 4 else unseen for k in TEST_LABELS])
    assert_same_model(plain, named, blocks=TEST_LABELS, other_blocks=test)


@pytest.mark.filterwarnings(WITHOUT_LABELS)
def test_an_unseen_label_is_pitc(toy):
    """Test rows of a block without training rows, or of none, have PITC's prediction."""
    pitc, pic = (fixed(name).fit(*toy, blocks=LABELS) for name in ("pitc", "pic"))
    mean, cov = pitc.predict(X_TEST, return_cov=True)
    for blocks in (np.full(9, 77), None):
        got, got_cov = pic.predict(X_TEST, return_cov=True, blocks=blocks)
        assert_allclose(got, mean, rtol=1e-12)
        assert_allclose(got_cov, cov, rtol=1e-9, atol=1e-12)
        std = pic.predict_std(X_TEST, blocks=blocks)
        assert_allclose(std, pitc.predict_std(X_TEST), rtol=1e-12)


def test_every_predicting_method_takes_blocks(toy):
    """Quantiles, densities, draws and score rest on the prediction for the same blocks."""
    X, y = toy
    model = fixed().fit(X, y, blocks=LABELS)
    mean, std = model.predict(X, return_std=True, blocks=LABELS)
    quantiles = model.predict_quantiles(X, [0.5], blocks=LABELS)
    assert_allclose(quantiles[:, 0], mean, rtol=1e-12)
    density = -0.5 * ((y - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2.0 * np.pi)
    assert_allclose(model.log_density(X, y, blocks=LABELS), density, rtol=1e-9)
    r2 = 1.0 - np.sum((y - mean) ** 2) / np.sum((y - y.mean()) ** 2)
    assert_allclose(model.score(X, y, blocks=LABELS), r2, rtol=1e-9)
    draws = model.sample_y(X, 2000, blocks=LABELS)
    assert np.abs((draws.mean(axis=1) - mean) / std).max() < 5.0 / np.sqrt(2000)
    assert_allclose(draws.std(axis=1), std, rtol=0.1)
    paths = partial(model.sample_y, X, method="pathwise", blocks=LABELS)
    for draw in (paths, model.sample_functions):
        with pytest.raises(ValueError, match="joint"):
            draw()


# Robbins-Monro


@MODELS
def test_robbins_monro_ends_near_the_closed_form(toy, model):
    """Ten epochs of the paper's steps end with finite results that fit the data."""
    X, y = toy
    ours = fixed(model, solver="anytime", schedule="robbins-monro", step_size=0.5, max_iter=10)
    ours.fit(X, y, blocks=LABELS)
    assert ours.n_steps_ == 40 and ours.n_iter_ == 10
    mean, std = ours.predict(X, return_std=True, blocks=LABELS)
    assert np.isfinite(mean).all() and (std > 0).all() and np.isfinite(ours.objective_)
    assert ours.score(X, y, blocks=LABELS) > 0.8


@pytest.mark.parametrize("schedule", ["average", "robbins-monro"])
@pytest.mark.parametrize("max_steps", [1, 3])
def test_max_steps(toy, schedule, max_steps):
    """The anytime solver stops after so many steps, with a posterior that predicts."""
    ours = fixed(solver="anytime", schedule=schedule, max_steps=max_steps).fit(*toy, blocks=LABELS)
    assert ours.n_steps_ == max_steps and ours.n_iter_ >= 1
    mean, std = ours.predict(X_TEST, return_std=True, blocks=TEST_LABELS)
    assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()


def test_a_full_step_over_one_block_is_the_closed_form(toy):
    """With step_size=1, no decay and one block, Robbins-Monro is exact at once."""
    ours = fixed("pitc", solver="anytime", schedule="robbins-monro", n_blocks=1, max_iter=2)
    ours.set_params(step_size=1.0, step_decay=0.0, step_power=1.0).fit(*toy)
    assert_same_model(fixed("pitc", n_blocks=1).fit(*toy), ours)


# Weights and outputs


@MODELS
@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("solver", ["exact", "anytime"])
def test_weights_are_repetitions(toy, model, labelled, solver):
    """Weight 2 is the row twice in its block, and weight 0 no row."""
    X, y = toy
    weight = np.random.default_rng(4).integers(0, 4, 60)
    some = LABELS if labelled else None
    again = LABELS.repeat(weight) if labelled else None
    test = TEST_LABELS if labelled else None
    ours = fixed(model, solver=solver, n_blocks=3)
    weighted = clone(ours).fit(X, y, sample_weight=weight, blocks=some)
    repeated = clone(ours).fit(X.repeat(weight, axis=0), y.repeat(weight), blocks=again)
    assert_same_model(repeated, weighted, rtol=1e-7, blocks=test)
    assert weighted.n_samples_seen_ == np.count_nonzero(weight)
    keep = weight > 0
    kept = clone(ours).fit(
        X[keep], y[keep], weight[keep], blocks=LABELS[keep] if labelled else None
    )
    assert_same_model(kept, weighted, blocks=test)


def test_a_block_of_weight_zero_is_no_block(toy):
    """A label whose rows all weigh nothing was never seen."""
    weight = (LABELS != 2).astype(float)
    model = fixed().fit(*toy, weight, blocks=LABELS)
    assert model.n_blocks_ == 3
    got = model.predict(X_TEST, blocks=np.full(9, 2))
    assert_allclose(got, model.predict(X_TEST, blocks=np.full(9, 77)), rtol=1e-12)


@MODELS
def test_each_output_is_a_model_of_its_own(toy_outputs, model):
    """With a fixed kernel several outputs are as many independent models, objectives summed."""
    X, y = toy_outputs
    both = fixed(model).fit(X, y, blocks=LABELS)
    apart = [fixed(model).fit(X, column, blocks=LABELS) for column in y.T]
    for predict in ("predict", "predict_std"):
        columns = [getattr(m, predict)(X_TEST, blocks=TEST_LABELS) for m in apart]
        ours = getattr(both, predict)(X_TEST, blocks=TEST_LABELS)
        assert_allclose(ours, np.column_stack(columns), rtol=1e-9)
    assert_allclose(both.objective_, sum(m.objective_ for m in apart), rtol=1e-9)
    assert both.predict(X_TEST, return_cov=True, blocks=TEST_LABELS)[1].shape == (9, 9, 2)
    assert both.predict_quantiles(X_TEST, blocks=TEST_LABELS).shape == (9, 2, 3)
    assert both.sample_y(X_TEST, 4, blocks=TEST_LABELS).shape == (9, 2, 4)


# Repeatability and representations


@MODELS
@pytest.mark.parametrize("solver", ["exact", "anytime"])
def test_any_number_of_jobs_agrees(toy, model, solver):
    """n_jobs=1 and 2 give the same model, and the same predictions."""
    ours = fixed(model, solver=solver, blocks_per_step=2)
    one, two = (clone(ours).set_params(n_jobs=n).fit(*toy, blocks=LABELS) for n in (1, 2))
    assert_same_model(one, two, rtol=1e-12, blocks=TEST_LABELS)


def test_same_seed_same_model(toy):
    """The same random_state gives the same bits, through learning as well."""
    model = AnytimeSGPRegressor(n_inducing=5, n_blocks=3, max_iter=2, random_state=3)
    one, other = clone(model).fit(*toy), clone(model).fit(*toy)
    assert_array_equal(one.predict(X_TEST), other.predict(X_TEST))
    assert one.objective_ == other.objective_


@MODELS
def test_float32_and_layout(toy, model):
    """float32 and Fortran-ordered inputs, in fit, in predict or both, give the same model."""
    X, y = toy
    X32, test32 = X.astype(np.float32), X_TEST.astype(np.float32)
    X64, test64 = X32.astype(np.float64), test32.astype(np.float64)
    reference = fixed(model, n_blocks=3).fit(X64, y)
    mean, std = reference.predict(test64, return_std=True)
    cov = reference.predict(test64, return_cov=True)[1]
    layouts = (X32, X64, np.asfortranarray(X64))
    tests = (test32, test64, np.asfortranarray(test64))
    for rows, test in itertools.product(layouts, tests):
        ours = fixed(model, n_blocks=3).fit(rows, y)
        got, got_std = ours.predict(test, return_std=True)
        assert got.dtype == got_std.dtype == np.float64
        # the kernel between two float32 arrays may be taken in float32
        assert_allclose(got, mean, rtol=1e-6)
        assert_allclose(got_std, std, rtol=1e-6)
        got_cov = ours.predict(test, return_cov=True)[1]
        assert_allclose(got_cov, cov, rtol=1e-5, atol=1e-6 * cov.max())


@pytest.mark.parametrize("model", ["vfe", "pic"])
def test_memory_maps(toy, tmp_path, model):
    """A read-only float32 memory map gives what the same numbers give in memory."""
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=(60, 2))
    X[:] = toy[0]
    X.flush()
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=(60, 2))
    for blocks in (None, LABELS):
        mapped = fixed(model, n_blocks=3).fit(X, toy[1], blocks=blocks)
        plain = fixed(model, n_blocks=3).fit(np.array(X), toy[1], blocks=blocks)
        assert_array_equal(mapped.predict(X, blocks=blocks), plain.predict(X, blocks=blocks))
        loaded = pickle.loads(pickle.dumps(mapped))
        assert_array_equal(loaded.predict(X, blocks=blocks), plain.predict(X, blocks=blocks))


# Learning


@pytest.fixture
def local(rng):
    """300 rows of a smooth function with a fast wave on it: X (300, 1) and y (300,)."""
    X = rng.uniform(0.0, 10.0, (300, 1))
    wave = 0.7 * np.sin(15.0 * X[:, 0])
    return X, np.sin(0.6 * X[:, 0]) + wave + 0.1 * rng.standard_normal(300)


@MODELS
def test_learning_raises_the_objective(wave, model):
    """Learning ends above the objective of the starting values, and its trace is complete."""
    X, y = wave[0][:150], wave[1][:150]
    start = AnytimeSGPRegressor(model=model, optimizer=None, n_inducing=8, n_blocks=4)
    start.set_params(random_state=0, max_iter=10).fit(X, y)
    ours = clone(start).set_params(optimizer="auto").fit(X, y)
    assert ours.objective_ > start.objective_ + 10.0
    assert ours.objectives_[-1] == ours.objective_
    assert len(ours.objectives_) == len(ours.fit_times_)
    assert (np.diff(ours.fit_times_) > 0).all()
    assert ours.score(X, y) > 0.9


# Errors


def interrupt(patch, target, count, error):
    """Let a function or method of the package raise at the call number ``count``."""
    import importlib

    package, module, *path, name = target.split(".")
    owner = importlib.import_module(f"sklearn_sgp.{package}.{module}")
    for part in path:
        owner = getattr(owner, part)
    function, calls = getattr(owner, name), itertools.count(1)

    def interrupted(*args, **kwargs):
        if next(calls) == count:
            raise error
        return function(*args, **kwargs)

    patch.setattr(owner, name, interrupted)


def assert_unchanged(model, before):
    now = vars(model)
    assert set(now) == set(before)
    assert all(now[name] is before[name] for name in before)


STAGES = [
    ("blocks.hyperparameters.block_evidence", 2, {"optimizer": "auto"}),
    ("blocks.solver.factor_sums", 1, {}),
    ("blocks.solver.evidence", 1, {}),
    ("estimators.learned.choose_inducing", 1, {}),
    ("estimators.learned_regression.join_noise", 1, {}),
]
ANYTIME = [
    ("blocks.natural_gradient.Ascent.step", 2, {"solver": "anytime"}),
    ("blocks.stochastic.factor_gradient", 2, {"solver": "anytime", "optimizer": "adam"}),
]


@pytest.mark.parametrize(
    ("error", "stage"),
    [*itertools.product((KeyboardInterrupt, ValueError), STAGES)]
    + [*itertools.product((ValueError, MemoryError), ANYTIME)],
    ids=lambda value: value.__name__ if isinstance(value, type) else value[0],
)
@pytest.mark.parametrize("labels", [None, LABELS], ids=["partition", "labels"])
def test_a_fit_that_fails_leaves_the_estimator(toy, monkeypatch, error, stage, labels):
    """An error anywhere leaves a fresh estimator unfitted and a fitted one as it was."""
    target, count, parameters = stage
    model = fixed(inducing="random", n_inducing=5, n_blocks=4, max_iter=3)
    model.set_params(**parameters)
    fresh, fitted = clone(model), clone(model).fit(*toy, blocks=labels)
    placed = None if labels is None else labels[: len(X_TEST)]
    mean = fitted.predict(X_TEST, blocks=placed)
    for ours in (fresh, fitted):
        before = vars(ours).copy()
        with monkeypatch.context() as patch:
            interrupt(patch, target, count, error)
            with pytest.raises(error):
                ours.fit(toy[0][:50], toy[1][:50], blocks=None if labels is None else labels[:50])
        assert_unchanged(ours, before)
    assert_array_equal(fitted.predict(X_TEST, blocks=placed), mean)
    assert_array_equal(fresh.fit(*toy, blocks=labels).predict(X_TEST, blocks=placed), mean)


def test_labels_of_another_kind_than_in_fit(toy):
    """Strings where fit had integers are refused, and the other way round."""
    names = LABELS.astype(str)
    for labels, other in [(LABELS, names), (names, LABELS)]:
        with pytest.raises(ValueError, match="blocks must hold labels like those of fit"):
            fixed().fit(*toy, blocks=labels).predict(toy[0], blocks=other)


def test_predicting_without_the_labels_of_fit_is_said(toy):
    """PIC then leaves out the rows of a block; the other models do not need the labels."""
    with pytest.warns(UserWarning, match="fitted with labels of blocks"):
        fixed(model="pic").fit(*toy, blocks=LABELS).predict(toy[0])
    fixed(model="pitc").fit(*toy, blocks=LABELS).predict(toy[0])


@MODELS
def test_blocks_only_where_fit_had_them(toy, model):
    """Labels for predict or partial_fit are refused if fit had none, and missed if it had."""
    ours = fixed(model, n_blocks=3).fit(*toy)
    for method in (ours.predict, ours.predict_std, ours.predict_quantiles):
        with pytest.raises(ValueError, match="blocks must be given to fit"):
            method(toy[0], blocks=LABELS)
    with pytest.raises(ValueError, match="blocks must be given to fit"):
        ours.partial_fit(*toy, blocks=LABELS)
    with pytest.raises(ValueError, match="blocks must be given, as they were"):
        fixed(model).fit(*toy, blocks=LABELS).partial_fit(*toy)


@MODELS
def test_one_enormous_block(toy, model):
    """block_size and blocks_per_step far beyond the rows mean one block of all."""
    ours = fixed(model, block_size=10**9, blocks_per_step=10**6, solver="anytime").fit(*toy)
    assert ours.n_blocks_ == ours.n_steps_ == 1
    assert_same_model(fixed(model, n_blocks=1).fit(*toy), ours)


@pytest.mark.parametrize("model", ["pitc", "pic"])
@PARTITIONS
def test_degenerate_data(model, partition):
    """One row, equal rows and constant y work, with finite predictions."""
    X = np.tile([[0.5, -1.0]], (12, 1))
    for rows, y in [(X[:1], [3.0]), (X, np.arange(12.0)), (X_TEST, np.ones(9))]:
        ours = fixed(model, block_size=4, partition=partition).fit(rows, y)
        mean, std = ours.predict(X_TEST, return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()


def test_nothing_predicts_before_fit():
    """Every predicting method says that the estimator is not fitted."""
    model = AnytimeSGPRegressor()
    for method in (model.predict, model.predict_std, model.predict_quantiles, model.sample_y):
        with pytest.raises(NotFittedError):
            method(X_TEST, blocks=TEST_LABELS)
    with pytest.raises(NotFittedError):
        model.sample_functions()


# More rows


@MODELS
@pytest.mark.parametrize("splits", [(30,), (20, 21, 50)])
def test_partial_fit_in_any_split_equals_fit(toy, model, splits):
    """Batches give what one fit of all rows gives, where nothing is learned."""
    X, y = toy
    ours = fixed(model, normalize_y=(0.3, 2.0), noise_variance=NOISE)
    whole = clone(ours).fit(X, y, blocks=LABELS)
    order = np.random.default_rng(2).permutation(60)
    for part in np.split(order, splits):
        ours.partial_fit(X[part], y[part], blocks=LABELS[part])
    assert ours.n_samples_seen_ == 60
    assert_same_model(whole, ours, rtol=1e-7, blocks=TEST_LABELS)


@MODELS
def test_partial_fit_weighs_rows(toy, model):
    """Weights of a later batch count as in fit, weight 0 as no row."""
    X, y = toy
    weight = np.random.default_rng(4).integers(0, 4, 60).astype(float)
    ours = fixed(model, normalize_y=(0.3, 2.0))
    whole = clone(ours).fit(X, y, weight, blocks=LABELS)
    for part in (slice(25), slice(25, None)):
        ours.partial_fit(X[part], y[part], weight[part], blocks=LABELS[part])
    assert_same_model(whole, ours, rtol=1e-7, blocks=TEST_LABELS)


@PARTITIONS
def test_partial_fit_puts_rows_where_the_partition_does(toy, partition):
    """Later rows join the blocks that the first batch's partition finds for them."""
    X, y = toy
    ours = fixed(n_blocks=3, partition=partition, normalize_y=(0.0, 1.0)).fit(X[:40], y[:40])
    labels = np.concatenate([ours._partition.assign(X[:40]), ours._partition.assign(X[40:])])
    where = {tuple(row): k for k in range(3) for row in ours._blocks(k).X}
    labels[:40] = [where[tuple(row)] for row in X[:40]]
    test_labels = ours._partition.assign(X_TEST)
    ours.partial_fit(X[40:], y[40:])
    given = fixed(normalize_y=(0.0, 1.0)).fit(X, y, blocks=labels)
    got = ours.predict(X_TEST, return_std=True)
    expected = given.predict(X_TEST, return_std=True, blocks=test_labels)
    assert_allclose(got, expected, rtol=1e-7)


def test_partial_fit_after_part_of_an_epoch(toy):
    """A few steps, then more rows of any block: the posterior stays one."""
    X, y = toy
    for seed in range(5):
        ours = fixed("pitc", solver="anytime", max_steps=1, random_state=seed)
        ours.fit(X[:40], y[:40], blocks=LABELS[:40]).partial_fit(X[40:], y[40:], blocks=LABELS[40:])
        mean, std = ours.predict(X_TEST, return_std=True, blocks=TEST_LABELS)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()


def test_a_partial_fit_that_fails_leaves_the_estimator(toy, monkeypatch):
    """An error in a later batch changes nothing, and the next batch is as if it had not been."""
    X, y = toy
    ours = fixed().fit(X[:40], y[:40], blocks=LABELS[:40])
    again = pickle.loads(pickle.dumps(ours))
    before = vars(ours).copy()
    for count, error in itertools.product((1, 2), (KeyboardInterrupt, MemoryError)):
        with monkeypatch.context() as patch:
            interrupt(patch, "blocks.solver.factor_sums", count, error)
            with pytest.raises(error):
                ours.partial_fit(X[40:], y[40:], blocks=LABELS[40:])
        assert_unchanged(ours, before)
    with pytest.raises(ValueError, match="NaN"):
        ours.partial_fit(np.full((2, 2), np.nan), y[:2], blocks=LABELS[:2])
    assert_unchanged(ours, before)
    for model in (ours, again):
        model.partial_fit(X[40:], y[40:], blocks=LABELS[40:])
    assert_same_model(ours, again, blocks=TEST_LABELS)


def test_an_interrupted_anytime_fit_keeps_its_last_step(toy, monkeypatch):
    """Ctrl-C in the third step leaves, and raises, with the posterior after two steps."""
    model = fixed(solver="anytime")
    two = clone(model).set_params(max_steps=2).fit(*toy, blocks=LABELS)
    for ours in (clone(model), clone(model).fit(*toy)):
        with monkeypatch.context() as patch:
            interrupt(patch, "blocks.natural_gradient.factor_sums", 3, KeyboardInterrupt)
            with pytest.raises(KeyboardInterrupt):
                ours.fit(*toy, blocks=LABELS)
        assert ours.n_steps_ == 2
        assert_same_model(two, ours, blocks=TEST_LABELS)


def test_a_budget_too_short_for_all_blocks_warns(toy, monkeypatch):
    """The exact solver then scales up the blocks that it had time for."""
    monkeypatch.setattr("sklearn_sgp.blocks.solver._SLACK_SECONDS", 0.0)
    X, y = np.tile(toy[0], (40, 1)), np.tile(toy[1], 40)
    labels = np.arange(len(X)) // 120
    ours = fixed("fitc", max_time=1e-6)
    with pytest.warns(ConvergenceWarning, match="no time for all 20 blocks"):
        ours.fit(X, y, blocks=labels)
    whole = fixed("fitc").fit(X, y, blocks=labels)
    assert_allclose(ours.predict(X_TEST), whole.predict(X_TEST), atol=0.5 * y.std())


# Pickles and caches


@MODELS
@pytest.mark.parametrize("labels", [None, LABELS], ids=["partition", "labels"])
def test_pickle_and_clone(toy, model, labels):
    """A pickle predicts the same bits and goes on alike; a clone is not fitted."""
    ours = fixed(model, n_blocks=3).fit(*toy, blocks=labels)
    blocks = None if labels is None else TEST_LABELS
    mean, std = ours.predict(X_TEST, return_std=True, blocks=blocks)
    again = pickle.loads(pickle.dumps(ours))
    got, got_std = again.predict(X_TEST, return_std=True, blocks=blocks)
    assert_array_equal(got, mean)
    assert_array_equal(got_std, std)
    more = None if labels is None else TEST_LABELS
    for one in (ours, again):
        one.partial_fit(X_TEST, np.sin(X_TEST[:, 0]), blocks=more)
    assert_array_equal(again.predict(X_TEST, blocks=blocks), ours.predict(X_TEST, blocks=blocks))
    assert not hasattr(clone(ours), "kernel_")


def test_predictions_twice_are_from_the_cache(toy, monkeypatch):
    """A block that was predicted in is not factorised again, until its rows change."""
    X, y = toy
    ours = fixed().fit(X, y, blocks=LABELS)
    first = ours.predict(X_TEST, blocks=TEST_LABELS)
    with monkeypatch.context() as patch:
        interrupt(patch, "gp.conditionals.make_block", 1, AssertionError)
        assert_array_equal(ours.predict(X_TEST, blocks=TEST_LABELS), first)
    ours.partial_fit(X_TEST, first + 1.0, blocks=TEST_LABELS)
    assert (ours.predict(X_TEST, blocks=TEST_LABELS) > first).all()


@pytest.mark.parametrize("model", ["sor", "dtc", "vfe", "fitc", "fic"])
def test_only_models_of_whole_blocks_need_their_rows(toy, model):
    """Predictions of the others do not change if the rows are gone."""
    ours = fixed(model).fit(*toy)
    mean, std = ours.predict(X_TEST, return_std=True)
    ours._blocks.rows.X[:], ours._blocks.rows.y[:] = np.nan, np.nan
    assert_array_equal(ours.predict(X_TEST, return_std=True), (mean, std))


# Mixtures


@MODELS
def test_a_mixture_of_one_is_the_model(toy, model):
    """Weight 1, or weights of one model that sum to 1, change nothing."""
    plain = fixed(model).fit(*toy, blocks=LABELS)
    for pairs in ([(model, 1.0)], [(model, 0.25), (model, 0.75)]):
        mixed = fixed(pairs).fit(*toy, blocks=LABELS)
        assert_same_model(plain, mixed, blocks=TEST_LABELS)


def test_weights_may_be_negative_as_long_as_there_is_a_posterior(toy):
    """2 DTC - FITC has a posterior, since DTC's information is the larger; 6 FITC - 5 DTC none."""
    ours = fixed([("dtc", 2.0), ("fitc", -1.0)]).fit(*toy)
    mean, std = ours.predict(X_TEST, return_std=True)
    assert np.isfinite(mean).all() and (std > 0).all()
    for solver in ("exact", "anytime"):
        worse = fixed([("fitc", 6.0), ("dtc", -5.0)], solver=solver, inducing=inducing(3))
        with pytest.raises(ValueError, match="positive definite"):
            worse.fit(*toy)
        assert not hasattr(worse, "kernel_")


# Parameters


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"model": "svgp"}, "'model' parameter"),
        ({"model": [("dtc", 0.5), ("fitc", 0.4)]}, "weights that sum to 1"),
        ({"model": [("dtc", 0.5), ("pic", 0.5)]}, "one test conditional"),
        ({"model": [("dtc", "half"), ("fitc", 0.5)]}, "'model' parameter"),
        ({"model": []}, "'model' parameter"),
        ({"model": "vfe", "alpha_divergence": 0.5}, "'alpha_divergence' parameter"),
        ({"alpha_divergence": 0.5}, "'alpha_divergence' parameter"),
        ({"alpha_divergence": 1.5, "model": "fitc"}, "'alpha_divergence' parameter"),
        ({"solver": "newton"}, "'solver' parameter"),
        ({"n_blocks": 0}, "'n_blocks' parameter"),
        ({"block_size": 0}, "'block_size' parameter"),
        ({"partition": "ward"}, "'partition' parameter"),
        ({"blocks_per_step": 0}, "'blocks_per_step' parameter"),
        ({"schedule": "adam"}, "'schedule' parameter"),
        ({"step_size": 0.0}, "'step_size' parameter"),
        ({"step_power": 0.4}, "'step_power' parameter"),
        ({"step_decay": -1.0}, "'step_decay' parameter"),
    ],
)
def test_parameters_that_cannot_be(toy, parameters, match):
    """The message names the parameter, and nothing was fitted."""
    ours = fixed(**({"model": "pic"} | parameters))
    with pytest.raises(ValueError, match=match):
        ours.fit(*toy)
    assert not hasattr(ours, "kernel_")


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (LABELS[:50], "one label for each of the 60 rows"),
        (np.column_stack([LABELS, LABELS]), "one label for each of the 60 rows"),
        (LABELS + 0.5, "integers or strings"),
        (np.full(60, np.nan), "integers or strings"),
        (LABELS.astype("M8[D]"), "integers or strings"),
        (7, "one label for each of the 60 rows"),
    ],
)
def test_labels_that_cannot_be(toy, labels, match):
    """Labels of the wrong length or kind are refused by fit, partial_fit and predict."""
    with pytest.raises(ValueError, match=match):
        fixed().fit(*toy, blocks=labels)
    ours = fixed().fit(*toy, blocks=LABELS)
    for method in (ours.predict, ours.predict_std, ours.predict_quantiles):
        with pytest.raises(ValueError, match=match):
            method(toy[0], blocks=labels)
    with pytest.raises(ValueError, match=match):
        ours.partial_fit(*toy, blocks=labels)


def test_a_block_that_is_too_large_is_refused(toy, monkeypatch):
    """A block whose covariance would not fit into memory ends with a clear error."""
    monkeypatch.setattr("sklearn_sgp.blocks.solver.LARGEST_BLOCK", 20)
    for model in ("pitc", "pic"):
        with pytest.raises(ValueError, match="Got one of 60: split it"):
            fixed(model).fit(*toy, blocks=np.zeros(60, dtype=int))
    fixed("fitc").fit(*toy, blocks=np.zeros(60, dtype=int))


def test_contiguous_blocks_are_runs_of_rows_as_given(toy):
    """The order of the rows is theirs, repeated rows and weights of zero or not."""
    X, y = np.tile(toy[0], (2, 1)), np.tile(toy[1], 2)
    weight = np.ones(120)
    weight[::10] = 0.0
    ours = fixed(partition="contiguous", n_blocks=6).fit(X, y, weight)
    kept = weight > 0
    labels = np.arange(kept.sum()) * 6 // kept.sum()
    for k in range(6):
        assert_array_equal(ours._blocks(k).X, X[kept][labels == k])


@pytest.mark.parametrize("n_blocks", [1, 3, 7, 20, 60, 1000])
def test_about_as_many_blocks_as_asked_for(toy, n_blocks):
    """Exactly so many for runs of rows, and from two thirds to twice as many for k-means."""
    count = min(n_blocks, 60)
    for partition in ("contiguous", "random"):
        assert fixed(partition=partition, n_blocks=n_blocks).fit(*toy).n_blocks_ == count
    made = fixed(partition="kmeans", n_blocks=n_blocks).fit(*toy).n_blocks_
    assert count / 1.5 <= made <= 2 * count


def test_an_inducing_input_at_every_row_is_the_exact_gp(toy):
    """With Z = X the inducing inputs explain everything, and every model is the exact GP."""
    mean, std, _, evidence = exact_predictions(*toy)
    for model in ("dtc", "vfe", "fitc", "pitc", "pic"):
        ours = fixed(model, inducing=toy[0], jitter=0.0).fit(*toy, blocks=LABELS)
        assert_allclose(ours.predict(X_TEST, blocks=TEST_LABELS), mean, rtol=1e-5)
        assert_allclose(ours.predict_std(X_TEST, blocks=TEST_LABELS), std, rtol=1e-5)
        assert_allclose(ours.objective_, evidence, rtol=1e-5)


def test_pic_beats_fitc_where_structure_is_local(local):
    """A wave that four inducing inputs cannot follow is seen by the data of a block."""
    X, y = local
    new = np.linspace(0.2, 9.8, 200)[:, None]
    truth = np.sin(0.6 * new[:, 0]) + 0.7 * np.sin(15.0 * new[:, 0])
    errors = {}
    for model in ("fitc", "pic"):
        ours = AnytimeSGPRegressor(model=model, n_inducing=4, block_size=75, random_state=0)
        errors[model] = np.sqrt(np.mean((ours.fit(X, y).predict(new) - truth) ** 2))
    assert errors["pic"] < 0.3 * errors["fitc"]


@pytest.mark.skipif(ScoringMonitor is None, reason="scikit-learn before 1.9 has no callbacks")
@pytest.mark.parametrize("model", ["pic", "fitc"])
@pytest.mark.parametrize("labels", [None, LABELS], ids=["partition", "labels"])
@pytest.mark.filterwarnings(WITHOUT_LABELS)
def test_callbacks_can_score_in_the_middle(toy, model, labels):
    """ScoringMonitor sees an estimator that predicts at every iteration."""
    ours = AnytimeSGPRegressor(model=model, n_inducing=5, n_blocks=3, max_iter=3, random_state=0)
    monitor = ScoringMonitor(scoring={"r2": "r2"})
    ours.set_callbacks(monitor).fit(*toy, blocks=labels)
    steps = [row for row in monitor.get_logs().data if row["task_name"] == "step"]
    assert len(steps) == len(ours.objectives_)
    assert np.isfinite([row["r2"] for row in steps]).all()


def test_too_little_time_for_blocks_is_said_and_spent_on_rows(wave):
    X, y = wave
    model = AnytimeSGPRegressor(n_inducing=10, block_size=100, max_time=1e-3, solver="exact")
    with pytest.warns(ConvergenceWarning, match="whole blocks"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
