"""Floating-point operations, counted by hand from the code, for one output.

A multiplication and an addition are two. Triangular and symmetric products count half of a general
one, factorisations and triangular inverses m^3 / 3. ``done`` is what the code does. ``owed`` is
what the form of the method cannot do without: docs/theory.md, eqs. 13 and 14, with 6 m^3 for all
m x m work of the direct step. What is left of a measured time after ``done / peak`` is overhead:
passes over memory, threads that wait, Python.
"""

_EXPONENTIAL = 32  # the polynomial of _core/simd.h
_STORED = 256 << 20  # bytes of blocks that are kept between two passes over the rows


def kernel_block(m, n, d):
    """K(Z, X) by differences."""
    return m * n * (3 * d + _EXPONENTIAL)


def kernel_reverse(m, n, d):
    """Gradient in length scales, variance and Z: the block again, and its product with features."""
    return kernel_block(m, n, d) + 2 * m * n * (2 * d + 1)


def _gram(m, d):
    """K(Z, Z) and the gradient back from its cotangent."""
    return kernel_block(m, m, d) + kernel_reverse(m, m, d)


def _factors(m, whitened):
    """Factors and inverses of one evaluation.

    Whitened: potrf and trtri of K, potrf and potri of I + H. Direct: potrf and potri of K and of
    K + H.
    """
    return (5 if whitened else 6) * m**3 / 3


def step(m, b, d, whitened):
    """One stochastic step: minibatch bound with all gradients, natural step, refactorisation.

    Returns
    -------
    owed, done : float
    """
    rows = (5 if whitened else 3) * b * m**2 + kernel_block(m, b, d) + kernel_reverse(m, b, d)
    rows += 10 * m * b + _gram(m, d)
    # the cotangent of K(Z, Z): one product and two triangular ones, or three products
    done = rows + (4 if whitened else 6) * m**3 + _factors(m, whitened)
    return (done if whitened else rows + 6 * m**3), done


def collapsed(m, n, d, whitened):
    """One collapsed bound with all gradients.

    Returns
    -------
    owed, done : float
    """
    # twice the kernel and the product with inv(L), a symmetric and a general product
    rows = (5 if whitened else 3) * n * m**2 + 2 * kernel_block(m, n, d) + 6 * m * n
    rows += kernel_reverse(m, n, d) + _gram(m, d)
    once = rows + (2 if whitened else 4) * m**3 + _factors(m, whitened)
    if whitened:
        once += m**3  # inv(L)^T times the cotangent of H
        if 8 * m * n <= _STORED:
            once -= n * m**2 + kernel_block(m, n, d)  # blocks are kept for the second pass
    elif 8 * m * n <= _STORED:
        once -= kernel_block(m, n, d)
    return once, once


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
    square = (4 if whitened else 15) * m**3 / 3 + kernel_block(m, m, d)
    return exact_pass(m, n, d, whitened)[1] + square


def block_step(m, b):
    """An anytime step on a block of b rows, without its kernel blocks: by model."""
    shared = 2 * m * m * b  # A from K(Z, X) by a triangular product, and the sum A A^T
    return {"pic": shared + 2 * b * b * m + b**3 / 3, "fitc": shared, "dtc": shared}


def pic_pass(m, b, n, d):
    """The sums over all n rows in blocks of b, by PIC."""
    blocks = n / b
    return blocks * (block_step(m, b)["pic"] + kernel_block(m, b, d) + kernel_block(b, b, d) / 2)


def pic_predictions(m, b, n, rows, d):
    """All blocks again, and a solve with the factor of its block for each row."""
    return pic_pass(m, b, n, d) + rows * (b**2 + 2 * m * b + kernel_block(m + b, 1, d))
