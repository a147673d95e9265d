"""Floating-point operations, counted by hand from the code, for one output.

A multiplication and an addition are two. Triangular and symmetric products count half of a general
one, factorisations and triangular inverses m^3 / 3. ``done`` is what the code does. ``owed`` is what
the form of the method cannot do without: docs/theory.md, eqs. 13 and 14, with 6 m^3 for all m x m work
of the direct form. What is left of a measured time after ``done / peak`` is overhead: passes over
memory, threads that wait, Python.
"""

_EXPONENTIAL = 32  # the polynomial of _core/profiles.c


def kernel_block(m, n, d):
    """K(Z, X) by differences."""
    return m * n * (3 * d + _EXPONENTIAL)


def kernel_reverse(m, n, d):
    """Gradient in length scales, variance and Z: the block again, and its product with features."""
    return kernel_block(m, n, d) + 2 * m * n * (2 * d + 1)


def _common(m, d):
    """K(Z, Z), its factor and that factor's inverse, and the same for I + H; the gradient back."""
    factors = 2 * m**3 / 3 + m**3  # potrf and trtri of K; potrf and potri of I + H
    return factors + kernel_block(m, m, d) + kernel_reverse(m, m, d)


def step(m, b, d, whitened):
    """One stochastic step: minibatch bound with all gradients, natural step, refactorisation.

    Returns
    -------
    owed, done : float
    """
    rows = (5 if whitened else 3) * b * m**2 + kernel_block(m, b, d) + kernel_reverse(m, b, d)
    rows += 10 * m * b
    # whitened: M G, inv(L)^T phi inv(L). direct: inv(L) H inv(L)^T and M; inv(L) G inv(L)^T;
    # two products; the cotangent of K
    square = 4 * m**3 if whitened else 12 * m**3
    predicting = m**3 / 3  # inv(LB), which only predictions need
    done = rows + square + _common(m, d) + predicting
    owed = done - predicting if whitened else rows + 6 * m**3 + 2 * kernel_block(m, m, d)
    return owed, done


def collapsed(m, n, d, whitened):
    """One collapsed bound with all gradients.

    Returns
    -------
    owed, done : float
    """
    # twice kernel and inv(L) product, symmetric product, general product
    rows = (5 if whitened else 3) * n * m**2 + kernel_block(m, n, d) + kernel_reverse(m, n, d)
    rows += kernel_block(m, n, d) + 6 * m * n
    square = 3 * m**3 if whitened else 6 * m**3
    done = rows + square + _common(m, d)
    return done, done


def exact_pass(m, n, d, whitened):
    """The sums over all rows for the optimal q(u).

    Returns
    -------
    owed, done : float
    """
    rows = (2 if whitened else 1) * n * m**2 + kernel_block(m, n, d) + 2 * m * n
    return rows, rows


def exact_fit(m, n, d, whitened):
    """The exact pass and the factorisations around it."""
    square = 5 * m**3 / 3 + (0 if whitened else 2 * m**3) + kernel_block(m, m, d)
    return exact_pass(m, n, d, whitened)[1] + square


def prediction(m, n, d):
    """Mean and standard deviation of n rows."""
    return 2 * n * m**2 + kernel_block(m, n, d) + 6 * m * n
