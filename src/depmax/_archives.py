"""Zip archives that depmax writes: sealed with a checksum, and their sizes known before use."""

from __future__ import annotations

import hashlib
import io
import re
from pathlib import Path
from zipfile import ZipFile

from depmax._limits import require_memory

#: The comment at the end of an archive: this, then 64 digits.
_MARK = b"depmax sha256 "
_DIGITS = 64
#: Bytes that one byte can become by Deflate, the only compression that is written.
_RATIO = 1100


class DamagedArchiveError(ValueError):
    """An archive that is not as it was written."""


def seal(content: bytes) -> bytes:
    """The archive with a checksum of all its bytes as its comment, which zip readers skip."""
    buffer = io.BytesIO(content)
    with ZipFile(buffer, "a") as archive:
        archive.comment = _MARK + b"0" * _DIGITS
    unsealed = buffer.getvalue()[:-_DIGITS]
    return unsealed + hashlib.sha256(unsealed).hexdigest().encode()


def require_sealed(path: Path) -> None:
    """Refuse a file that does not end in the checksum of what stands before it."""
    size = path.stat().st_size
    end = len(_MARK) + _DIGITS
    digest = hashlib.sha256()
    with path.open("rb") as file:
        if size > end:
            file.seek(size - end)
        mark, digits = file.read(len(_MARK)), file.read()
        if mark != _MARK or re.fullmatch(rb"[0-9a-f]{64}", digits) is None:
            raise DamagedArchiveError(
                f"{path} is not a valid model file: it does not end in depmax's checksum, so it "
                "was cut off, changed, or not written by depmax."
            )
        file.seek(0)
        left = size - _DIGITS
        while left > 0:
            part = file.read(min(left, 1 << 20))
            if not part:
                break
            digest.update(part)
            left -= len(part)
    if digest.hexdigest().encode() != digits:
        raise DamagedArchiveError(
            f"{path} is damaged: its contents do not have the checksum that was written with them. "
            "Take a copy that is whole, or fit the model again."
        )


def require_sizes(archive: ZipFile, path: Path, limit: int) -> None:
    """Refuse members that unpack to more than the limit, or declare more than they can hold."""
    total = 0
    for member in archive.infolist():
        if member.file_size > _RATIO * member.compress_size + 64:
            raise DamagedArchiveError(
                f"{path} is damaged: its part {member.filename} declares {member.file_size} bytes, "
                f"but {member.compress_size} are there."
            )
        total += member.file_size
    require_memory(total, limit, path)
    damaged = archive.testzip()
    if damaged is not None:
        raise DamagedArchiveError(f"{path} is damaged: its part {damaged} has changed.")
