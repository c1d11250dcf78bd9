"""Files compressed by gzip, unpacked up to a size: a small file may not ask for a large memory."""

from __future__ import annotations

from pathlib import Path

from vernal.errors import FormatError

MAGIC = b"\x1f\x8b"  # how gzip data begins


def unpacked(data: bytes, file: Path, most: int, remark: str = "more than Vernal reads") -> bytes:
    """The content of a file, unpacked where it is gzip data; an error beyond so many bytes."""
    if not data.startswith(MAGIC):
        return data
    import zlib

    unpacker = zlib.decompressobj(wbits=31)
    try:
        content = unpacker.decompress(data, most + 1)
    except zlib.error as error:
        raise FormatError(f"{file}: damaged gzip data ({error})") from None
    if len(content) > most:
        raise FormatError(f"{file}: larger than {most // 2**20} MiB when unpacked, {remark}")
    if not unpacker.eof:
        raise FormatError(f"{file}: damaged gzip data (it ends too early)")
    return content
