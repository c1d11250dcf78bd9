"""The house stands as drawn: imports point one way, every file says what it is, and nothing runs foreign code."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "vernal"
FILES = sorted(SOURCE.rglob("*.py"))

# A room imports from rooms before it and from itself. The modules beside the rooms (`vernal/__init__.py`,
# `vernal/api.py`, ...) are the roof: they see everything, and no room sees them.
ROOMS = (
    "printable",
    "errors",
    "model",
    "logic",
    "interpret",
    "evidence",
    "solvers",
    "run",
    "simulate",
    "sets",
    "reduce",
    "engines",
    "formats",
    "queries",
    "report",
    "worlds",
    "cli",
    "plugins",
)

# An engine's package imports no other engine's; what composes engines stands beside the packages.
COMPOSITION = {
    "bounded_claims",
    "check",
    "composition",
    "portfolio",
    "question_batches",
    "registry",
    "timed_claims",
    "turns",
    "unbounded_claims",
}

MODULES_THAT_RUN_DATA = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
TARGET = re.compile(r"vernal(?:\.\w+)+(?::\w+)?")  # a module, or a name in one, in a table of what is loaded later
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|home|root)/")


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, as an absolute dotted name, and the line it is imported on."""

    module: str
    line: int


def imports(tree: ast.Module, package: str) -> Iterator[Import]:
    """All imports of a module in `package`: at the top, in functions, for type checkers only, and by string.

    `from a import b` yields `a.b`: whether b is a module or a name in one, it lives in the same room.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(name.name, node.lineno) for name in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = [*package.split(".")[: 1 - level or None]] if level else []
                start = ".".join([*base, *([module] if module else [])])
                yield from (Import(f"{start}.{name.name}", node.lineno) for name in names)
            case ast.Call(
                func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str(module)), *_],
            ):
                yield Import(module, node.lineno)
            case ast.Constant(str(text)) if TARGET.fullmatch(text):
                yield Import(text.partition(":")[0], node.lineno)


def module_name(path: Path) -> str:
    """The dotted name of a file below src/vernal; a package goes by its `__init__`."""
    parts = path.with_suffix("").parts
    return ".".join(("vernal", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def import_graph(texts: Mapping[Path, str]) -> dict[str, set[str]]:
    """For each module the modules it imports; that importing a module runs the `__init__` above it does not count."""
    names = {module_name(path) for path in texts}
    graph: dict[str, set[str]] = {}
    for path, text in texts.items():
        package = ".".join(("vernal", *path.parent.parts))
        found = {owner(item.module, names) for item in imports(tree_of(text), package)}
        graph[module_name(path)] = {name for name in found if name is not None} - {module_name(path)}
    return graph


@cache
def house() -> dict[str, set[str]]:
    """The modules of this package, and what each of them imports."""
    return import_graph({path.relative_to(SOURCE): path.read_text(encoding="utf-8") for path in FILES})


def owner(target: str, names: set[str]) -> str | None:
    """The module that an imported name is, or is in; None for one of another package."""
    while target and target not in names:
        target = target.rpartition(".")[0]
    return target or None


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules each of which is imported by the next, the first again at the end; empty where there is no cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def room(parts: tuple[str, ...]) -> str | None:
    """The room of a dotted name below vernal; None for the roof."""
    return parts[0] if parts and (parts[0] in ROOMS or (SOURCE / parts[0]).is_dir()) else None


def bad_arrow(here: str, target: str) -> str | None:
    """What is wrong with an import from a room, if anything."""
    top, *parts = target.split(".")
    if top != "vernal":
        return None
    there = room(tuple(parts))
    if there is None:
        return f"{here} imports {target}, which stands above all rooms"
    if there not in ROOMS:
        return f"{here} imports {target}, which is in no known room"
    if ROOMS.index(there) > ROOMS.index(here):
        return f"{here} imports {target}, but {there} comes after {here}"
    return None


def bad_arrows(path: Path, text: str) -> list[str]:
    """Every import of a file (its path below src/vernal) that points the wrong way, with its line."""
    here = room(path.with_suffix("").parts)
    if here is None:
        return []
    if here not in ROOMS:
        return [f"{path}:1: the room {here!r} has no place in the order; add it to ROOMS and to docs/design.md"]
    package = ".".join(("vernal", *path.parent.parts))
    found = {(item.line, bad_arrow(here, item.module)) for item in imports(tree_of(text), package)}
    return [f"{path}:{line}: {problem}" for line, problem in sorted((n, p) for n, p in found if p)]


def engine_of(module: str) -> str | None:
    """The package of an engine that a module belongs to, or its own name where it stands beside them."""
    match module.split("."):
        case ["vernal", "engines", name, *_]:
            return name
    return None


def arrows_between_engines(graph: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """From where to which engine's package imports point, except from where engines are composed."""
    packages = {name.split(".")[2] for name in graph if name.startswith("vernal.engines.") and name.count(".") > 2}
    pairs = {(engine_of(here), engine_of(there)) for here, targets in graph.items() for there in targets}
    named = {(here, there) for here, there in pairs if here is not None and there is not None}
    return {(here, there) for here, there in named if there in packages - {here} and here not in COMPOSITION}


@cache
def tree_of(text: str) -> ast.Module:
    """The syntax tree of a text, which several tests look at."""
    return ast.parse(text)


def parse(path: Path) -> ast.Module:
    """The syntax tree of a source file."""
    return tree_of(path.read_text(encoding="utf-8"))


def where(path: Path, line: int = 1) -> str:
    """A place in the repository, as `file:line`."""
    return f"{path.relative_to(ROOT)}:{line}"


def complain(problems: list[str]) -> None:
    """Fail with one problem a line, or not at all."""
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def text_files() -> Iterator[tuple[Path, str]]:
    """Every text file git tracks or would add, with its content."""
    try:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"not a git checkout: {error}")
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                yield path, content.decode("utf-8", errors="replace")


def test_imports_point_one_way() -> None:
    """A room imports only from itself and from rooms before it."""
    complain(
        [
            f"src/vernal/{problem}"
            for path in FILES
            for problem in bad_arrows(path.relative_to(SOURCE), path.read_text(encoding="utf-8"))
        ]
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("model/a.py", "from vernal.logic import tree"),
        ("model/a.py", "import vernal.engines.programs.milp as milp"),
        ("model/a.py", "from vernal import formats"),
        ("model/a.py", "from ..cli import main"),
        ("model/deep/a.py", "from ...logic import tree"),
        ("model/__init__.py", "from .. import logic"),
        ("model/a.py", "def f():\n    from vernal.logic.tree import Until"),
        ("model/a.py", "if TYPE_CHECKING:\n    from vernal.run import Budget"),
        ("model/a.py", "importlib.import_module('vernal.engines.paths.engine')"),
        ("model/a.py", "ENGINES = {'paths': 'vernal.engines.paths.engine:Paths'}"),
        ("errors.py", "from vernal.model import expr"),
        ("cli/main.py", "from vernal import check"),
        ("cli/main.py", "import vernal"),
        ("cli/main.py", "from vernal.api import check"),
        ("cli/main.py", "from ..api import check"),
    ],
)
def test_a_wrong_arrow_is_seen(path: str, text: str) -> None:
    """The test above can fail: each of these imports is caught, with its line."""
    (problem,) = bad_arrows(Path(path), text)
    assert problem.startswith(f"{path}:{text.count(chr(10)) + 1}: ")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("logic/a.py", "from vernal.model.expr import Expr"),
        ("logic/a.py", "from .tree import Until\nfrom . import tree\nimport vernal.logic.parser"),
        ("logic/a.py", "from ..errors import ParseError\nfrom .. import model"),
        ("logic/a.py", "import numpy\nfrom collections import abc"),
        ("errors.py", "import difflib"),
        ("api.py", "from vernal.cli import main\nimport vernal"),
        ("__init__.py", "from .engines import portfolio"),
    ],
)
def test_a_right_arrow_is_let_through(path: str, text: str) -> None:
    """Rooms before, the room itself, other packages, and anything from the roof."""
    assert bad_arrows(Path(path), text) == []


def test_no_engine_imports_another() -> None:
    """Engines share what stands below them; only registry and portfolio know several."""
    found = arrows_between_engines(house())
    complain([f"engines/{here} imports engines/{there}" for here, there in sorted(found)])


@pytest.mark.parametrize(
    ("path", "text", "seen"),
    [
        ("engines/one/engine.py", "from vernal.engines.other.engine import Other", {("one", "other")}),
        ("engines/one/deep.py", "def f():\n    from vernal.engines.other import engine", {("one", "other")}),
        ("engines/one/engine.py", "from ..other.engine import Other", {("one", "other")}),
        ("engines/answers.py", "from vernal.engines.other.engine import Other", {("answers", "other")}),
        ("engines/portfolio.py", "from vernal.engines.other.engine import Other", set()),
        ("engines/other/part.py", "from vernal.engines.other.engine import Other", set()),
        ("engines/one/engine.py", "from vernal.engines.answers import answer", set()),
        ("cli/main.py", "from vernal.engines.other.engine import Other", set()),
    ],
)
def test_an_arrow_between_engines_is_seen(path: str, text: str, seen: set[tuple[str, str]]) -> None:
    others = {"engines/other/__init__.py": "", "engines/other/engine.py": "", "engines/answers.py": ""}
    texts = {Path(name): content for name, content in {**others, path: text}.items()}
    assert arrows_between_engines(import_graph(texts)) == seen


def reached_from(graph: Mapping[str, set[str]], module: str) -> set[str]:
    """All modules that a module imports, and those that they import, and so on."""
    found, waiting = {module}, [module]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_answers_need_no_engine() -> None:
    """What makes results, with ranges and emptiness, has no engine behind it, not even through other modules."""
    packages = {name for name in house() if name.startswith("vernal.engines.") and name.count(".") > 2}
    assert not reached_from(house(), "vernal.engines.answers") & packages
    assert reached_from(house(), "vernal.engines.portfolio") & packages


def test_no_modules_import_each_other() -> None:
    """There is no cycle of imports, those in functions, for type checkers and by string included."""
    found = cycle(house())
    complain([f"modules import each other: {' <- '.join(found)}"] if found else [])


@pytest.mark.parametrize(
    "text",
    [
        "from vernal.model import b",
        "from vernal.model.b import Name",
        "import vernal.model.b as other",
        "from .b import Name",
        "def f():\n    from vernal.model import b",
        "if TYPE_CHECKING:\n    from vernal.model.b import Name",
        "b = importlib.import_module('vernal.model.b')",
        "TABLE = {'name': 'vernal.model.b:Name'}",
        "from vernal.model import Name",
        "from vernal import model",
        "import vernal",
        "TABLE = ['vernal']\nfrom vernal import check",
    ],
)
def test_a_cycle_is_seen(text: str) -> None:
    """The test above can fail: module a closes a cycle with b, with its package, or with the package of all."""
    others = {"model/b.py": "from vernal.model.a import x", "model/__init__.py": "from vernal.model.b import Name"}
    roof = {"__init__.py": "HOMES = {'vernal.model': ['Name']}"}
    texts = {"model/a.py": text, **others, **roof}
    assert "vernal.model.a" in cycle(import_graph({Path(path): text for path, text in texts.items()}))


def test_what_is_no_cycle() -> None:
    """Modules that are imported twice, a package that imports its parts, and other packages."""
    texts = {
        "model/a.py": "import numpy\nfrom vernal.errors import E",
        "model/b.py": "from vernal.model import a\nfrom vernal.errors import E",
        "model/__init__.py": "from vernal.model.a import x\nfrom vernal.model.b import y",
        "errors.py": "NAME = 'vernal'",
    }
    assert cycle(import_graph({Path(path): text for path, text in texts.items()})) == []


def test_every_file_says_what_it_is() -> None:
    """Each source file opens with a docstring."""
    complain([f"{where(path)}: no module docstring" for path in FILES if not ast.get_docstring(parse(path))])


def test_nothing_runs_foreign_code() -> None:
    """No source file can be made to execute what it reads: no pickle or its kin, no eval, no exec."""
    problems = []
    for path in FILES:
        for item in imports(parse(path), "vernal"):
            if item.module.split(".")[0] in MODULES_THAT_RUN_DATA:
                problems.append(f"{where(path, item.line)}: imports {item.module}")
        for node in ast.walk(parse(path)):
            match node:
                case ast.Call(func=ast.Name("eval" | "exec" as name)):
                    problems.append(f"{where(path, node.lineno)}: calls {name}")
    complain(problems)


def test_no_path_of_somebodys_machine() -> None:
    """What is in the repository works from any folder of any machine."""
    complain(
        [
            f"{where(path, number)}: names a path of one machine: {line.strip()[:100]}"
            for path, text in text_files()
            for number, line in enumerate(text.splitlines(), start=1)
            if MACHINE_PATH.search(line)
        ]
    )


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_help_lists_every_target() -> None:
    said = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    documented = re.findall(r"^([\w-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [line.split()[1] for line in said.splitlines()] == documented


# Directions -----------------------------------------------------------------------------------------------------------


CELLS = ["engines/predicates/abstraction.py"]  # a kind of set that lives with the engine, and says OVER of itself


def typed_directions(text: str) -> list[int]:
    """The lines on which a direction is named."""
    named = (node for node in ast.walk(tree_of(text)) if isinstance(node, ast.Attribute))
    return [node.lineno for node in named if ast.unparse(node.value) == "Direction" and node.attr.isupper()]


def test_no_engine_is_believed_on_its_own_word() -> None:
    """The direction of what an engine knows is that of the sets it used and of the chain, and stands in no engine."""
    engines = [path for path in FILES if path.is_relative_to(SOURCE / "engines")]
    found = [path.relative_to(SOURCE).as_posix() for path in engines for _ in typed_directions(path.read_text())]
    assert found == CELLS
    assert typed_directions("Proof(direction=Direction.OVER)") == [1]
    assert typed_directions("class Pieces:\n    direction = Direction.OVER") == [2]


def test_values_are_kept_without_a_lock() -> None:
    """The one of Python 3.11 holds a lock of its class while it computes; work that waits there would keep it."""
    locked = [path for path in FILES if re.search(r"functools\b.*\bcached_property", path.read_text(encoding="utf-8"))]
    assert locked == []
