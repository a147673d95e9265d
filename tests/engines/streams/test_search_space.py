"""How far kernel and noise of a stream may go with one batch."""

import numpy as np
import pytest
from dense import make_space
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from slow_variants import slow
from stream_helpers import batches, fresh_residual, parameters_of, rows_of, taught

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.engines.streams.search_space import humble, plausible, trusted
from sklearn_sgp.estimators.numbers import later_rows
from sklearn_sgp.kernels._length_scales import variance_mask

PARAMETERS = parameters_of(rows_of(4).X)


@pytest.mark.parametrize("radius", [0.1, 1.0])
def test_parameters_are_held_near_where_they_are(radius):
    """Logarithms may go a radius to each side, the noise five times as far upwards, Z anywhere."""
    space = trusted(make_space(3, np.ones(2)), PARAMETERS, radius)
    theta, noise = PARAMETERS.theta, PARAMETERS.log_noise
    ends = np.column_stack([theta - radius, theta + radius])
    assert_allclose(space.group("theta").bounds, ends)
    assert_allclose(space.group("log_noise").bounds, [[noise - radius, noise + 5.0 * radius]])
    assert space.group("Z").bounds is None


def test_a_trust_region_never_widens_bounds():
    """What the user allows ends the region, and no radius at all leaves the space as it was."""
    space = make_space(3, bound=0.5)
    assert trusted(space, PARAMETERS, np.inf) is space
    held = trusted(space, PARAMETERS, 1.0).group("theta").bounds
    assert (np.abs(held) <= 0.5).all()
    assert (held[:, 0] <= held[:, 1]).all()


def test_a_fixed_group_stays_fixed():
    """A group that is not learned is not among those of the region."""
    space = trusted(make_space(3, noise=False), PARAMETERS, 0.3)
    assert not space.learns("log_noise")


def test_few_rows_claim_only_so_much():
    """Where a share of the rows is missing, variances are at least its square times their start."""
    stream = StreamingSGPRegressor(n_inducing=5, max_iter=1)
    stream.partial_fit(np.linspace(0.0, 1.0, 40)[:, None], np.sin(np.linspace(0.0, 9.0, 40)))
    start = stream._fitted.start
    found, begin = humble(start, 0.5), start.parameters
    theta, is_variance = found.space.group("theta").bounds[:, 0], variance_mask(begin.expression)
    assert_allclose(theta[is_variance], begin.theta[is_variance] + 2.0 * np.log(0.5))
    assert_allclose(theta[~is_variance], start.space.group("theta").bounds[~is_variance, 0])
    noise = found.space.group("log_noise").bounds[:, 0]
    assert_allclose(noise, begin.log_noise + 2.0 * np.log(0.5))


FIRST_TARGETS = np.round(3.0 + np.sin(9.0 * np.linspace(0.0, 1.0, 40)))


def largest_variance(targets, kernel=None, learned=0.0, **options):
    """Upper bound of a stream's amplitude squared, for a batch with these scaled targets."""
    X = np.linspace(0.0, 1.0, 40)[:, None]
    options = {"n_inducing": 5, "max_iter": 1, "normalize_y": (0.0, 1.0), **options}
    stream = StreamingSGPRegressor(kernel, **options)
    stream.partial_fit(X, FIRST_TARGETS)
    rows = later_rows(stream._fitted, Inputs(X), np.broadcast_to(targets, 40), None)
    parameters = stream._fitted.parameters
    theta = np.maximum(parameters.theta, [learned, -np.inf])
    space = plausible(stream._fitted.start, parameters.with_values(theta=theta), rows)
    return np.exp(space.group("theta").bounds[0, 1])


def test_a_default_amplitude_is_at_most_ten_deviations_of_the_targets():
    """Of those of the first batch, of the batch, and of what the amplitude was before."""
    first = 100.0 * np.mean(FIRST_TARGETS**2)
    assert_allclose(largest_variance(0.1), first)
    assert_allclose(largest_variance(5.0), 2500.0)
    assert_allclose(largest_variance(0.1, learned=np.log(3.0 * first)), 3.0 * first)
    assert_allclose(largest_variance(1e40), 100.0 * first)  # the bound of the default kernel


def test_bounds_that_a_user_gives_stay():
    """A kernel that was given has the bounds that it was given with."""
    kernel = ConstantKernel(1.0, (1e-3, 1e6)) * RBF(1.0)
    assert_allclose(largest_variance(0.1, kernel), 1e6)


def test_other_units_have_no_such_bound():
    """Logarithms of rates, and functions whose size is that of their mixing weights."""
    assert_allclose(largest_variance(1.0, likelihood="poisson"), 1e4)
    assert_allclose(largest_variance(0.1, n_latent=1), 1e4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1210, slow(1862)])
def test_smooth_streams_are_as_sure_as_they_are_right(seed):
    """With amplitudes of 100 deviations squared errors were 3.7 and 34 times their variances."""
    assert fresh_residual(seed) < 2.0


@pytest.mark.slow
def test_a_trend_may_go_far_from_the_first_batch(rng):
    """100 batches of a line end 340 deviations of the first away; with ten of it the error is 1."""
    X = np.sort(rng.uniform(0.0, 100.0, (4000, 1)), axis=0)
    y = X[:, 0] + 0.003 * rng.standard_normal(4000)
    model = StreamingSGPRegressor(n_inducing=60, random_state=0)
    taught(model, batches(X, y, *range(40, 4000, 40)))
    error = model.predict(X) - X[:, 0]
    assert np.sqrt(np.mean(error**2)) < 0.2
