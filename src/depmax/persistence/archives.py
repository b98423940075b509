"""Sealed archives: read once, and refused before they take more memory than they may."""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from depmax._resources import require_memory

#: The comment at the end of an archive: this, then 64 digits.
_MARK = b"depmax sha256 "
_DIGITS = 64
#: Bytes that one byte can become by Deflate, the only compression that is written.
_RATIO = 1100
#: How arrays in a file, and archives of arrays, begin.
_ARRAY, _ARCHIVE = b"\x93NUMPY", b"PK\x03\x04"


class DamagedArchiveError(ValueError):
    """An archive that is not as it was written."""


def seal(content: bytes) -> bytes:
    """The archive with a checksum of all its bytes as its comment, which zip readers skip."""
    buffer = io.BytesIO(content)
    with ZipFile(buffer, "a") as archive:
        archive.comment = _MARK + b"0" * _DIGITS
    unsealed = buffer.getvalue()[:-_DIGITS]
    return unsealed + hashlib.sha256(unsealed).hexdigest().encode()


def read_sealed(path: Path, limit: int) -> bytes:
    """The bytes of a file, which end with the checksum of all others, read once."""
    require_memory(path.stat().st_size, limit, path)
    content = path.read_bytes()
    end = content[-len(_MARK) - _DIGITS :]
    if re.fullmatch(_MARK + rb"[0-9a-f]{64}", end) is None:
        raise DamagedArchiveError(
            f"{path} is not a valid model file: it does not end in depmax's checksum, so it "
            "was cut off, changed, or not written by depmax."
        )
    if hashlib.sha256(content[:-_DIGITS]).hexdigest().encode() != end[-_DIGITS:]:
        raise DamagedArchiveError(
            f"{path} is damaged: its contents do not match the checksum that was written with "
            "them. Use an intact copy, or fit the model again."
        )
    return content


def require_sizes(
    archive: ZipFile, path: Path, limit: int, *, nested: bool = False
) -> dict[str, int]:
    """Bytes that each member becomes, if all together stay below the limit and tell the truth.

    A member must not unpack to more than it declares, and an array must not declare more numbers
    than there are: room for them is made before they are read.
    """
    sizes = {}
    for member in archive.infolist():
        if member.file_size > _RATIO * member.compress_size + 64:
            raise DamagedArchiveError(
                f"{path} is damaged: its part {member.filename} declares {member.file_size} bytes, "
                f"but {member.compress_size} are there."
            )
        if member.filename in sizes:
            raise DamagedArchiveError(f"{path} is damaged: it has two parts {member.filename}.")
        sizes[member.filename] = member.file_size
    require_memory(sum(sizes.values()), limit, path)
    damaged = archive.testzip()
    if damaged is not None:
        raise DamagedArchiveError(f"{path} is damaged: its part {damaged} has changed.")
    for name in sizes:
        with archive.open(name) as file:
            start = file.read(len(_ARRAY))
        if start == _ARRAY:
            _require_numbers(archive, name, path)
        elif start.startswith(_ARCHIVE):  # the arrays of a sparse matrix
            if nested:
                raise DamagedArchiveError(f"{path} is damaged: its part {name} is an archive.")
            with ZipFile(io.BytesIO(archive.read(name))) as inner:
                sizes[name] = sum(require_sizes(inner, path, limit, nested=True).values())
    return sizes


def _require_numbers(archive: ZipFile, name: str, path: Path) -> None:
    """Refuse an array whose header declares more than follows."""
    with archive.open(name) as file:
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, _, dtype = readers[np.lib.format.read_magic(file)](file)
        there = len(file.read())
    declared = math.prod(shape) * dtype.itemsize
    if declared != there:
        raise DamagedArchiveError(
            f"{path} is damaged: its part {name} declares {declared} bytes of numbers, but {there} "
            "are there."
        )


def loaded_bytes(nodes: Iterable[Mapping[str, Any]], sizes: Mapping[str, int]) -> int:
    """Bytes of all members that nodes of a schema refer to, each as often as it is read.

    A number identifies what skops reads only once.
    """
    total, read = 0, set()
    for node in nodes:
        number = node.get("__id__")
        if number is None or number not in read:
            total += sizes.get(str(node.get("file")), 0)
        read.add(number)
    return total
