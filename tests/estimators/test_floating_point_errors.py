"""A program that lets numpy raise on floating-point errors gets what others get."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from slow_variants import slow

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

FEW = {"n_inducing": 15, "random_state": 0, "max_iter": 5}
ESTIMATORS = [
    SVGPRegressor(**FEW),
    SVGPRegressor(optimizer="adam", **FEW),
    SVGPRegressor(normalize_y="yeo-johnson", **FEW),
    SVGPRegressor(ConstantKernel() * RBF(1e-3), optimizer=None, n_inducing=15, random_state=0),
    *(SVGPRegressor(likelihood=name, **FEW) for name in ["student_t", "auto", "poisson"]),
    *(AnytimeSGPRegressor(model=name, **FEW) for name in ["vfe", "pic", "vif"]),
    *(StreamingSGPRegressor(likelihood=name, **FEW) for name in ["gaussian", "student_t"]),
    *(SVGPClassifier(likelihood=name, **FEW) for name in ["probit", "softmax"]),
    *(StreamingSGPClassifier(likelihood=name, **FEW) for name in ["probit", "softmax"]),
    *(AnytimeSGPClassifier(model=name, **FEW) for name in ["fitc", "vif"]),
]
VARIANTS = [
    SVGPRegressor(normalize_y="warped", **FEW),
    *(SVGPRegressor(likelihood=f"heteroscedastic{tails}", **FEW) for tails in ("", "_student_t")),
    *(AnytimeSGPRegressor(model=name, **FEW) for name in ["fitc", "pitc", "lma"]),
    SVGPClassifier(likelihood="logit", **FEW),
    AnytimeSGPRegressor(likelihood="heteroscedastic_student_t", **FEW),
    StreamingSGPRegressor(likelihood="heteroscedastic", **FEW),
    AnytimeSGPClassifier(model="pic", **FEW),
]
ANSWERS = ["predict", "predict_proba", "decision_function", "predict_std", "predict_quantiles"]


def name_of(estimator):
    """Short name of a configuration."""
    return repr(clone(estimator).set_params(random_state=None)).replace(" ", "").replace("\n", "")


def table(estimator, rng):
    """Rows with nothing near 40 places far away, and targets or two unequal classes."""
    X = rng.uniform(-3.0, 3.0, (80, 2))
    y = np.round(X[:, 0] ** 2 + X[:, 1] ** 2)
    y = y > 12.0 if is_classifier(estimator) else y
    return X, y, np.concatenate([X, 100.0 * X[:40]])


def answers(estimator, X, y, far):
    """All predictions after a fit and a later batch."""
    model = clone(estimator).fit(X[:60], y[:60])
    model.partial_fit(X[60:], y[60:])
    found = [getattr(model, name)(far) for name in ANSWERS if hasattr(model, name)]
    found.append(model.log_density(far, np.resize(y, len(far))))
    if hasattr(model, "predict_distribution"):
        distribution = model.predict_distribution(far)
        found += [distribution.cdf(1e3), distribution.pdf(1e3), distribution.ppf(0.9)]
    return found


@pytest.mark.slow_cases("AnytimeSGPClassifier(*")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [*ESTIMATORS, *map(slow, VARIANTS)], ids=name_of)
def test_what_numpy_does_about_errors_changes_nothing(estimator, rng):
    """Fits, later batches and predictions are the same to the last bit where numpy raises."""
    data = table(estimator, rng)
    calm = answers(estimator, *data)
    with np.errstate(all="raise"):
        raising = answers(estimator, *data)
    for a, b in zip(calm, raising, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore")
def test_latent_inputs_are_learned_where_numpy_raises(rng):
    """The embedding, and what is imputed, are the same to the last bit where numpy raises."""
    Y = rng.standard_normal((40, 4))

    def embedding():
        model = BayesianGPLVM(2, n_inducing=8, max_iter=5, random_state=0).fit(Y)
        return model.embedding_, model.score_samples(Y), model.transform(Y + 50.0)

    calm = embedding()
    with np.errstate(all="raise"):
        raising = embedding()
    for a, b in zip(calm, raising, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_choice_of_the_program_is_given_back(toy):
    """After a fit numpy handles errors as the program has chosen, also where the fit failed."""
    X, y = toy
    with np.errstate(all="raise"):
        chosen = np.geterr()
        SVGPRegressor(**FEW | {"max_iter": 50}).fit(X, y)
        assert np.geterr() == chosen
        with pytest.raises(ValueError, match="X"):
            SVGPRegressor(missing="error", **FEW).fit(X * np.nan, y)
        assert np.geterr() == chosen
