"""Every model is its dense definition, and equals others where theory says so."""

import numpy as np
import pytest
from block_helpers import (
    KERNEL,
    LABEL,
    LABELLED_TEST,
    LABELS,
    MODELS,
    NOISE,
    PARTITIONS,
    TEST_LABELS,
    X_TEST,
    assert_same_model,
    exact_predictions,
    fixed,
    inducing,
    labelled,
    with_labels,
)
from dense import log_normal
from fitted_models import fitted
from numpy.testing import assert_allclose


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


# Definitions


@MODELS
@pytest.mark.parametrize("solver", ["exact", "anytime"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_predictions_and_objective_are_the_definitions(toy_outputs, model, solver, outputs):
    """Mean, std, joint covariance and objective are the dense formulas for given labels."""
    X, y = toy_outputs
    y = y[:, 0] if outputs == 1 else y
    objective, mean, cov = definition(model, X, y, LABELS)
    ours = fixed(model, solver=solver, block_column=LABEL).fit(labelled(X), y)
    assert_allclose(ours.objective_, objective, rtol=1e-8)
    assert_allclose(ours.predict(LABELLED_TEST), mean, rtol=1e-7)
    got_mean, got_cov = ours.predict(LABELLED_TEST, return_cov=True)
    assert_allclose(got_mean, mean, rtol=1e-7)
    cov = cov if outputs == 2 else cov[..., 0]
    assert_allclose(got_cov, cov, rtol=1e-7, atol=1e-9 * np.abs(cov).max())
    std = np.sqrt(np.diagonal(cov).T)
    assert_allclose(ours.predict(LABELLED_TEST, return_std=True)[1], std, rtol=1e-7)
    assert_allclose(ours.predict_std(LABELLED_TEST), std, rtol=1e-7)
    latent = ours.predict_std(LABELLED_TEST, include_noise=False)
    noise = NOISE * np.asarray(ours.y_scale_) ** 2
    assert_allclose(latent**2, std**2 - noise, rtol=1e-6, atol=1e-9 * std.max() ** 2)


@pytest.mark.parametrize("model", ["fitc", "fic", "pitc"])
@pytest.mark.parametrize("alpha", [0.3, 0.9])
def test_powers_between_are_power_ep(toy, model, alpha):
    """alpha_divergence is the power of the factors, and objective_ the Power-EP energy."""
    ours = fixed(model, alpha_divergence=alpha, block_column=LABEL).fit(*with_labels(toy))
    objective, mean, cov = definition(model, *toy, LABELS, alpha)
    if model == "fic":  # only the factors take the power, not the test conditional
        cov = np.einsum("ii...->i...", definition("fitc", *toy, LABELS, alpha)[2])
        std = np.sqrt(cov[..., 0])
    else:
        std = np.sqrt(np.diagonal(cov[..., 0]))
    assert_allclose(ours.objective_, objective, rtol=1e-8)
    assert_allclose(ours.predict(LABELLED_TEST), mean, rtol=1e-7)
    assert_allclose(ours.predict_std(LABELLED_TEST), std, rtol=1e-7)


@pytest.mark.parametrize("model", ["fitc", "pitc"])
def test_power_zero_is_vfe(toy, model):
    """With alpha_divergence=0 the blocks drop out and the model is VFE."""
    zero = fixed(model, alpha_divergence=0.0, block_column=LABEL).fit(*with_labels(toy))
    assert_same_model(fixed("vfe").fit(*toy), zero, other_at=LABELLED_TEST)


def test_objective_increases_with_the_power(toy):
    """Power-EP energies lie in order between VFE and PITC."""
    values = [
        fixed("pitc", alpha_divergence=alpha, block_column=LABEL).fit(*with_labels(toy)).objective_
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


def test_an_inducing_input_at_every_row_is_the_exact_gp(toy):
    """With Z = X the inducing inputs explain everything, and every model is the exact GP."""
    mean, std, _, evidence = exact_predictions(*toy)
    for model in ("dtc", "vfe", "fitc", "pitc", "pic"):
        ours = fixed(model, inducing=toy[0], jitter=0.0, block_column=LABEL).fit(*with_labels(toy))
        assert_allclose(ours.predict(LABELLED_TEST), mean, rtol=1e-5)
        assert_allclose(ours.predict_std(LABELLED_TEST), std, rtol=1e-5)
        assert_allclose(ours.objective_, evidence, rtol=1e-5)


def test_pitc_of_single_rows_is_fitc(toy):
    """With more blocks than rows every row is a block, and PITC is FITC."""
    for partition in ("kmeans", "contiguous", "random"):
        pitc = fixed("pitc", n_blocks=1000, partition=partition).fit(*toy)
        assert pitc.n_blocks_ == 60
        assert_same_model(fixed("fitc").fit(*toy), pitc)


@pytest.mark.parametrize(("one", "other"), [("sor", "dtc"), ("fitc", "fic"), ("pitc", "pic")])
def test_models_that_share_their_training(toy, one, other):
    """SoR and DTC, FITC and FIC, PITC and PIC have one objective."""
    one, other = (fixed(name, block_column=LABEL).fit(*with_labels(toy)) for name in (one, other))
    assert_allclose(one.objective_, other.objective_, rtol=1e-12)


# Mixtures


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


@MODELS
def test_a_mixture_of_one_is_the_model(toy, model):
    """Weight 1, or weights of one model that sum to 1, change nothing."""
    plain = fixed(model, block_column=LABEL).fit(*with_labels(toy))
    for pairs in ([(model, 1.0)], [(model, 0.25), (model, 0.75)]):
        mixed = fixed(pairs, block_column=LABEL).fit(*with_labels(toy))
        assert_same_model(plain, mixed, at=LABELLED_TEST)


@pytest.mark.parametrize("solver", ["exact", "anytime"])
@pytest.mark.parametrize("model", ["dtc", "fitc", "pitc", "pic"])
def test_weights_need_not_sum_to_one(toy, model, solver):
    """A weight is a power of the factors: twice as much noise, where no residual is kept."""
    options = {"solver": solver, "block_column": LABEL}
    X, y = with_labels(toy)
    half = fixed([(model, 0.3), (model, 0.2)], **options).fit(X, y)
    expected = fitted(fixed(model, **options).fit(X, y)).posterior.scaled(0.5)
    assert_allclose(fitted(half).posterior.H[0], expected.H[0], rtol=1e-9, atol=1e-9)
    assert_allclose(fitted(half).posterior.h, expected.h, rtol=1e-9, atol=1e-9)
    assert np.isfinite(half.predict_std(LABELLED_TEST)).all()


def test_weights_are_powers_where_every_row_is_an_inducing_input(toy):
    """Half of the factors is twice the noise, also where the exact process has closed forms."""
    X, y = toy
    half = fixed([("fitc", 0.5)], inducing=X).fit(X, y)
    noisy = fixed("fitc", inducing=X, noise_variance=2.0 * NOISE).fit(X, y)
    assert_allclose(half.predict(X_TEST), noisy.predict(X_TEST), rtol=1e-4)


def test_weights_are_learned_with_where_every_row_is_an_inducing_input(toy):
    """Half of the factors has the kernel that rows of half the weight have, not that of all."""
    X, y = toy
    options = {"inducing": X, "normalize_y": False, "optimizer": "lbfgs", "max_iter": 50}
    half = fixed([("vfe", 0.5)], **options).fit(X, y)
    light = fixed("vfe", **options).fit(X, y, np.full(len(y), 0.5))
    whole = fixed("vfe", **options).fit(X, y)
    theta, expected, other = (model.kernel_.theta for model in (half, light, whole))
    assert_allclose(theta, expected, atol=0.02)
    assert np.abs(theta - other).max() > 0.1


@pytest.mark.parametrize("pairs", [[("fitc", 0.6)], [("vfe", 0.5), ("pitc", 1.0)]])
def test_powers_of_the_evidence_are_learned(toy, pairs):
    """The gradient is that of the evidence with any weights: learning raises it."""
    start = fixed(pairs, block_size=20).fit(*toy)
    learned = fixed(pairs, block_size=20, optimizer="lbfgs", max_iter=20).fit(*toy)
    assert learned.objective_ > start.objective_ + 1.0


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
