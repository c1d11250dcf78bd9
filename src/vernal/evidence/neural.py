"""Neural abstractions: a ReLU network in the place of a vector field, with a certified bound on its error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vernal.model.hooks import hook
from vernal.model.portable import ArrayData

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vernal.model.hybrid import HybridAutomaton
    from vernal.model.network import Network
    from vernal.model.system import Model


@dataclass(frozen=True, eq=False)
class NeuralAbstraction(ArrayData):
    """x' = N(x) + d with |d_i| <= error_i has every trajectory of the flow inside the region lower <= x <= upper.

    `error` is certified: at every point of the region, and for every disturbance of the flow, |f_i - N_i| is at most
    error_i. The weights are the ones that were certified, bit for bit.
    """

    network: Network
    weights: tuple[NDArray[np.float64], ...]  # of each layer, (outputs, inputs); ReLU between layers, none at the end
    biases: tuple[NDArray[np.float64], ...]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    error: NDArray[np.float64]
    worst: NDArray[np.float64]  # the largest error that was found at a point, for each variable: error / worst is tight
    automaton: HybridAutomaton | None = None
    statistics: Mapping[str, int | float | str] = field(default_factory=dict)
    flow: Model | None = field(default=None, repr=False)  # that it abstracts

    def plot_error(self, file: str | Path | None = None) -> Any:
        """Draw |f - N| over the region, a heat map for each variable; to a file if one is named."""
        return hook("plot_abstraction_error")(self, file)
