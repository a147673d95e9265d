"""scikit-learn's own checks, on every configuration that takes another path."""

import pytest
from input_checks import of_numbers, without_repetitions
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.likelihoods import StudentT

QUICK = {"max_iter": 5}
ESTIMATORS = [
    SVGPRegressor(optimizer="adam", **QUICK),
    SVGPRegressor(**QUICK),
    SVGPRegressor(ConstantKernel() * RBF() + WhiteKernel(), **QUICK),
    SVGPRegressor(optimizer=None),
    SVGPRegressor(optimizer="lbfgs", **QUICK),
    SVGPRegressor(n_jobs=2, **QUICK),
    SVGPRegressor(likelihood=StudentT(df=None), n_inducing=10, **QUICK),
    SVGPRegressor(normalize_y="warped", **QUICK),
    SVGPRegressor(n_latent=1, n_inducing=20, **QUICK),
    SVGPRegressor(RBF(), n_latent=1, n_inducing=20, **QUICK),
    SVGPRegressor(n_latent=1, likelihood="student_t", n_inducing=10, **QUICK),
    StreamingSGPRegressor(n_latent=1, n_inducing=20, **QUICK),
    # L-BFGS on a subset and on all rows, in several stages, on the few rows of the checks
    SVGPRegressor(n_inducing=10, init_size=10, batch_size=16, **QUICK),
    AnytimeSGPRegressor(solver="exact", n_blocks=4, **QUICK),
    AnytimeSGPRegressor(**QUICK),
    AnytimeSGPRegressor(optimizer="adam", block_size=20, **QUICK),
    AnytimeSGPRegressor(model="lma", block_size=20, **QUICK),
    AnytimeSGPRegressor(model="vif", block_size=20, n_neighbors=6, **QUICK),
    AnytimeSGPClassifier(RBF(), alpha_epsilon=0.01, n_inducing=10, **QUICK),
    # the default model, whose checks of scikit-learn README promises
    AnytimeSGPClassifier(alpha_epsilon=0.01, n_inducing=10, **QUICK),
    AnytimeSGPClassifier(model="fitc", solver="exact", alpha_epsilon=0.01, **QUICK),
    SVGPClassifier(optimizer="adam", n_inducing=10, **QUICK),
    SVGPClassifier(n_inducing=10, **QUICK),
    # one batch: several would depend on the order of the rows, as a stream does
    StreamingSGPRegressor(alpha_divergence=0.5, n_inducing=10, **QUICK),
    StreamingSGPRegressor(inducing="kmeans", min_inducing=3, forget_factor=0.9, **QUICK),
    StreamingSGPRegressor(inducing="random", n_inducing=10, optimizer="adam", **QUICK),
    StreamingSGPClassifier(RBF(), optimizer="adam", n_inducing=10, **QUICK),
    StreamingSGPClassifier(n_inducing=10, **QUICK),
    BayesianGPLVM(n_inducing=10, **QUICK),
]
# As users have them: `check_estimator` passes, as README says. They take nearly the same path as
# one above: for `pytest -m slow`.
DEFAULTS = [
    SVGPRegressor(),
    AnytimeSGPRegressor(),
    SVGPClassifier(),
    AnytimeSGPClassifier(),
    StreamingSGPRegressor(),
    StreamingSGPClassifier(),
]
# They do, too, and take and refuse input by what the configurations above share: they are asked
# what they compute.
VARIANTS = [
    AnytimeSGPRegressor(schedule="robbins-monro", block_size=20, **QUICK),
    SVGPClassifier(n_inducing=10, init_size=10, batch_size=16, **QUICK),
    SVGPRegressor(Matern(nu=1.5), **QUICK),
    SVGPRegressor(inducing="greedy", n_inducing=10, **QUICK),
    SVGPRegressor(inducing="random", n_inducing=10, **QUICK),
    SVGPRegressor(n_inducing=10, **QUICK),
    SVGPRegressor(optimize_inducing=False, **QUICK),
    SVGPRegressor(normalize_y=False, **QUICK),
    SVGPRegressor(normalize_y="yeo-johnson", **QUICK),
    SVGPRegressor(total_samples=1000, **QUICK),
    AnytimeSGPRegressor(model=[("dtc", 0.5), ("fitc", 0.5)], **QUICK),
    SVGPClassifier(optimizer=None, total_samples=1000),
    AnytimeSGPClassifier(n_inducing=20, **QUICK),
    AnytimeSGPClassifier(model="pic", block_size=20, alpha_epsilon=0.01, **QUICK),
    SVGPClassifier(likelihood="softmax", n_inducing=10, **QUICK),
    StreamingSGPClassifier(likelihood="softmax", n_inducing=10, **QUICK),
    BayesianGPLVM(3, n_inducing=8, init_size=10, batch_size=8, noise="columns", **QUICK),
    StreamingSGPRegressor(optimizer=None),
] + [
    AnytimeSGPRegressor(model=model, optimizer=None, n_inducing=100, block_size=20)
    for model in ("sor", "dtc", "vfe", "fitc", "fic", "pitc", "pic")
]
# Not among the checks that scikit-learn asks of every estimator.
MORE_CHECKS = [
    "check_param_validation",
    "check_dataframe_column_names_consistency",
    "check_inplace_ensure_writeable",
]


@pytest.mark.filterwarnings("ignore:The optimal value found")  # of ten rows that is no surprise
# nor that RBF(1) relates none of fifty rows of ten columns in which every label is drawn at random
@pytest.mark.filterwarnings("ignore:The learned kernel relates hardly any row")
@without_repetitions(parametrize_with_checks(ESTIMATORS))
def test_sklearn_contract(estimator, check):
    """Every check that scikit-learn asks of every estimator holds."""
    check(estimator)


@pytest.mark.filterwarnings("ignore:The learned kernel relates hardly any row")
@pytest.mark.slow
@parametrize_with_checks(DEFAULTS)
def test_sklearn_contract_of_defaults(estimator, check):
    """Every check holds for estimators without parameters."""
    check(estimator)


@pytest.mark.filterwarnings("ignore:The learned kernel relates hardly any row")
@pytest.mark.slow
@of_numbers(parametrize_with_checks(VARIANTS))
def test_sklearn_contract_of_variants(estimator, check):
    """Every check of what is computed holds for further choices too."""
    check(estimator)


@pytest.mark.filterwarnings("ignore:The optimal value found")
@pytest.mark.parametrize("name", MORE_CHECKS)
@pytest.mark.slow_cases("check_dataframe_column_names_consistency")
def test_checks_that_are_not_asked_of_every_estimator(name):
    """The checks that scikit-learn applies to its own estimators only hold."""
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    every = (SVGPRegressor, AnytimeSGPRegressor, SVGPClassifier)
    for estimator in (
        AnytimeSGPClassifier(RBF(), alpha_epsilon=0.01, n_inducing=10, **QUICK),
        *(
            kind(n_inducing=10, **QUICK)
            for kind in (*every, StreamingSGPRegressor, StreamingSGPClassifier)
        ),
    ):
        check(type(estimator).__name__, estimator)
