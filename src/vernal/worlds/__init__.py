"""Ready-made environments, and the Gymnasium and PettingZoo view of a system.

import vernal as vn

loop = vn.worlds.system("cartpole", vn.read_network("policy.onnx"))
vn.check(loop, "G[0,10] (abs(theta) < 0.2)")
"""

from __future__ import annotations

from vernal.worlds.batch import Batch
from vernal.worlds.comparison import WorldComparison, compare
from vernal.worlds.drafts import draft
from vernal.worlds.library import names, system, text
from vernal.worlds.views import batch, gym

__all__ = ["Batch", "WorldComparison", "batch", "compare", "draft", "gym", "names", "system", "text"]
