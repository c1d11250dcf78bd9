"""The picture of an explored tree: the sets, the decisions between them, merges, colours; and what cannot be drawn."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tests import systems
from vernal.errors import InputError
from vernal.formats.task.blueprint import load
from vernal.logic.formula import ALL_TIME, Always, And, Atom, Bound, Eventually, Formula, Next, Not, Or, Quantifier
from vernal.logic.printing import text
from vernal.model import build
from vernal.model.sorts import REAL
from vernal.model.system import System
from vernal.report.tree import explored, plot_tree, set_values, words
from vernal.sets import set_graph
from vernal.sets.set_graph import Fate, SetGraph

VCAS = Path(__file__).resolve().parents[2] / "examples" / "vcas" / "vcas.toml"
X = build.var("x", REAL)


def walk() -> System:
    """From [0, 1], one up or one down."""
    step = build.choose(1, -1, name="step")
    return systems.make({"x": (0, 1)}, {"x": X + step})


def below(limit: Fraction | int, first: int = 0, last: int = 3) -> Formula:
    return Always(Atom(build.compare("<=", X, build.const(limit))), Bound(Fraction(first), Fraction(last)))


def counts(tree: SetGraph) -> list[int]:
    return [sum(node.t == t for node in tree.nodes.values()) for t in range(1 + max(n.t for n in tree.nodes.values()))]


def test_orders_of_the_same_choices_meet_again() -> None:
    tree, _ = explored(walk(), below(9), 3)
    assert counts(tree) == [1, 2, 3, 4]
    middle = [node for node in tree.nodes.values() if node.t == 2 and tree.ways()[node.trail] == 2]
    assert [set_values(node, walk()) for node in middle] == [{"x": "0 … 1"}]
    assert sum(edge.child == middle[0].trail for edge in tree.steps) == 2
    assert len(tree.steps) == 2 + 4 + 6


def test_options_that_do_not_exist_are_not_followed() -> None:
    """Up only from at most 1, down from everywhere; the labels are the options as they were written."""
    step = build.choose(build.when(1, X <= 1), -1, name="step")
    system = systems.make({"x": (3, 4)}, {"x": X + step})
    tree, _ = explored(system, below(9), 2)
    assert counts(tree) == [1, 1, 1]
    assert set(words(tree, system).steps.values()) == {"step -1"}
    low = systems.make({"x": (0, 1)}, {"x": X + step})
    assert sorted(words(explored(low, below(9), 1)[0], low).steps.values()) == ["step -1", "step 1"]


def test_steps_are_labelled_with_what_was_chosen() -> None:
    tree, _ = explored(walk(), below(9), 1)
    assert sorted(words(tree, walk()).steps.values()) == ["step -1", "step 1"]


def test_a_set_is_red_where_a_path_breaks_the_formula() -> None:
    tree, _ = explored(walk(), below(Fraction("1.5"), last=1), 3)
    assert counts(tree) == [1, 2]  # nothing more is asked after step 1
    fates = {tree.nodes[at].box[0][0].round(): fate for at, fate in tree.fates().items() if tree.nodes[at].t == 1}
    assert fates == {-1: Fate.KEPT, 1: Fate.FAILED}
    assert [tree.fates()[node.trail] for node in tree.initial] == [Fate.OPEN]


def test_the_depth_is_a_limit_and_sets_beyond_it_stay_open() -> None:
    tree, _ = explored(walk(), below(9), 1)
    assert counts(tree) == [1, 2]
    assert set(tree.fates().values()) == {Fate.OPEN}


def test_a_claim_of_some_path_is_asked_by_its_negation() -> None:
    formula = Next(Atom(build.compare(">=", X, build.const(1))), 1, Quantifier.SOME)
    tree, asked = explored(walk(), formula, 1)
    assert asked == Not(formula)
    assert Fate.FAILED in set(tree.fates().values())


def test_a_claim_about_states_has_no_tree() -> None:
    up, down = (Next(Atom(build.compare(op, X, build.const(0))), 1, Quantifier.ALL) for op in (">", "<="))
    with pytest.raises(InputError, match="state by state"):
        explored(walk(), Or((up, down)), 1)
    assert explored(walk(), And((up, down)), 1)


def test_wide_levels_are_cut_and_the_rest_counted() -> None:
    tree, _ = explored(walk(), below(9), 3, most=2)
    assert counts(tree) == [1, 2, 2, 2]
    assert tree.left_out == {2: 1, 3: 2}
    assert all(edge.parent in tree.nodes and edge.child in tree.nodes for edge in tree.steps)


@pytest.mark.parametrize(
    ("operator", "title"), [(Always, "G[0,2] (x <= 9)"), (Eventually, "F[0,2] (x <= 9)")], ids=["G", "F"]
)
def test_of_an_unbounded_formula_the_first_steps_are_drawn(
    operator: type[Always] | type[Eventually], title: str
) -> None:
    tree, asked = explored(walk(), operator(Atom(build.compare("<=", X, build.const(9))), ALL_TIME), 2)
    assert text(asked) == title
    assert tree.nodes


def test_an_unbounded_formula_with_nothing_in_its_first_steps_is_refused() -> None:
    with pytest.raises(InputError, match=r"F G .* bound it"):
        explored(walk(), Eventually(Always(Atom(build.compare("<=", X, build.const(9))))), 2)


def test_the_advisor_picture_says_who_advised_what(tmp_path: Path) -> None:
    task = load(VCAS, v0=Fraction("-22.5"), k=2)
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for file in (first, second):
        plot_tree(task.system, task.properties["wide"], 2, file)
    drawn = first.read_text()
    assert drawn == second.read_text()
    title = "AG[1,2] (h &gt; 110 | h &lt; -110)"
    for said in (title, "CL1500, accel 8.05", "-133 … -129", "tau 24, adv CL1500", "step 2"):
        assert said in drawn
    assert plot_tree(task.system, task.properties["wide"], 0).axes


def test_a_tree_that_grows_too_wide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_graph, "TOO_MANY", 1)
    with pytest.raises(InputError, match=r"at step 3 .* smaller depth"):
        explored(walk(), below(9), 3, most=2)


def test_a_negative_depth_is_refused() -> None:
    with pytest.raises(InputError, match="0 or more"):
        plot_tree(walk(), below(9), -1)
