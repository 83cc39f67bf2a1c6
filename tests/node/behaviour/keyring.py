"""Programs that use the kernel's keyrings, and what they print."""

from __future__ import annotations

from typing import Final

_CALLS: Final = """
import ctypes, platform
libc, machine = ctypes.CDLL(None, use_errno=True), platform.machine()
session, add, control = ctypes.c_long(-3), {"x86_64": 248, "aarch64": 217}, {"x86_64": 250, "aarch64": 219}
"""
SEARCH: Final = f"""{_CALLS}
search = ctypes.c_long(10), session, b"user", b"rayward-test", ctypes.c_long(0)
print("found" if libc.syscall(ctypes.c_long(control[machine]), *search) > 0 else "nothing")
"""
"""Whether the session has the key of the tests."""
FILL: Final = f"""{_CALLS}
libc.syscall(ctypes.c_long(control[machine]), ctypes.c_long(1), ctypes.c_void_p(None))
for number in range(1000):
    key = b"user", b"rayward-%d" % number, b"x", ctypes.c_size_t(1)
    if libc.syscall(ctypes.c_long(add[machine]), *key, session) < 0:
        break
print(ctypes.get_errno(), flush=True)
input()
"""
"""Takes all keys that its user may have, says which error came then, and keeps them until it is told a line."""
