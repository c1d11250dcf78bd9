"""Zip files in memory, unpacked up to a size: a small file may not ask for a large memory or a long time."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from vernal.errors import FormatError
from vernal.formats.limits import DEFAULT

MAX_MEMBERS = 10_000
ENTRY = b"PK\x01\x02"  # how each entry of the table of contents begins: there are no more members than of these
READ = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack a chunk at once, whatever becomes of it
# What zipfile raises of archives: broken, cut off, of a compression it does not know, encrypted, with impossible places
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
)


class Archive:
    """The members of a zip file, each unpacked once; `most` is how many bytes they may have together."""

    def __init__(self, content: bytes, what: str, most: int = DEFAULT.bytes) -> None:
        if content.count(ENTRY) > MAX_MEMBERS:
            raise FormatError(f"it has more than {MAX_MEMBERS:,} files in it, more than Vernal reads")
        try:
            self.zip = zipfile.ZipFile(io.BytesIO(content))
        except DAMAGED:
            raise FormatError(f"it is not {what}, or damaged") from None
        self.what = what
        self.most = most
        self.left = most
        self.unpacked: dict[str, bytes] = {}

    @property
    def names(self) -> list[str]:
        return self.zip.namelist()

    def read(self, name: str) -> bytes:
        """A member, by its name."""
        if name not in self.unpacked:
            try:
                self.unpacked[name] = self._unpack(self.zip.getinfo(name))
            except KeyError:
                raise FormatError(f"it is not {self.what}: there is no {name[:80]!r} in it") from None
            except FormatError:
                raise
            except DAMAGED:
                raise FormatError(f"{name[:80]!r} in it is damaged") from None
        return self.unpacked[name]

    def _unpack(self, member: zipfile.ZipInfo) -> bytes:
        """No more than the member says that it has; what it says is checked before."""
        self.left -= member.file_size
        if self.left < 0:
            raise FormatError(f"what is in it is larger than {self.most // 2**20} MiB, which is more than Vernal reads")
        if member.compress_type not in READ:
            raise FormatError(f"{member.filename[:80]!r} in it is packed in a way that is not read; deflate is")
        with self.zip.open(member) as stream:
            return stream.read(member.file_size + 1)
