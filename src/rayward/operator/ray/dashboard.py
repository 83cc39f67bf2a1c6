"""The dashboard of one head."""

from __future__ import annotations

from typing import Final, NoReturn, TypeVar

import msgspec

from rayward.operator.ray.answers import Node, Nodes, Serve, Version
from rayward.operator.ray.errors import Failed, Refused, Unauthorized, Unintelligible, Unreachable, WrongSession
from rayward.operator.ray.reach import Answer, Ask, Place, Reach

_A = TypeVar("_A")

_APPLICATIONS: Final = "/api/serve/applications/"
_DENIED: Final = frozenset({401, 403})
_AWAY: Final = frozenset({502, 503, 504})
_MISTAKES: Final = frozenset({400, 413, 422})
_PUT_SECONDS: Final = 90.0
"""The first one starts Serve's controller and proxies: 2 to 6 s on a quiet machine."""
_LONGEST_MESSAGE: Final = 4096


class Dashboard:
    """Asks one head; every failure is a RayError.

    The token goes in Ray's own header: ``Authorization`` is the API server's where the way leads through it.
    """

    def __init__(self, reach: Reach, place: Place, *, token: str = "", seconds: float = 10.0) -> None:
        self._reach = reach
        self._place = place
        self._seconds = seconds
        self._headers = (("x-ray-authorization", f"Bearer {token}"),) if token else ()

    async def version(self, session: str = "") -> Version:
        """Which Ray it is; one of another ``session``, if given, is a WrongSession."""
        version = self._decoded(await self._ask("GET", "/api/version"), Version)
        if session and version.session_name != session:
            raise WrongSession(f"{self._place}: {version.session_name} answers there, not {session}")
        return version

    async def serve(self) -> Serve:
        """The applications that were declared, their deployments, the proxies."""
        return self._decoded(await self._ask("GET", f"{_APPLICATIONS}?api_type=declarative"), Serve)

    async def deploy(self, config: bytes) -> None:
        """Make ``config``, the JSON of a Serve configuration, the goal.

        It is declarative: applications that it does not name are deleted. Sending the same again does no harm.
        """
        await self._ask("PUT", _APPLICATIONS, config, _PUT_SECONDS)

    async def nodes(self) -> tuple[Node, ...]:
        """The nodes of the cluster, dead ones included."""
        found = self._decoded(await self._ask("GET", "/api/v0/nodes?limit=10000"), Nodes)
        if not found.result:
            raise Failed(f"{self._place}: Ray cannot list its nodes: {found.msg}")
        return found.nodes

    async def _ask(self, method: str, path: str, body: bytes | None = None, seconds: float | None = None) -> Answer:
        ask = Ask(method, path, self._headers, body, seconds or self._seconds)
        answer = await self._reach.ask(self._place, ask)
        if answer.status >= 300:
            self._refuse(answer, ask)
        return answer

    def _refuse(self, answer: Answer, ask: Ask) -> NoReturn:
        status, text = answer.status, readable(answer.body)
        if status in _DENIED:
            raise Unauthorized(f"{self._place}: {text}")
        if status in _AWAY:
            raise Unreachable(f"{self._place}: Ray is not ready ({status}): {text}")
        if status >= 500:
            raise Failed(f"{self._place}: Ray failed with {status}: {text}")
        if status in _MISTAKES and ask.body is not None:
            raise Refused(text)
        raise Unintelligible(f"{self._place}: {ask.method} {ask.path} was answered {status}: {text}")

    def _decoded(self, answer: Answer, kind: type[_A]) -> _A:
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Unintelligible(f"{self._place}: not an answer of Ray's dashboard: {error}") from error


def readable(body: bytes) -> str:
    """What a refusal says; of a long one, such as a traceback, the end, where the cause is."""
    text = body[-_LONGEST_MESSAGE:].decode(errors="replace").strip()
    return text if len(body) <= _LONGEST_MESSAGE else f"... {text}"
