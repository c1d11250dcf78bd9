"""Whether this Python starts threads: in a browser (Pyodide) it does not, and work is then done in one piece."""

from __future__ import annotations

import threading
from functools import cache

from vernal.model.tick import idle


@cache
def has_threads() -> bool:
    """Found out by starting one."""
    try:
        threading.Thread(target=idle, daemon=True).start()
    except RuntimeError:
        return False
    return True
