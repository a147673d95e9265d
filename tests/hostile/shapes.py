"""Random shapes through the compiled core, whose results numpy has as well.

    python tests/hostile/shapes.py --shapes 1000 --seed 0

`.ci/sanitize` runs it with sanitizers, for which every array ends where its memory does.
"""

import argparse
import sys
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]

import numpy as np
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, Matern

from sklearn_sgp import AnytimeSGPClassifier, AnytimeSGPRegressor, BayesianGPLVM, SVGPClassifier
from sklearn_sgp._core import _linalg as la
from sklearn_sgp._core import _stationary
from sklearn_sgp.kernels import compile_kernel

SMALL = {"max_iter": 1, "n_jobs": 1, "random_state": 0}


def _size(rng, most=70):
    """Often a border of tiles and lanes, else any size."""
    borders = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65]
    return int(rng.choice(borders) if rng.random() < 0.5 else rng.integers(0, most))


def products(rng):
    """Products, and triangular solves."""
    p, q, k = _size(rng), _size(rng), _size(rng)
    A, B, C = rng.normal(size=(p, k)), rng.normal(size=(k, q)), rng.normal(size=(p, q))
    expected = A @ B + 0.5 * C
    la.gemm(A, B, C, beta=0.5)
    assert_allclose(C, expected, atol=1e-11)
    S = rng.normal(size=(p, p))
    lower = np.tril(A @ A.T + S)
    la.syrk(A, S, beta=1.0)
    assert_allclose(np.tril(S), lower, atol=1e-11)
    la.mirror(S)
    la.symmetrize(S)
    turned = np.empty((k, p))
    la.transpose(A, turned)
    assert_allclose(turned, A.T)
    L = np.tril(rng.normal(size=(p, p)), -1) / max(p, 1) + 2.0 * np.eye(p)
    for trans in (False, True):
        solved = A.copy()
        la.trsm(L, solved, trans)
        la.trmm(L, solved, trans)
        assert_allclose(solved, A, atol=1e-10)
        la.trmm_right(turned, L, trans)
    covariance = L @ L.T
    norm = np.abs(covariance).sum(axis=0).max(initial=0.0)
    assert la.potrf(covariance) == 0
    assert_allclose(covariance, L, atol=1e-10)
    assert la.reciprocal_condition(L, norm) > 0.0
    dots = np.zeros(p)
    la.row_dots(A, A, dots)
    assert_allclose(dots, (A * A).sum(axis=1), atol=1e-11)
    assert_allclose(la.dot(A, A), (A * A).sum(), atol=1e-10)
    assert la.trtri(L) == 0 and la.potri(covariance) == 0


def blocks(rng):
    """Blocks of stationary kernels and their reverse mode, direct and by products."""
    m, n, d = _size(rng), _size(rng, 200), 1 + _size(rng, 12)
    Z, Xt = rng.normal(size=(m, d)), rng.normal(size=(d, n))
    shape, sums = np.array([0.7, 1.9]), np.empty(3)
    squared = ((Z[:, None] - Xt.T) ** 2).sum(axis=2)
    for number in _stationary.PROFILES.values():
        for direct in (False, True):
            out = np.empty((m, n))
            _stationary.value_block(number, Z, Xt, 1.3, shape, out, direct)
            assert np.isfinite(out).all()
            if number == _stationary.PROFILES["squared_exponential"]:
                assert_allclose(out, 1.3 * np.exp(-0.5 * squared), atol=1e-11)
            _stationary.vjp_block(number, Z, Xt, 1.3, shape, out, sums, direct)
            assert np.isfinite(out).all() and np.isfinite(sums).all()


def kernels(rng):
    """Compiled kernels, all rows with themselves."""
    n, d = 1 + _size(rng), 1 + _size(rng, 9)
    X = rng.normal(size=(n, d))
    kernel = RBF(np.full(d, 1.1)) + 0.5 * Matern(nu=1.5)
    bound = compile_kernel(kernel, np.zeros(d)).bind(kernel.theta)
    assert_allclose(bound.block(X, X), kernel(X), atol=1e-10)


def models(rng):
    """Cells, groups, classes, softmax and latent inputs, in small estimators."""
    n, d = 2 + _size(rng), 1 + _size(rng, 6)
    X = rng.normal(size=(n, d))
    near = {"n_neighbors": _size(rng, 20), "n_inducing": 1 + _size(rng, 20)}
    model = str(rng.choice(["vif", "lma", "pic", "pitc", "fitc"]))
    given = {"model": model, "block_size": 1 + _size(rng), **near, **SMALL}
    regressor = AnytimeSGPRegressor(RBF(), **given).fit(X, rng.normal(size=(n, 1 + _size(rng, 4))))
    assert np.isfinite(regressor.predict(rng.normal(size=(1 + _size(rng), d)))).all()
    y = np.arange(n) % (2 + _size(rng, 8))
    given |= {"alpha_epsilon": 0.01}
    for classifier in (AnytimeSGPClassifier(RBF(), **given), SVGPClassifier(RBF(), **SMALL)):
        assert np.isfinite(classifier.fit(X, y).predict_proba(X)).all()
    components = {"n_components": 1 + _size(rng, 4), "n_inducing": near["n_inducing"]}
    latent = BayesianGPLVM(**components, **SMALL).fit(X)
    assert np.isfinite(latent.embedding_).all()


def main():
    """Run so many of each, and print the count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    rng = np.random.default_rng(options.seed)
    for number in range(options.shapes):
        products(rng)
        blocks(rng)
        kernels(rng)
        if number % 20 == 0:
            models(rng)
    print(f"{options.shapes} random shapes, seed {options.seed}: all right")


if __name__ == "__main__":
    main()
