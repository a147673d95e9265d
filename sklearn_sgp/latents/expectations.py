"""Expectations of a kernel under Gaussian inputs, and their reverse mode (docs/theory.md, eq. 66).

For rows with q(x_n) = N(mu_n, diag s_n) a model needs

    psi0 (n,)         E k(x_n, x_n)
    psi1 (n, m)       E k(x_n, Z)
    psi2 (n, packed)  E k(Z, x_n) k(x_n, Z), the lower triangle of each

Each kind of expectations has ``rows(mean, variance)``, which returns these three, and
``reverse(mean, variance, cotangents, sums)``, which carries their cotangents to mean and variance
of each row and adds those of theta and Z to ``sums``. Both are for a chunk of rows: `chunk_of` says
how many, so that packed matrices take some megabytes and never n of them exist.
"""

import numpy as np

from .packed import packed_size
from .rules import Points
from .squared_exponential import SquaredExponential
from .with_linear import WithLinear, parts_of

# Numbers in the packed matrices of a chunk, 2 MB of them.
_CHUNK_NUMBERS = 1 << 18
_MOST_CHUNK_ROWS = 256


def chunk_of(m):
    """Return the number of rows that are worked on together."""
    return int(np.clip(_CHUNK_NUMBERS // max(packed_size(m), 1), 8, _MOST_CHUNK_ROWS))


def expectations_of(kernel, Z):
    """Return the expectations of a kernel at inducing inputs: in closed form if there is one."""
    parts = parts_of(kernel.expression.node, Z.shape[1])
    if parts is None:
        return Points(kernel, Z)
    smooth, rest = parts
    return WithLinear(kernel, Z, smooth, rest) if rest else SquaredExponential(kernel, Z, smooth)
