"""A step of Adam in kernel, noise and inducing inputs, taken only where K(Z, Z) factorises."""

from .._linalg import NotPositiveDefiniteError
from ..gp.posterior import Prior


def move_by_adam(adam, space, parameters, gradient, delta):
    """Parameters after one step up a gradient and that of the space's prior, and the prior of q(u).

    Parameters
    ----------
    adam : learning.Adam
    space : learning.ParameterSpace
    parameters : learning.Parameters
    gradient : objectives.Gradient
    delta : float
        Jitter in units of the kernel.

    Returns
    -------
    moved : (learning.Parameters, posterior.Prior) or None
        None where K(Z, Z) is not positive definite: steps are half as long from then on.
    """
    _, gradient = space.with_prior(0.0, gradient, parameters)
    x = adam.step(space.pack(parameters), space.pack_gradient(gradient), space.bounds(parameters))
    moved = space.unpack(x, parameters)
    try:
        return moved, Prior.build(moved.kernel, moved.Z, delta)
    except NotPositiveDefiniteError:
        adam.learning_rate *= 0.5
        return None
