"""What is verified, as frozen data: expressions, networks, agents, environments, systems and flows."""

from __future__ import annotations

from vernal.model import build as build  # operators on expressions, `x + 1`, build their nodes with it
from vernal.model import declare as declare  # `System` traces functions with it
