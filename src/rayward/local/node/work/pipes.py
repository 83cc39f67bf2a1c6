"""Reading and writing pipes and terminals without waiting in the loop.

On plain descriptors: each is closed in the very moment its reader ends, however that ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import Final

_SIZE: Final = 32 * 1024


async def parts(descriptor: int) -> AsyncGenerator[bytes]:
    """What comes out of a descriptor, until its end; it is closed with the generator."""
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)
    try:
        while True:
            try:
                data = os.read(descriptor, _SIZE)
            except BlockingIOError:
                readable = loop.create_future()
                loop.add_reader(descriptor, _settle, readable)
                try:
                    await readable
                finally:
                    loop.remove_reader(descriptor)
                continue
            except OSError:
                # How a terminal tells that its last user left.
                return
            if not data:
                return
            yield data
    finally:
        os.close(descriptor)


async def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``, waiting as long as it takes; a reader that left is no error."""
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)
    with contextlib.suppress(OSError):
        while data:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:
                writable = loop.create_future()
                loop.add_writer(descriptor, _settle, writable)
                try:
                    await writable
                finally:
                    loop.remove_writer(descriptor)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
