"""The door all networks come through: suffixes, references, sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.samples import relu_stack, save
from vernal.errors import FileMissing, FormatError, InputError
from vernal.formats.limits import DEFAULT
from vernal.formats.networks import locate, read_network


def test_missing_files_hint_at_their_neighbours(tmp_path: Path) -> None:
    save(relu_stack(), tmp_path, "advisor.onnx")
    with pytest.raises(FileMissing, match=r"did you mean 'advisor\.onnx'"):
        read_network(tmp_path / "adviser.onnx")
    with pytest.raises(FileMissing, match="no file"):
        read_network(tmp_path / "nowhere" / "adviser.onnx")


@pytest.mark.parametrize("name", ["net.pt", "net.pkl", "net", "net.onnx.txt"])
def test_unknown_suffixes_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(FormatError, match=r"\.onnx, \.nnet, \.h5.* and \.json"):
        read_network(tmp_path / name)


def test_folders_are_no_networks(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").mkdir()
    with pytest.raises(FormatError, match="plain file"):
        read_network(tmp_path / "net.onnx")


def test_names_no_system_accepts() -> None:
    with pytest.raises(InputError):
        read_network("bad\0name.onnx")
    with pytest.raises(InputError):
        read_network("n" * 5000 + ".onnx")


@pytest.mark.parametrize("suffix", ["onnx", "nnet", "h5"])
def test_large_files_are_not_opened(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"large.{suffix}"
    with path.open("wb") as stream:
        stream.truncate(DEFAULT.bytes + 1)  # sparse: takes no space
    with pytest.raises(FormatError, match="64 MiB"):
        read_network(path)


def test_references_are_relative_to_the_task(tmp_path: Path) -> None:
    assert locate("nets/a.onnx", tmp_path) == tmp_path / "nets" / "a.onnx"
    assert locate("../a.onnx", tmp_path / "b").resolve() == (tmp_path / "a.onnx").resolve()
    assert locate("/somewhere/a.onnx", tmp_path) == Path("/somewhere/a.onnx")


def test_data_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERNAL_DATA", str(tmp_path))
    assert locate("data:vcas/vcas_1.onnx", Path("elsewhere")) == tmp_path / "vcas" / "vcas_1.onnx"
    for escape in ("data:../x.onnx", "data:a/../../x.onnx", "data:/etc/x.onnx", "data:"):
        with pytest.raises(InputError, match="leaves the data folder"):
            locate(escape, tmp_path)
    monkeypatch.delenv("VERNAL_DATA")
    with pytest.raises(InputError, match="set that variable"):
        locate("data:vcas/vcas_1.onnx", tmp_path)


def test_what_is_no_network_is_called_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"")
    for file, what in ((tmp_path, "a folder"), (tmp_path / "weights", "a file without an ending")):
        with pytest.raises(InputError, match=f"not from {what}"):
            read_network(file)
