"""Names of a kernel's free parameters, as users write them, and their places in theta."""

import numpy as np

from ._length_scales import scale_places
from ._white_noise import free_parameters, split_noise
from .categories._node import category_slots


def named_places(kernel, expression, n_columns):
    """Return the places of parameters among the free log parameters of the process.

    Parameters
    ----------
    kernel : Kernel
        The whole one, noise included: names are those of its parameters.
    expression : KernelExpression
        Of the process.
    n_columns : int
        Columns behind so many say where values are missing.

    Returns
    -------
    places : dict of str to ndarray of int
        Without length scales of what says where values are missing, without parameters of
        categories, whose units nobody has, and without directions, which have no logarithms.
    """
    hidden = expression.signed[expression.free]
    for diagonal, factor, _ in category_slots(expression):
        hidden[diagonal] = hidden[factor] = True
    hidden[_scales_behind(expression, n_columns)] = True
    named, first = {}, 0
    for parameter in free_parameters(kernel)[0]:
        places = np.arange(first, first + parameter.n_elements)
        first += parameter.n_elements
        places = places[~hidden[places]]
        if len(places):
            named[parameter.name] = places
    return named


def _scales_behind(expression, n_columns):
    """Return the places of length scales of columns behind the first ones alone."""
    measured = [columns for leaf, columns in expression.leaves if leaf.length_scale is not None]
    found = [np.empty(0, dtype=np.intp)]
    for place, columns in zip(scale_places(expression), measured, strict=True):
        behind = columns >= n_columns
        if len(place) == len(columns):
            found.append(place[behind])
        elif behind.all():
            found.append(place)
    return np.concatenate(found)


def has_noise_terms(kernel):
    """Return whether noise is what ``WhiteKernel`` terms of the kernel say."""
    return bool(split_noise(kernel)[1])


def noise_name(kernel):
    """Return the name of the noise level of a kernel that has one term of noise; None for several.

    Of several only the sum is learned.
    """
    noise, whites = free_parameters(kernel)[1], split_noise(kernel)[1]
    return noise[0].name if len(noise) == len(whites) == 1 else None


def bare(name):
    """Return the last word of a name, such as "length_scale" of "k1__k2__length_scale"."""
    return name.rpartition("__")[2]
