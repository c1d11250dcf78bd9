"""Networks as they run: what an agent's networks compute is off by as much as rounding in a float format allows.

Every output, and every next memory, is the exact one plus any number between -E and E. E is found over the box of what
the agent may observe while the variables that it looks at are in their declared ranges; that they are is claimed
beside the question, so that a proof covers every path on which the errors are those of the runtime. The paths of the
system are among these, with errors of 0 (OVER). The question itself is asked first: what fails in real numbers is not
looked at in floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count, product
from math import ceil, frexp, inf, prod

import numpy as np

from vernal.errors import UnsupportedOperator, VernalError
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.interpret import interval
from vernal.interpret.numbers.rounding import Backend, Floats
from vernal.interpret.rounded.float_formats import Deployment
from vernal.interpret.rounded.rounding_errors import FloatEnds, rounding_errors
from vernal.interpret.value_sets import Range, as_range
from vernal.logic.direction import Direction
from vernal.logic.formula import ALL_TIME, Always, And, Atom, Bound, Formula, Quantifier, operands
from vernal.logic.question import Question
from vernal.logic.ranges import range_atoms
from vernal.logic.times import Time
from vernal.model import build
from vernal.model.agent import with_outputs
from vernal.model.closed_graph import resolve_lets
from vernal.model.expr import Affine, Const, Expr, Var
from vernal.model.graph import order, substitute, variables
from vernal.model.network import MERGED, Network
from vernal.model.system import Agent, Model, Variable
from vernal.reduce.reduction import Entailment, Subquestion
from vernal.run.budget import Budget

PLAIN_SHARE = 0.4  # of the time, for the question in real numbers
MEMORY_ROUNDS = 6  # in which a box is looked for that a memory stays in
MAX_CASES = 256  # of labels and truth values that are observed
MAX_CELLS = 64  # into which what is observed is cut, so that bounds of numbers and of their errors are tighter
GROWTH = 1.001  # of that box from round to round, so that it can close
OPERATORS = frozenset(  # that HANDLERS of rounding_errors knows, and those that compute nothing
    (
        *("Abs", "Add", "Clip", "Concat", "Constant", "Div", "Dropout", "Flatten", "Gather", "Gemm", "Identity"),
        *("LeakyRelu", "LogSoftmax", "MatMul", "Max", "Min", "Mul", "Neg", "Relu", "Reshape", "Sigmoid", "Slice"),
        *("Softmax", "Split", "Squeeze", "Sub", "Sum", "Tanh", "Transpose", "Unsqueeze"),
    )
)
IN_STEPS = "rounding errors of networks are counted in loops of steps only"
NO_NETWORK = "no agent has a network that could run in floats"
SOME_PATH = "rounding errors are counted for claims of all paths only"
CALLED = "a network is called in an expression of the task, where its rounding errors are not counted"
REWRITTEN = "the action of {} does not follow from its networks alone"
NOT_ONNX = "the network {} was not read from an ONNX file: what a runtime would compute is not known"
AS_ONE = "several operators of the network {} are read as one, so that its roundings are not known; export it plainly"
OTHER_OPERATOR = "how {} of the network {} is rounded is not known"
NO_RANGE = 'declare a range of {0}, which {1} observes, as {0} = "real [-9, 9]": rounding errors are bounded over it'
MANY_CASES = "agents observe too many labels and truth values at once for their rounding errors to be bounded"
OVERFLOW = "numbers of {} may overflow in {} within the declared ranges"
ENDLESS_MEMORY = "what {} remembers is not seen to be bounded, so its rounding errors are not"
OPEN_IN_FLOATS = "it holds in real numbers; with the rounding errors of {}, up to {:.2g}, it is open: {}"


class NotDeployed(VernalError):
    """Why rounding errors cannot be counted."""


@dataclass(frozen=True)
class RoundedModel:
    """A model whose networks are off, by how much at most, and the variables whose ranges that rests on."""

    plain: Model  # kept, so that no other has its identity
    model: Model
    most: float
    ranged: tuple[Variable, ...]


@dataclass(frozen=True)
class Deployed:
    """The question in real numbers, then with networks that are off as rounding allows, and ranges that are kept."""

    how: Deployment
    made: dict[int, RoundedModel] = field(default_factory=dict, init=False, repr=False, compare=False)  # by model
    name = "deployed networks"
    direction = Direction.OVER
    is_joint = True

    def rounding(self, model: Model) -> RoundedModel:
        """The model with rounding errors, found once; NotDeployed where they are not known."""
        if id(model) not in self.made:
            self.made[id(model)] = with_rounding(model, self.how)
        return self.made[id(model)]

    def takes(self, question: Question) -> str | None:
        if question.time is not Time.STEPS or question.model.grid is not None:
            return IN_STEPS
        if question.claim.mentions_some:
            return SOME_PATH
        try:
            self.rounding(question.model)
        except NotDeployed as refusal:
            return str(refusal)
        return None

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        made = self.rounding(question.model)
        yield Subquestion(question, Direction.EXACT, share=PLAIN_SHARE)
        asked = replace(question, model=made.model, formula=_in_ranges(question, made.ranged))
        notes = (f"with networks computed in {self.how.name}: their outputs are off by at most {made.most:.2g}",)
        yield Subquestion(asked, self.direction, Entailment.IMPLIES, notes=notes)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        last = found[-1]
        if len(found) == 2 and isinstance(last, Open):
            most = self.rounding(question.model).most
            return replace(last, reason=OPEN_IN_FLOATS.format(self.how.name, most, last.reason))
        return replace(last, cover=None, evidence=None) if isinstance(last, Proof) else last


def _in_ranges(question: Question, ranged: Sequence[Variable]) -> Formula:
    """The claim, and that these variables stay in their ranges as far as it looks."""
    atoms = tuple(Atom(atom) for variable in ranged for atom in range_atoms(variable))
    if not atoms:
        return question.formula
    last = question.claim.horizon
    bound = ALL_TIME if last is None else Bound(ALL_TIME.lower, ALL_TIME.lower + last)
    kept = atoms[0] if len(atoms) == 1 else And(atoms)
    quantifier = Quantifier.ALL if _is_quantified(question.formula) else None
    return And((question.formula, Always(kept, bound, quantifier=quantifier)))


def _is_quantified(formula: Formula) -> bool:
    """Whether a temporal operator has a path quantifier: then all of them need one."""
    left = [formula]
    while left:
        node = left.pop()
        if getattr(node, "quantifier", None) is not None:
            return True
        left += operands(node)
    return False


# The model ------------------------------------------------------------------------------------------------------------


def with_rounding(model: Model, how: Deployment) -> RoundedModel:
    """The model with rounding errors; NotDeployed where they are not known."""
    agents = [agent for agent in model.agents if agent.networks]
    if not agents:
        raise NotDeployed(NO_NETWORK)
    _refuse_calls(model)
    ranged: dict[str, Variable] = {}
    made: list[Agent] = []
    most = 0.0
    for agent in model.agents:
        if not agent.networks:
            made.append(agent)
            continue
        for network in agent.networks:
            _refuse_network(network)
        box, seen = observed(model, agent)
        ranged |= {variable.name: variable for variable in seen}
        errors = _errors(model, agent, box, how)
        most = max(most, *(float(error.max()) for error in errors))
        made.append(_off(agent, errors))
    return RoundedModel(model, replace(model, agents=tuple(made)), most, tuple(ranged.values()))


def _refuse_calls(model: Model) -> None:
    """An error where a network takes part in a step otherwise than as a policy."""
    of_agents = [
        one for agent in model.agents for one in (*agent.observe, *agent.acts, agent.select) if one is not None
    ]
    written = [*model.next.values(), *model.lets.values(), model.enabled, *model.init.where, *of_agents]
    if any(isinstance(node, Affine) for node in order(written)):
        raise NotDeployed(CALLED)


def _refuse_network(network: Network) -> None:
    if not network.operators:
        raise NotDeployed(NOT_ONNX.format(network.name))
    if MERGED in network.operators:
        raise NotDeployed(AS_ONE.format(network.name))
    others = [operator for operator in network.operators if operator not in OPERATORS]
    if others:
        raise NotDeployed(OTHER_OPERATOR.format(others[0], network.name))


def observed(model: Model, agent: Agent) -> tuple[FloatEnds, list[Variable]]:
    """The box of what an agent sees while what it looks at is in its range, and what that is."""
    seen = build.concat(*resolve_lets(list(agent.observe), model.lets))
    seen = seen if seen.shape else build.concat(seen)
    looked = [model.variable(var.name) for var in variables([seen]) if var in model.vars]
    ranges: dict[Expr, Range] = {}
    for variable in looked:
        if not variable.sort.is_discrete or variable.sort.is_number:
            if variable.lower is None or variable.upper is None:
                raise NotDeployed(NO_RANGE.format(variable.name, agent.name))
            low, high = _outward(variable.lower, variable.upper)
            ranges[variable.var] = Range(np.array([low]), np.array([high]))
    lows, highs = zip(*(_ends(one, ranges) for one in _cases(seen, looked)), strict=True)
    return (np.min(lows, axis=0), np.max(highs, axis=0)), [one for one in looked if one.var in ranges]


def _cases(seen: Expr, looked: Sequence[Variable]) -> list[Expr]:
    """What is seen, once for all labels and truth values that variables may have."""
    discrete = [one for one in looked if not one.sort.is_number]
    values = [range(len(one.sort.labels) or 2) for one in discrete]
    if prod(map(len, values)) > MAX_CASES:
        raise NotDeployed(MANY_CASES)
    found: list[Expr] = []
    for chosen in product(*values):
        fixed: dict[Expr, Expr] = {
            one.var: Const((), one.sort, (), (Fraction(value),)) for one, value in zip(discrete, chosen, strict=True)
        }
        found += substitute([seen], fixed)
    return found


def _ends(seen: Expr, ranges: Mapping[Expr, Range]) -> FloatEnds:
    with np.errstate(all="ignore"):
        found = as_range(Backend(None), interval.evaluate(order([seen]), ranges)[-1])
    return np.atleast_1d(found.lower[0]), np.atleast_1d(found.upper[0])


def _outward(low: Fraction, high: Fraction) -> tuple[float, float]:
    return float(np.nextafter(float(low), -inf)), float(np.nextafter(float(high), inf))


def _off(agent: Agent, errors: Sequence[Floats]) -> Agent:
    """The agent whose output and next memories are off by at most these errors."""
    first, *rest = [_disturbance(error, agent.name) for error in errors]

    def change(output: Expr, updates: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
        return output + first, [new + error for new, error in zip(updates, rest, strict=True)]

    made = with_outputs(agent, change)
    if made is None:
        raise NotDeployed(REWRITTEN.format(agent.name))
    return made


def _disturbance(error: Floats, name: str) -> Expr:
    ends = [_short(float(one)) for one in error]
    return build.between(build.vector([-end for end in ends]), build.vector(ends), f"{name} rounding")


def _short(error: float) -> Fraction:
    """A number that is not smaller, with few digits."""
    mantissa, exponent = frexp(error)
    return Fraction(ceil(mantissa * 4096), 4096) * Fraction(2) ** exponent


# Errors ---------------------------------------------------------------------------------------------------------------


def _errors(model: Model, agent: Agent, box: FloatEnds, how: Deployment) -> list[Floats]:
    """By how much the output of whichever network is selected, and each memory, may be off."""
    memory = _memory_box(model, agent, box, how)
    outputs, updates = _of_networks(agent, box, memory, how)
    found = [np.max(outputs, axis=0), *updates]
    if not all(np.isfinite(error).all() for error in found):
        raise NotDeployed(OVERFLOW.format(agent.name, how.name))
    return found


def _of_networks(
    agent: Agent, box: FloatEnds, memory: Mapping[Expr, FloatEnds], how: Deployment
) -> tuple[list[Floats], list[Floats]]:
    """The errors of every network's output, and those of all memories."""
    outputs: list[Floats] = []
    updates: list[Floats] = []
    slots = iter(agent.slots)
    for network in agent.networks:
        own: dict[Expr, FloatEnds] = {var: memory[next(slots).var] for var, _ in network.memory}
        try:
            first, *rest = _over_cells(network, box, own, how)
        except UnsupportedOperator as problem:
            raise NotDeployed(f"network {network.name}: {problem}") from None
        outputs.append(first)
        updates += rest
    return outputs, updates


def _over_cells(network: Network, box: FloatEnds, memory: Mapping[Expr, FloatEnds], how: Deployment) -> list[Floats]:
    """The largest errors over the cells of a box; the one with the largest is halved, again and again."""
    number, widths = count(), np.maximum(box[1] - box[0], 1e-300)

    def entry(low: Floats, high: Floats) -> tuple[float, int, FloatEnds, list[Floats]]:
        errors = rounding_errors(network, (low, high), memory, how)
        return -float(max(error.max() for error in errors)), next(number), (low, high), errors

    cells = [entry(*box)]
    for _ in range(MAX_CELLS - 1):
        low, high = cells[0][2]
        at = int(np.argmax((high - low) / widths))
        middle = (low[at] + high[at]) / 2
        if not low[at] < middle < high[at]:
            break
        heappop(cells)
        for part in ((low[at], middle), (middle, high[at])):
            lower, upper = low.copy(), high.copy()
            lower[at], upper[at] = part
            heappush(cells, entry(lower, upper))
    return [np.max(each, axis=0) for each in zip(*(cell[3] for cell in cells), strict=True)]


def _memory_box(model: Model, agent: Agent, box: FloatEnds, how: Deployment) -> dict[Expr, FloatEnds]:
    """A box that what an agent remembers never leaves, with its rounding errors; it is empty without a memory."""
    if not agent.slots:
        return {}
    hull = model.initial.hull.ends
    ends = {slot.var: np.array([_outward(*one) for one in hull[slot.var]]).T for slot in agent.slots}
    kept: dict[Expr, FloatEnds] = {var: (pair[0], pair[1]) for var, pair in ends.items()}
    for _ in range(MEMORY_ROUNDS):
        after = _after(agent, box, kept, how)
        joined = {
            var: (np.minimum(low, after[var][0]), np.maximum(high, after[var][1])) for var, (low, high) in kept.items()
        }
        if all((joined[var][0] >= low).all() and (joined[var][1] <= high).all() for var, (low, high) in kept.items()):
            return kept
        kept = {var: _grown(low, high) for var, (low, high) in joined.items()}
    raise NotDeployed(ENDLESS_MEMORY.format(agent.name))


def _grown(low: Floats, high: Floats) -> FloatEnds:
    middle, radius = (low + high) / 2, (high - low) / 2 * GROWTH + 1e-6
    return middle - radius, middle + radius


def _after(agent: Agent, box: FloatEnds, memory: Mapping[Expr, FloatEnds], how: Deployment) -> dict[Expr, FloatEnds]:
    """Where what is remembered in a box is after one step."""
    _, errors = _of_networks(agent, box, memory, how)
    found: dict[Expr, FloatEnds] = {}
    slots, rest = iter(agent.slots), iter(errors)
    for network in agent.networks:
        own: list[tuple[Var, Var]] = [(var, next(slots).var) for var, _ in network.memory]
        given = {network.inputs: box, **{var: memory[slot] for var, slot in own}}
        ranges: dict[Expr, Range] = {node: Range(low[None], high[None]) for node, (low, high) in given.items()}
        nodes = order(network.roots)
        with np.errstate(all="ignore"):
            values = dict(zip(nodes, interval.evaluate(nodes, ranges), strict=True))
            for (_, slot), (_, update) in zip(own, network.memory, strict=True):
                value, error = as_range(Backend(None), values[update]), next(rest)
                low, high = np.atleast_1d(value.lower[0]) - error, np.atleast_1d(value.upper[0]) + error
                found[slot] = (np.nextafter(low, -inf), np.nextafter(high, inf))
    return found
