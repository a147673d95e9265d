"""n_restarts_optimizer: random starts besides the first, of which the best goes on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import AnytimeSGPRegressor, SVGPClassifier, SVGPRegressor
from sklearn_sgp.engines.variational import schedule

SLOW = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(50.0, (0.01, 100.0))
ESTIMATORS = [
    SVGPRegressor(SLOW, n_inducing=60, random_state=0),
    SVGPRegressor(SLOW, n_inducing=60, optimizer="lbfgs", random_state=0),
    SVGPRegressor(SLOW, n_inducing=60, init_size=100, random_state=0),
    AnytimeSGPRegressor(SLOW, n_inducing=60, block_size=20, random_state=0),
    SVGPClassifier(SLOW, n_inducing=60, random_state=0),
]


@pytest.fixture(scope="module")
def fast():
    X = np.linspace(0.0, 20.0, 150)[:, None]
    return X, np.sin(6.0 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(150)


@pytest.mark.quick_cases("AnytimeSGPRegressor", "SVGPRegressor0")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_restarts_leave_a_poor_optimum(model, fast):
    """From a length scale of fifty the function looks like noise; one of ten more sees it."""
    X, y = fast
    y = y > 0.0 if isinstance(model, SVGPClassifier) else y
    one = clone(model).fit(X, y)
    more = clone(model).set_params(n_restarts_optimizer=10).fit(X, y)
    assert more.objective_ >= one.objective_ - 1e-3 * abs(one.objective_)
    assert more.score(X, y) > 0.9
    assert more.n_iter_ > one.n_iter_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_restarts_are_repeatable_and_end_in_time(fast):
    """The same seed gives the same starts, and max_time is shared among them."""
    model = SVGPRegressor(SLOW, n_inducing=20, n_restarts_optimizer=3, random_state=1)
    first, second = (clone(model).fit(*fast) for _ in range(2))
    assert_allclose(first.kernel_.theta, second.kernel_.theta)
    short = clone(model).set_params(max_time=0.2, max_iter=10**6, tol=0.0).fit(*fast)
    assert np.isfinite(short.predict(fast[0])).all()


def test_restarts_need_finite_bounds(fast):
    """A start cannot be drawn within infinite bounds."""
    model = SVGPRegressor(RBF(1.0, (1e-3, np.inf)), n_restarts_optimizer=1, n_inducing=5)
    with pytest.raises(ValueError, match=r"bounds .* must be finite if n_restarts_optimizer"):
        model.fit(*fast)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_start_goes_on_with_its_own_posterior(seed, fast, monkeypatch):
    """Where q(u) is found by iterations, the last ones begin at that of the best start."""
    began, finish = [], schedule._final_posterior

    def observed(problem, learned, *others):
        known, _ = problem.inference.known
        began.append((known.prior.kernel.theta, learned.parameters.theta))
        return finish(problem, learned, *others)

    monkeypatch.setattr(schedule, "_final_posterior", observed)
    model = SVGPRegressor(
        ConstantKernel() * RBF(0.3, (0.01, 100.0)), likelihood="student_t", n_inducing=10
    )
    model.set_params(n_restarts_optimizer=2, max_iter=8, random_state=seed).fit(*fast)
    assert_allclose(*began[0])
