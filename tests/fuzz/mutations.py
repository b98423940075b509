"""Random damage to files: bytes, tokens of text, members of an archive, values of a model."""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

Mutate = Callable[[bytes, random.Random], bytes]

#: Numbers at which sizes, offsets and indices go wrong.
EDGES = (
    0,
    1,
    7,
    8,
    127,
    128,
    255,
    256,
    32767,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
)
TOKENS = (
    *(
        '"',
        "'",
        ",",
        ";",
        "\t",
        "|",
        "\n",
        "\r\n",
        "\r",
        "\x00",
        "\ufeff",
        "\\",
        "{",
        "}",
        ":",
        "#",
    ),
    *("nan", "NA", "?", "-", "inf", "1e999", "-1e-999", "9" * 25, "0x1p3", "1.234,5", "1,234.5"),
    *(
        "2024-02-30",
        "12:00",
        "true",
        "@data",
        "@attribute x {a,b}",
        "é",
        "\U0001f600",
        "=cmd|'/c'!A1",
    ),
)


def damage_bytes(content: bytes, rng: random.Random) -> bytes:
    """One to six changes anywhere."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        rng.choice(_CHANGES)(data, rng)
    return bytes(data)


def _flip(data: bytearray, rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set(data: bytearray, rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _number(data: bytearray, rng: random.Random) -> None:
    """An integer of 2, 4 or 8 bytes, as sizes and offsets are written."""
    size = rng.choice((2, 4, 8))
    if len(data) > size:
        place = rng.randrange(len(data) - size)
        place -= place % rng.choice((1, size))
        value = rng.choice(EDGES) * rng.choice((1, 1, -1)) % 256**size
        data[place : place + size] = value.to_bytes(size, "little")


def _cut(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data) + 1)
    del data[start : start + rng.choice((1, 2, 8, 64, len(data)))]


def _repeat(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data) + 1)
    part = bytes(data[start : start + rng.choice((1, 4, 16, 200))])
    data[start:start] = part * rng.choice((1, 2, 50))


def _move(data: bytearray, rng: random.Random) -> None:
    start, place = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    part = bytes(data[start : start + rng.choice((4, 8, 32))])
    data[place : place + len(part)] = part


def _insert(data: bytearray, rng: random.Random) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = rng.randbytes(rng.choice((1, 4, 30)))


_CHANGES = (_flip, _flip, _set, _set, _number, _number, _cut, _repeat, _move, _insert)


def damage_text(content: bytes, rng: random.Random) -> bytes:
    """Tokens put in, lines lost and doubled; sometimes bytes too."""
    if rng.random() < 0.3:
        return damage_bytes(content, rng)
    text = content.decode("utf-8", "surrogateescape")
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.randrange(len(text) + 1)
        end = place + rng.choice((0, 0, 1, 3, 20))
        text = text[:place] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 3, 40)) + text[end:]
        if rng.random() < 0.2:
            lines = text.split("\n")
            lines.insert(rng.randrange(len(lines)), lines[rng.randrange(len(lines))])
            text = "\n".join(lines)
    return text.encode("utf-8", "surrogateescape")


def damage_gzip(content: bytes, rng: random.Random) -> bytes:
    """The text inside, or the archive."""
    if rng.random() < 0.5:
        return damage_bytes(content, rng)
    return gzip.compress(damage_text(gzip.decompress(content), rng), 1, mtime=0)


def damage_archive(content: bytes, rng: random.Random, text: Sequence[str] = ()) -> bytes:
    """A member of a zip archive, with sums that are right again, or the archive itself."""
    if rng.random() < 0.4:
        return damage_bytes(content, rng)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    place = rng.randrange(len(members))
    name, inside = members[place]
    change = damage_text if name.endswith(tuple(text)) and text else damage_bytes
    if rng.random() < 0.1:  # a member lost, renamed or doubled
        members[place : place + 1] = rng.choice(
            ([], [(f"{name[:-1]}_", inside)], [(name, inside), (f"copy_{name}", inside)])
        )
    else:
        members[place] = (name, change(inside, rng))
    packed = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, inside in members:
            archive.writestr(zipfile.ZipInfo(name), inside, method)
    return packed.getvalue()


def replace_value(model: Any, rng: random.Random) -> None:
    """Put another value in the place of one that a model holds, or change numbers of an array."""
    places = list(_places(model))
    holder, key, value = rng.choice(places)
    if isinstance(value, np.ndarray) and value.size and rng.random() < 0.6:
        value = _other_array(value, rng)
    elif rng.random() < 0.3:
        value = rng.choice(places)[2]  # that of another place
    else:
        value = rng.choice(VALUES)(rng)
    if isinstance(holder, dict | list):
        holder[key] = value
    else:
        vars(holder)[key] = value


def _places(part: Any, depth: int = 0) -> Iterator[tuple[Any, Any, Any]]:
    """Everything that a model holds: who holds it, under which key, and the value."""
    if depth > 6:
        return
    if isinstance(part, dict):
        inner: list[tuple[Any, Any]] = list(part.items())
    elif isinstance(part, list):
        inner = list(enumerate(part))
    elif isinstance(part, tuple):
        for value in part:
            yield from _places(value, depth + 1)
        return
    elif isinstance(getattr(part, "__dict__", None), dict) and not isinstance(part, type):
        inner = list(vars(part).items())
    else:
        return
    for key, value in inner:
        yield part, key, value
        yield from _places(value, depth + 1)


def _other_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Another shape, another type, or other numbers in some places."""
    choice = rng.randrange(6)
    if choice == 0:
        return array.ravel()[: rng.randrange(array.size)]
    if choice == 1:
        return np.repeat(array, rng.choice((2, 7)), axis=0) if array.ndim else array.reshape(1)
    if choice == 2:
        return array.T.copy() if array.ndim > 1 else array[:, np.newaxis] if array.ndim else array
    if choice == 3:
        kind = rng.choice((np.int32, np.int64, np.float32, np.float64, np.bool_, object))
        try:
            return array.astype(kind)
        except (OverflowError, TypeError, ValueError):
            return array[:0]
    changed = array.copy()
    with contextlib.suppress(OverflowError, TypeError, ValueError):
        changed.flat[rng.randrange(changed.size)] = rng.choice(
            (*EDGES, -1, -(2**31), np.nan, 1e300)
        )
    return changed


#: Values of every type, each from the generator.
VALUES: tuple[Callable[[random.Random], Any], ...] = (
    lambda _: None,
    lambda rng: rng.choice(EDGES),
    lambda rng: -rng.choice(EDGES),
    lambda rng: rng.choice((np.nan, np.inf, 1e300, 0.5)),
    lambda rng: rng.choice(("", "rbf", "one_class", "auto", "x" * 1000)),
    lambda rng: bool(rng.randrange(2)),
    lambda rng: [rng.choice(EDGES) for _ in range(rng.randrange(4))],
    lambda rng: np.full(rng.randrange(5), rng.choice(EDGES) % 2**31, dtype=np.int32),
    lambda rng: np.full((rng.randrange(4), rng.randrange(4)), float(rng.choice(EDGES))),
    lambda rng: np.zeros((0, rng.randrange(5))),
    lambda rng: np.arange(rng.randrange(30), dtype=np.int64) * rng.choice((1, -1, 2**40)),
    lambda _: {"a": {0: 2**40}},
    lambda _: sparse.csr_matrix(np.eye(3)),
    lambda rng: np.array([rng.choice(EDGES), "x", None], dtype=object),
)
