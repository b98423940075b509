"""Compiled loops are kept on disk where there is a place for them, and compiled anew elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from depmax._warnings import warn_caller

_told = False


def compiled(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for this signature, without Python's lock, and keep it on disk.

    An installation or a home that must not be written to has no place for it, and what is kept
    there may be damaged: then it is compiled for this process alone, with one warning.
    """

    def compile_it(function: Callable[..., Any]) -> Any:
        try:
            return njit(signature, cache=True, nogil=True, **options)(function)
        except Exception as error:  # what a damaged file raises is unbounded
            loop = njit(signature, nogil=True, **options)(function)
            _tell(error)
            return loop

    return compile_it


def _tell(error: Exception) -> None:
    global _told
    if not _told:
        _told = True
        warn_caller(
            f"Compiled loops cannot be kept on disk ({type(error).__name__}: {error}), so every "
            "process compiles them anew. Set the environment variable NUMBA_CACHE_DIR to an empty "
            "folder that can be written to.",
            UserWarning,
        )
