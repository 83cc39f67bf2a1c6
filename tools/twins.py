"""Write the blocking twin of the asynchronous SDK client, file by file: ``python tools/twins.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/rayward/sdk/asynchronous"
TWIN = ROOT / "src/rayward/sdk/blocking"

_WRITTEN = "# Written by tools/twins.py from the module of the same name in rayward.sdk.asynchronous, never edited.\n"
_WORDS = (
    (
        "on the event loop: one module a topic; its blocking twin is written from this folder.",
        "waiting for each answer: the twin of ``rayward.sdk.asynchronous``.",
    ),
    ("from rayward.kube.client.api import Client as ApiClient\n", ""),
    (
        "import find_access\n",
        "import find_access\nfrom rayward.kube.client.sync import SyncClient as ApiClient\n",
    ),
    ("rayward.sdk.asynchronous", "rayward.sdk.blocking"),
    ("AsyncClient", "Client"),
    ("async def __aenter__", "def __enter__"),
    ("async def __aexit__", "def __exit__"),
    ("async def ", "def "),
    ("async with ", "with "),
    ("async for ", "for "),
    ("await ", ""),
    ("run_async", "run"),
    ("AsyncIterator", "Iterator"),
    ("  # noqa: ASYNC109 - both twins have it", ""),
)


def twin(source: str) -> str:
    """The blocking text of an asynchronous one."""
    for asynchronous, blocking in _WORDS:
        source = source.replace(asynchronous, blocking)
    return _WRITTEN + source


def twins() -> dict[Path, str]:
    """Every file of the blocking client, with its text."""
    return {TWIN / source.name: twin(source.read_text()) for source in sorted(SOURCE.glob("*.py"))}


if __name__ == "__main__":
    TWIN.mkdir(exist_ok=True)
    for path, text in twins().items():
        path.write_text(text)
    for path in set(TWIN.glob("*.py")) - set(twins()):
        path.unlink()
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(TWIN)], check=True)
