"""Questions to public kernels and likelihoods, without an estimator."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from sklearn_sgp.kernels import Categorical, Columns, length_scales
from sklearn_sgp.likelihoods import (
    Gaussian,
    Logit,
    Poisson,
    Probit,
    Softmax,
    StudentT,
)

from .cases import CASES, Direct

X = np.column_stack([np.linspace(-1.0, 1.0, 7), [0, 1, 2, 0, 1, 2, 5]])
KERNELS = {
    "categories": Columns(Categorical(1, n_categories=4), [1]),
    "given factor": Columns(Categorical(1, factor=np.ones((4, 1)), diagonal=np.ones(4)), [1]),
    "fixed categories": Columns(Categorical(2, n_categories=3, factor_bounds="fixed"), [1]),
    "no categories yet": Columns(Categorical(), [1]),
    "columns": Columns(RBF([1.0, 2.0]), [1, 0]) * Columns(Matern(nu=1.5), [0]),
    "names": Columns(RBF(), ["a"]),
    "a column too far": Columns(RBF(), [5]),
}
MEAN, VARIANCE = np.linspace(-2.0, 2.0, 9)[:, None], np.linspace(0.01, 3.0, 9)[:, None]
NUMBERS = np.linspace(-3.0, 4.0, 9)[:, None]
COUNTS = np.array([0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 200.0])[:, None]
LIKELIHOODS = {
    "Gaussian": (Gaussian(), NUMBERS),
    "StudentT": (StudentT(), NUMBERS),
    "StudentT of df 3": (StudentT(df=3.0), NUMBERS),
    "StudentT of learned df": (StudentT(df=None), NUMBERS),
    "Poisson": (Poisson(), COUNTS),
    "Probit": (Probit(), np.where(NUMBERS > 0.0, 1.0, -1.0)),
    "Logit": (Logit(), np.where(NUMBERS > 0.0, 1.0, -1.0)),
    "Softmax": (Softmax(), np.arange(9.0)[:, None] % 3),
}


def of_kernel(kernel):
    """Make the questions that scikit-learn asks of kernels."""
    return {
        "matrix": lambda: kernel(X),
        "of two": lambda: kernel(X, X[:3]),
        "gradient": lambda: kernel(X, eval_gradient=True),
        "diag": lambda: kernel.diag(X),
        "theta": lambda: kernel.theta,
        "bounds": lambda: kernel.bounds,
        "words": lambda: repr(kernel),
        "stationary": lambda: kernel.is_stationary(),
        "hyperparameters": lambda: repr(kernel.hyperparameters),
        "with theta": lambda: kernel.clone_with_theta(kernel.theta + 0.1)(X),
        "length scales": lambda: length_scales(kernel, 2),
        "equal": lambda: kernel == kernel.clone_with_theta(kernel.theta),
    }


def of_likelihood(given, y):
    """Make the questions that estimators ask of likelihoods."""
    mean, variance = MEAN, VARIANCE
    if isinstance(given, Softmax):
        mean, variance = MEAN * [1.0, 0.5, 0.2], VARIANCE * [1.0, 0.5, 0.2]
    noise = None if isinstance(given, Poisson | Probit | Logit | Softmax) else 0.3

    def ready():
        return given.initialized(y, np.ones(len(y)))

    return {
        "theta": lambda: ready().theta,
        "bounds": lambda: ready().theta_bounds,
        "words": lambda: repr(ready()),
        "expected": lambda: tuple(ready().expected_log_density(y, mean, variance, noise)),
        "density": lambda: ready().log_predictive_density(y, mean, variance, noise),
        "moments": lambda: ready().moments(mean, variance, noise),
        "quantiles": lambda: ready().quantiles(mean, variance, noise, [0.1, 0.5, 0.9]),
        "cdf": lambda: ready().cdf(y, mean, variance, noise),
        "draws": lambda: ready().draw(mean, noise, np.random.RandomState(0)),
        "probabilities": lambda: ready().probabilities(mean, variance),
        "bad targets": lambda: given.check_targets(NUMBERS),
    }


CASES |= {
    f"kernel {name}": Direct(lambda kernel=kernel: of_kernel(kernel))
    for name, kernel in KERNELS.items()
} | {
    f"likelihood {name}": Direct(lambda parts=parts: of_likelihood(*parts))
    for name, parts in LIKELIHOODS.items()
}
