"""Matrices of which only the entries other than zero are kept, and rows times them.

A product adds up only what is not zero, so its rounding is that of a sum of as many terms as a column has entries; and
nothing is lost where an entry of zero meets an unbounded number: their product is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MIN_ENTRIES = 1 << 16  # of a smaller matrix the dense product takes less time than a call
MAX_DENSITY = 0.04  # of entries other than zero, up to which a product of many rows takes less time than a dense one


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """A matrix, row by row and column by column."""

    rows: csr_array[np.float64]  # (n, m)
    columns: csr_array[np.float64]  # (m, n): its transpose

    @classmethod
    def of(cls, matrix: csr_array[np.float64]) -> Sparse:
        """A matrix of scipy."""
        return cls(matrix, matrix.T.tocsr())

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def T(self) -> Sparse:  # noqa: N802 - numpy's name
        """The transpose."""
        return Sparse(self.columns, self.rows)

    @property
    def terms(self) -> int:
        """The most entries that a row and a column have together."""
        return int(np.diff(self.rows.indptr).max(initial=0) + np.diff(self.columns.indptr).max(initial=0))

    def after(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows (k, n) times the matrix."""
        return np.ascontiguousarray((self.columns @ rows.T).T)

    def dot(self, columns: NDArray[Any]) -> NDArray[Any]:
        """The matrix times columns (m, k)."""
        return cast(NDArray[Any], self.rows @ columns)

    def magnitude(self, factor: float) -> Sparse:
        """The absolute values, times a factor."""
        return Sparse(abs(self.rows) * factor, abs(self.columns) * factor)

    def __getitem__(self, places: NDArray[Any]) -> NDArray[Any]:
        """Some rows, written out."""
        return cast(NDArray[Any], self.rows[places].toarray())

    def dense(self) -> NDArray[Any]:
        """All of it, written out."""
        return cast(NDArray[Any], self.rows.toarray())


def sparse_or_none(matrix: NDArray[Any]) -> Sparse | None:
    """A matrix as a sparse one, if products with it take less time."""
    if matrix.size < MIN_ENTRIES or np.count_nonzero(matrix) > MAX_DENSITY * matrix.size:
        return None
    from scipy.sparse import csr_array

    return Sparse.of(csr_array(matrix))
