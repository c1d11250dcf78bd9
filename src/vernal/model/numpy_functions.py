"""numpy's functions on expressions: `np.sin(s.x)` is `vn.sin(s.x)`, and what has no counterpart says what there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from vernal.model import build
from vernal.model import expr as e
from vernal.model.arrays import ExprArray, is_listed
from vernal.model.expr import Expr, Function

ELEMENTWISE: Mapping[str, Callable[..., Expr]] = {
    "add": build.add,
    "subtract": build.sub,
    "multiply": build.mul,
    "divide": build.div,
    "floor_divide": build.quotient,
    "remainder": build.remainder,
    "power": build.power,
    "square": lambda x: build.power(x, 2),
    "negative": build.neg,
    "absolute": build.absolute,
    "sign": build.sign,
    "floor": build.floor,
    "maximum": build.maximum,
    "minimum": build.minimum,
    "clip": build.clip,
    "where": build.if_,
    "less": partial(build.compare, "<"),
    "less_equal": partial(build.compare, "<="),
    "greater": lambda x, y: build.compare("<", y, x),
    "greater_equal": lambda x, y: build.compare("<=", y, x),
    "logical_and": build.conj,
    "bitwise_and": build.conj,
    "logical_or": build.disj,
    "bitwise_or": build.disj,
    "logical_not": build.negate,
    "invert": build.negate,
    "arctan2": build.atan2,
    **{getattr(np, one.value).__name__: partial(build.apply, one) for one in Function if hasattr(np, one.value)},
}
FOLDS: Mapping[str, Callable[[ExprArray], Expr]] = {
    "sum": ExprArray.sum,
    "max": ExprArray.max,
    "min": ExprArray.min,
    "all": ExprArray.all,
    "any": ExprArray.any,
}


def by_numpy(name: str, given: Sequence[Any]) -> Expr | ExprArray:
    """What a function of numpy makes of expressions, numbers and arrays; arrays component by component."""
    if name in ("matmul", "dot") and len(given) == 2:
        left, right = given
        made: Expr | ExprArray = left @ right if isinstance(left, ExprArray) else right.__rmatmul__(left)
        return made
    if name in FOLDS and len(given) == 1 and isinstance(given[0], ExprArray):
        return FOLDS[name](given[0])
    if name in ("equal", "not_equal"):
        raise TypeError("== on expressions compares objects; write vn.eq(a, b), or vn.equals(a, 'LABEL') for a label")
    if name not in ELEMENTWISE:
        there = ", ".join(f"np.{one}" for one in sorted(ELEMENTWISE))
        raise TypeError(f"np.{name} does not take expressions of a model; there are {there}, and those of vn")
    function, sizes = ELEMENTWISE[name], {len(one) for one in given if is_listed(one)}
    if not sizes:
        return function(*given)
    if len(sizes) > 1:
        raise TypeError(f"np.{name} of arrays with {' and '.join(map(str, sorted(sizes)))} components")
    columns = [list(one) if is_listed(one) else [one] * max(sizes) for one in given]
    return ExprArray(function(*row) for row in zip(*columns, strict=True))


def _by_ufunc(ufunc: Any, method: str, given: Sequence[Any], settings: Mapping[str, Any]) -> Expr | ExprArray:
    return _plain(ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}", given, settings)


def _plain(name: str, given: Sequence[Any], settings: Mapping[str, Any]) -> Expr | ExprArray:
    """Settings such as `out` and `axis` have no meaning for expressions; those that say nothing are ignored."""
    said = [key for key, value in settings.items() if value is not None]
    if said:
        raise TypeError(f"np.{name} of expressions takes no {', '.join(said)}")
    return by_numpy(name, given)


def _by_function(function: Any, given: Sequence[Any], settings: Mapping[str, Any]) -> Expr | ExprArray:
    return _plain(function.__name__, given, settings)


e.CONSTRUCTORS.update({"numpy ufunc": _by_ufunc, "numpy function": _by_function})  # type: ignore[dict-item]
