"""One BLAS thread: our matrix products are small and many, and threads that wait for each other cost more than help."""

from __future__ import annotations

from contextlib import AbstractContextManager


def one_blas_thread() -> AbstractContextManager[object]:
    """Within it matrix products run on one thread; what was set before comes back afterwards."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits
