"""Guarded choices: which values they have, where none is left, and what would have to be known too early."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.systems import make
from vernal.errors import NoOption, TypeClash
from vernal.interpret import exact
from vernal.interpret.numbers.reals import Undefined
from vernal.logic.printing import text
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.build import TRUE, when
from vernal.model.expr import Choose, Expr, Role
from vernal.model.graph import fresh
from vernal.model.network import Network, network_input
from vernal.model.partial_evaluation import next_decision, specialise
from vernal.model.sorts import BOOL, INT

x, n, p, q = b.var("x"), b.var("n", INT), b.var("p", BOOL), b.var("q", BOOL)
SORTS = {"n": INT, "p": BOOL, "q": BOOL}


def enabled(following: Expr, lets: dict[str, Expr] | None = None, said: Expr = TRUE) -> str:
    """When there is a step, for a next value of x."""
    system = make({"x": 0, "n": 0, "p": 0, "q": 0}, {"x": following}, sorts=SORTS, lets=lets, enabled=said)
    return text(system.step.enabled)


def let(name: str, body: Expr) -> Expr:
    return b.var(name, body.sort, body.shape, Role.LET)


# The node -------------------------------------------------------------------------------------------------------------


def test_options_guards_and_what_was_written() -> None:
    node = b.choose(when(x, p), when(n, q), 3)
    assert isinstance(node, Choose)
    assert node.guards == (p, q, TRUE)
    assert node.written == (x, n, b.const(3))
    first = b.if_(p, x, b.if_(q, n, 3))
    assert node.options == (first, b.if_(q, n, first), b.const(3))
    (later,) = fresh([node], 4)
    assert isinstance(later, Choose)
    assert (later.written, later.occurrence.step) == (node.written, 4)


def test_a_choice_whose_options_always_exist_is_a_plain_one() -> None:
    plain = b.choose(when(1, TRUE), 2)
    assert isinstance(plain, Choose)
    assert not plain.guarded
    assert plain.options == plain.written == plain.args == (b.const(1), b.const(2))
    assert plain.guards == ()


def test_indices_stay_where_an_option_never_exists() -> None:
    node = b.choose(when(1, b.FALSE), when(2, p), 3)
    assert isinstance(node, Choose)
    assert len(node.options) == len(node.guards) == 3


def test_an_option_that_does_not_exist_has_no_value() -> None:
    node = b.choose(when(1, p), when(2, q), name="move")
    missing, found = (exact.evaluate([node], {p: False, q: True}, {node: index})[0] for index in (0, 1))
    assert found == 2
    assert "option 0 does not exist" in str(missing)
    assert isinstance(node, Choose)
    outcome = exact.run([node], {p: False, q: True}, {node: 0}, lenient=True)
    assert (outcome.values, outcome.options[node]) == ([2], 1)


def test_guards_that_nobody_needs_are_not_looked_at() -> None:
    """The condition of another option may be undefined; its own may not."""
    node = b.choose(when(1, p), when(2, b.div(1, x) > 0))
    first, second = (exact.evaluate([node], {p: True, x: 0}, {node: index})[0] for index in (0, 1))
    assert first == 1
    assert isinstance(second, Undefined)


def test_conditions_are_single_truth_values() -> None:
    with pytest.raises(TypeClash, match="plain Python truth value"):
        b.choose(when(1, x is n), 2)
    with pytest.raises(TypeClash, match="truth values"):
        b.choose(when(1, x), 2)
    with pytest.raises(TypeClash, match="a vector of 2"):
        b.choose(when(1, b.compare("<", b.var("v", shape=(2,)), 0)), 2)


def test_which_options_exist_is_decided_first() -> None:
    node = b.choose(when(1, x < 0), when(2, x < 5))
    assert next_decision([node]) is (x < 0)
    (rest,) = specialise([node], {x < 0: b.FALSE, x < 5: TRUE})
    assert next_decision([rest]) is rest
    assert isinstance(rest, Choose)
    assert rest.guards == (b.FALSE, TRUE)


# Where a path ends ----------------------------------------------------------------------------------------------------


def test_a_step_needs_an_option() -> None:
    assert enabled(b.choose(when(1, p), when(2, q))) == "p | q"
    assert enabled(b.choose(when(1, p), 2)) == "true"
    assert enabled(b.choose(when(1, p), when(2, q)), said=x < 3) == "x < 3 & (p | q)"


def test_a_choice_in_a_branch_matters_where_the_branch_is_taken() -> None:
    choice = b.choose(when(1, p))
    assert enabled(b.if_(q, choice, 0)) == "!q | p"
    assert enabled(b.if_(q, 0, choice)) == "q | p"
    assert enabled(b.if_(q, choice, choice + 1)) == "p"
    assert enabled(b.if_(q, choice, 0) + choice) == "(!q | p) & p"


def test_a_choice_in_a_case_matters_in_that_case() -> None:
    choice = b.choose(when(1, p))
    cases = [Fraction(1), Fraction(2), None]
    assert enabled(b.switch(n, cases, [choice, 0, 0])) == "!(n == 1) | p"
    assert enabled(b.switch(n, cases, [0, 0, choice])) == "n == 1 | n == 2 | p"
    assert enabled(b.switch(p, [Fraction(0), Fraction(1)], [b.choose(when(1, q)), 0])) == "!(p == false) | q"


def test_a_branch_of_some_components_is_taken_if_one_takes_it() -> None:
    pair = b.concat(x, n)
    assert enabled(b.if_(b.compare("<", pair, 0), b.choose(when(1, p)), 0)[0]).endswith("| p")


def test_a_let_that_nobody_uses_ends_nothing() -> None:
    choice = b.choose(when(1, p), name="d")
    assert enabled(x, lets={"d": choice}) == "true"
    assert enabled(let("d", choice), lets={"d": choice}) == "p"


def test_a_choice_may_depend_on_draws_if_something_always_exists() -> None:
    coin = b.choose(0, 1, name="coin")
    assert enabled(b.choose(when(5, coin > 0), 6) + coin) == "true"
    assert enabled(b.if_(coin > 0, b.choose(when(5, p), 6), 0)) == "true"


def test_a_choice_with_an_option_for_where_no_other_exists_may_stand_anywhere() -> None:
    coin = b.choose(0, 1, name="coin")
    for others in ([p], [p, q]):
        options = [when(number, guard) for number, guard in enumerate(others)]
        last = when(9, b.negate(b.disj(*others)))
        assert enabled(b.if_(coin > 0, b.choose(*options, last), 0)) == "true"
        with pytest.raises(NoOption, match="an option left"):
            enabled(b.if_(coin > 0, b.choose(*options, when(9, b.negate(p & q))), 0))


def test_whether_an_option_is_left_is_known_before_the_draws() -> None:
    coin, choice = b.choose(0, 1, name="coin"), b.choose(when(1, p), name="move")
    for following in (b.choose(when(5, coin > 0), name="move"), b.if_(coin > 0, choice, 0), b.choose(choice, 0)):
        with pytest.raises(NoOption, match=r"'move' has an option left cannot depend") as refused:
            enabled(following)
        assert refused.value.choice == "move"
    assert enabled(b.choose(choice, choice + 1)) == "p"


def test_what_has_an_option_anyway_may_be_drawn_from_elsewhere() -> None:
    """A plan: where to go is chosen, and then whether to pick something up on the way."""
    move = b.choose(when(1, p), when(2, q), name="move")
    pick = b.choose(when(n + 1, let("move", move) > 1), n, name="pick")

    def system(place: Expr) -> Expr:
        init = {"x": 0, "n": 0, "p": 0, "q": 0}
        return make(init, {"x": place, "n": pick}, sorts=SORTS, lets={"move": move}).step.enabled

    assert text(system(let("move", move))) == "p | q"
    with pytest.raises(NoOption, match=r"'move' has an option left .* \(pick\)"):
        system(x)


def test_what_an_agent_observes_is_there() -> None:
    inputs = network_input(1)
    network = Network("net", inputs, inputs)

    def ends(seen: Expr) -> Expr:
        agent = make_agent("seer", [network], [seen], "raw")
        return make({"x": 0, "p": 0}, {"x": agent.var}, sorts=SORTS, agents=[agent]).step.enabled

    assert ends(b.choose(when(1, p), x)) is TRUE
    with pytest.raises(NoOption, match="'noise', and it acts where the path ends"):
        ends(b.choose(when(1, p), name="noise"))
