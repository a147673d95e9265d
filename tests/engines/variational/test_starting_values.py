"""Where learning starts, which groups of parameters are free, and within which bounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Matern,
    PairwiseKernel,
    WhiteKernel,
)

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.fitted import Fitted
from sklearn_sgp.engines.start import (
    Choices,
    start,
    starting_length_scale,
)
from sklearn_sgp.kernels._defaults import ONE
from sklearn_sgp.likelihoods import Gaussian, Poisson, StudentT

KERNEL = ConstantKernel(2.0, (0.1, 10.0)) * RBF([0.5, 3.0], (0.01, 100.0))


@pytest.fixture
def rows(rng):
    """40 rows of two columns of different spread."""
    X = rng.uniform(-2.0, 2.0, (40, 2)) * [1.0, 50.0]
    return Rows(X, np.sin(X[:, :1]), None, np.zeros(1), np.ones(1))


def begun(rows, likelihood=None, previous=None, **choices):
    """`start` with a few inducing inputs."""
    chosen = {
        "kernel": KERNEL,
        "n_inducing": 6,
        "inducing": "kmeans",
        "optimize_inducing": True,
        "noise_variance_bounds": (1e-6, 1e3),
        **choices,
    }
    rng = np.random.RandomState(0)
    return start(rows, Choices(**chosen), likelihood or Gaussian(), rng, previous)


def names_of(space):
    return [group.name for group in space.groups]


@pytest.mark.parametrize("d", [1, 4])
def test_default_kernel(d):
    """The default kernel starts within its bounds, length scales in units of the inputs' spread."""
    std = np.geomspace(1e-6, 1e6, d)
    (kernel,) = ONE.kernels_of(std)
    assert_allclose(np.exp(kernel.theta), [1.0, *(std * np.sqrt(d))])
    assert_allclose(starting_length_scale(std), std * np.sqrt(d))
    assert (kernel.bounds[:, 0] < kernel.theta).all()
    assert (kernel.theta < kernel.bounds[:, 1]).all()


def test_free_groups_are_in_logarithms(rows):
    """Kernel and noise have bounds in logarithms, inducing inputs have length scales as unit."""
    space = begun(rows, noise_variance_bounds=(0.1, 10.0)).space
    assert names_of(space) == ["theta", "log_noise", "Z"]
    assert_allclose(np.exp(space.group("theta").bounds), [[0.1, 10.0], *[[0.01, 100.0]] * 2])
    assert_allclose(space.group("log_noise").bounds, np.log([[0.1, 10.0]]))
    assert space.group("Z").bounds is None
    assert_allclose(space.group("Z").unit, rows.X.std(axis=0) * np.sqrt(2.0))


def test_noise_with_fixed_bounds_is_no_group(rows):
    """Fixed noise is not among the free groups, and bounds of the vector are those of the rest."""
    kernel = RBF(0.5, "fixed")
    options = {"kernel": kernel, "optimize_inducing": False}
    fixed = begun(rows, noise_variance=0.3, noise_variance_bounds="fixed", **options)
    assert names_of(fixed.space) == ["theta"] and not fixed.space.learns("log_noise")
    assert_allclose(fixed.parameters.noise_variance, 0.3)
    assert fixed.space.bounds(fixed.parameters).shape == (0, 2)
    free = begun(rows, noise_variance_bounds=(0.1, 10.0), **options)
    assert not free.space.learns("Z")
    assert_allclose(free.space.bounds(free.parameters), np.log([[0.1, 10.0]]))


def test_parameters_start_where_told(rows):
    """Kernel and noise start at what was given, within their bounds; Z has as many as asked."""
    found = begun(rows, noise_variance=0.02).parameters
    assert_allclose(np.exp(found.theta), [2.0, 0.5, 3.0])
    assert_allclose(found.noise_variance, 0.02)
    assert found.Z.shape == (6, 2)
    clipped = begun(rows, kernel=RBF(0.5, (1.0, 2.0)), noise_variance=5e4).parameters
    assert_allclose(np.exp(clipped.theta), [1.0])
    assert_allclose(clipped.noise_variance, 1e3)


def test_noise_of_the_kernel_starts_in_its_own_group(rows):
    """A WhiteKernel term is the noise, and the kernel is kept as it was given."""
    kernel = KERNEL + WhiteKernel(0.4, (0.2, 0.8))
    found = begun(rows, kernel=kernel)
    assert found.kernel is kernel
    assert len(found.parameters.theta) == 3
    assert_allclose(found.parameters.noise_variance, 0.4)
    assert_allclose(np.exp(found.space.group("log_noise").bounds), [[0.2, 0.8]])


def test_free_parameters_of_a_likelihood_are_a_group(rows):
    """StudentT(df=None) adds the group "likelihood"; a given df adds nothing."""
    learned = begun(rows, StudentT(df=None))
    assert names_of(learned.space) == ["theta", "log_noise", "likelihood", "Z"]
    assert_allclose(2.0 + np.exp(learned.parameters.likelihood_theta), [4.0])
    assert_allclose(2.0 + np.exp(learned.space.group("likelihood").bounds), [[2.05, 1000.0]])
    given = begun(rows, StudentT(df=3.0))
    assert names_of(given.space) == ["theta", "log_noise", "Z"]
    assert "likelihood" not in given.parameters.values


def test_a_likelihood_without_noise_has_none_to_learn(rows):
    """Without a noise variance it is 1 and fixed."""
    found = begun(rows, Poisson())
    assert names_of(found.space) == ["theta", "Z"]
    assert found.parameters.noise_variance == 1.0


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("kernel", [None, KERNEL])
def test_length_scales_of_the_default_kernel_can_be_tied(rows, kernel, ties):
    """The prior that ties length scales is that of the default kernel only, where it is asked."""
    space = begun(rows, kernel=kernel, ties_length_scales=ties).space
    assert (space.prior is not None) == (kernel is None and ties)
    if space.prior is not None:
        assert_allclose(space.prior.log_std, np.log(rows.X.std(axis=0)))


def test_given_inducing_inputs_are_copied(rows):
    """Given inducing inputs are taken as they are, but not the user's own array."""
    Z = rows.X[:3].copy()
    found = begun(rows, inducing=Z).parameters
    assert_array_equal(found.Z, Z)
    assert not np.shares_memory(found.Z, Z)


@pytest.mark.parametrize("inducing", [np.zeros((3, 1)), np.full((3, 2), np.nan), [["a", "b"]]])
def test_inducing_inputs_that_fit_nothing_are_refused(rows, inducing):
    """Other columns, or numbers that are not finite, are an error that names the parameter."""
    with pytest.raises(ValueError, match="'inducing' parameter must be"):
        begun(rows, inducing=inducing)


def result_of(started):
    """A fit whose parameters all moved."""
    moved = {name: value + 0.1 for name, value in started.parameters.values.items()}
    parameters = started.parameters.with_values(**moved)
    return Fitted(started, parameters, None, 0.0, 1e-8, 1, 0)


def test_an_earlier_fit_gives_its_parameters(rows):
    """All groups start where an earlier fit ended, those of the likelihood too."""
    earlier = result_of(begun(rows, StudentT(df=None)))
    again = begun(rows, StudentT(df=None), earlier)
    for name, value in earlier.parameters.values.items():
        assert_array_equal(again.parameters.values[name], value)


def test_an_earlier_fit_without_a_group_gives_the_others(rows):
    """A group that an earlier fit had not starts at its own value."""
    earlier = result_of(begun(rows, StudentT(df=4.0)))
    again = begun(rows, StudentT(df=None), earlier)
    assert_array_equal(again.parameters.theta, earlier.parameters.theta)
    assert_array_equal(again.parameters.likelihood_theta, StudentT(df=None).theta)


def test_an_earlier_fit_of_another_shape_is_not_used(rows):
    """Where the kernel has other parameters, or the rows other columns, learning starts anew."""
    earlier = result_of(begun(rows, kernel=Matern(0.7)))
    assert_allclose(np.exp(begun(rows, None, earlier).parameters.theta), [2.0, 0.5, 3.0])
    one = Rows(rows.X[:, :1], rows.y, None, rows.y_mean, rows.y_scale)
    assert begun(one, None, earlier, kernel=RBF(0.3)).parameters.Z.shape == (6, 1)


def test_kernels_without_gradients_in_inputs_keep_the_inducing_inputs(rows):
    """Where the inducing inputs cannot be learned they are fixed, with a warning."""
    with pytest.warns(UserWarning, match="without analytic gradients"):
        found = begun(rows, kernel=PairwiseKernel(0.3, metric="laplacian"))
    assert names_of(found.space) == ["theta", "log_noise"]
    quiet = begun(rows, kernel=PairwiseKernel(0.3, metric="laplacian"), learns=False)
    assert not quiet.space.learns("Z")
