"""A part of a volume: opened, and made if it is missing, without ever leaving the volume.

Containers write to volumes while this looks into them, so that a name that was checked may be a link a moment later:
only descriptors can be trusted.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

from rayward.local.node.sandbox import linux


@contextmanager
def opened(volume: str, inner: str) -> Generator[int]:
    """A descriptor of what ``inner`` names in the folder ``volume``; links are followed as long as they stay in it.

    Raises:
        OSError: It leads out of the volume, or cannot be made.
    """
    top = os.open(volume, os.O_PATH | os.O_DIRECTORY)
    try:
        found = _walk(top, inner)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise OSError(errno.EXDEV, f'subPath "{inner}" leads out of the volume', volume) from error
        raise
    finally:
        os.close(top)
    try:
        yield found
    finally:
        os.close(found)


def _walk(top: int, inner: str) -> int:
    if inner.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), inner)
    here, walked = os.dup(top), ""
    for name in inner.split("/"):
        walked = f"{walked}/{name}" if walked else name
        try:
            there = _open_or_make(top, walked, here, name)
        finally:
            os.close(here)
        here = there
    return here


def _open_or_make(top: int, path: str, above: int, name: str) -> int:
    try:
        return linux.open_beneath(top, path)
    except FileNotFoundError:
        os.mkdir(name, dir_fd=above)
        return linux.open_beneath(above, name)
