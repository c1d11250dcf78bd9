"""torch modules: every layer that is read, against torch itself; the others refused by name."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.formats.samples import compute, points
from vernal.errors import FormatError, MissingExtra, UnsupportedOperator
from vernal.formats.torch.module import from_torch
from vernal.model.expr import LeakyRelu

torch_only = pytest.mark.torch


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"vernal\[torch\]"):
        from_torch(object())


def stack(*middle: Any, dtype: str = "float32") -> Any:
    from torch import manual_seed, nn

    manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), *middle, nn.Sequential(nn.Identity(), nn.Linear(4, 2, bias=False)))
    return module.to(getattr(__import__("torch"), dtype))


def layers() -> dict[str, Any]:
    from torch import nn

    normal = nn.BatchNorm1d(4)
    normal.running_mean.uniform_(-1, 1)
    normal.running_var.uniform_(0.5, 2)
    return {
        "ReLU": [nn.ReLU()],
        "LeakyReLU": [nn.LeakyReLU(0.1)],
        "PReLU": [nn.PReLU(4, init=0.3)],
        "PReLU-shared": [nn.PReLU()],
        "Tanh": [nn.Tanh()],
        "Sigmoid": [nn.Sigmoid()],
        "Hardshrink": [nn.Hardshrink(0.6)],
        "Softshrink": [nn.Softshrink(0.6)],
        "Hardtanh": [nn.Hardtanh(-0.5, 0.7)],
        "CELU": [nn.CELU(0.7)],
        "ELU": [nn.ELU(1.3)],
        "GELU": [nn.GELU()],
        "GELU-tanh": [nn.GELU(approximate="tanh")],
        "Hardsigmoid": [nn.Hardsigmoid()],
        "Hardswish": [nn.Hardswish()],
        "Mish": [nn.Mish()],
        "ReLU6": [nn.ReLU6()],
        "SELU": [nn.SELU()],
        "SiLU": [nn.SiLU()],
        "Softplus": [nn.Softplus()],
        "Softplus-sharp": [nn.Softplus(beta=2.5)],
        "Softsign": [nn.Softsign()],
        "LayerNorm": [weighted(nn.LayerNorm(4))],
        "LayerNorm-plain": [nn.LayerNorm(4, eps=0.01, elementwise_affine=False)],
        "BatchNorm1d": [normal],
        "BatchNorm1d-plain": [nn.BatchNorm1d(4, affine=False)],
        "Dropout": [nn.Dropout(0.5), nn.Flatten()],
    }


def weighted(layer: Any) -> Any:
    """A layer that no longer has the weights it begins with, all ones and zeros."""
    layer.weight.data.uniform_(-1, 2)
    layer.bias.data.uniform_(-1, 1)
    return layer


NAMES = ["ReLU", "LeakyReLU", "PReLU", "PReLU-shared", "Tanh", "Sigmoid", "Hardshrink", "Softshrink", "Hardtanh",
         "CELU", "ELU", "GELU", "GELU-tanh", "Hardsigmoid", "Hardswish", "Mish", "ReLU6", "SELU", "SiLU", "Softplus",
         "Softplus-sharp", "Softsign", "LayerNorm", "LayerNorm-plain", "BatchNorm1d", "BatchNorm1d-plain",
         "Dropout"]  # fmt: skip


@torch_only
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layers_agree_with_torch(name: str, dtype: str) -> None:
    import torch

    module = stack(*layers()[name], dtype=dtype).eval()
    network = from_torch(module)
    xs = points(3)
    with torch.no_grad():
        expected = module(torch.tensor(xs, dtype=getattr(torch, dtype))).numpy()
    tolerance = 1e-12 if dtype == "float64" else 2e-6
    np.testing.assert_allclose(compute(network, xs), expected, rtol=tolerance, atol=tolerance)


@torch_only
def test_all_names_are_tested() -> None:
    assert list(layers()) == NAMES


@torch_only
def test_numbers_are_what_the_module_computes_with() -> None:
    from torch import nn

    for dtype, slope in (("float32", Fraction(float(np.float32(0.1)))), ("float64", Fraction(0.1))):
        module = nn.Sequential(nn.Linear(2, 2), nn.LeakyReLU(0.1)).to(getattr(__import__("torch"), dtype))
        output = from_torch(module).output
        assert isinstance(output, LeakyRelu)
        assert output.slopes == (slope,)


@torch_only
def test_softmax_at_the_end_is_left_out_and_remembered() -> None:
    from torch import nn

    assert from_torch(nn.Sequential(stack(), nn.LogSoftmax(dim=-1))).dropped == "LogSoftmax"
    with pytest.raises(UnsupportedOperator, match="last"):
        from_torch(nn.Sequential(nn.Softmax(dim=1), nn.Linear(3, 2)))


@torch_only
def test_what_is_not_read_is_refused_by_name() -> None:
    import torch
    from torch import nn

    for module, message in (
        (nn.Sequential(nn.Linear(3, 2), nn.Softplus(threshold=5)), "threshold of at least 20"),
        (nn.Sequential(nn.Linear(3, 2), nn.CELU(-1.0)), "CELU"),
        (nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(3)), "LayerNorm over .3,. is given 2"),
        (nn.Sequential(nn.Flatten(0), nn.Linear(3, 2)), "Flatten"),
        (nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False)), "whole batch"),
        (nn.Sequential(nn.BatchNorm1d(3, affine=False, track_running_stats=False)), "whole batch"),
        (nn.Sequential(nn.Linear(3, 2), nn.Linear(3, 2)), "takes 3 inputs, but is given 2"),
        (nn.ReLU(), "give input_size"),
        (nn.Linear(3, 2).half(), "float16"),
    ):
        with pytest.raises(FormatError, match=message):
            from_torch(module)
    broken = nn.Linear(3, 2)
    with torch.no_grad():
        broken.weight[0, 0] = float("nan")
    with pytest.raises(FormatError, match=r"Linear\.weight holds NaN"):
        from_torch(broken)
    assert from_torch(nn.ReLU(), input_size=5, name="five").input_size == 5
