"""Expressions with their types: names are looked up, labels given to their enums, operators checked.

A label is resolved by what surrounds it: the other side of `==`, the subject of a `match`, the other branches of an
`if`, the sort that is expected of the whole; one that belongs to a single enum needs no help. Every error points
at the piece of text it is about. The parser bounds the depth of a text, so walking it recursively is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Self, TypeVar

from vernal.errors import InputError, NameUnknown, Place, TypeClash, nearest
from vernal.logic import arrays
from vernal.logic import syntax as s
from vernal.logic.parser import ELEMENTARY, FUNCTIONS
from vernal.logic.printing import number
from vernal.logic.scope import Scope
from vernal.logic.syntax import Source, Syntax
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL, Kind, Sort

T = TypeVar("T")

PRODUCTS = {"*": build.mul, "/": build.div, "//": build.quotient, "%": build.remainder}
CONSTANTS: dict[str, Expr] = {"true": build.TRUE, "false": build.FALSE, "pi": build.PI}
SIGNATURES = {
    "if": "if(condition, then, otherwise)",
    "choose": "choose(a, b when p, ...)",
    "between": "between(low, high)",
    "min": "min(a, b, ...)",
    "max": "max(a, b, ...)",
    "clip": "clip(x, low, high)",
    "atan2": "atan2(y, x)",
    **{name: f"{name}(x)" for name in (*ELEMENTARY, "abs", "relu", "sign", "floor")},
}
PLAIN: dict[str, Callable[..., Expr]] = {
    "min": build.minimum,
    "max": build.maximum,
    "clip": build.clip,
    "atan2": build.atan2,
    "abs": build.absolute,
    "relu": build.relu,
    "sign": build.sign,
    "floor": build.floor,
}


@dataclass(frozen=True)
class Expressions:
    """Reads expressions in a scope; inside the atom of a property, draws and networks are refused."""

    scope: Scope
    source: Source | None
    in_atom: bool = False
    indices: Mapping[str, Expr] = field(default_factory=dict)  # the constants that indices stand for just now

    def place(self, syntax: Syntax) -> Place | None:
        return None if self.source is None else self.source.place(*syntax.span)

    def bind(self, index: str, value: int) -> Self:
        """A reader to which an index is this constant."""
        return replace(self, indices={**self.indices, index: build.const(value)})

    def known(self, text: str) -> Expr | None:
        """What a name stands for, if it is no label and no array."""
        return self.indices[text] if text in self.indices else self.scope.names.get(text)

    def make(self, syntax: Syntax, function: Callable[..., T], *args: object) -> T:
        """Call a constructor; its errors are reported at this piece of text."""
        try:
            return function(*args)
        except InputError as error:
            place = self.place(syntax)
            raise error if error.place or place is None else error.at(place) from None

    def read(self, syntax: Syntax, expected: Sort | None = None) -> Expr:
        match syntax:
            case s.Numeral(value):
                return build.const(value)
            case s.Identifier():
                return self.name(syntax, expected)
            case s.FunctionCall():
                return self.call(syntax, expected)
            case s.Match():
                return self.match(syntax, expected)
            case s.Subscript():
                return self.subscript(syntax)
            case s.FoldedCall():
                return arrays.fold(self, syntax)
            case s.WrittenArray():
                return arrays.vector(self, syntax)
            case s.Unary("-", arg, count):
                return self.signs(syntax, build.neg, self.read(arg), count)
            case s.Unary(_, arg, count):
                return self.signs(syntax, build.negate, self.read(arg, BOOL), count)
            case s.Binary("^", left, right):
                return self.make(syntax, build.power, self.number(left, "^"), self.number(right, "^"))
            case s.Arithmetic(operators):
                return self.sum(syntax) if operators[0] in ("+", "-") else self.product(syntax)
            case s.ComparisonChain():
                return self.make(syntax, build.conj, *self.comparisons(syntax))
        return self.truth(syntax)

    def truth(self, syntax: Syntax) -> Expr:
        match syntax:
            case s.Binary("->", left, right):
                return build.implies(self.boolean(left, "->"), self.boolean(right, "->"))
            case s.Nary(op, args):
                values = []
                for arg in args:
                    values.append(self.boolean(arg, op))
                return self.junction(syntax, op, values)
            case s.TemporalOperation(op):
                what = f"{op} speaks of other positions and cannot stand inside an expression"
                raise TypeClash(f"{what}; only &, |, !, -> and <-> combine formulas", place=self.place(syntax))
        raise TypeClash("an interval or a set is not an expression", place=self.place(syntax))

    def junction(self, syntax: s.Nary, op: str, values: list[Expr]) -> Expr:
        if op != "<->":
            return self.make(syntax, build.conj if op == "&" else build.disj, *values)
        result = values[0]
        for value in values[1:]:
            result = build.eq(result, value)
        return result

    # Operands .........................................................................................................

    def number(self, syntax: Syntax, op: str) -> Expr:
        node = self.read(syntax)
        if not node.sort.is_number:
            advice = "; write if(p, 1, 0) to count a truth value" if node.sort == BOOL else ""
            what = f"{op} needs numbers, but this is of sort {node.sort}{advice}"
            raise TypeClash(what, place=self.place(syntax))
        return node

    def boolean(self, syntax: Syntax, op: str) -> Expr:
        node = self.read(syntax, BOOL)
        if node.sort != BOOL:
            what = f"{op} needs truth values, but this is of sort {node.sort}; compare it with something"
            raise TypeClash(what, place=self.place(syntax))
        return node

    def alike(self, items: Sequence[Syntax], expected: Sort | None) -> list[Expr]:
        """Operands that share a sort: those whose sort is known are read first and give labels their enum."""
        known: dict[int, Expr] = {}
        for index, item in enumerate(items):
            if not self.open(item):
                known[index] = self.read(item, expected)
        enums = [node.sort for node in known.values() if node.sort.kind is Kind.ENUM]
        sort = enums[0] if enums else expected
        for index, item in enumerate(items):
            if index not in known:
                known[index] = self.read(item, sort)
        return [known[index] for index in range(len(items))]

    def open(self, syntax: Syntax) -> bool:
        """Whether this is a label of unknown enum, or a choice between such labels."""
        match syntax:
            case s.Identifier(text):
                return self.known(text) is None and len(self.owners(text)) != 1 and text not in CONSTANTS
            case s.FunctionCall("if", args) if len(args) == 3:
                return self.open(args[1]) and self.open(args[2])
            case s.FunctionCall("choose", args) if args:
                return all(map(self.open, args))
            case s.WrittenOption(value):
                return self.open(value)
            case s.Match(_, cases):
                return all(map(self.open, (case.value for case in cases)))
        return False

    def owners(self, label: str) -> list[Sort]:
        return [sort for sort in self.scope.enums() if label in sort.labels]

    # Names ............................................................................................................

    def name(self, syntax: s.Identifier, expected: Sort | None) -> Expr:
        text = syntax.text
        if text in CONSTANTS:
            return CONSTANTS[text]
        if text in self.scope.arrays:
            return arrays.whole(self, syntax)
        known = self.known(text)
        if known is not None:
            if self.in_atom and text in self.scope.drawn:
                what = f"atoms cannot contain draws, and {text!r} draws anew at every step"
                raise TypeClash(f"{what}; keep its value in a state variable", place=self.place(syntax))
            return known
        owners = [expected] if expected is not None and text in expected.labels else self.owners(text)
        if len(owners) == 1:
            return build.label(owners[0], text)
        raise self.unknown(syntax, expected, owners)

    def unknown(self, syntax: s.Identifier, expected: Sort | None, owners: list[Sort]) -> InputError:
        text, place = syntax.text, self.place(syntax)
        if owners:
            what = f"label {text!r} belongs to several enums: {'; '.join(map(str, owners))}"
            return TypeClash(f"{what}; compare it with a variable of the one that is meant", place=place)
        if text in self.scope.networks:
            return TypeClash(f"{text!r} is a network; write {text}(...) for its output", place=place)
        labels = [label for sort in self.scope.enums() for label in sort.labels]
        if expected is not None and expected.kind is Kind.ENUM:
            what = f"{text!r} is neither a name nor a label of {expected}"
            return NameUnknown(what + nearest(text, [*expected.labels, *self.scope.names]), place=place)
        return NameUnknown(f"unknown name {text!r}{nearest(text, [*self.scope.names, *labels])}", place=place)

    # Calls ............................................................................................................

    def call(self, syntax: s.FunctionCall, expected: Sort | None) -> Expr:
        name, args = syntax.function, syntax.args
        if name in self.scope.networks:
            return self.network(syntax)
        parts = arrays.named_array(self, args) if name in arrays.FOLDS else None
        if parts is not None:
            return arrays.fold_array(self, syntax, parts)
        if name not in FUNCTIONS:
            what = "is not a function" if name in self.scope.names else "unknown function"
            told = f"{name!r} {what}" if name in self.scope.names else f"{what} {name!r}"
            raise NameUnknown(told + nearest(name, [*SIGNATURES, *self.scope.networks]), place=self.place(syntax))
        self.check_arity(syntax)
        if name in ("choose", "between"):
            return self.draw(syntax, expected)
        if name == "if":
            return self.conditional(syntax, expected)
        values = []
        for arg in args:
            values.append(self.number(arg, name))
        if name in PLAIN:
            return self.make(syntax, PLAIN[name], *values)
        return self.make(syntax, build.apply, e.Function(name), *values)

    def conditional(self, syntax: s.FunctionCall, expected: Sort | None) -> Expr:
        """`if(i == 0, d[0], d[i - 1])` says nothing of d[-1]: for each index, only the branch it takes is read."""
        condition, *branches = syntax.args
        test = self.boolean(condition, "if")
        if self.indices and isinstance(test, e.Const) and not test.shape:
            return self.read(branches[0 if test.value else 1], expected)
        then, otherwise = self.alike(branches, expected)
        return self.make(syntax, build.if_, test, then, otherwise)

    def check_arity(self, syntax: s.FunctionCall) -> None:
        signature = SIGNATURES[syntax.function]
        wanted, given = signature.count(",") + 1, len(syntax.args)
        if given != wanted if "..." not in signature else given == 0:
            many = f"{given} argument{'' if given == 1 else 's'}"
            raise TypeClash(f"{signature} is given {many}", place=self.place(syntax))

    def draw(self, syntax: s.FunctionCall, expected: Sort | None) -> Expr:
        if self.in_atom:
            what = f"atoms cannot contain draws such as {syntax.function}"
            raise TypeClash(f"{what}; keep what was drawn in a state variable", place=self.place(syntax))
        if not self.scope.allow_draws:
            what = f"{syntax.function} is not allowed here; draws belong to let, next and observe"
            raise TypeClash(what, place=self.place(syntax))
        name = self.scope.draw_name
        if syntax.function == "choose":
            options = self.options(syntax.args, expected)
            return self.make(syntax, lambda: build.choose(*options, name=name))
        low, high = self.number(syntax.args[0], "between"), self.number(syntax.args[1], "between")
        return self.make(syntax, lambda: build.between(low, high, name=name))

    def options(self, written: Sequence[Syntax], expected: Sort | None) -> list[Expr | build.Guarded]:
        """The options of a choice, each with its condition if it has one."""
        values = self.alike([o.value if isinstance(o, s.WrittenOption) else o for o in written], expected)
        pairs = zip(written, values, strict=True)
        return [
            build.when(v, self.boolean(o.condition, "when")) if isinstance(o, s.WrittenOption) else v for o, v in pairs
        ]

    def network(self, syntax: s.FunctionCall) -> Expr:
        if self.in_atom:
            what = f"a property cannot call the network {syntax.function!r} in an atom"
            raise TypeClash(f"{what}; name the call in [environment.let] and use that name", place=self.place(syntax))
        values = []
        for arg in syntax.args:
            values.append(self.number(arg, f"the network {syntax.function!r}"))
        if not values:
            size = self.scope.networks[syntax.function].input_size
            raise TypeClash(
                f"network {syntax.function!r} takes {size} inputs, but is given 0", place=self.place(syntax)
            )
        return self.make(syntax, self.scope.networks[syntax.function], *values)

    def match(self, syntax: s.Match, expected: Sort | None) -> Expr:
        subject = self.read(syntax.subject)
        if subject.shape:
            raise TypeClash("match needs a single value, but this is a vector", place=self.place(syntax.subject))
        branches = self.alike([case.value for case in syntax.cases], expected)
        numbers = {label: Fraction(number) for number, label in enumerate(subject.sort.labels)}
        cases = [self.case(case, subject.sort, numbers) for case in syntax.cases]
        return self.make(syntax, build.switch, subject, cases, branches)

    def case(self, case: s.MatchCase, sort: Sort, numbers: Mapping[str, Fraction]) -> Fraction | None:
        label = case.label
        if label == "_":
            return None
        if isinstance(label, str) and label in numbers:
            return numbers[label]
        if sort == BOOL and label in ("true", "false"):
            return Fraction(label == "true")
        named = build.const(label) if isinstance(label, Fraction) else self.known(label)
        if sort.is_number and isinstance(named, e.Const) and named.sort.is_number and not named.shape:
            return named.value
        shown = number(label) if isinstance(label, Fraction) else repr(label)
        accepted = [*sort.labels, *(["true", "false"] if sort == BOOL else []), "_"]
        told = nearest(str(label), accepted) if not sort.is_number else "; write a number, or `_` for all others"
        raise NameUnknown(f"{shown} is not a value of the subject ({sort}){told}", place=self.place(case))

    # Operators ........................................................................................................

    def subscript(self, syntax: s.Subscript) -> Expr:
        """A component of an array of state variables, or of a vector."""
        match syntax:
            case s.Subscript(s.Identifier(text)) if text in self.scope.arrays:
                return arrays.component(self, syntax, self.scope.arrays[text])
            case s.Subscript(s.Identifier(text), s.Numeral(value)) if f"{text}[{value}]" in self.scope.names:
                return self.scope.names[f"{text}[{value}]"]
        return self.index(syntax, self.read(syntax.base), self.read(syntax.index))

    def index(self, syntax: s.Subscript, base: Expr, index: Expr) -> Expr:
        if not base.shape:
            raise TypeClash("this is a single value and has no components", place=self.place(syntax.base))
        if not isinstance(index, e.Const) or index.shape or not index.sort.is_number or index.value.denominator != 1:
            raise TypeClash("the number of a component must be a constant integer", place=self.place(syntax.index))
        if not 0 <= index.value < base.size:
            what = f"there is no component {index.value}; this vector has components 0 to {base.size - 1}"
            raise TypeClash(what, place=self.place(syntax.index))
        return build.component(base, int(index.value))

    def signs(self, syntax: Syntax, sign: Callable[[Expr], Expr], node: Expr, count: int) -> Expr:
        for _ in range(count):
            node = self.make(syntax, sign, node)
        return node

    def sum(self, syntax: s.Arithmetic) -> Expr:
        terms = [self.number(syntax.operands[0], syntax.operators[0])]
        for op, operand in zip(syntax.operators, syntax.operands[1:], strict=True):
            term = self.number(operand, op)
            terms.append(term if op == "+" else build.neg(term))
        return self.make(syntax, build.add, *terms)

    def product(self, syntax: s.Arithmetic) -> Expr:
        result = self.number(syntax.operands[0], syntax.operators[0])
        for op, operand in zip(syntax.operators, syntax.operands[1:], strict=True):
            result = self.make(syntax, PRODUCTS[op], result, self.number(operand, op))
        return result

    def comparisons(self, syntax: s.ComparisonChain) -> list[Expr]:
        """A comparison for any two neighbours; what stands between two relations is read once."""
        sides = self.alike(syntax.operands, None)
        pairs = zip(syntax.operators, sides, sides[1:], strict=False)
        return [self.make(syntax, build.compare, op, left, right) for op, left, right in pairs]
