"""Files written whole or not at all, and cells checked before use."""

from __future__ import annotations

import glob
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # not every platform has it

_Kind = TypeVar("_Kind", bound=type)
#: Seconds after which a temporary file is looked at, and after which it is left over for sure where
#: files cannot be locked.
_YOUNG, _OLD = 60.0, 86_400.0
#: Classes that only fitted parts hold: what a model file may name besides what packages export.
HELD: set[type] = set()
#: Temporary files that this process writes.
_writing: set[Path] = set()


def held_by_models(kind: _Kind) -> _Kind:
    """Declare a class whose objects saved models hold: a file gives such an object its attributes.

    Loading calls nothing of it, and its methods only compute with what it holds.
    """
    HELD.add(kind)
    return kind


def expand_home(path: str | os.PathLike[str]) -> Path:
    """The path with the home folder that ``~`` or ``~name`` stands for.

    A name that is not valid text is refused: most libraries that read and write files cannot open
    such a file.
    """
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise OSError(f"{path}: the name is not valid UTF-8. Rename the file.") from None
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = Path(path).parts[0]
        raise FileNotFoundError(
            f"{path}: {user} is not the home folder of a user. For a file of that name write "
            f"./{path}."
        ) from None


def require_writable(path: str | os.PathLike[str]) -> Path:
    """Return the path if a file can be written there, else raise an OSError that says why not.

    Meant to be called before long work whose result will be written there.
    """
    path = Path(path)
    folder = path.parent
    if path.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a folder. Name a file in it.")
    if path.exists() and not path.is_file():
        raise OSError(f"Cannot write {path}: it is a device or a pipe, not a file.")
    if not folder.exists():
        raise FileNotFoundError(f"Cannot write {path}: the folder {folder} does not exist.")
    if not folder.is_dir():
        raise NotADirectoryError(f"Cannot write {path}: {folder} is not a folder.")
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise type(error)(
            f"Cannot write {path}: the folder {folder} cannot be written to ({error.strerror})."
        ) from error
    os.close(handle)
    os.unlink(temporary)
    return path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Temporary path beside ``path`` that takes its place when the block ends without an error.

    The old file stays whole until then: an interrupted run or a full disk leaves it as it was, and
    leaves nothing half-written behind.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "answer.txt") as temporary:
    ...     _ = temporary.write_text("42")
    >>> [file.name for file in folder.iterdir()]
    ['answer.txt']
    """
    path = require_writable(path).resolve()  # through a link, to the file that it names
    _remove_left_over(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    temporary = Path(name)
    _writing.add(temporary)
    try:
        _lock(handle)  # until the process ends, however it does
        yield temporary
        _keep_mode(temporary, path)
        _flush_to_disk(temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _writing.discard(temporary)
        os.close(handle)


def forget_unfinished() -> None:
    """Remove the temporary files of this process, which is about to end."""
    for temporary in list(_writing):
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _remove_left_over(path: Path) -> None:
    """Remove temporary files of ``path`` whose process was killed: their lock is free."""
    for name in glob.glob(f".{glob.escape(path.name)}.*.part", root_dir=path.parent):
        other = path.parent / name
        with suppress(OSError):
            age = time.time() - other.stat().st_mtime
            if age > _YOUNG and (_is_unlocked(other) if fcntl else age > _OLD):
                other.unlink()


def _is_unlocked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _lock(handle: int) -> None:
    if fcntl:
        with suppress(OSError):  # some network folders have no locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _keep_mode(temporary: Path, path: Path) -> None:
    """Permissions of the file that is replaced, or those that a new file has here."""
    if path.exists():
        mode = path.stat().st_mode & 0o777
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    os.chmod(temporary, mode)


def _flush_to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def stamp(path: Path) -> tuple[int, ...]:
    """What tells a file from another in its place, also from one of the same size and time.

    Its size, the time of its last change, its number on the disk, and the time at which any of
    these was set, which no program can choose.
    """
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns


class DamagedFileError(ValueError):
    """A file whose contents contradict themselves."""


def validated(table: Any, name: object) -> Any:
    """The table or record batch of Arrow, if all of its buffers are sound.

    Arrow does not check offsets, indices and lengths when it reads a file. A changed byte can then
    make later code read beyond a buffer. Validation checks all of them, so it must come first.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch
        As it was read, before anything else has looked at its cells.
    name : what messages call the file

    Raises
    ------
    DamagedFileError
        If lengths, offsets or indices point outside their buffers, or text is not UTF-8.

    Examples
    --------
    >>> import pyarrow as pa
    >>> validated(pa.table({"x": [1, 2]}), "a.parquet").num_rows
    2
    """
    import pyarrow as pa

    try:
        table.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise DamagedFileError(
            f"{name} is damaged: its cells contradict themselves ({first_line(error)})."
        ) from None
    return table


def first_line(error: BaseException) -> str:
    """What an error says, on one line that is not too long."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:160] if lines else type(error).__name__


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors of Arrow with the name of the file, and what to do about it."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path} is missing: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} holds text that is not valid UTF-8.") from error
    except (OSError, pa.ArrowException) as error:
        raise ValueError(
            f"{path} cannot be read: {str(error).rstrip('.')}. It is damaged or incomplete; write "
            "it again, or remove it."
        ) from error
