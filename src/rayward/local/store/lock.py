"""The lock that keeps a second process out of a store."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from rayward.local.store.errors import LockedError


class FileLock:
    """A held lock; the file stays when it is released, because removing it would race with the next taker."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, store: Path) -> Self:
        """Lock ``store`` through the file beside it.

        Raises:
            LockedError: another holder has it; a holder that was killed has not.
        """
        descriptor = os.open(store.with_name(store.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).strip()
            os.close(descriptor)
            raise LockedError(store, int(holder) if holder.isdigit() else None) from None
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
