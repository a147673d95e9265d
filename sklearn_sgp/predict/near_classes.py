"""What near rows say of classes that share one factor (docs/theory.md, eq. 57)."""

from .._core import _linalg as la
from .._linalg import copy_of, transposed


def roots_of_classes(posterior, groups, cells, solved, shared_c, shared_b, shared_squares):
    """Yield for each class the root of the part through u, roots c, and |c|^2.

    With f = F_c (k_B* - A^T a) of the rows of class c, |c|^2 is |f|^2 more than by S_0, and b is A
    F_c^T f less. Shared are those of S_0: inv(C)^T c and c of all cells, b, and abs(c)^2.
    """
    of_class = [[] for _ in posterior.H]
    for cell, (rows, columns, place) in zip(cells, groups, strict=True):
        f = cell.classes.F_times(transposed(solved[place].reshape(len(rows), len(columns))))
        own = slice(rows[0], rows[-1] + 1)
        for c, part in cell.classes.class_noise.members:
            of_class[c].append((own, f[part], cell.F_At[part]))
    for precision, parts in zip(posterior.precisions, of_class, strict=True):
        b, squares = copy_of(shared_b), shared_squares.copy()
        for own, f, own_At in parts:
            la.column_dots(f, f, squares[own])
            la.gemm(f, own_At, b[own], True, False, -1.0, 1.0)
        la.trmm_right(b, precision.L_inv, True)
        yield b, [shared_c, *(f.T for _, f, _ in parts)], squares
