"""The prior mean of classifiers: an offset from the frequencies of the classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit, ndtr, softmax

from sklearn_sgp.likelihoods import Logit, Probit, Softmax

TWO = pytest.mark.parametrize("kind, link", [(Probit, ndtr), (Logit, expit)])


@TWO
@pytest.mark.parametrize("weight", [(98.0, 2.0), (2.0, 98.0), (3.5, 0.25), (1e-9, 4e-9)])
def test_offset_of_two_classes_gives_their_frequencies(kind, link, weight):
    """The link at the offset is the share of the second class, whatever the unit of weights."""
    likelihood = kind()
    made = likelihood.for_classes(np.array(weight))
    assert_allclose(link(made.offset), weight[1] / sum(weight), rtol=1e-12)
    assert likelihood.offset is None


@TWO
def test_offset_of_a_very_rare_class_keeps_its_digits(kind, link):
    """Exchanged classes have the negative offset, which is finite where a share rounds to 1."""
    for rare in (1e-3, 1e-30, 1e-200):
        one, other = (kind().for_classes(np.array(w)).offset for w in ((1.0, rare), (rare, 1.0)))
        assert one == -other < 0.0
        assert_allclose(link(one), rare / (1.0 + rare), rtol=1e-9)


def test_offsets_of_more_classes_give_their_frequencies():
    """The softmax of the offsets is the shares of the classes."""
    weight = np.array([5.0, 0.5, 20.0, 1.0])
    made = Softmax().for_classes(weight)
    assert_allclose(softmax(made.offset), weight / weight.sum(), rtol=1e-12)


@pytest.mark.parametrize("kind", [Probit, Logit])
@pytest.mark.parametrize("weight", [(7.0, 7.0), (0.0, 3.0), (3.0, 0.0)])
def test_two_classes_that_say_nothing_have_no_offset(kind, weight):
    """Equal weights have the offset zero, and so have rows of one class alone."""
    assert kind().for_classes(np.array(weight)).offset == 0.0


def test_classes_without_rows_are_as_frequent_as_the_mean_of_the_others():
    """A class that has no row yet gets the mean log frequency of those that have."""
    offset = Softmax().for_classes(np.array([4.0, 0.0, 16.0, 0.0])).offset
    assert_allclose(offset - offset[0], np.log([1.0, 2.0, 4.0, 2.0]), rtol=1e-12)
    assert_array_equal(Softmax().for_classes(np.array([5.0, 0.0, 5.0])).offset, np.zeros(3))


@pytest.mark.parametrize(
    "likelihood",
    [Probit(0.0), Logit(-1), Probit(np.float64(2.0)), Softmax(0.3), Softmax([0.0, 1.0])],
)
def test_a_given_offset_stays(likelihood):
    """An offset that was given does not depend on the data."""
    assert likelihood.for_classes(np.array([9.0, 1.0])) is likelihood


@pytest.mark.parametrize("offset", ["a", np.nan, np.inf, [1.0, 2.0, 3.0], [[1.0, 2.0]], [0.0]])
@pytest.mark.parametrize("kind", [Probit, Logit, Softmax])
def test_an_offset_is_checked(kind, offset):
    """An offset that is not a finite number, or one for each class of softmax, is refused."""
    with pytest.raises(ValueError, match=f"'offset' parameter of {kind.__name__} must be .* Got "):
        kind(offset).for_classes(np.ones(2))


@pytest.mark.parametrize(
    "kind, offset", [(Probit, 0.7), (Logit, -1.3), (Softmax, np.array([0.4, -2.0]))]
)
def test_an_offset_moves_the_latent_mean(kind, offset, rng):
    """Densities, probabilities and decisions are those without offset at the moved mean."""
    width = 2 if kind is Softmax else 1
    mean, variance = rng.standard_normal((6, width)), rng.uniform(0.1, 9.0, (6, width))
    y = kind().codes(np.array([0, 1, 1, 0, 1, 0]))
    one, other = kind(offset), kind()
    for part, moved in zip(
        one.expected_log_density(y, mean, variance),
        other.expected_log_density(y, mean + offset, variance),
        strict=True,
    ):
        if part is not None:
            assert_allclose(part, moved, rtol=1e-12)
    for name in ("probabilities", "decision"):
        found = getattr(one, name)(mean, variance)
        assert_allclose(found, getattr(other, name)(mean + offset, variance), rtol=1e-12)
    assert_allclose(
        one.log_predictive_density(y, mean, variance),
        other.log_predictive_density(y, mean + offset, variance),
        rtol=1e-12,
    )


def test_softmax_of_two_classes_has_the_offset_of_logit():
    """The difference of the two offsets is the log odds."""
    weight = np.array([30.0, 4.0])
    offset = Softmax().for_classes(weight).offset
    assert_allclose(offset[1] - offset[0], Logit().for_classes(weight).offset, rtol=1e-12)
    assert_allclose(offset[1] - offset[0], logit(4.0 / 34.0), rtol=1e-12)
