"""Fourier features: cosines and sines whose weights take the place of values at inducing inputs.

A stationary kernel is the mean of cos(w'(x - x')) over frequencies w of its spectral density. With
K of them, drawn and perhaps learned, the process is

    f(x) = sum_k sqrt(s^2 / K) (a_k cos w_k'x + b_k sin w_k'x),    a, b ~ N(0, I):

the sparse spectrum process (Lazaro-Gredilla et al. 2010; docs/theory.md, section 6). Its inducing
variables are the weights u = (a, b): K(Z, Z) is the identity, and K(Z, X) are the features. A model
sees no more of it than that.

Z is an array with a row for each feature and one column more than X. A row has a frequency of unit
length scales, and last the number of the term of the kernel that it belongs to: t of a cosine,
-1 - t of a sine. Cosines come first, then their sines, then the constant terms, which have one
feature each.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._linalg import product, transposed
from . import nodes
from ._compiled import BoundKernel
from ._random_features import DENSITIES, multiplied_out, sample_features

_LEAST_SCALE = 1e-305  # those of 1e-309 have no inverse: see `_features` for what becomes of them
_CURE = 'Take inducing="kmeans", or another kernel.'


def are_features(expression, Z):
    """Return whether Z, as an array of `Parameters` or of a prior, has features, not inputs."""
    return Z.shape[1] == expression.n_features + 1


def with_features(kernel, Z):
    """Return a `BoundKernel` as it is, or that of the process that features Z make."""
    if Z is None or not are_features(kernel.expression, Z):
        return kernel
    return FeatureKernel(kernel.expression, kernel.values, Z)


def prior_features(kernel, n_features, rng):
    """Return features whose products are a kernel: its own, or random ones of `sample_features`."""
    if isinstance(kernel, FeatureKernel):
        return _OwnFeatures(kernel)
    return sample_features(kernel, n_features, rng)


def draw_features(kernel, n_features, rng):
    """Draw features of a kernel.

    Parameters
    ----------
    kernel : BoundKernel
    n_features : int
        Most of them. Terms that are no constants share them equally, two for each frequency.

    Returns
    -------
    Z : ndarray of shape (m, d + 1)

    Raises
    ------
    ValueError
        If a part of the kernel has no spectral density that can be scaled, or if features are too
        few for the terms.
    """
    terms = _terms(kernel.expression)
    waves = [t for t, term in enumerate(terms) if term.waves]
    constants = [t for t, term in enumerate(terms) if not term.waves]
    least = 2 * len(waves) + len(constants)
    if n_features < least:
        raise ValueError(
            f'n_inducing must be at least {least} with inducing="fourier", two for each term of '
            f"the kernel and one for a constant. Got {n_features}."
        )
    count, d = (n_features - len(constants)) // 2, kernel.expression.n_features
    of_terms = np.array_split(np.arange(count), len(waves)) if waves else []
    drawn = [
        _drawn(kernel.values, terms[t], t, d, len(places), rng)
        for t, places in zip(waves, of_terms, strict=True)
    ]
    cosines = np.vstack([np.empty((0, d + 1)), *drawn])
    sines, rest = cosines.copy(), np.zeros((len(constants), d + 1))
    sines[:, -1] = -1.0 - cosines[:, -1]
    rest[:, -1] = constants
    return np.vstack([cosines, sines, rest])


def _drawn(p, term, number, d, count, rng):
    """Draw frequencies of a term, (count, d + 1)."""
    Z = np.zeros((count, d + 1))
    Z[:, -1] = number
    for leaf, columns in term.waves:
        Z[:, columns] = DENSITIES[leaf.name](len(columns), count, rng, *p[list(leaf.shape)]).T
    return Z


class _Term(NamedTuple):
    """A term of a kernel: the slots of its constants, and its waves, pairs of leaf and columns."""

    slots: list
    waves: list


def _terms(expression):
    """Return the terms of a kernel that is multiplied out, or raise a ValueError."""
    _check_powers(expression.node, expression.kernel)
    terms = []
    for factors in multiplied_out(expression.node, np.arange(expression.n_features)):
        waves = [one for one in factors if not isinstance(one.leaf, nodes.Constant)]
        if any(one.weights is not None for one in waves):
            raise _refused(expression.kernel)
        waves = [(one.leaf, one.columns) for one in waves]
        for leaf, _ in waves:
            if not isinstance(leaf, nodes.Stationary) or leaf.length_scale is None:
                raise _refused(expression.kernel)
        seen = np.concatenate([np.empty(0, dtype=np.intp), *(columns for _, columns in waves)])
        if len(np.unique(seen)) < len(seen):
            raise ValueError(
                'inducing="fourier" needs the factors of a product to see different columns. Got '
                f"{expression.kernel!r}. {_CURE}"
            )
        terms.append(_Term([slot for leaf, *_ in factors for slot in leaf.amplitudes], waves))
    return terms


def _check_powers(node, kernel):
    if isinstance(node, nodes.Power | nodes.Opaque):
        raise _refused(kernel)
    for child in node.children:
        _check_powers(child, kernel)


def _refused(kernel):
    return ValueError(
        'inducing="fourier" needs kernels with a spectral density that length scales stretch: sums '
        "and products of RBF, Matern (nu 0.5, 1.5 or 2.5), RationalQuadratic and constants, in "
        f"Columns or not, without categories and directions. Got {kernel!r}. {_CURE}"
    )


class _Waves(NamedTuple):
    """Angular frequencies (K, d), their terms (K,), and the amplitude of each term (T,)."""

    frequencies: np.ndarray
    terms: np.ndarray
    amplitudes: np.ndarray


@dataclass(frozen=True)
class FeatureKernel(BoundKernel):
    """Covariances of the process that features make, and of the weights.

    Parameters
    ----------
    features : ndarray of shape (m, d + 1)
        Those of the process: covariances of its values are their products.
    shown : tuple of int or None
        Terms that the process at X consists of; None for all.
    """

    features: np.ndarray
    shown: tuple | None = None

    def block(self, Z, X):
        """Compute covariances of weights or values with others, (m, n)."""
        of_weights = self._are_features(Z), self._are_features(X)
        if all(of_weights):
            return np.eye(len(Z), len(X))  # the same weights, wherever the frequencies moved
        if of_weights[0]:
            return self._features(Z, X)
        if of_weights[1]:
            return transposed(self._features(X, Z))
        first, second = self._features(self.features, Z), self._features(self.features, X)
        return product(first, second, trans_a=True)

    def gram(self, Z):
        """Compute K(Z, Z): the identity of weights."""
        return self.block(Z, Z)

    def diag(self, X):
        """Compute variances, those of weights are one."""
        return np.ones(len(X)) if self._are_features(X) else super().diag(X)

    def diag_vjp(self, X, g):
        """Compute the gradient of sum(g * diag) in theta."""
        return self._none if self._are_features(X) else super().diag_vjp(X, g)

    def gram_vjp(self, Z, G, with_inputs=True):
        """Compute the gradients of sum(G * K(Z, Z)) of weights, which are zero."""
        return self.block_vjp(Z, Z, G, with_inputs)

    def block_vjp(self, Z, X, G, with_inputs=True):
        """Compute the gradients of sum(G * K(Z, X)) of weights with values, or with weights.

        Features of one frequency share that of the cosine, whose row of the gradient is that of
        both.
        """
        grad_Z = np.zeros(Z.shape) if with_inputs else None
        if self._are_features(X):
            return self._none, grad_Z
        waves, offsets = self._waves(Z), self._offsets(X)
        K, d = waves.frequencies.shape
        phi, grad = self._features(Z, X, waves, offsets), np.zeros_like(self.values)
        weights = np.einsum("ij,ij->i", phi, G)
        of_terms = np.zeros(len(self._spectrum))
        np.add.at(of_terms, waves.terms, weights[:K] + weights[K : 2 * K])
        np.add.at(of_terms, Z[2 * K :, -1].astype(np.intp), weights[2 * K :])
        slopes = phi[:K] * G[K : 2 * K] - phi[K : 2 * K] * G[:K]  # in the angles
        in_frequencies = product(slopes, offsets)
        in_logs = -in_frequencies * waves.frequencies
        for t, term in enumerate(self._spectrum):
            grad[term.slots] += 0.5 * of_terms[t]
            own = in_logs[waves.terms == t].sum(axis=0)
            for leaf, columns in term.waves:
                part = grad[leaf.length_scale]
                part += own[columns] if len(part) == len(columns) else own[columns].sum()
        if with_inputs:
            grad_Z[:K, :d] = in_frequencies * self._inverse_scales[waves.terms]
        return grad[self.expression.free], grad_Z

    def frequencies(self):
        """Return the frequencies in cycles for each unit of X, (K, d)."""
        return self._waves(self.features).frequencies / (2.0 * np.pi)

    def slope_block(self, Z, X, column):
        """Compute covariances of weights with slopes of the process, (m, n)."""
        waves = self._waves(Z)
        phi, (K, _) = self._features(Z, X, waves), waves.frequencies.shape
        by, slopes = waves.frequencies[:, [column]], np.zeros_like(phi)
        slopes[:K], slopes[K : 2 * K] = -by * phi[K : 2 * K], by * phi[:K]
        return slopes

    def slope_variance(self, X, column):
        """Compute variances of slopes of the process, (n,)."""
        waves = self._waves(self.features)
        slopes = waves.amplitudes[waves.terms] * waves.frequencies[:, column]
        return np.full(len(X), float(slopes @ slopes))

    def terms(self):
        """Return the terms of a kernel that is a sum; see `BoundKernel`."""
        first, terms = 0, []
        for node in self.expression.summands:
            one = replace(self.expression, node=node)
            count = len(_terms(one))
            shown = tuple(range(first, first + count))
            terms.append(_Part(one, self.values, self.features, shown, whole=self))
            first += count
        return terms

    def _are_features(self, X):
        return are_features(self.expression, X)

    @property
    def _none(self):
        return np.zeros(int(self.expression.free.sum()))

    @cached_property
    def _spectrum(self):
        return _terms(self.expression)

    @cached_property
    def _inverse_scales(self):
        """Return inverse length scales of each term, (T, d), 0 where it does not see a column."""
        inverse = np.zeros((len(self._spectrum), self.expression.n_features))
        for t, term in enumerate(self._spectrum):
            for leaf, columns in term.waves:
                inverse[t, columns] = 1.0 / np.maximum(leaf.scales(self.values), _LEAST_SCALE)
        return inverse

    def _waves(self, Z):
        count = int((Z[:, -1] < 0).sum())
        terms = Z[:count, -1].astype(np.intp)
        variances = [float(np.prod(self.values[term.slots])) for term in self._spectrum]
        counts = np.maximum(np.bincount(terms, minlength=len(variances)), 1)
        amplitudes = np.sqrt(variances / counts)
        if self.shown is not None:
            amplitudes *= np.isin(np.arange(len(amplitudes)), self.shown)
        return _Waves(Z[:count, :-1] * self._inverse_scales[terms], terms, amplitudes)

    def _offsets(self, X):
        """Return inputs less their centre, (n, d)."""
        X, center = np.asarray(X, dtype=np.float64), np.zeros(self.expression.n_features)
        for term in self._spectrum:
            for leaf, columns in term.waves:
                center[columns] = leaf.center
        return np.ascontiguousarray(X - center)

    def _features(self, Z, X, waves=None, offsets=None):
        """Compute the features at X, (m, n)."""
        waves = self._waves(Z) if waves is None else waves
        offsets = self._offsets(X) if offsets is None else offsets
        angles = product(np.ascontiguousarray(waves.frequencies), offsets, trans_b=True)
        # 1e300 length scales away the functions may be anything, but not NaN
        angles = np.nan_to_num(angles, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
        K, phi = len(angles), np.empty((len(Z), len(offsets)))
        np.cos(angles, out=phi[:K])
        np.sin(angles, out=phi[K : 2 * K])
        phi[2 * K :] = 1.0
        amplitudes = waves.amplitudes[waves.terms]
        of_constants = waves.amplitudes[Z[2 * K :, -1].astype(np.intp)]
        phi *= np.concatenate([amplitudes, amplitudes, of_constants])[:, None]
        return phi


@dataclass(frozen=True)
class _Part(FeatureKernel):
    """Some terms of a process, whose variances are theirs."""

    whole: FeatureKernel | None = None

    @property
    def _spectrum(self):
        return self.whole._spectrum

    @property
    def _inverse_scales(self):
        return self.whole._inverse_scales


@dataclass(frozen=True)
class _OwnFeatures:
    """The features of a process as functions of X, (n, m), or of their weights, the identity."""

    kernel: FeatureKernel

    def __call__(self, X):
        return self.kernel.block(X, self.kernel.features)
