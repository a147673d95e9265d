"""Kernels over strings and the like, which scikit-learn has, are refused by name."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    GenericKernelMixin,
    Kernel,
    WhiteKernel,
)

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.kernels import Columns


class SharedLetters(GenericKernelMixin, Kernel):
    """The number of pairs of equal letters, or of equal entries."""

    def __init__(self):
        pass

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        K = np.array([[sum(float(u == v) for u in a for v in b) for b in Y] for a in X])
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X):
        return np.array([self([x])[0, 0] for x in X])

    def is_stationary(self):
        return False


WORDS = ["AGCT", "AGC", "AACT", "TAA", "AAA", "GAACA"]
FEW = {"n_inducing": 3, "max_iter": 2, "random_state": 0}
NUMBERS = np.arange(12.0).reshape(6, 2) % 5


@pytest.mark.parametrize(
    "X", [WORDS, np.array(WORDS), np.array(WORDS)[:, None]], ids=["list", "array", "column"]
)
@pytest.mark.parametrize(
    "model",
    [
        SVGPRegressor(**FEW),
        SVGPRegressor(n_latent=1, **FEW),
        SVGPClassifier(**FEW),
        AnytimeSGPRegressor(**FEW),
        AnytimeSGPRegressor(model="fitc", **FEW),
        AnytimeSGPClassifier(**FEW),
        StreamingSGPRegressor(**FEW),
        StreamingSGPClassifier(**FEW),
    ],
    ids=lambda model: repr(model)[:45],
)
def test_strings_name_the_kernel(model, X):
    """Fits and first batches say that it is the kernel that is not taken, wherever it stands."""
    y = np.arange(6) % 2
    for kernel in (
        SharedLetters(),
        ConstantKernel() * SharedLetters() + WhiteKernel(),
        RBF() + SharedLetters() ** 2,
        Columns(SharedLetters(), [0]),
    ):
        told = (
            r"'kernel' parameter must be .* rows of numbers.* Got SharedLetters.* requires_vector"
        )
        model = clone(model).set_params(kernel=kernel)
        with pytest.raises(ValueError, match=told):
            model.fit(X, y)
        if hasattr(model, "partial_fit"):
            with pytest.raises(ValueError, match=told):
                model.partial_fit(X, y, **({"classes": [0, 1]} if "Class" in repr(model) else {}))


def test_other_errors_are_not_about_the_kernel():
    """Such a kernel may see rows of numbers, and other kernels say what they said of strings."""
    model = SVGPRegressor(SharedLetters(), inducing=NUMBERS[:2], optimizer=None, random_state=0)
    assert np.isfinite(model.fit(NUMBERS, np.arange(6.0)).predict(NUMBERS)).all()
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.fit(np.where(NUMBERS > 1, NUMBERS, np.inf), np.arange(6.0))
    for kernel in (RBF(), ConstantKernel() * RBF() + WhiteKernel(), None):
        with pytest.raises(ValueError, match="Name such columns in categorical_features"):
            SVGPRegressor(kernel).fit(np.array(WORDS)[:, None], np.arange(6.0))
