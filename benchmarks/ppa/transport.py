"""Transport: a truck brings packages along a straight road and over a bridge, which bears one package at a time.

The bridge is between the last two locations; unsafe is a truck beyond it with more than one package. At
the start the truck and all packages, some of which may be loaded, are before the bridge.
"""

from __future__ import annotations

from benchmarks.ppa.jani import Bounded, Edge, Expression, Instance, Model, both, condition, eq, ge, le, plus, total
from benchmarks.ppa.thresholds import distinct, one_variable

FORWARD, BACKWARD, PICK, DROP = LABELS = ("forward", "backward", "pick", "drop")
LIMIT = 1


def waiting(location: int) -> str:
    """The number of packages at a location."""
    return f"at_{location}"


def variables(locations: int, packages: int) -> list[Bounded]:
    places = [Bounded(waiting(i), 0, packages, packages if i == 0 else 0) for i in range(locations)]
    return [Bounded("truck", 0, locations - 1, 0), Bounded("load", 0, packages, 0), *places]


def model(locations: int, packages: int) -> Model:
    """An operator for each road and direction, and for each location and pick or drop."""
    drives = [
        Edge(name, eq("truck", here), {"truck": there})
        for i in range(locations - 1)
        for name, here, there in ((FORWARD, i, i + 1), (BACKWARD, i + 1, i))
    ]
    handles = [edge for i in range(locations) for edge in _handling(i, packages)]
    return Model(f"transport-{locations}-{packages}", LABELS, variables(locations, packages), [*drives, *handles])


def _handling(i: int, packages: int) -> list[Edge]:
    here, name = eq("truck", i), waiting(i)
    pick: dict[str, Expression] = {name: plus(name, -1), "load": plus("load", 1)}
    drop: dict[str, Expression] = {name: plus(name, 1), "load": plus("load", -1)}
    picks, drops = both(ge(name, 1), le("load", packages - 1)), both(ge("load", 1), le(name, packages - 1))
    return [Edge(PICK, both(here, picks), pick), Edge(DROP, both(here, drops), drop)]


def start(locations: int, packages: int) -> Expression:
    everywhere = total(["load", *(waiting(i) for i in range(locations))])
    return both(le("truck", locations - 2), eq(waiting(locations - 1), 0), eq(everywhere, packages))


def unsafe(locations: int) -> Expression:
    return both(eq("truck", locations - 1), ge("load", LIMIT + 1))


def instance(locations: int, packages: int) -> Instance:
    """The truck is refined first and at once, then the others one after the other, the load before the rest."""
    truck, *others = variables(locations, packages)
    names = [truck.name, *(variable.name for variable in others)]
    stages = [[*one_variable(truck), ge("load", LIMIT + 1)], *(one_variable(variable) for variable in others)]
    goal = eq(waiting(locations - 1), packages)
    first = condition(start(locations, packages))
    return Instance(model(locations, packages), first, unsafe(locations), goal, names, distinct(stages))
