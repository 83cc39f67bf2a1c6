"""Records how real Ray answers: ``make record-ray``."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.net.client import HttpClient
from rayward.net.errors import NetworkError
from tests.operator.ray.play import Answer, play
from tests.operator.ray.script import SLOW_SECONDS, TOKEN
from tests.operator.ray.trace import Trace, save
from tests.ray.head import RealHead

_APPLICATIONS = Path(__file__).parent / "apps"


async def record() -> Trace:
    """Play the script on a head of its own."""
    slow = {"RAY_SERVE_SLOW_STARTUP_WARNING_S": str(SLOW_SECONDS), "RAY_SERVE_SLOW_STARTUP_WARNING_PERIOD_S": "1"}
    with RealHead(_APPLICATIONS, token=TOKEN, environment=slow) as head:
        async with HttpClient() as http:

            async def ask(method: str, path: str, headers: tuple[tuple[str, str], ...], body: bytes | None) -> Answer:
                answer = await http.request(method, head.url + path, headers=headers, body=body)
                return answer.status, answer.body

            async def visit(path: str) -> Answer:
                try:
                    answer = await http.request("GET", f"http://127.0.0.1:{head.serve_port}{path}", seconds=10)
                except NetworkError:
                    return 0, b""
                return answer.status, answer.body

            return await play(ask, visit, SYSTEM_CLOCK, {"host": "127.0.0.1", "port": head.serve_port})


if __name__ == "__main__":
    save(asyncio.run(record()))
