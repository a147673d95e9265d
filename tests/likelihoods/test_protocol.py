"""The interface of likelihoods: defaults, parameters, names, and likelihoods of one's own."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special
from sklearn.base import clone
from waiting_times import Exponential

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.likelihoods import (
    Beta,
    Censored,
    Gamma,
    Gaussian,
    Likelihood,
    Logit,
    NegativeBinomial,
    Poisson,
    Probit,
    Softmax,
    StudentT,
)
from sklearn_sgp.likelihoods._names import (
    CLASSIFICATION,
    REGRESSION,
    classification_likelihood,
    regression_likelihood,
)
from sklearn_sgp.likelihoods._softmax_tables import lattice

INSTANCES = [Gaussian(), StudentT(), StudentT(None), Poisson(), Probit(), Logit(), Softmax()]
INSTANCES += [NegativeBinomial(), Gamma(0.5), Beta(), Censored(lower=0.0)]
EACH = pytest.mark.parametrize("likelihood", INSTANCES, ids=repr)

# conjugate, identity_mean, has_noise, scales_targets, natural_step, shift_invariant, max_classes
ATTRIBUTES = {
    Likelihood: (False, True, False, False, 1.0, False, None),
    Gaussian: (True, True, True, True, 1.0, False, None),
    StudentT: (False, True, True, True, 1.0, False, None),
    Poisson: (False, False, False, False, 1.0, False, None),
    NegativeBinomial: (False, False, False, False, 1.0, False, None),
    Gamma: (False, False, False, False, 1.0, False, None),
    Beta: (False, False, False, False, 1.0, False, None),
    Censored: (False, True, False, True, 1.0, False, None),
    Probit: (False, True, False, False, 1.0, False, 2),
    Logit: (False, True, False, False, 1.0, False, 2),
    Softmax: (False, True, False, False, 2.0 / 3.0, True, None),
}


class Certain(Likelihood):
    """Classes with given probabilities: the least that a classification likelihood must define."""

    def __init__(self, probability, max_classes=None):
        self.probability, self.max_classes = probability, max_classes

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        raise NotImplementedError

    def probabilities(self, mean, variance):
        return np.tile(self.probability, (len(mean), 1))


class Wrapped:
    """Not a `Likelihood`, but with the members of one, less those that are named."""

    def __init__(self, inside, without=()):
        self._inside, self._without = inside, without

    def __getattr__(self, name):
        if name.startswith("_") or name in self._without:
            raise AttributeError(name)
        return getattr(self._inside, name)


class Plain(Wrapped):
    """The same where nothing is learned or left open."""

    def initialized(self, y, weight):
        return self

    def with_theta(self, theta):
        return self


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_attributes_are_those_of_the_distribution(kind):
    """Each class has the attributes by which other code decides what to do with it."""
    names = ["conjugate", "identity_mean", "has_noise", "scales_targets", "natural_step"]
    names += ["shift_invariant", "max_classes"]
    assert tuple(getattr(kind, name) for name in names) == ATTRIBUTES[kind]
    assert not hasattr(kind, "n_noise")  # has_noise says it all


def test_number_of_latent_functions():
    """There is one function for each output or class, and one for both classes of two."""
    for likelihood in (Gaussian(), StudentT(), Poisson(), Softmax(), Exponential()):
        assert likelihood.n_latent(3) == 3
    for likelihood in (Probit(), Logit()):
        assert likelihood.n_latent(2) == 1


@EACH
def test_parameters_are_those_of_an_estimator(likelihood):
    """Parameters survive get_params, set_params, clone and pickle, and are all that repr shows."""
    copies = [clone(likelihood), pickle.loads(pickle.dumps(likelihood))]
    copies.append(type(likelihood)().set_params(**likelihood.get_params()))
    for copy in copies:
        assert type(copy) is type(likelihood)
        assert copy.get_params() == likelihood.get_params()
        assert eval(repr(copy)).get_params() == likelihood.get_params()


def test_parameters_can_be_searched():
    """A search reaches the parameters of a likelihood through those of its estimator."""
    model = SVGPRegressor(likelihood=StudentT())
    assert model.get_params()["likelihood__df"] == 4.0
    other = clone(model).set_params(likelihood__df=7.0)
    assert (other.likelihood.df, model.likelihood.df) == (7.0, 4.0)
    assert "StudentT(df=7.0)" in repr(other)
    assert "StudentT" in other._repr_html_()


@EACH
def test_free_parameters(likelihood):
    """theta and its bounds have one row each, and with_theta gives back what it was given."""
    theta, bounds = likelihood.theta, likelihood.theta_bounds
    assert theta.shape == (len(theta),) and bounds.shape == (len(theta), 2)
    assert (bounds[:, 0] < theta).all() and (theta < bounds[:, 1]).all()
    assert_allclose(likelihood.with_theta(theta + 0.3).theta, theta + 0.3, rtol=1e-12)
    learns = isinstance(likelihood, (NegativeBinomial, Beta, Censored))
    if likelihood.get_params() != {"df": None} and not learns:
        assert len(theta) == 0 and likelihood.with_theta(theta) is likelihood


def test_learned_degrees_of_freedom():
    """theta = log(df - 2) starts at df = 4 and may reach 2.05 and 1000."""
    open_ = StudentT(df=None)
    assert_allclose(2.0 + np.exp(open_.theta), 4.0)
    assert_allclose(2.0 + np.exp(open_.theta_bounds), [[2.05, 1000.0]])
    made = open_.with_theta(np.log([5.5]))
    assert_allclose(made.df, 7.5)
    assert made.get_params() == {"df": made.df} and open_.df is None
    assert_allclose(made.with_theta(np.log([3.0])).df, 5.0)
    assert len(clone(made).theta) == 0  # a number that a user sees is a number that is held


def _rows():
    mean, variance, error = (
        part.ravel()
        for part in np.meshgrid([-3.0, 0.4], [1e-12, 0.3, 40.0], [0.0, 0.5, -4.0, 60.0])
    )
    y = np.column_stack([mean + error, mean - 0.3 * error])
    return y, np.column_stack([mean, mean]), np.column_stack([variance, 0.5 * variance])


@pytest.mark.parametrize("df", [2.05, 2.5, 4.0, 30.0, 1000.0])
@pytest.mark.parametrize("noise_variance", [1e-2, 0.7])
def test_derivative_in_the_degrees_of_freedom(df, noise_variance):
    """d_theta is the difference quotient of the value, at errors small and large."""
    rows, theta, step = _rows(), np.log([df - 2.0]), 1e-4

    def value(shift):
        likelihood = StudentT(None).with_theta(theta + shift * step)
        return likelihood.expected_log_density(*rows, noise_variance).value

    quotient = (value(-2) - 8 * value(-1) + 8 * value(1) - value(2)) / (12 * step)
    found = StudentT(None).with_theta(theta).expected_log_density(*rows, noise_variance).d_theta
    assert found.shape == (len(quotient), 1)
    assert_allclose(found[:, 0], quotient, rtol=1e-6, atol=2e-8)


@pytest.mark.parametrize("df", [2.05, 4.0, 300.0])
def test_learned_noise_has_the_density_of_given_noise(df):
    """Learning df changes no other number; without it there is no derivative in theta."""
    learned, given = StudentT(None).with_theta(np.log([df - 2.0])), StudentT(df)
    found = learned.expected_log_density(*_rows(), 0.3)
    expected = given.expected_log_density(*_rows(), 0.3)
    for one, other in zip(found[:4], expected[:4], strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert found.d_theta is not None and expected.d_theta is None


def test_open_degrees_of_freedom_are_four():
    """Before it has learned, StudentT(None) is StudentT(4.0) with a derivative."""
    rows = _rows()
    found = StudentT(None).expected_log_density(*rows, 0.3)
    assert_array_equal(found.value, StudentT(4.0).expected_log_density(*rows, 0.3).value)
    assert found.d_theta.shape == (len(rows[0]), 1)
    for method in ("moments", "log_predictive_density"):
        arguments = rows if method == "log_predictive_density" else rows[1:]
        one, other = (getattr(t, method)(*arguments, 0.3) for t in (StudentT(None), StudentT(4.0)))
        assert_array_equal(one, other)


@EACH
def test_targets_are_checked(likelihood):
    """Counts must be counts; of the others those for numbers and classes take any number."""
    if isinstance(likelihood, (NegativeBinomial, Gamma, Beta)):
        return  # `test_counts_shares_limits` has these
    likelihood.check_targets(np.array([[0.0, 1.0], [7.0, 2.0]]))
    bad = np.array([[0.0, 1.0], [-1.0, 0.5]])
    if not isinstance(likelihood, Poisson):
        assert likelihood.check_targets(bad) is None
        return
    with pytest.raises(ValueError, match=r"must hold counts.*2 other values such as -1: numbers"):
        likelihood.check_targets(bad)


@pytest.mark.parametrize("df", [2, 1.5, -1.0, np.nan, np.inf, "4", [3.0, 4.0], [1.0], True])
def test_degrees_of_freedom_are_checked(df):
    """df without a variance of y, or that is no number, is refused by name and value."""
    with pytest.raises(ValueError, match=r"'df' parameter of StudentT must be .*above 2.* Got "):
        StudentT(df).initialized(np.zeros((3, 1)), None)


@pytest.mark.parametrize("df", [None, 3, 2.001, np.float32(5.0), np.int64(6)])
def test_good_degrees_of_freedom_are_kept(df):
    """None and every finite number above 2 are taken as they are."""
    likelihood = StudentT(df)
    assert likelihood.initialized(np.zeros((3, 1)), None) is likelihood


@pytest.mark.parametrize("offset", [np.nan, "a", [1.0, 2.0, 3.0], np.inf, [[1.0, 2.0]]])
def test_offset_is_checked(offset):
    """An offset that is not one finite number, or one for each column, is refused."""
    with pytest.raises(ValueError, match=r"'offset' parameter of Poisson must be .* Got "):
        Poisson(offset).initialized(np.ones((4, 2)), None)


@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.0, 2.5])])
def test_offset_from_the_counts(weight):
    """An open offset becomes the log of the mean count of each column, half a count added."""
    y = np.array([[0.0, 4.0], [0.0, 1.0], [0.0, 9.0]])
    likelihood = Poisson()
    made = likelihood.initialized(y, weight)
    w = np.ones(3) if weight is None else weight
    assert_allclose(np.exp(made.offset), (w @ y + 0.5) / w.sum(), rtol=1e-12)
    assert likelihood.offset is None
    for given in (0.0, 1.5, np.array([1.0, 2.0]), [1.0, 2.0]):
        likelihood = Poisson(given)
        assert likelihood.initialized(y, weight) is likelihood


@EACH
def test_initialized_by_default_is_the_instance(likelihood):
    """A likelihood that takes nothing from the targets is learned with as it is."""
    if isinstance(likelihood, (Poisson, NegativeBinomial, Gamma, Beta, Censored)):
        return  # these take offset or limits, or learn a number for each output
    assert likelihood.initialized(np.array([[1.0], [2.0]]), None) is likelihood


def test_codes_of_classes():
    """Two classes are -1 and 1 for one function, else classes have their numbers."""
    place = np.array([0, 1, 1, 0])
    for likelihood in (Probit(), Logit()):
        assert_array_equal(likelihood.codes(place), [[-1.0], [1.0], [1.0], [-1.0]])
    for likelihood in (Softmax(), Certain([0.5, 0.5])):
        codes = likelihood.codes(place)
        assert_array_equal(codes, place[:, None])
        assert codes.dtype == np.float64


def test_decisions(rng):
    """Probit scales the mean; else two classes have log-odds and more their log probabilities."""
    mean, variance = rng.normal(0.0, 2.0, (6, 3)), rng.gamma(1.0, 1.0, (6, 3))
    one, its = mean[:, :1], variance[:, :1]
    probit = Probit().decision(one, its)
    assert_allclose(special.ndtr(probit), Probit().probabilities(one, its)[:, 1], rtol=1e-12)
    p = Logit().probabilities(one, its)[:, 1]
    assert_allclose(Logit().decision(one, its), special.logit(p), rtol=1e-9)
    two = Softmax().decision(mean[:, :2], variance[:, :2])
    p = Softmax().probabilities(mean[:, :2], variance[:, :2])[:, 1]
    assert_allclose(two, special.logit(p), rtol=1e-9)
    log_p = np.log(Softmax().probabilities(mean, variance))
    assert_array_equal(Softmax().decision(mean, variance), log_p)


def test_decision_is_finite_where_a_probability_underflows():
    """A class of probability zero to all digits has a finite decision value."""
    found = Certain([0.0, 0.25, 0.75]).decision(np.zeros((2, 3)), np.ones((2, 3)))
    assert np.isfinite(found).all() and (found[:, 0] < -700.0).all()


def alike(found, given):
    """Whether a likelihood is a copy of the given one: the same class and parameters."""
    return found is not given and type(found) is type(given) and repr(found) == repr(given)


@pytest.mark.parametrize("name", REGRESSION)
def test_regression_likelihoods_by_name(name):
    """A name gives a new instance each time, an instance gives one like it."""
    made = regression_likelihood(name)
    assert type(made) is REGRESSION[name] and regression_likelihood(name) is not made
    assert alike(regression_likelihood(made), made)


def test_classification_likelihoods_by_name():
    """Names give instances; "auto" is probit for two classes and softmax for more."""
    two, three = np.array(["a", "b"]), np.arange(3)
    for name, kind in CLASSIFICATION.items():
        assert type(classification_likelihood(name, two)) is kind
    assert type(classification_likelihood("auto", two)) is Probit
    assert type(classification_likelihood("auto", three)) is Softmax
    logit = Logit()
    assert alike(classification_likelihood(logit, two), logit)


@pytest.mark.parametrize("likelihood", ["probit", Logit(), Certain([0.5, 0.5], max_classes=2)])
def test_too_many_classes(likelihood):
    """More classes than a likelihood has are refused, with the ways out."""
    with pytest.raises(ValueError, match=r"must be 'softmax' for 3 classes.*OneVsRestClassifier"):
        classification_likelihood(likelihood, np.arange(3))


def test_one_class_is_too_few():
    """A single class is refused for every likelihood."""
    with pytest.raises(ValueError, match="at least two classes"):
        classification_likelihood("auto", np.array([1]))


@pytest.mark.parametrize("bad", ["probit", "poison", StudentT, Probit(), object(), None])
def test_what_no_regressor_can_learn_with(bad):
    """Unknown names, classes, and instances for other tasks are refused."""
    with pytest.raises(ValueError, match=r"'likelihood' parameter must .* Got "):
        regression_likelihood(bad)


@pytest.mark.parametrize("bad", ["poisson", Softmax, Gaussian(), object()])
def test_what_no_classifier_can_learn_with(bad):
    """Unknown names, classes, and instances for other tasks are refused."""
    with pytest.raises(ValueError, match=r"'likelihood' parameter must .* Got "):
        classification_likelihood(bad, np.arange(2))


def test_likelihood_of_ones_own():
    """Two methods make a regression likelihood; what it lacks is named where it is needed."""
    likelihood = Exponential(unit=2.0)
    assert alike(regression_likelihood(likelihood), likelihood)
    assert clone(likelihood).unit == 2.0 and repr(likelihood) == "Exponential(unit=2.0)"
    likelihood.check_targets(np.ones((2, 1)))
    assert likelihood.initialized(np.ones((2, 1)), None) is likelihood
    found = likelihood.expected_log_density(np.ones((2, 1)), np.zeros((2, 1)), np.ones((2, 1)))
    assert found.d_theta is None
    with pytest.raises(NotImplementedError, match=r"predict_quantiles.*'quantiles'.*Exponential"):
        likelihood.quantiles(np.zeros((2, 1)), np.ones((2, 1)), None, [0.5])


def test_class_likelihood_of_ones_own():
    """Probabilities are enough to be taken by a classifier, for any number of classes."""
    likelihood = Certain([0.2, 0.5, 0.3])
    assert alike(classification_likelihood(likelihood, np.arange(3)), likelihood)


def test_likelihood_without_the_base_class():
    """An object with the whole interface is taken; what another lacks is named."""
    whole = Wrapped(Gaussian())
    assert type(regression_likelihood(whole)) is Wrapped
    classes = Wrapped(Softmax())
    assert type(classification_likelihood(classes, np.arange(3))) is Wrapped
    with pytest.raises(ValueError, match="has no theta, draw"):
        regression_likelihood(Wrapped(Gaussian(), without=("draw", "theta")))
    with pytest.raises(ValueError, match="has no codes"):
        classification_likelihood(Wrapped(Logit(), without=("codes",)), np.arange(2))


def test_precisions_are_no_part_of_the_least_interface():
    """A class without the base is learned by sites if it says nothing of precisions of rows."""
    X = np.linspace(-1.0, 1.0, 30)[:, None]
    silent = ("row_precision", "noise_choice", "get_params")
    likelihoods = [Plain(StudentT(), without=silent), StudentT()]
    options = {"optimizer": "lbfgs", "max_iter": 3}  # which learns by sites alone
    found = [SVGPRegressor(likelihood=one, **options).fit(X, X[:, 0]) for one in likelihoods]
    assert_allclose(*(model.predict(X) for model in found))
    with pytest.raises(ValueError, match="'likelihood' parameter must be Gaussian noise, or"):
        AnytimeSGPRegressor(likelihood=likelihoods[0]).fit(X, X[:, 0])


def test_tables_of_softmax_have_the_integers_of_c():
    """The compiled loops read ptrdiff_t, which a list of integers is not on every system."""
    assert lattice(0, 3).origin.dtype == lattice(0, 3).width.dtype == np.intp
