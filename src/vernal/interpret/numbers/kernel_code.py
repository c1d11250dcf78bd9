"""Recipes as source text: one kernel for a card, or the same lines as a loop in C, which tests compile and compare.

A kernel works on a domain of groups, rows and components. Some neighbouring threads (a power of two, at most 32) share
a row: each takes every so many-th component, and they add up their sums at the end. Operations are those of IEEE 754 in
double precision, and the compiler is told not to fuse products and sums: what is not summed is equal to numpy's
result, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vernal.interpret.numbers.kernel_trace import Line, Recipe, Where

CALLS = ("fabs", "nextafter", "rint", "floor", "ceil", "sqrt", "sin", "cos", "tan", "tanh", "exp", "erf", "atan")
BINARY = ("+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "&", "|", "<<", ">>")

CUDA = """\
#define INF __longlong_as_double(0x7ff0000000000000LL)
struct Arguments {{ long long v[{count}]; }};
extern "C" __global__ void {name}(const Arguments a) {{
  const unsigned rows = a.v[0], per_group = a.v[1], lanes = a.v[3];  // of a row: a power of two
  const long long count = a.v[2];
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned row = thread >> (31 - __clz(lanes)), lane = thread & (lanes - 1);
  const bool live = row < rows;
  const long long g = live ? row / per_group : 0, r = live ? row % per_group : 0;
  const long long* index = (const long long*)a.v[4];
  const long long box = live && index ? index[g] : g;
{sums}
  if (live) for (long long j = lane; j < count; j += lanes) {{
{body}
  }}
{reduce}
  if (live && lane == 0) {{
    const long long j = 0;
{after}
  }}
}}
"""

HOST = """\
#include <math.h>
#include <stdbool.h>
#include <string.h>
#define INF __builtin_inf()
static inline double __longlong_as_double(long long x) {{ double y; memcpy(&y, &x, 8); return y; }}
static inline long long __double_as_longlong(double x) {{ long long y; memcpy(&y, &x, 8); return y; }}
struct Arguments {{ long long v[{count}]; }};
void {name}(const struct Arguments* given) {{
  const struct Arguments a = *given;
  const long long rows = a.v[0], per_group = a.v[1], count = a.v[2];
  const long long* index = (const long long*)a.v[4];
  for (long long row = 0; row < rows; ++row) {{
    const long long g = row / per_group, r = row % per_group;
    const long long box = index ? index[g] : g;
{sums}
    for (long long j = 0; j < count; ++j) {{
{body}
    }}
    const long long j = 0;
{after}
  }}
}}
"""

FIXED = 5  # arguments before those of the arrays: rows, rows of a group, components, threads of a row, boxes of groups
EACH = 4  # arguments of an array: where it is, and its strides along groups, rows and components
REDUCE = "  for (int o = lanes / 2; o; o /= 2) {name} += __shfl_down_sync(0xffffffffu, {name}, o, lanes);"


def source(recipe: Recipe, boxes: Sequence[bool], name: str, template: str = CUDA) -> str:
    """The text of a recipe; `boxes` says which inputs are given for each box, and not for each group."""
    outputs = range(len(boxes), len(boxes) + len(recipe.results))
    places = [_place(recipe, i, "box" if box else "g") for i, box in enumerate(boxes)]
    sums = [n for n, line in enumerate(recipe.lines) if line.operation == "sum"]
    body = [_line(recipe, n, places) for n, line in enumerate(recipe.lines) if line.where < Where.SUMMED]
    body += [f"s{n} += v{recipe.lines[n].args[0]};" for n in sums]
    after = [_line(recipe, n, places) for n in _after(recipe)]
    for slot, result in zip(outputs, recipe.results, strict=True):
        store = f"(({recipe.lines[result].kind}*)a.v[{FIXED + EACH * slot}])[{_offset(slot, 'g')}] = v{result};"
        (after if recipe.lines[result].where in (Where.ROW, Where.SUMMED) else body).append(store)
    return template.format(
        name=name,
        count=FIXED + EACH * (len(boxes) + len(recipe.results)),
        sums=_indented(f"double s{n} = 0.0;" for n in sums),
        body=_indented(body),
        reduce="\n".join(REDUCE.format(name=f"s{n}") for n in sums),
        after=_indented(after),
    )


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _after(recipe: Recipe) -> list[int]:
    """The lines computed once for a row: those known after its sums, and what these take."""
    wanted = {n for n, line in enumerate(recipe.lines) if line.where is Where.SUMMED}
    wanted |= {n for n in recipe.results if recipe.lines[n].where is Where.ROW}
    for n in sorted(wanted, reverse=True):
        if recipe.lines[n].operation != "sum":
            wanted |= _taken(recipe, n)
    return sorted(wanted)


def _taken(recipe: Recipe, number: int) -> set[int]:
    found, stack = set(), [number]
    while stack:
        line = recipe.lines[stack.pop()]
        if line.operation in ("constant", "input", "sum"):
            continue
        fresh = [arg for arg in line.args if arg not in found]
        found.update(fresh)
        stack += fresh
    return found


def _place(recipe: Recipe, slot: int, group: str) -> str:
    """Where a thread reads an input."""
    kind = recipe.lines[slot].kind
    return f"((const {kind}*)a.v[{FIXED + EACH * slot}])[{_offset(slot, group)}]"


def _offset(slot: int, group: str) -> str:
    first = FIXED + EACH * slot + 1
    return " + ".join(f"{place} * a.v[{first + axis}]" for axis, place in enumerate((group, "r", "j")))


def _line(recipe: Recipe, number: int, places: Sequence[str]) -> str:
    line = recipe.lines[number]
    return f"const {line.kind} v{number} = {_value(recipe, number, line, places)};"


def _value(recipe: Recipe, number: int, line: Line, places: Sequence[str]) -> str:
    if line.operation == "input":
        return str(places[line.args[0]])
    if line.operation == "constant":
        return _constant(line.args[0])
    if line.operation == "sum":
        return f"s{number}"
    args = [f"v{arg}" for arg in line.args]
    kinds = [recipe.lines[arg].kind for arg in line.args]
    if line.operation in BINARY:
        return f"{args[0]} {line.operation} {args[1]}"
    if line.operation in CALLS:
        return f"{line.operation}({', '.join(args)})"
    match line.operation, args:
        case "negate", [x]:
            return f"-{x}"
        case "!", [x]:
            return f"!{x}"
        case "where", [mask, x, y]:
            return f"{mask} ? {x} : {y}"
        case "maximum", [x, y]:  # a nan stays a nan
            return f"({x} >= {y} || {x} != {x}) ? {x} : {y}"
        case "minimum", [x, y]:
            return f"({x} <= {y} || {x} != {x}) ? {x} : {y}"
        case "isfinite", [x]:
            return f"fabs({x}) < INF"
        case "isnan", [x]:
            return f"{x} != {x}"
        case "short", [x]:
            return f"(double)(float){x} == {x}"
        case "convert", [x]:
            return f"({line.kind}){x}"
        case "bits", [x]:
            return f"{'__longlong_as_double' if kinds[0] != 'double' else '__double_as_longlong'}({x})"
    raise LookupError(f"{line.operation} has no text")


def _constant(value: bool | int | str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}LL"
        case "inf":
            return "INF"
        case "-inf":
            return "-INF"
        case "nan":
            return "(INF - INF)"
    return str(value)
