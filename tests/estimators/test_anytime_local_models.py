"""LMA and VIF as estimators: identities with PIC and the exact GP, mixtures, later rows, jobs."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from block_helpers import OwnPIC
from dense import log_normal
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sklearn_sgp import AnytimeSGPClassifier, AnytimeSGPRegressor
from sklearn_sgp.factors.block_factors import Model
from sklearn_sgp.factors.block_sums import block_sums
from sklearn_sgp.factors.passes import Pieces
from sklearn_sgp.gp.posterior import Posterior

KERNEL, NOISE = ConstantKernel(1.2) * Matern([0.8, 1.2], nu=1.5), 0.03
FIXED = {
    "kernel": KERNEL,
    "optimizer": None,
    "noise_variance": NOISE,
    "n_inducing": 12,
    "block_size": 40,
    "random_state": 0,
}
LOCAL = {
    "lma": AnytimeSGPRegressor(model="lma", **FIXED),
    "lma, contiguous": AnytimeSGPRegressor(
        model="lma", partition="contiguous", markov_order=2, **FIXED
    ),
    "vif": AnytimeSGPRegressor(model="vif", **FIXED),
    "vif, exact": AnytimeSGPRegressor(model="vif", solver="exact", n_neighbors=10, **FIXED),
}
EVERY = pytest.mark.parametrize("name", LOCAL)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 8.0, (260, 2))
    y = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.standard_normal(260)
    return X, y, rng.uniform(0.0, 8.0, (50, 2))


def exact(X, y):
    kernel = KERNEL + WhiteKernel(NOISE)
    return GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, y)


@pytest.mark.parametrize("solver", ["exact", "anytime"])
def test_a_chain_of_order_0_is_pic(data, solver):
    """LMA without a condition has the evidence and the predictions of PIC."""
    X, y, Xs = data
    pic = AnytimeSGPRegressor(model="pic", solver=solver, **FIXED).fit(X, y)
    lma = AnytimeSGPRegressor(model="lma", markov_order=0, solver=solver, **FIXED).fit(X, y)
    assert_allclose(lma.objective_, pic.objective_, rtol=1e-11)
    for one, other in zip(
        lma.predict(Xs, return_std=True), pic.predict(Xs, return_std=True), strict=True
    ):
        assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize(
    "model", [{"model": "lma", "markov_order": 99}, {"model": "vif", "n_neighbors": 999}]
)
def test_conditioned_on_everything_it_is_the_exact_gp(data, model):
    """With all earlier rows as conditions, evidence, means and deviations are exact."""
    X, y, Xs = data
    gp = exact(X, y)
    ours = AnytimeSGPRegressor(**FIXED, **model).fit(X, y)
    evidence = gp.log_marginal_likelihood_value_ - len(y) * np.log(y.std())
    assert_allclose(ours.objective_, evidence, rtol=1e-7)
    mean, std = gp.predict(Xs, return_std=True)
    assert_allclose(ours.predict(Xs), mean, atol=1e-8)
    assert_allclose(ours.predict_std(Xs), std, rtol=1e-7)


@EVERY
def test_near_rows_are_worth_more_than_inducing_inputs(name, data):
    """Where inducing inputs are few, predictions are much nearer the exact ones than FITC's."""
    X, y, Xs = data
    mean = exact(X, y).predict(Xs)
    fitc = AnytimeSGPRegressor(model="fitc", **FIXED).fit(X, y).predict(Xs)
    ours = clone(LOCAL[name]).fit(X, y).predict(Xs)
    assert np.mean((ours - mean) ** 2) < 0.2 * np.mean((fitc - mean) ** 2)


@EVERY
def test_any_split_has_the_evidence_of_its_order(name, data):
    """After later batches evidence and predictions are those of the groups as they are now."""
    X, y, Xs = data
    model = clone(LOCAL[name])
    for lo, hi in ((0, 150), (150, 200), (200, 260)):
        model.partial_fit(X[lo:hi], y[lo:hi])
    assert model.n_samples_seen_ == 260
    scaled = (y - model.y_mean_) / model.y_scale_
    blocks = fitted(model).state.blocks
    held = (blocks.rows.y[:, 0] - model.y_mean_) / model.y_scale_
    assert_allclose(np.sort(held), np.sort(scaled))
    kernel, Z, X_held = model.kernel_, model.inducing_points_, blocks.rows.X
    Kuu = kernel(Z) + 1e-10 * np.eye(len(Z))
    Q = kernel(X_held, Z) @ np.linalg.solve(Kuu, kernel(Z, X_held))
    S = kernel(X_held) - Q + NOISE * np.eye(260)
    precision = np.zeros((260, 260))
    for g, before in enumerate(blocks.before):
        own = blocks.members(g)
        C = np.linalg.solve(S[np.ix_(before, before)], S[np.ix_(before, own)])
        U = np.zeros((len(own), 260))
        U[:, own], U[:, before] = np.eye(len(own)), -C.T
        R = S[np.ix_(own, own)] - S[np.ix_(own, before)] @ C
        precision += U.T @ np.linalg.solve(R, U)
    V = Q + np.linalg.inv(precision)
    log_det = np.linalg.slogdet(V)[1]
    evidence = -0.5 * (held @ np.linalg.solve(V, held) + log_det + 260 * np.log(2.0 * np.pi))
    assert_allclose(model.objective_, evidence - 260 * np.log(model.y_scale_), rtol=1e-6)
    assert np.isfinite(model.predict(Xs)).all()


@pytest.mark.parametrize("order", [1, 2])
def test_the_evidence_of_a_chain_is_that_of_its_definition(data, order):
    """LMA's residual of labelled blocks, by the recursion of Low et al. (2015) from the labels."""
    X, y, _ = data
    labels = X[:, 0] // 1.0
    model = clone(LOCAL["lma"]).set_params(block_column=2, markov_order=order)
    model.fit(np.column_stack([X, labels]), y)
    kernel, Z, n = model.kernel_, model.inducing_points_, len(X)
    Q = kernel(X, Z) @ np.linalg.solve(kernel(Z) + 1e-10 * np.eye(len(Z)), kernel(Z, X))
    R = kernel(X) - Q + NOISE * np.eye(n)
    chain = [np.flatnonzero(labels == value) for value in np.unique(labels)]
    approximate = np.zeros((n, n))
    for k, own in enumerate(chain):
        near = np.concatenate([np.empty(0, dtype=int), *chain[max(0, k - order) : k]])
        approximate[np.ix_(own, own)] = R[np.ix_(own, own)]
        approximate[np.ix_(own, near)] = R[np.ix_(own, near)]
        for far in chain[: max(0, k - order)]:
            weights = np.linalg.solve(R[np.ix_(near, near)], R[np.ix_(near, own)])
            approximate[np.ix_(own, far)] = weights.T @ approximate[np.ix_(near, far)]
        for other in chain[:k]:
            approximate[np.ix_(other, own)] = approximate[np.ix_(own, other)].T
    scaled = ((y - y.mean()) / y.std())[:, np.newaxis]
    evidence = log_normal(scaled, Q + approximate) - n * np.log(y.std())
    assert_allclose(model.objective_, evidence, rtol=1e-6)
    assert not np.isclose(evidence, exact(X, y).log_marginal_likelihood_value_, atol=0.1)


@EVERY
def test_workers_change_nothing(name, data):
    """Evidence and predictions do not depend on the number of jobs."""
    X, y, Xs = data
    one, two = (clone(LOCAL[name]).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    assert_allclose(one.objective_, two.objective_, rtol=1e-12)
    assert_allclose(one.predict(Xs), two.predict(Xs), rtol=1e-10)


@EVERY
def test_joint_predictions(name, data):
    """Joint covariances have the variances on their diagonals and are positive definite."""
    X, y, Xs = data
    model = clone(LOCAL[name]).fit(X, y)
    mean, covariance = model.predict(Xs, return_cov=True)
    assert_allclose(mean, model.predict(Xs), rtol=1e-9)
    assert_allclose(np.sqrt(np.diag(covariance)), model.predict_std(Xs), rtol=1e-7)
    assert np.linalg.eigvalsh(covariance)[0] > 0.0
    assert model.sample_y(Xs, 3).shape == (50, 3)


@EVERY
def test_learning(name, data):
    """Kernel, noise and inducing inputs are learned: the evidence rises."""
    X, y, Xs = data
    model = clone(LOCAL[name]).set_params(optimizer="auto", max_iter=15)
    fixed = clone(LOCAL[name]).fit(X, y)
    learned = model.fit(X, y)
    assert learned.objective_ > fixed.objective_ + 5.0
    assert_array_equal(np.isfinite(learned.predict(Xs)), True)


def test_labels_are_a_chain_and_nothing_else(data):
    """Labels in their order are the chain of LMA; VIF finds neighbours itself and refuses them."""
    X, y, Xs = data
    X, Xs = (np.column_stack([part[:, 0] // 1.0, part]) for part in (X, Xs))
    model = clone(LOCAL["lma"]).set_params(block_column=0).fit(X, y)
    assert model.n_blocks_ == len(np.unique(X[:, 0]))
    assert np.isfinite(model.predict(Xs)).all()
    with pytest.raises(ValueError, match=r"block_column must not be given with model=.vif"):
        clone(LOCAL["vif"]).set_params(block_column=0).fit(X, y)


class Beyond(BaseEstimator):
    """A clusterer with a label for what lies right of all rows that it was fitted to."""

    def fit(self, X):
        self.end_ = X[:, 0].max()
        return self

    def predict(self, X):
        return (X[:, 0] > self.end_).astype(int)


@EVERY
def test_a_new_label_of_a_clusterer(name, data):
    """Test rows there are predicted from the later rows that brought the label."""
    X, y, Xs = data
    left = X[:, 0] < 4.0
    model = clone(LOCAL[name]).set_params(partition=Beyond(), n_neighbors=60)
    model.fit(X[left], y[left])
    std = model.predict_std(Xs[Xs[:, 0] > 5.0])
    model.partial_fit(X[~left], y[~left])
    assert np.mean(model.predict_std(Xs[Xs[:, 0] > 5.0]) / std) < 0.7


@pytest.mark.parametrize("partition", ["contiguous", "random"])
def test_near_rows_are_near_whatever_the_order_of_rows(partition):
    """Runs of rows in no order, or random ones, are no groups of VIF: no row is near them."""
    rng = np.random.default_rng(0)
    X, Xs = rng.uniform(0.0, 10.0, (1500, 1)), np.linspace(0.5, 9.5, 200)[:, None]
    y, truth = np.sin(8.0 * X[:, 0]) + 0.1 * rng.standard_normal(1500), np.sin(8.0 * Xs[:, 0])
    held = FIXED | {"kernel": ConstantKernel(1.0) * RBF(0.15), "noise_variance": 0.01}
    model = AnytimeSGPRegressor(model="vif", n_neighbors=50, **held)
    errors = [
        np.abs(clone(model).set_params(partition=way).fit(X, y).predict(Xs) - truth).mean()
        for way in (partition, "kmeans")
    ]
    assert errors[0] < 1.1 * errors[1] < 0.1


@EVERY
@pytest.mark.parametrize("pic", ["pic", OwnPIC()], ids=["built in", "of one's own"])
def test_mixtures_with_pic(name, pic, data):
    """Information is the weighted sum of that of both models, on the blocks of this one."""
    X, y, Xs = data
    whole = clone(LOCAL[name]).set_params(solver="exact")
    shares = (0.3, 0.9)
    mixed = clone(whole).set_params(model=[(pic, shares[0]), (whole.model, shares[1])]).fit(X, y)
    state = fitted(whole.fit(X, y)).state
    blocks, posterior = state.blocks, fitted(whole).posterior
    pieces = [blocks(k) for k in range(len(blocks))]
    alone = [
        replace(piece, groups=tuple((own[:0], own) for _, own in piece.groups)) for piece in pieces
    ]
    H, h, constant = 0.0, 0.0, 0.0
    for share, some in zip(shares, (alone, pieces), strict=True):
        sums = block_sums(posterior.prior, Pieces(some, 1, None), NOISE, Model("conditioned"))
        H, h = H + share * sums.posterior.H[0], h + share * sums.posterior.h
        constant += share * sums.constant
    assert_allclose(fitted(mixed).posterior.H[0], H, rtol=1e-9, atol=1e-9)
    precision = np.eye(len(H)) + H
    evidence = constant + 0.5 * np.vdot(h, np.linalg.solve(precision, h))
    evidence -= 0.5 * np.linalg.slogdet(precision)[1] + len(y) * np.log(mixed.y_scale_)
    assert_allclose(mixed.objective_, evidence, rtol=1e-9)
    # near rows are those of the model that knows more
    near = state.predictor(Posterior(posterior.prior, (H,), h), NOISE)
    mean = mixed.y_mean_ + mixed.y_scale_ * near.mean_at(Xs)[:, 0]
    assert_allclose(mixed.predict(Xs), mean, rtol=1e-7)


@EVERY
def test_the_anytime_solver_of_a_mixture(name, data):
    """After an epoch it has the closed form, and later rows and a pickle go on from it."""
    X, y, Xs = data
    mixed = clone(LOCAL[name]).set_params(model=[("pic", 0.5), (LOCAL[name].model, 0.5)])
    exact = clone(mixed).set_params(solver="exact").fit(X, y)
    ours = clone(mixed).set_params(solver="anytime").fit(X, y)
    assert_allclose(ours.predict(Xs), exact.predict(Xs), rtol=1e-7)
    assert_allclose(ours.objective_, exact.objective_, rtol=1e-9)
    again = pickle.loads(pickle.dumps(exact))
    for model in (exact, again):
        model.partial_fit(X[:20] + 0.01, y[:20])
    assert_allclose(again.predict(Xs), exact.predict(Xs), rtol=1e-12)


def test_a_mixture_of_chains_of_order_0_is_pic(data):
    """LMA of order 0 is PIC, and so are all mixtures of both whose weights sum to 1."""
    X, y, Xs = data
    pic = AnytimeSGPRegressor(model="pic", **FIXED).fit(X, y)
    mixed = [("lma", 0.25), ("pic", 0.75)]
    mixed = AnytimeSGPRegressor(model=mixed, markov_order=0, **FIXED).fit(X, y)
    assert_allclose(mixed.objective_, pic.objective_, rtol=1e-11)
    assert_allclose(mixed.predict(Xs), pic.predict(Xs), rtol=1e-8)


@pytest.mark.quick_cases("auto", "adam")
@pytest.mark.parametrize("optimizer", ["auto", "lbfgs", "adam"])
def test_mixtures_learn(data, optimizer):
    """Kernel and noise are learned with every optimizer, and raise the evidence."""
    X, y, _ = data
    mixed = AnytimeSGPRegressor(
        model=[("pic", 0.5), ("lma", 0.5)], optimizer=optimizer, max_iter=10, n_inducing=12,
        block_size=40, random_state=0,
    )  # fmt: skip
    held = clone(mixed).set_params(optimizer=None)
    assert mixed.fit(X, y).objective_ > held.fit(X, y).objective_


@pytest.mark.slow
def test_a_classifier_mixes(data):
    """Of order 0 LMA and all its mixtures with PIC give the same probabilities."""
    X, y, Xs = data
    pic, mixed = (
        AnytimeSGPClassifier(
            model=model, markov_order=0, n_inducing=12, block_size=40, max_iter=10, random_state=0
        )
        .fit(X, y > 0.0)
        .predict_proba(Xs)
        for model in ("pic", [("lma", 0.25), ("pic", 0.75)])
    )
    assert_allclose(mixed, pic, atol=1e-6)


def test_two_ways_of_conditioning_are_refused(data):
    """A mixture has one partition of its rows, which LMA and VIF do not share."""
    X, y, _ = data
    with pytest.raises(ValueError, match="one of 'lma' and 'vif' at most"):
        AnytimeSGPRegressor(model=[("lma", 0.5), ("vif", 0.5)]).fit(X, y)
    labelled = np.column_stack([X, np.arange(len(X)) % 4])
    with pytest.raises(ValueError, match="block_column must not be given"):
        AnytimeSGPRegressor(model=[("pic", 0.5), ("vif", 0.5)], block_column=2).fit(labelled, y)


@EVERY
def test_without_inducing_inputs(name, data):
    """n_inducing=0 is allowed: with all earlier rows it is the exact GP, and it learns."""
    X, y, Xs = data
    gp = exact(X, y)
    model = clone(LOCAL[name]).set_params(n_inducing=0, markov_order=99, n_neighbors=999).fit(X, y)
    assert model.inducing_points_.shape == (0, 2)
    mean, std = gp.predict(Xs, return_std=True)
    assert_allclose(model.predict(Xs), mean, atol=1e-9)
    assert_allclose(model.predict_std(Xs), std, rtol=1e-8)
    before = clone(LOCAL[name]).set_params(n_inducing=0).fit(X, y)
    learned = clone(before).set_params(optimizer="auto", max_iter=10).fit(X, y)
    assert learned.objective_ > before.objective_
    learned.partial_fit(X[:20] + 0.01, y[:20])
    assert np.isfinite(learned.predict(Xs)).all()


def test_other_models_need_inducing_inputs(data):
    """Only models whose rows know their neighbours do without."""
    with pytest.raises(ValueError, match=r"n_inducing must be positive unless .* Got 0 for 'pic'"):
        AnytimeSGPRegressor(model="pic", n_inducing=0).fit(*data[:2])


@EVERY
def test_marginal_likelihood_at_a_theta(name, data):
    """It is evaluated on the rows that the model keeps, and only on those."""
    X, y, _ = data
    model = clone(LOCAL[name]).fit(X, y)
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    assert_allclose(value, model.objective_, rtol=1e-6)
    step = 1e-4 * np.eye(len(gradient))[0]
    ends = [model.log_marginal_likelihood(model.kernel_.theta + s * step) for s in (1, -1)]
    assert_allclose(gradient[0], (ends[0] - ends[1]) / 2e-4, rtol=1e-4)
    with pytest.raises(ValueError, match=r"X and y must not be given for 'lma' and 'vif'"):
        model.log_marginal_likelihood(model.kernel_.theta, X=X, y=y)
