"""The spaces of Gymnasium in which an open agent observes and acts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from gymnasium import spaces

from vernal.interpret import interval
from vernal.interpret.numbers.rounding import Backend
from vernal.interpret.value_sets import Finite, Range, Truth, Value, as_range
from vernal.model.expr import Expr, Var
from vernal.model.graph import variables
from vernal.model.sorts import REAL, Kind
from vernal.model.system import Agent


def observation_space(size: int) -> spaces.Box:
    """Any numbers: the ranges of a model are claims about it, and its behaviour goes on outside."""
    return spaces.Box(-np.inf, np.inf, (size,), np.float64)


def action_space(agent: Agent) -> spaces.Discrete[Any] | spaces.Box:
    """One of the labels or indices of an argmax; else numbers, as far as the agent's own way of acting goes."""
    action = agent.action if agent.usual is None else agent.usual
    if action.sort.kind is Kind.ENUM:
        return spaces.Discrete(len(action.sort.labels))
    if action.sort != REAL:
        return spaces.Discrete(agent.networks[0].output_size)
    lower, upper = _reach(action)
    return spaces.Box(lower, upper, action.shape or (1,), np.float64)


def _reach(action: Expr) -> tuple[float, float]:
    """The least and the largest number an action can be, whatever the network answers."""
    (value,) = interval.evaluate([action], {var: _anything(var) for var in variables([action])})
    bounds = as_range(Backend(None), value)
    return float(bounds.lower.min()), float(bounds.upper.max())


def _anything(var: Var) -> Value:
    """Every value a variable can have."""
    shape = (1, *var.shape)
    if var.sort.kind is Kind.ENUM:
        labels = len(var.sort.labels)
        return Finite(np.ones((*shape, labels), bool), tuple(Fraction(label) for label in range(labels)))
    if var.sort.kind is Kind.BOOL:
        return Truth(np.zeros(shape, bool), np.ones(shape, bool))
    return Range(np.full(shape, -np.inf), np.full(shape, np.inf))
