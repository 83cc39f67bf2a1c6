"""A real Prometheus, this machine's or Debian's, that scrapes a stack with what ``rayward up`` wrote for it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.kube.real.debian import unpacked
from tests.waiting import eventually

_PATIENCE: Final = 120.0


class Prometheus:
    """The HTTP interface of one that runs."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get(self, path: str, **query: str) -> Any:
        """The data of an answer; a query that Prometheus cannot read is an error."""
        url = f"http://{self._address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return json.load(answer)["data"]

    def query(self, text: str) -> list[dict[str, Any]]:
        """What a query gives now, without what is not a number."""
        found = self.get("query", query=text)["result"]
        return [each for each in found if each["value"][1] != "NaN"]

    def is_up(self) -> bool:
        """Whether it answers."""
        try:
            self.get("status/runtimeinfo")
        except (OSError, urllib.error.URLError):
            return False
        return True


@contextmanager
def scraping(config: Path, data: Path) -> Generator[Prometheus]:
    """Prometheus for the length of a block."""
    program = shutil.which("prometheus") or str(unpacked("prometheus", "prometheus") / "bin" / "prometheus")
    with socket.create_server(("127.0.0.1", 0)) as held:
        address = f"127.0.0.1:{held.getsockname()[1]}"
    command = [program, f"--config.file={config}", f"--storage.tsdb.path={data}", f"--web.listen-address={address}"]
    log = data.with_suffix(".log")
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        found = Prometheus(address)
        eventually(lambda: process.poll() is not None or found.is_up(), _PATIENCE)
        assert process.poll() is None, log.read_text()[-3000:]
        yield found
    finally:
        process.terminate()
        process.wait()
