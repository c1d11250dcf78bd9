"""One BLAS thread: our matrix products are small and many, and threads that wait for each other cost more than help."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[object]:
    """Within it matrix products run on one thread; what was set before comes back afterwards."""
    limits: AbstractContextManager[object] = _controller(len(sys.modules)).limit(limits=1, user_api="blas")
    return limits


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """The linear algebra libraries of this process; looked for again after an import, which may load more."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
