"""Values that are computed once for an object and kept, without a lock.

Before Python 3.12 ``functools.cached_property`` holds a lock of the whole class while it computes:
a process that is forked while another thread does so would wait for it for ever.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801  # named as the one it replaces
        """The same value for two threads that ask at once, or an equal one."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname not in kept:
                kept.setdefault(self.attrname, self.func(instance))
            return kept[self.attrname]


__all__ = ["cached_property"]
