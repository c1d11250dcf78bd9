"""Every key, value and character of a TOML file is found where it stands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vernal.errors import ParseError
from vernal.formats.task.places import Path, Places, scan, toml_error
from vernal.logic.parser import parse

NASTY = r'''
top = 1 # a comment = "no value"
"quoted key" = 'literal \n stays'
"esc\u0061ped.dot" = "tab\there, quote \" and \U0001F600 end"
a . "b" .c = "dotted"
a.d = true
"" = "empty key"
empty = ""
empty_too = """"""
date = 1979-05-27 07:32:00Z # with a blank
time = 07:32:00
number = -1_000.5e+3
hex = 0xDEAD
infinite = -inf
long = """
first\tline
second \
      folded   \

   again
"quoted" ""twice"" end"""
quotes = """"both ends""""
[table] # header
array = [ # comment ] "not the end"
  1, "two", [3.5, ["deep # no comment"]],
  { x = "inline", y.z = [ "]", '}' ], "k" = {} },  # trailing comma follows
  """multi
line""",
]
nothing = []
[ table . "sub table" ]
x = "h"
[[points]]
x = "p0"
[[points]]
x = "p1"
[points.inner]
deep = "p1 inner"
[[points.list]]
v = "l0"
[[points.list]]
v = "l1"
[implied.by.child]
x = "c"
[implied]
y = "i"
'''

OTHERS = [
    "",
    "\n",
    "# only a comment",
    "x = 1",
    "x = ''",
    "x = ''''''",
    "x='''a'''",
    "x = '''\nC:\\no\\escape 'x' ''y'''''\n'' = 'empty key'",
    "x = '''''two quotes at each end'''''",
    "[a]\n[b]\n",
    "[[a]]\n[[a]]",
    'x = "no line end"',
    'x = """\\\n   """',
    'x = """a\\   \n\n\n  b"""',
    'x = """\\"" \\""""',
    'x = """\\"" \\"""""',
    "x = [[], [[]], {}]",
    'x = [\n"a"\n,\n"b"\n]',
    '\tx\t=\t"tabs"\t#\t"c"',
    "a.b.c = 1\na.b.d = 'x'\na.e = 'y'",
    "1.2 = 'numbers are keys'\n-_- = 'so is this'",
    'x = "\\\\"\ny = "\\\\\\""',
    '"é" = 1\ny = "ü → \\u00fc →"',
]

Value = object


def strings(value: Value, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """All strings of a document with their paths."""
    match value:
        case str():
            yield path, value
        case dict():
            for key, item in value.items():
                yield from strings(item, (*path, key))
        case list():
            for index, item in enumerate(value):
                yield from strings(item, (*path, index))


def paths(value: Value, path: Path = ()) -> Iterator[Path]:
    """All paths of a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


def check(text: str) -> None:
    """The scan knows exactly tomllib's paths, and every character of every string is where the map says."""
    document, places = tomllib.loads(text), scan(text)
    assert all(path in places for path in paths(document))
    for path, value in strings(document):
        check_string(text, places, path, value)


def check_string(text: str, places: Places, path: Path, value: str) -> None:
    source = places.source(path)
    assert source.text == value
    lines = text.split("\n")
    found = [source.place(i) for i in range(len(value) + 1)]
    positions = [(place.line, place.column) for place in found]
    assert positions == sorted(set(positions)), "later characters stand later"
    for char, (line, column) in zip(value, positions, strict=False):
        shown = (lines[line - 1] + "\n")[column - 1]
        assert shown in (char, "\\")
    line, column = positions[-1]
    assert lines[line - 1][column - 1] in "\"'"


@pytest.mark.parametrize("text", [NASTY, *OTHERS])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_nasty_documents(text: str, newline: str) -> None:
    check(text.replace("\n", newline))


POSITIONS: dict[Path, tuple[tuple[int, int], tuple[int, int]]] = {  # path: key, value
    ("x",): ((2, 1), (2, 5)),
    ("t",): ((3, 2), (3, 2)),
    ("t", "u"): ((4, 3), (4, 3)),
    ("t", "u", "v"): ((4, 5), (4, 9)),
    ("t", "u", "v", 1): ((4, 13), (4, 13)),
    ("t", "u", "v", 1, "w"): ((4, 15), (4, 19)),
    ("p", 1): ((7, 4), (7, 4)),
    ("p", 1, "q"): ((8, 1), (8, 5)),
    ("t", "u", "missing"): ((4, 3), (4, 3)),
    ("missing",): ((1, 1), (1, 1)),
}


@pytest.mark.parametrize("path", POSITIONS)
def test_positions(path: Path) -> None:
    places = scan('# comment\nx = 1\n[t]\n  u.v = [1, { w = "s" }]\n\n[[p]]\n[[ p ]]\nq = 2\n')
    assert (places.key(path), places.value(path)) == POSITIONS[path]


def test_what_is_not_there_is_not_contained() -> None:
    places = scan("x = [1]")
    assert ("x", 0) in places
    assert ("x", 1) not in places
    with pytest.raises(KeyError):
        places.source(("x",))


def test_numbers_keep_their_spelling() -> None:
    assert scan("x = -19.50 # feet").source(("x",)).text == "-19.50"


def test_an_error_inside_a_string_is_shown_in_the_file() -> None:
    text = '[init]\nwhere = ["x > 0", """\n  x\\u0020= 1"""]\n'
    with pytest.raises(ParseError) as caught:
        parse(scan(text, "task.toml").source(("init", "where", 1)))
    message, line, caret = str(caught.value).split("\n")
    assert message == "task.toml:3:10: unexpected '='; write '==' to compare"
    assert line.index("=") == caret.index("^")


def test_a_place_is_as_wide_as_what_it_shows() -> None:
    places = scan('speed = "a\\tb" # c\nn = 17')
    assert (places.key_place(("speed",)).width, places.value_place(("speed",)).width) == (5, len('"a\\tb"'))
    assert places.value_place(("n",)).width == 2


BROKEN = {
    "x = ": (1, 5),
    "x = 1\ny 2\n": (2, 3),
    "x = 1\nx = 2": (2, 6),
    "x = [1,\n": (2, 1),
    'x = "a': (1, 7),
}


@pytest.mark.parametrize("text", BROKEN)
def test_tomllib_errors_get_a_place(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(text)
    error = toml_error(caught.value, text, "task.toml")
    assert error.place is not None
    assert (error.place.line, error.place.column) == BROKEN[text]
    assert "(at" not in error.message


def test_big_documents_are_read_in_one_pass() -> None:
    text = "x = [" + '"a\\tb", ' * 50_000 + "]\n" + "".join(f"k{i} = 'v'\n" for i in range(50_000))
    places = scan(text)
    assert places.key(("k49999",)) == (50_001, 1)


def test_deep_documents_do_not_exhaust_the_stack() -> None:
    deep = scan("x = " + "[" * 10_000 + "]" * 10_000)
    assert deep.value(("x", *[0] * 9_999)) == (1, 10_004)
    assert scan(".".join(["a"] * 10_000) + " = 1").key(("a",) * 10_000) == (1, 19_999)


# ------------------------------------------------------------------------------------------------- random documents

NO_CONTROLS = st.characters(exclude_categories=["Cs", "Cc"])
texts = st.text(st.one_of(st.sampled_from("\"'\\ \n\t#[]{}=,"), NO_CONTROLS), max_size=12)
keys = st.one_of(st.sampled_from(["a", "b-c", "1", "x y", "", "q\"'\\.", "é"]), st.text(NO_CONTROLS, max_size=3))
values = st.recursive(
    st.one_of(texts, st.integers(-9, 9), st.booleans(), st.floats(allow_nan=False)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
STYLES = ["basic", "escaped", "long", "literal", "long literal"]


def write_string(value: str, style: str) -> str:
    """One of TOML's spellings, where it can express the value."""
    basic = "".join(SHORT.get(char, char) for char in value)
    match style:
        case "literal" if not set(value) & {"'", "\n"}:
            return f"'{value}'"
        case "long literal" if "'''" not in value and not value.endswith("'"):
            return f"'''\n{value}'''"
        case "long":
            pieces = (char if char == "\n" else SHORT.get(char, char) for char in value)
            return '"""\n' + "\\\n \t \n".join(pieces) + '"""'
        case "escaped":
            return '"' + "".join(f"\\U{ord(char):08x}" for char in value) + '"'
    return f'"{basic}"'


def write(value: Value, style: st.DataObject) -> str:
    blank = style.draw(st.sampled_from(["", " ", "\t"]))
    match value:
        case bool():
            return str(value).lower()
        case str():
            return write_string(value, style.draw(st.sampled_from(STYLES)))
        case list():
            gap = style.draw(st.sampled_from(["", " ", "\n", ' # "c" ]\n']))
            return f"[{gap}" + "".join(f"{write(item, style)}{gap},{gap}" for item in value) + "]"
        case dict():
            pairs = (f"{write_key(key)}{blank}={blank}{write(item, style)}" for key, item in value.items())
            return "{" + blank + f"{blank},".join(pairs) + blank + "}"
        case _:
            return str(value)


def write_key(key: str) -> str:
    bare = key and key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else write_string(key, "basic")


@given(st.dictionaries(keys, values, max_size=4), st.dictionaries(keys, values, max_size=3), keys, st.data())
def test_random_documents(top: dict[str, Value], table: dict[str, Value], name: str, style: st.DataObject) -> None:
    def pairs(content: dict[str, Value]) -> str:
        return "".join(f"{write_key(key)} = {write(item, style)}\n" for key, item in content.items())

    header = f"{write_key('table of ' + name)} . {write_key(name)}"
    text = f"{pairs(top)}[{header}]\n{pairs(table)}" + f"[[ {write_key('tables of ' + name)} ]]\n{pairs(table)}" * 2
    text = text.replace("\n", style.draw(st.sampled_from(["\n", "\r\n"])))
    check(text)
