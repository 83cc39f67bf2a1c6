"""Write the blocking twin of the asynchronous SDK client: ``python tools/twins.py``."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/rayward/sdk/asynchronous.py"
TWIN = ROOT / "src/rayward/sdk/blocking.py"

_WORDS = (
    (
        '"""The client of the playbook, on the event loop; its blocking twin is written from this file."""',
        '"""The client of the playbook, waiting for each answer; written by tools/twins.py, never edited."""',
    ),
    ("from rayward.kube.client.api import Client as ApiClient\n", ""),
    (
        "from rayward.kube.core.meta",
        "from rayward.kube.client.sync import SyncClient as ApiClient\nfrom rayward.kube.core.meta",
    ),
    ("AsyncClient", "Client"),
    ("async def __aenter__", "def __enter__"),
    ("async def __aexit__", "def __exit__"),
    ("async def ", "def "),
    ("async with ", "with "),
    ("async for ", "for "),
    ("await ", ""),
    ("run_async", "run"),
    ("AsyncIterator", "Iterator"),
)


def twin(source: str) -> str:
    """The blocking text of an asynchronous one."""
    for asynchronous, blocking in _WORDS:
        source = source.replace(asynchronous, blocking)
    return source


if __name__ == "__main__":
    TWIN.write_text(twin(SOURCE.read_text()))
