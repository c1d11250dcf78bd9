"""Numbers as text, however large or small they are."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vernal as vn
from vernal.model.build import const
from vernal.model.numbers import as_written, nearest, rounded, show, written

HUGE = Fraction(10) ** 999_999  # Python writes no integer of so many digits
digits = st.integers(-(10**40), 10**40).filter(bool)
exponents = st.integers(-5000, 5000)


@given(digits, st.integers(1, 10**30), exponents)
def test_a_rounded_number_is_near(numerator: int, denominator: int, exponent: int) -> None:
    value = Fraction(numerator, denominator) * Fraction(10) ** exponent
    assert abs(Fraction(rounded(value)) / value - 1) <= Fraction(1, 10**5)


@given(digits, exponents)
def test_rounding_is_that_of_decimals(numerator: int, exponent: int) -> None:
    short = Fraction(str(numerator)[:5]) * Fraction(10) ** exponent
    assert Fraction(rounded(short)) == short
    wide = Context(prec=6, Emax=10**6, Emin=-(10**6))
    assert Decimal(rounded(short)) == wide.create_decimal(Decimal(str(numerator)[:5]).scaleb(exponent, wide))


@pytest.mark.parametrize("value", [HUGE, -HUGE, 1 / HUGE, HUGE + Fraction(1, 3), Fraction(2, 3) - HUGE])
def test_every_number_has_a_text(value: Fraction) -> None:
    for text in (rounded(value), show(value), written(value)):
        assert len(text) < 20
        assert (Fraction(text) > 0) is (value > 0)
    assert nearest(value) in (float("inf"), float("-inf"), 0.0)


@pytest.mark.parametrize(
    ("value", "shown", "exact"),
    [
        (Fraction(1, 2), "0.5", "1/2"),
        (Fraction(1, 3), "1/3", "1/3"),
        (Fraction(-7), "-7", "-7"),
        (Fraction(0), "0", "0"),
        (Fraction(10**20), str(10**20), str(10**20)),
    ],
)
def test_short_numbers_are_shown_exactly(value: Fraction, shown: str, exact: str) -> None:
    assert (show(value), written(value)) == (shown, exact)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(10) ** 400, "1e+400"),
        (-(Fraction(10) ** 400), "-1e+400"),
        (Fraction(9_999_999) * 10**400, "1e+407"),
        (Fraction(1, 3) * 10**400, "3.33333e+399"),
        (Fraction(1, 10**400), "1e-400"),
        (Fraction(1, 3), "0.333333"),
    ],
)
def test_numbers_beyond_floats_are_rounded_alike(value: Fraction, text: str) -> None:
    assert rounded(value) == text


# Numbers from Python --------------------------------------------------------------------------------------------------

TENTHS = [
    0.1,
    Decimal("0.1"),
    Fraction(1, 10),
    np.float64(0.1),
    np.float32(0.1),
    np.float16(0.1),
    np.longdouble("0.1"),
    np.array(0.1),
    np.array([0.1], np.float32)[0],
]


@pytest.mark.parametrize("tenth", TENTHS, ids=repr)
def test_a_tenth_is_a_tenth_from_everywhere(tenth: object) -> None:
    assert as_written(tenth) == Fraction(1, 10)
    assert const(tenth) is const(Fraction(1, 10))  # type: ignore[arg-type]
    made = vn.System(
        state={"x": vn.real(), "y": vn.real(-1, tenth)},  # type: ignore[arg-type]
        init={"x": tenth, "y": vn.interval(0, tenth)},  # type: ignore[dict-item, arg-type]
        step=lambda s: {"x": s.x + tenth, "y": tenth * s.y},
    )
    assert made.init.starts["x"].ends[0] == made.init.starts["y"].ends[1] == Fraction(1, 10)
    assert made.variable("y").upper == Fraction(1, 10)
    assert vn.check(made, "X (x == 0.2 & y <= 0.01)").verdict is vn.HOLDS


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(st.integers(0, 2**64 - 1))
def test_a_float_is_a_decimal_that_is_read_as_it_again(dtype: type[np.floating], bits: int) -> None:
    size = np.dtype(dtype).itemsize
    number = np.frombuffer((bits % 2 ** (8 * size)).to_bytes(size, "little"), dtype)[0]
    if np.isfinite(number):
        with np.errstate(over="ignore"):
            assert dtype(float(as_written(number))) == number
            assert as_written(number) == Fraction(np.format_float_positional(number, unique=True))


def test_what_is_no_number_is_handed_back() -> None:
    for given_ in ("0.1", "RED", True, 3, np.array([0.1, 0.2]), None):
        assert as_written(given_) is given_
    assert as_written(np.True_) is True
    assert as_written(np.int64(7)) == 7
    for endless in (float("inf"), np.float32("nan"), Decimal("-Infinity")):
        with pytest.raises(vn.InputError, match="is not a number Vernal computes with"):
            const(endless)


def test_tensors_are_numbers_too() -> None:
    torch = pytest.importorskip("torch")
    assert as_written(torch.tensor(0.1)) == Fraction(1, 10)
    assert as_written(torch.tensor(0.1, dtype=torch.float64, requires_grad=True)) == Fraction(1, 10)
    assert as_written(torch.tensor(3)) == 3


def test_a_matrix_of_numpy_keeps_the_unit_circle() -> None:
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    made = vn.System(
        state={"p": vn.array(vn.real(), 2)}, init={"p": np.array([1.0, 0.0])}, step=lambda s: {"p": turn @ s.p}
    )
    assert vn.check(made, "G[0,5] p[0]^2 + p[1]^2 == 1").verdict is vn.HOLDS
    narrow = vn.System(
        state={"p": vn.array(vn.real(), 2)},
        init={"p": [1, 0]},
        step=lambda s: {"p": turn.astype(np.float32) @ s.p},
    )
    assert vn.check(narrow, "G[0,5] p[0]^2 + p[1]^2 == 1").verdict is vn.HOLDS
