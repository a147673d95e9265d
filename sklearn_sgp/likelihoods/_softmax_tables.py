"""Lattices, quadrature rules and tables for the moments of softmax (docs/theory.md, section 10).

The constants must equal those of sklearn_sgp/_core/softmax.c.
"""

from functools import lru_cache
from types import SimpleNamespace

import numpy as np
from scipy.special import roots_hermitenorm

# At this step the trapezoidal rule for the integral of x exp(-x), which is 1, is off by
# 2 |Gamma(1 + 2 pi i / step)| = 1.2e-11, and that of x^2 exp(-x) by 2e-10.
STEP = 0.35
# A sum over a table has steps of 0.6 times the table's sd, which doubles from level to level.
_TABLE_SD = STEP / 0.6
# Level l of the tables serves the sd from FIRST * 2^(l - 1) to FIRST * 2^l.
FIRST = 0.779
_TABLE_REACH = 7.2  # standard deviations
_LEFT, _RIGHT = -27.0, 3.6  # x exp(-x) is negligible outside, for x = exp of it
_UNDERFLOW, _OVERFLOW = -745.0, 709.0  # exp is 0 to the left, infinite to the right
# Largest sd for Gauss-Hermite with 1, 2, ... nodes.
_HERMITE = [6e-6, 0.0024, 0.017, 0.045, 0.078, 0.11, 0.14, 0.17, 0.2, 0.22, 0.26, 0.45]


@lru_cache(maxsize=16)
def lattice(doublings, n_levels):
    """Make points n STEP 2^doublings, with tables for all sd below FIRST 2^(n_levels - 1)."""
    step = STEP * 2.0**doublings
    n_powers = int(np.ceil(-_UNDERFLOW / step))
    rules = [roots_hermitenorm(count) for count in range(1, len(_HERMITE) + 1)]
    # levels whose sd is too small for the step have no table
    tables = [_table(doublings, level) for level in _levels(doublings, n_levels)]
    ends = np.cumsum([0] + [2 * G.size for _, G, _ in tables])[:-1]
    skipped = [0] * (n_levels - len(tables))
    return SimpleNamespace(
        step=step,
        doublings=doublings,
        powers=np.exp(np.minimum(np.arange(-n_powers, 32) * step, _OVERFLOW)),
        n_powers=n_powers,
        nodes=np.concatenate([nodes for nodes, _ in rules]),
        weights=np.concatenate([weights / weights.sum() for _, weights in rules]),
        reaches=np.array(_HERMITE),
        tables=np.concatenate([part for _, G, D in tables for part in (G, D)]),
        # intp: plain integers would become int32 on Windows with numpy 1
        origin=np.array(
            skipped + [end - lo for end, (lo, _, _) in zip(ends, tables, strict=True)],
            dtype=np.intp,
        ),
        width=np.array(skipped + [G.size for _, G, _ in tables], dtype=np.intp),
    )


def _levels(doublings, n_levels):
    return range(doublings + 1 if doublings else 0, n_levels)


def _ends(doublings, level):
    """Return the first and last n that the sums over the table of a level need."""
    step, widest = STEP * 2.0**doublings, FIRST * 2.0**level
    # sums reach beyond their centre by the reach of the normal density, and by its last weights
    margin = 10 + 4 * 2 ** max(level - 1 - doublings, 0)
    lo = np.ceil((2 * _TABLE_REACH * widest - _LEFT) / step)
    hi = np.ceil((2 * _TABLE_REACH * widest + _RIGHT) / step)
    return -int(lo) - margin, int(hi) + margin


@lru_cache(maxsize=64)
def _table(doublings, level):
    """Tabulate E[exp(-x)] and E[x exp(-x)], x = exp(n step + sd z), z normal; return n, too."""
    lo, hi = _ends(doublings, level)
    n = np.arange(lo, hi + 1)
    if level == 0:
        return lo, *_exact(n * STEP)
    if level == 1 and doublings == 0:
        offset, weight = _normal(_TABLE_SD, 0.25 * STEP)
        G, D = _exact(n[:, None] * STEP + 0.25 * STEP * offset)
        return lo, G @ weight, D @ weight
    if level == doublings + 1:
        return lo, *_at(2 * n, _table(doublings - 1, level))
    below = _table(doublings, level - 1)
    spacing = 2 ** (level - 2 - doublings)
    offset, weight = _normal(np.sqrt(3.0) * _TABLE_SD / STEP, 1.0)
    G, D = np.zeros(n.size), np.zeros(n.size)
    for by, times in zip(spacing * offset, weight, strict=True):
        G_by, D_by = _at(n + by, below)
        G += times * G_by
        D += times * D_by
    return lo, G, D


def _exact(t):
    x = np.exp(np.minimum(t, 6.0))
    G = np.exp(-x)
    return G, x * G


def _normal(sd, step):
    """Return the integers k within 8.3 sd, and the weights of the normal density at k * step."""
    half = int(np.ceil(8.3 * sd / step))
    offset = np.arange(-half, half + 1)
    weight = np.exp(-0.5 * (offset * (step / sd)) ** 2)
    return offset, weight / weight.sum()


def _at(n, table):
    """Look up values of a table at n: 1 and 0 before its first entry, 0 and 0 after its last."""
    lo, G, D = table
    place = n - lo
    inside = np.clip(place, 0, G.size - 1)
    return (
        np.where(place < 0, 1.0, np.where(place < G.size, G[inside], 0.0)),
        np.where((place >= 0) & (place < G.size), D[inside], 0.0),
    )
