"""From a network query to questions: the input is a state, the network is applied once, and the claim is "never".

The inputs are state variables of a system that stands still, their box is its initial set, the output is a let, and the
formula says that the assertions are not all true. A state that violates it satisfies the query. Alternatives among the
inputs (`or` over boxes) become several questions; what is said of the outputs stays one formula, whatever its shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vernal.errors import InputError
from vernal.formats.vnnlib.operands import ONE, ZERO, Polynomial
from vernal.formats.vnnlib.query import Constraint, PolynomialComparison, Query, comparisons
from vernal.logic.formula import And, Atom, Formula, Not, Or
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr, Role, Var
from vernal.model.initial import Ends, Init, start_between
from vernal.model.network import Network
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.model.tick import Tick, idle

MAX_CASES = 100_000  # alternatives among the inputs
MAX_COPIES = 10_000_000  # constraints written down for all of them together
MAX_NAMED = 3  # variables named in a message


@dataclass(frozen=True, slots=True)
class Conjunction:
    """One alternative: a box of inputs, what else is said of them, and what is said of the outputs."""

    box: tuple[Ends, ...]
    where: tuple[PolynomialComparison, ...]
    claims: tuple[Constraint, ...]


def cases(query: Query, tick: Tick = idle) -> list[Conjunction]:
    """The alternatives among the inputs; those whose box is empty are left out."""
    found = [_case(query, conjuncts, tick) for conjuncts in _alternatives(query, tick)]
    return [case for case in found if case is not None]


def _alternatives(query: Query, tick: Tick) -> list[list[Constraint]]:
    """Conjunctions that together say what the query says, without `or` over inputs."""
    finished: list[list[Constraint]] = []
    waiting: list[tuple[list[Constraint], list[Constraint]]] = [([], list(reversed(query.assertions)))]
    copies = 0
    while waiting:
        done, pending = waiting.pop()
        while pending:
            node = pending.pop()
            tick()
            if isinstance(node, PolynomialComparison) or (node.op == "or" and not _about_inputs(query, node)):
                done.append(node)
            elif node.op == "and":
                pending.extend(reversed(node.args))
            else:
                copies += (len(done) + len(pending) + 1) * len(node.args)
                if len(finished) + len(waiting) + len(node.args) > MAX_CASES or copies > MAX_COPIES:
                    raise InputError(
                        f"{query.file or 'the query'} has too many combinations of alternatives among its inputs "
                        f"(more than {MAX_CASES:,} are not tried); split it into several queries"
                    )
                waiting.extend((done.copy(), [*pending, arg]) for arg in reversed(node.args))
                break
        else:
            finished.append(done)
    return finished


def _about_inputs(query: Query, node: Constraint) -> bool:
    """Whether something in it is said of inputs alone."""
    return any(_is_input_only(query, comparison) for comparison in comparisons(node))


def _is_input_only(query: Query, comparison: PolynomialComparison) -> bool:
    term, size = comparison.term, query.input.size
    if not term.products:
        return bool(term.terms) and all(element < size for element in term.terms)
    return all(element < size for element in term.elements)


def _case(query: Query, conjuncts: Sequence[Constraint], tick: Tick) -> Conjunction | None:
    """A conjunction sorted into box, constraints on inputs and claims; None where the box is empty."""
    lower: dict[int, Fraction] = {}
    upper: dict[int, Fraction] = {}
    where: list[PolynomialComparison] = []
    claims: list[Constraint] = []
    for node in conjuncts:
        tick()
        if not isinstance(node, PolynomialComparison):
            claims.append(node)
        elif _narrow(node, query.input.size, lower, upper):
            continue
        elif node.term.is_constant:
            if not node.holds(()):
                return None
        elif _is_input_only(query, node):
            where.append(node)
        else:
            claims.append(node)
    _refuse_unbounded(query, lower, upper)
    box = tuple((lower[index], upper[index]) for index in range(query.input.size))
    if any(low > high for low, high in box):
        return None
    return Conjunction(box, tuple(where), tuple(claims))


def _narrow(node: PolynomialComparison, inputs: int, lower: dict[int, Fraction], upper: dict[int, Fraction]) -> bool:
    """Tighten the box by a bound on one input; true if nothing of the constraint is left to say."""
    if len(node.term.terms) != 1 or node.term.products or node.op == "!=":
        return False
    ((index, factor),) = node.term.terms.items()
    if index >= inputs:
        return False
    end = -node.term.constant if factor == 1 else node.term.constant if factor == -1 else -node.term.constant / factor
    if node.op == "==" or factor > 0:
        upper[index] = min(end, upper[index]) if index in upper else end
    if node.op == "==" or factor < 0:
        lower[index] = max(end, lower[index]) if index in lower else end
    return node.op != "<"


def _refuse_unbounded(query: Query, lower: dict[int, Fraction], upper: dict[int, Fraction]) -> None:
    open_ends = [
        f"{query.names[index]} has no {what} bound"
        for index in range(query.input.size)
        for what, known in (("lower", lower), ("upper", upper))
        if index not in known
    ]
    if open_ends:
        more = f" and {len(open_ends) - MAX_NAMED} more" if len(open_ends) > MAX_NAMED else ""
        raise InputError(
            f"{query.file or 'the query'}: {', '.join(open_ends[:MAX_NAMED])}{more}; every input needs a "
            "lower and an upper bound by a constant, in every alternative"
        )


# Questions ------------------------------------------------------------------------------------------------------------


class QueryQuestions:
    """The questions of a query: one graph of the network for all alternatives, and one claim for those that agree."""

    def __init__(self, query: Query, network: Network) -> None:
        self.names = query.input.elements()
        variables = tuple(Variable(name, REAL) for name in self.names)
        inputs: list[Expr] = [variable.var for variable in variables]
        result = output_var(query)
        self.elements = [*inputs, *(build.component(result, index) for index in range(query.output.size))]
        anywhere = Init(dict.fromkeys(self.names, start_between(ZERO, ZERO)))
        lets = {query.output.name: network(*inputs)}
        self.system = System(query.network or network.name, variables, anywhere, {}, (), lets)
        self._claims: dict[tuple[tuple[int, ...], Fraction], Question] = {}

    def question(self, case: Conjunction, slack: Fraction = ZERO) -> Question:
        """Is no input of this case a solution? With `slack`, inequalities have to be met with that much to spare."""
        starts = {name: start_between(*ends) for name, ends in zip(self.names, case.box, strict=True)}
        where = tuple(_expression(comparison, self.elements) for comparison in case.where)
        key = (tuple(map(id, case.claims)), slack)  # the query keeps them
        if key not in self._claims:
            self._claims[key] = Question(self.system, self._negation(case, slack))
        return self._claims[key].starting(Init(starts, where))

    def _negation(self, case: Conjunction, slack: Fraction) -> Formula:
        claim = And(tuple(_formula(node, self.elements, slack) for node in case.claims))
        return Not(claim) if case.claims else Atom(build.FALSE)


def output_var(query: Query) -> Var:
    """The output as one vector, by the name of its tensor."""
    return build.var(query.output.name, REAL, (query.output.size,), Role.LET)


def _formula(root: Constraint, elements: Sequence[Expr], slack: Fraction) -> Formula:
    """A constraint as a formula, operands first."""
    made: list[Formula] = []
    waiting: list[tuple[Constraint, bool]] = [(root, False)]
    while waiting:
        node, ready = waiting.pop()
        if isinstance(node, PolynomialComparison):
            made.append(Atom(_expression(node, elements, slack)))
        elif not ready:
            waiting.append((node, True))
            waiting.extend((arg, False) for arg in reversed(node.args))
        else:
            own = tuple(made[len(made) - len(node.args) :])
            del made[len(made) - len(node.args) :]
            made.append(own[0] if len(own) == 1 else And(own) if node.op == "and" else Or(own))
    return made[0]


def _expression(comparison: PolynomialComparison, elements: Sequence[Expr], slack: Fraction = Fraction(0)) -> Expr:
    """What is positive on the left, what is negative on the right."""
    term, op = comparison.term, comparison.op
    constant = term.constant + (slack if op in ("<", "<=") else 0)
    left, right = (_sum(_positive(term.scaled(sign)), max(sign * constant, ZERO), elements) for sign in (ONE, -ONE))
    return build.compare(op, left, right)


def _positive(term: Polynomial) -> dict[tuple[int, ...], Fraction]:
    """The monomials with positive coefficients."""
    found = {(index,): factor for index, factor in sorted(term.terms.items()) if factor > 0}
    return found | {key: factor for key, factor in sorted(term.products.items()) if factor > 0}


def _sum(monomials: Mapping[tuple[int, ...], Fraction], constant: Fraction, elements: Sequence[Expr]) -> Expr:
    parts = [_monomial(key, factor, elements) for key, factor in monomials.items()]
    if constant or not parts:
        parts.append(build.const(constant))
    return build.add(*parts)


def _monomial(key: tuple[int, ...], factor: Fraction, elements: Sequence[Expr]) -> Expr:
    """A product of powers of elements, with its coefficient."""
    made: Expr | None = None if factor == 1 else build.const(factor)
    for index, count in Counter(key).items():
        power = build.power(elements[index], count)
        made = power if made is None else build.mul(made, power)
    assert made is not None
    return made
