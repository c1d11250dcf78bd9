"""Linear bounds for any node of a graph: sound lower and upper forms over its inputs, batched over boxes.

`Linear` evaluates nodes in topological order, each once, and can be asked for further nodes at any time: an engine
unrolls another step and asks again. A number has a range (interval arithmetic, cut by backward substitution where a
nonlinear operator needs it tight), and either an exact affine form over the inputs or a relaxation over its arguments.
Comparisons bound the *difference* of their sides, argmax the differences of scores, so that correlations decide.

The inputs are the numeric variables of the box and every draw with constant ends; discrete values travel as three-
valued truth or as sets of alternatives. All rounding is accounted for (see `rows` and `relaxations`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import cast

import numpy as np

from vernal.interpret import interval
from vernal.interpret.blocks import block_layer
from vernal.interpret.layers import layer
from vernal.interpret.linear import choice as linear_choice
from vernal.interpret.linear.choice import Mode
from vernal.interpret.linear.forms import Form, Inputs, affine_form, concretise, constant_form, exact_form, widen
from vernal.interpret.linear.nodes import DRAWS, EXTREMA, as_relu, drawn_from, is_input, known_constant
from vernal.interpret.linear.relaxations import BUILDERS, Relaxation, constant
from vernal.interpret.linear.rows import (
    LinearGraph,
    RowIndex,
    Rows,
    Seeds,
    Selected,
    Sizes,
    Units,
    both_signs,
    lower_bounds,
    tighter,
)
from vernal.interpret.linear.score_gaps import nearest
from vernal.interpret.linear.stacks import DenseStack, settled, stack_below
from vernal.interpret.linear.zonotope_reach import Symbols, is_worth_a_form, reach, widest
from vernal.interpret.numbers.backends import backend_for
from vernal.interpret.numbers.device import free_numbers
from vernal.interpret.numbers.memory_room import numbers_at_once
from vernal.interpret.numbers.rounding import FLOOR, Array
from vernal.interpret.value_sets import (
    Finite,
    Range,
    Truth,
    Value,
    as_range,
    first_array,
    flat,
    indices,
    integral,
    meet,
    shaped,
)
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.sorts import INT
from vernal.model.tick import Tick, idle
from vernal.model.traits import OPERATORS

InputBox = Mapping[Expr, Value | tuple[Array, Array]]

NOTHING_KNOWN: Mapping[Expr, Value] = {}
CHUNK = 1 << 16  # numbers in a block of rows on the host: they stay in the cache
ARRAYS_UNDER_WAY = 24  # of a block, at most, that are in a card's memory at one time
MAX_FORM = 1 << 24  # numbers in the coefficients of a form that is kept
MAX_WORK = 1 << 33  # products for one form: about a second
MAX_ROWS = 1 << 24  # numbers in the rows of all components of a node at once; more are bounded in blocks
MAX_STACK = 1 << 22  # numbers in the forms of all layers that are tried at once
MAX_STACKED_BOXES = 8  # boxes for which stacks of layers are tried at once
DENSE_SHARE = 0.5  # from this share of open components on, all rows are bounded at once
STRUCTURAL = (e.Affine, e.Add, e.Neg, e.Gather, e.Concat)
BLOCKED = (e.Gather, e.Concat)
LAYERS = frozenset({e.Affine, *BLOCKED})
SMOOTH = frozenset(kind for kind, known in OPERATORS.items() if not known.piecewise_linear)
BRANCHINGS, CONSTANTS = (e.If, e.Switch, e.Choose), (e.Const, e.Pi)
ACTIVATIONS = (e.Relu, e.LeakyRelu, e.Abs)
ACTIONS_AT_ZERO = frozenset({*ACTIVATIONS, e.Sign})
AS_GOOD = (*ACTIVATIONS, e.Neg, e.Gather, e.Concat)  # where they are affine, their ranges are as good as the arguments'
SQUASHED = (*ACTIVATIONS, e.Nonlinear)  # their own range says all that backward substitution would


@dataclass(frozen=True, slots=True, eq=False)
class LinearBounds:
    """lower_coefficients p + lower_constants <= value <= upper_coefficients p + upper_constants for every p in the box.

    `inputs` names the columns (node, component); arrays are (batch, components[, inputs]); `lower` and `upper` are
    the bounds over the box.
    """

    inputs: tuple[tuple[Expr, int], ...]
    lower_coefficients: Array
    lower_constants: Array
    upper_coefficients: Array
    upper_constants: Array
    lower: Array
    upper: Array


class Linear:
    """Bounds of the nodes of a graph over a batch of boxes, computed when asked for and kept."""

    def __init__(
        self,
        box: InputBox,
        *,
        mode: Mode = "backward",
        tick: Tick = idle,
        batch: int = 1,
        known: Mapping[Expr, Value] = NOTHING_KNOWN,
    ) -> None:
        """`tick` is called for every node that is bounded or that rows pass, and may stop the work by raising.

        `batch` is how many boxes there are, where the box itself does not say it: it may be the same for all of them,
        or without any input. `known` has ranges (batch, components) that nodes are known to stay in, and of conditions
        and argmax nodes what they can be.
        """
        self.mode, self.tick, self.known = mode, tick, known
        self.backend = backend_for(next((first_array(value) for value in box.values()), None))
        self.values: dict[Expr, Value] = {}
        self.forms: dict[Expr, Form] = {}
        self.inputs = Inputs(self.backend)
        self.sizes = Sizes(self.backend, self.values)
        self.pending: set[Expr] = set()  # branchings without a relaxation yet: few are ever passed through
        self.tight: set[Expr] = set()  # whose range substitution has cut already: a second time would cut nothing more
        self.rewritten: dict[Expr, Expr] = {}
        self.graph = LinearGraph(self.backend, self.inputs, {}, self.forms, {}, self.rewritten, self.sizes, {}, tick)
        self.batch = batch
        self._positions = count()  # ascending, in the order of evaluation
        self._given = frozenset(box)
        self.reaches: Symbols | None = None  # forms with errors, where there was reason to make some
        self._free: int | None = None  # the numbers a card has room for, once that was asked
        for node, value in box.items():
            self._enter(node, flat(self.backend, value, node))

    def _enter(self, node: Expr, value: Value) -> None:
        """An input of the graph."""
        self.batch = max(self.batch, len(first_array(value)))
        if not node.sort.is_number:
            self._store(node, value)
            return
        x = as_range(self.backend, value)
        form = self.inputs.add(node, integral(self.backend, x) if node.sort == INT else x)
        self._store(node, value, form, form.size)

    def assume(self, node: Expr, form: Form) -> None:
        """Take the form of a node over the inputs as known; its range follows from it."""
        self._store(node, concretise(self.backend, self.inputs, form), form)

    def suppose(self, node: e.Argmax, possible: Array) -> None:
        """Take the winners (batch, labels) that are possible as known: the scores need not be looked at for them."""
        self._discrete(node, Finite(possible[:, None, :], indices(possible.shape[-1])))

    def sharpen(self) -> None:
        """Bound by backward substitution, from now on, what intervals alone have bounded so far.

        What is affine over every box stays: its range is the best there is.
        """
        self.mode = "backward"
        for node in [node for node in self.values if node not in self.forms and node not in self._given]:
            del self.values[node]
            self.graph.rules.pop(node, None)
            self.sizes.pop(node, None)
        self.reaches = None
        for known in (self.graph.norms, self.rewritten, self.pending):
            known.clear()

    # What users ask ---------------------------------------------------------------------------------------------------

    def value(self, node: Expr) -> Value:
        """The set of values a node can have: a range, a truth or a finite set."""
        self.need(node)
        return shaped(self.backend, self.values[node], node, self.batch)

    def truth(self, node: Expr) -> Truth:
        """Whether a condition must or may be true, box by box."""
        value = self.value(node)
        assert isinstance(value, Truth), f"{node} is no truth value"
        return value

    def range(self, node: Expr) -> Range:
        """The tightest range of a number: intervals, cut by backward substitution."""
        self.need(node)
        with np.errstate(all="ignore"):
            if isinstance(self.values[node], Range):
                self.tighten(node)
            x = shaped(self.backend, as_range(self.backend, self.values[node]), node, self.batch)
        assert isinstance(x, Range)
        return x

    def margin(self, atom: Expr) -> Range:
        """The range of right - left for a comparison `left op right` of numbers; its lower end is the margin of <."""
        assert isinstance(atom, e.Compare)
        for side in atom.args:
            self.need(side)
        with np.errstate(all="ignore"):
            x = shaped(self.backend, linear_choice.difference(self, atom, None), atom, self.batch)
        assert isinstance(x, Range)
        return x

    def form(self, node: Expr) -> LinearBounds:
        """Linear bounds of a number over the inputs, one row for each component."""
        self.need(node)
        with np.errstate(all="ignore"):
            L, constant_part = self._seed_all(node)
            done = list(self.substitute({node: L}, constant_part, None))
            lows = self._join([low for _, low in done])
            A, c = self._join([self._input_rows(rows) for rows, _ in done]), self._join([r.constant for r, _ in done])
            A, c = self._usable(A, c - FLOOR)
            n = node.size
            own = tighter(self.backend, as_range(self.backend, self.values[node]), lows[:, :n], -lows[:, n:])
        names = tuple(self.inputs.names)
        return LinearBounds(names, A[:, :n], c[:, :n], -A[:, n:], -c[:, n:], own.lower, own.upper)

    def slopes(self, node: Expr, index: Array | None = None) -> Array:
        """The middle of the slopes of a number's linear bounds, for the boxes of the index or all of them."""
        self.need(node)
        with np.errstate(all="ignore"):
            L, zero = self._seed_all(node)
            if index is not None:
                L, zero = L[index], zero[index]
            done = list(self.substitute({node: L}, zero, index))
            A = self._join([self._input_rows(rows) for rows, _ in done])
        return 0.5 * (A[:, : node.size] - A[:, node.size :])

    def lack(self, node: e.Argmax, index: Array) -> Array:
        """How far the boxes of the index are from having one winner less: see `lack.nearest`."""
        with np.errstate(all="ignore"):
            return nearest(self, node, index)

    def rows(self, seeds: Seeds, constants: Array) -> tuple[Array, Array]:
        """Sums of rows times nodes that are known, for every box: slopes of a lower bound, and the least value."""
        with np.errstate(all="ignore"):
            done = list(self.substitute(seeds, constants, None))
        return self._join([self._input_rows(rows) for rows, _ in done]), self._join([low for _, low in done])

    def _usable(self, A: Array, c: Array) -> tuple[Array, Array]:
        """Rows without nan: where a bound is infinite its coefficients are 0."""
        good = self.backend.xp.isfinite(c) & self.backend.xp.isfinite(A).all(-1)
        return self.backend.where(good[..., None], A, 0.0), self.backend.where(good, c, -np.inf)

    def _input_rows(self, rows: Rows) -> Array:
        if rows.coefficients is None:
            return self.backend.zeros((*rows.constant.shape, self.inputs.count))
        return widen(self.backend, rows.coefficients, self.inputs.count)

    def computed(self, node: Expr) -> Value | None:
        """The set of values of a node as far as it has been computed, (batch or 1, components)."""
        return self.values.get(node)

    def exact(self, node: Expr) -> Form | None:
        """The form of a node that has been evaluated, if it is affine in every box."""
        return self.forms.get(node)

    @property
    def box(self) -> Range:
        """The ranges of all inputs, in the order of their names; of a batch of 1 where they are the same for all."""
        return self.inputs.range

    # Evaluation -------------------------------------------------------------------------------------------------------

    def need(self, node: Expr) -> None:
        """Evaluate a node and what it depends on."""
        if node not in self.values:
            with np.errstate(all="ignore"):
                interval.demand([node], self.values, self._compute, self._needs)

    def _needs(self, node: Expr, done: Mapping[Expr, Value]) -> Sequence[Expr]:
        if isinstance(node, BLOCKED):
            return self._block_arguments(node)
        if isinstance(node, e.Affine):
            stack = self._stack(node)
            return node.args if stack is None else (stack.base,)
        if isinstance(node, DRAWS) and is_input(node):
            return ()
        if isinstance(node, EXTREMA):
            if node not in self.rewritten:
                if not all(arg in done for arg in node.args):
                    return node.args
                self.rewritten[node] = as_relu(node, self._contenders(node))
            return (*node.args, self.rewritten[node])
        return interval.required(node, done)

    def _block_arguments(self, node: Expr) -> Sequence[Expr]:
        """What a vector that is put together needs: of a layer in blocks, of which no block was asked, its argument."""
        found = block_layer(node) if self.backend.native else None
        if found is None or not found.inside.isdisjoint(self.values):
            return node.args
        self.graph.blocks[node] = found.base
        return (found.base,)

    def _contenders(self, node: Expr) -> list[Expr]:
        """The arguments of a maximum or minimum that may decide it somewhere: the size of the others costs nothing."""
        left = list(node.args)
        for arg in node.args:
            if any(other is not arg and self._beats(node, other, arg) for other in left):
                left.remove(arg)
        return left

    def _beats(self, node: Expr, winner: Expr, loser: Expr) -> bool:
        """Whether one argument is never behind the other, in no box and no component."""
        if winner.shape != loser.shape:
            return False
        x, y = self.number(winner), self.number(loser)
        return bool(((x.lower >= y.upper) if isinstance(node, e.Max) else (x.upper <= y.lower)).all())

    def _compute(self, node: Expr) -> None:
        self.tick()
        if self._layer(node) or (isinstance(node, e.Concat) and self._joined(node)):
            return
        if isinstance(node, e.Affine) and node.args[0] not in self.values:
            for part in self._through_stack(node):
                self._compute(part)
            return
        if not node.sort.is_number or isinstance(node, e.Argmax):
            self._discrete(node, linear_choice.discrete(self, node))
        elif isinstance(node, e.Const) and self.backend.native:
            self._store(node, *known_constant(node))
        elif isinstance(node, DRAWS) and is_input(node):
            x = as_range(
                self.backend, interval.apply(self.backend, node, [self._constant(end) for end in drawn_from(node)])
            )
            self._store(node, x, self.inputs.add(node, x))
        else:
            self._number(node)

    def _discrete(self, node: Expr, value: Value) -> None:
        self._store(node, value)
        if node.sort.is_number:  # an index counts as a number where it is computed with
            self.graph.rules[node] = constant(self.backend, node, self.number(node))

    def _constant(self, node: Expr) -> Value:
        return interval.apply(self.backend, node, [])

    def _number(self, node: Expr) -> None:
        """Range, relaxation and (where it is affine in every box) form of a numeric node."""
        if self.mode == "backward":
            self._tighten_arguments(node)
        value = self._by_intervals(node)
        own = as_range(self.backend, value)
        form = self._form(node, own)
        if node in self.rewritten:
            value = meet(self.backend, own, as_range(self.backend, self.values[self.rewritten[node]]))
        if form is None and not self.backend.some(own.lower != own.upper):
            form = constant_form(self.backend, own)
        elif form is not None and self._says_more(node, form) and isinstance(value, Range):
            value = meet(self.backend, value, concretise(self.backend, self.inputs, form))
            value = integral(self.backend, value) if node.sort == INT else value
        self._store(node, self._cut(node, value), form)

    def _by_intervals(self, node: Expr) -> Value:
        """The value of a node from those of its arguments."""
        base = self.graph.blocks.get(node)
        if base is not None:
            return interval.affine(self.backend, self.number(base), layer(self.backend, node))
        return interval.apply(self.backend, node, [self.values.get(arg) for arg in node.args])

    def _stack(self, node: e.Affine) -> DenseStack | None:
        """The layers below a layer that are tried with it at once: of few boxes, of which nothing is known yet."""
        stack = None if self.known or self.batch > MAX_STACKED_BOXES or not self.backend.native else stack_below(node)
        return None if stack is None or any(part in self.values for part in stack.inner) else stack

    def _through_stack(self, node: e.Affine) -> Sequence[Expr]:
        """Evaluate a stack as far as no neuron changes its sign in any box; the nodes that are left."""
        stack = stack_below(node)
        assert stack is not None
        nodes, form = (*stack.inner, node), self.forms.get(stack.base)
        layers = [part for part in nodes if isinstance(part, e.Affine)]
        if form is None or form.coefficients is None or self._is_too_tall(layers, form):
            return nodes
        done = settled(self.backend, self.inputs, form, layers)
        for part, x, own in done:
            self._store(part, x, own)
        return nodes[2 * len(done) - 1 :]

    def _is_too_tall(self, layers: Sequence[e.Affine], form: Form) -> bool:
        """Whether the forms of a stack are too large to be made at once: then calls are not what costs."""
        numbers = sum(node.size for node in layers) * self.inputs.count * self.batch
        return numbers > numbers_at_once(MAX_STACK) or any(self._is_huge(node, [form]) for node in layers)

    def _layer(self, node: Expr) -> bool:
        """Evaluate an affine layer of something affine in the inputs, whose form says all; whether it is one."""
        argument = self.graph.layer_argument(node)
        known = None if argument is None else self.forms.get(argument)
        if known is None or known.coefficients is None or self._is_huge(node, [known]):
            return False
        form = affine_form(self.backend, known, layer(self.backend, node), known is self.inputs.identity)
        self._store(node, self._cut(node, concretise(self.backend, self.inputs, form)), form)
        return True

    def _joined(self, node: e.Concat) -> bool:
        """Evaluate inputs that are put one after the other; whether that is what a node is."""
        columns = [self.inputs.columns.get(arg) for arg in node.args]
        known = [place for place in columns if place is not None]
        if len(known) < len(columns) or node.size * self.inputs.count > numbers_at_once(MAX_FORM):
            return False
        x, form = self.inputs.joined(known)
        self._store(node, x, form, form.size)
        return True

    def _says_more(self, node: Expr, form: Form) -> bool:
        """Whether the range of a form may be tighter than that from intervals."""
        return form.coefficients is not None and not isinstance(node, AS_GOOD)

    def _cut(self, node: Expr, value: Value) -> Value:
        """A value cut to what is known of its node beforehand."""
        known = self.known.get(node)
        return meet(self.backend, value, known) if isinstance(known, Range) and isinstance(value, Range) else value

    def _form(self, node: Expr, own: Range) -> Form | None:
        """The exact form if there is one; on the way, the relaxation of an operator that needs one."""
        if node in self.rewritten:
            return self.forms.get(self.rewritten[node])
        if isinstance(node, CONSTANTS):
            return constant_form(self.backend, own)
        if isinstance(node, STRUCTURAL):
            return None if node in self.graph.blocks else self._exact(node, node.args, None)
        rule = self._rule(node, own)
        if rule is None:
            self.pending.add(node)
            return None
        self.graph.rules[node] = rule
        return self._exact(node, rule.args, rule) if rule.exact else None

    def _rule(self, node: Expr, own: Range) -> Relaxation | None:
        if isinstance(node, BRANCHINGS):
            return linear_choice.decided(self, node, own)
        builder = BUILDERS.get(type(node))
        if builder is None:
            return constant(self.backend, node, own)
        return builder(self.backend, node, own, [self.number(arg) for arg in node.args])

    def _exact(self, node: Expr, args: Sequence[Expr], rule: Relaxation | None) -> Form | None:
        forms = [self.forms.get(arg) for arg in args]
        known = [form for form in forms if form is not None]
        if len(known) < len(forms) or self._is_huge(node, known):
            return None
        return exact_form(self.backend, self.inputs, node, known, rule)

    def _is_huge(self, node: Expr, forms: Sequence[Form]) -> bool:
        """Whether a form would take too much memory, or too long in one piece: rows then pass the node instead."""
        numbers = node.size * self.inputs.count
        most = numbers_at_once(MAX_FORM)
        if numbers * self.batch <= most or all(form.coefficients is None for form in forms):
            return False
        shared = all(form.coefficients is None or form.shared for form in forms)
        work = 1 if not isinstance(node, e.Affine) or forms[0] is self.inputs.identity else node.args[0].size
        boxes = 1 if shared else self.batch
        return boxes * numbers > most or boxes * numbers * work > MAX_WORK

    def number(self, node: Expr) -> Range:
        """The range of a numeric node that has been evaluated."""
        return as_range(self.backend, self.values[node])

    def _store(self, node: Expr, value: Value, form: Form | None = None, size: Array | None = None) -> None:
        self.values[node] = value
        self.graph.position[node] = next(self._positions)
        if form is not None:
            self.forms[node] = form
        if size is not None:
            self.sizes[node] = size

    # Tightening -------------------------------------------------------------------------------------------------------

    def _tighten_arguments(self, node: Expr) -> None:
        """Tighten arguments over whose range an operator is not linear, and inputs of layers that widen."""
        kind = type(node)
        if kind in ACTIONS_AT_ZERO:
            if self._may_tighten(node.args[0]):
                x = self.number(node.args[0])
                self.tighten(node.args[0], self._open_at_zero(node.args[0], (x.lower < 0) & (x.upper > 0)))
        elif kind in LAYERS:
            argument = self.graph.layer_argument(node)
            if argument is not None and argument.size < node.size and not isinstance(argument, SQUASHED):
                self.tighten(argument)
        elif kind is e.Floor:
            x = self.number(node.args[0])
            self.tighten(node.args[0], self.backend.xp.floor(x.lower) != self.backend.xp.floor(x.upper))
        elif kind in SMOOTH and not any(isinstance(arg, e.Const) for arg in node.args):
            for arg in node.args:
                self.tighten(arg)

    def _open_at_zero(self, node: Expr, found: Array) -> Array:
        """The components of a sign not known that rows are to bound; where they are many, forms come first."""
        if not self._may_tighten(node) or not is_worth_a_form(self, node, self.backend.count(found)):
            return found
        x = self.values[node] = meet(self.backend, self.number(node), reach(self, node))
        return widest(self, node, x, (x.lower < 0) & (x.upper > 0))

    def _may_tighten(self, node: Expr) -> bool:
        """Whether substitution may cut a range: that of a form over a box is already the best there is."""
        return node not in self.forms and node not in self.tight and isinstance(self.values[node], Range)

    def tighten(self, node: Expr, open_components: Array | None = None) -> None:
        """Cut the range of a node by backward substitution, for the given components or all."""
        x = self.values[node]
        if not isinstance(x, Range) or not self._may_tighten(node):
            return
        share = 1.0 if open_components is None else self.backend.count(open_components) / (self.batch * node.size)
        if share == 0.0:
            return
        if (open_components is None or share > DENSE_SHARE) and self._fits_at_once(node):
            L, c = self._seed_all(node)
            low = self.lower({node: L}, c, None)
            x = tighter(self.backend, x, low[:, : node.size], -low[:, node.size :])
            self.tight.add(node)
        else:
            every = x.lower <= x.upper if open_components is None else open_components
            x = self._tighten_some(node, x, every)
        self.values[node] = integral(self.backend, x) if node.sort == INT else x
        self.sizes.pop(node, None)  # a smaller one, when it is asked for

    def _fits_at_once(self, node: Expr) -> bool:
        """Whether the rows of all components, at the node and at the inputs, are no larger than they may be."""
        return 2 * node.size * max(node.size, self.inputs.count) <= numbers_at_once(MAX_ROWS)

    def _tighten_some(self, node: Expr, x: Range, open_components: Array) -> Range:
        """One group of two rows for each open component of each box."""
        boxes, places = self.backend.nonzero(self._every_box(open_components, node.size))
        target, L, constants = self._component_rows(node, places)
        low = self.lower({target: L}, constants, boxes)
        lower, upper = (self._full(end, node.size) for end in (x.lower, x.upper))
        lower[boxes, places] = self.backend.xp.maximum(lower[boxes, places], low[:, 0])
        upper[boxes, places] = self.backend.xp.minimum(upper[boxes, places], -low[:, 1])
        return Range(lower, upper)

    def _full(self, array: Array, size: int) -> Array:
        """An array of its own, with a row for every box."""
        return self.backend.copy(self._every_box(array, size))

    def _every_box(self, array: Array, size: int) -> Array:
        shape = (self.batch, size)
        return array if array.shape == shape else self.backend.xp.broadcast_to(array, shape)

    def _component_rows(self, node: Expr, places: Array) -> tuple[Expr, Selected | Units, Array]:
        """Rows for some components: of an affine layer its weights on the argument, exactly; else unit rows."""
        argument = self.graph.layer_argument(node)
        if argument is not None:
            own = layer(self.backend, node)
            constants = own.bias[0][places][:, None] * both_signs(self.backend)
            return argument, Selected(self.backend, own.weight, places), constants
        return node, Units(self.backend, node.size, places), self.backend.zeros((places.shape[0], 2))

    def _seed_all(self, node: Expr) -> tuple[Array, Array]:
        """Rows for the lower bounds of all components, then for those of their negations."""
        n = node.size
        unit = self.backend.array(np.concatenate([np.eye(n), -np.eye(n)]))
        zero = self.backend.zeros((self.batch, 2 * n))
        return self.backend.xp.broadcast_to(unit, (self.batch, 2 * n, n)), zero

    # Rows -------------------------------------------------------------------------------------------------------------

    def lower(self, seeds: Seeds, constants: Array, index: Array | None) -> Array:
        """Lower bounds of sums of rows times nodes: (groups, r); `index` says to which box each group belongs."""
        return self._join([low for _, low in self.substitute(seeds, constants, index)])

    def exceeds(self, node: Expr, rows: Array, index: Array) -> Array:
        """(groups,): whether a row (groups, components) times a node is certainly above zero, in the group's box."""
        low = self.lower({node: rows[:, None, :]}, self.backend.zeros((rows.shape[0], 1)), index)
        return cast(Array, low[:, 0] > 0)

    def substitute(self, seeds: Seeds, constants: Array, index: Array | None) -> Iterator[tuple[Rows, Array]]:
        """Backward substitution in blocks that fit the cache: rows at the inputs, and their lower bounds."""
        linear_choice.prepare(self, seeds)
        groups, r = constants.shape
        width = max(max(L.shape[-1] for L in seeds.values()), self.inputs.count, 16)
        block = max(1, (CHUNK if self.backend.on_host else self._room(width)) // (r * width))
        for start in range(0, groups, block):
            yield self._block(seeds, constants, index, slice(start, start + block))

    def _room(self, width: int) -> int:
        """Numbers in a block of rows so wide on a card: as many as its memory holds, at the widest node on the way."""
        widest = max(max((node.size for node in self.values), default=1), width)
        if self._free is None:
            self._free = free_numbers(self.backend.device)
        return self._free // ARRAYS_UNDER_WAY * width // widest

    def _block(self, seeds: Seeds, constants: Array, index: Array | None, part: slice) -> tuple[Rows, Array]:
        where: RowIndex = part if index is None else index[part]
        whole = index is None and part.start == 0 and part.stop >= constants.shape[0]
        rows = Rows(self.graph, None if whole else where, constants[part])
        for node, L in seeds.items():
            rows.push(node, L[part])
        rows.run()
        return rows, lower_bounds(rows)

    def _join(self, parts: Sequence[Array]) -> Array:
        if len(parts) == 1:
            return parts[0]
        return self.backend.concat(parts, 0)


def bounds(roots: Sequence[Expr], box: InputBox, *, mode: Mode = "backward") -> list[LinearBounds]:
    """Sound linear bounds of numeric roots over the inputs of their graph."""
    linear = Linear(box, mode=mode)
    return [linear.form(root) for root in roots]


__all__ = ["Finite", "Linear", "LinearBounds", "Mode", "Range", "Truth", "bounds"]
