"""A client of an HTTP port: its requests in order, each to a backend of its own."""

from __future__ import annotations

import asyncio
from typing import Final

from rayward.local.traffic.dialing import UnreachableError, reach
from rayward.local.traffic.http.backend import Backend
from rayward.local.traffic.http.body import BadBodyError, Body
from rayward.local.traffic.http.downstream import Downstream
from rayward.local.traffic.http.message import LARGEST_HEAD, BadMessageError, Request, may_be_http, read_request
from rayward.local.traffic.http.refusal import refusal
from rayward.local.traffic.http.repeating import MOST_KEPT, is_sent_at_once, may_ask_again, may_meet_an_end
from rayward.local.traffic.route import Member, Route
from rayward.local.traffic.sessions import Sessions
from rayward.local.traffic.tcp import Connection, Early

_HEAD_TICKS: Final = 30
_IDLE_TICKS: Final = 600
_UNWANTED_TICKS: Final = 30
_LINGER_TICKS: Final = 5

_WAITING, _BUSY, _SKIPPING, _ENDING = range(4)


class Session(asyncio.Protocol):
    __slots__ = (
        "_attempts", "_backend", "_body", "_buffer", "_client", "_dialing", "_first", "_kept", "_member", "_request",
        "_route", "_seen", "_sessions", "_state", "_tried",
    )  # fmt: skip

    def __init__(self, route: Route, sessions: Sessions) -> None:
        self._route = route
        self._sessions = sessions
        self._client: Downstream
        self._state = _WAITING
        self._first = True
        self._seen = sessions.tick
        self._buffer = b""
        self._request: Request | None = None
        self._body: Body | None = None
        self._kept: bytes | None = b""
        self._member: Member | None = None
        self._backend: Backend | None = None
        self._dialing: asyncio.Task[None] | None = None
        self._tried: set[Member] = set()
        self._attempts = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        client = self._client = Downstream(transport)
        if not self._sessions.enter(self):
            client.write(refusal(503, self._route.service, "too many connections at once"))
            client.transport.close()

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        if not self._buffer and (self._state != _ENDING or self._body is not None):
            # Not while a head is incomplete: a byte now and then does not keep it open.
            self._seen = self._sessions.tick
        if self._state == _WAITING:
            self._read_head(self._buffer + data if self._buffer else data)
        elif self._state == _BUSY:
            if self._body is not None:
                self._pass(data, self._body)
            else:
                self._hold(data)
        elif self._body is not None:
            self._skip(data, self._body)

    def eof_received(self) -> bool:
        """The client sends no more, but may still listen: as between two connections, its backend hears of it."""
        self._client.left = True
        if self._state == _BUSY and self._body is not None:
            self._abort()
            return False
        if self._backend is not None:
            self._backend.no_more()
        return self._state == _BUSY

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone; so is what it asked for."""
        self._sessions.leave(self)
        self._abort()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        self._client.full = True
        if self._backend is not None:
            self._backend.hold()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._client.full = False
        if self._backend is not None:
            self._backend.go_on()

    def expire(self, tick: int) -> None:
        """Close if the client owes us something for too long, or if either side is gone without a word."""
        silent = tick - self._seen
        if self._body is None and silent <= _LINGER_TICKS:
            return
        if self._state == _BUSY:
            if self._client.is_lost() or (self._body is not None and silent > _IDLE_TICKS):
                self.close()
            elif self._backend is not None:
                self._backend.look()
        elif self._state == _SKIPPING:
            if silent > _UNWANTED_TICKS:
                self._linger()
        elif self._state == _WAITING and self._buffer:
            if silent > _HEAD_TICKS:
                self._refuse(408, "the head of the request did not come in time")
        else:
            reads, unread = self._client.takes_more()
            if reads:
                self._seen = tick
            elif silent > self._most_silent(unread):
                self.close()

    def _most_silent(self, unread: int) -> int:
        if self._state == _WAITING or unread:
            return _IDLE_TICKS
        return _LINGER_TICKS if self._body is None else _UNWANTED_TICKS

    def close(self) -> None:
        """End the connection at once."""
        self._client.transport.abort()

    # its requests

    def _read_head(self, data: bytes) -> None:
        if self._first and not may_be_http(data):
            self._buffer = data
            self._hand_over().dial()
            return
        end = data.find(b"\r\n\r\n") + 4
        if (end if end >= 4 else len(data)) > LARGEST_HEAD:
            self._refuse(431, "the head of the request is too large")
            return
        if end < 4:
            self._buffer = data
            return
        try:
            request = read_request(data[:end])
        except BadMessageError as error:
            self._refuse(error.status, str(error))
            return
        self._first = False
        self._request = request
        self._state = _BUSY
        self._attempts = 0
        if request.length == 0:
            self._kept = request.head
            self._buffer = data[end:]
        else:
            self._body = body = Body(request.length)
            rest = data[end:]
            try:
                taken = body.feed(rest)
            except BadBodyError as error:
                self._body = None
                self._refuse(400, str(error))
                return
            self._kept = request.head + rest[:taken]
            self._buffer = rest[taken:]
            if body.done:
                self._body = None
            elif is_sent_at_once(request):
                return
        self._dispatch(request)

    def _pass(self, data: bytes, body: Body) -> None:
        try:
            taken = body.feed(data)
        except BadBodyError as error:
            self._abort()
            self._body = None
            self._refuse(400, str(error))
            return
        if taken < len(data):
            self._hold(data[taken:])
            data = data[:taken]
        if body.done:
            self._body = None
        if self._kept is not None:
            self._kept += data
            if len(self._kept) > MOST_KEPT:
                if self._backend is None:
                    self._client.stop_reading()
                else:
                    self._kept = None
        if self._backend is not None:
            self._backend.send(data)
        elif self._body is None and self._dialing is None and self._request is not None:
            self._dispatch(self._request)

    def _dispatch(self, request: Request) -> None:
        member = self._route.pick((), self._client.address)
        if member is not None and member.idle and self._can_be_kept(request):
            backend = member.idle.pop()
            assert isinstance(backend, Backend)
            member.begin()
            self._ask(request, member, backend)
        else:
            self._dialing = asyncio.create_task(self._dial(request, member))

    def _can_be_kept(self, request: Request) -> bool:
        whole = len(self._kept) if self._kept is not None and self._body is None else None
        return may_meet_an_end(request, whole=whole)

    async def _dial(self, request: Request, first: Member | None = None) -> None:
        try:
            member, made = await reach(self._route, self._client.address, self._tried, patient=True, first=first)
        except UnreachableError as error:
            self._dialing = None
            self._refuse(error.status, str(error))
            return
        backend = Backend(member)
        try:
            await asyncio.get_running_loop().create_connection(lambda: backend, sock=made)
        except BaseException as error:
            made.close()
            member.end()
            if not isinstance(error, OSError):
                raise
            self._refuse(502, f"{member.target.pod}: {error}")
            return
        self._dialing = None
        self._ask(request, member, backend)

    def _ask(self, request: Request, member: Member, backend: Backend) -> None:
        self._attempts += 1
        self._member = member
        self._backend = backend
        kept = self._kept
        assert kept is not None
        if len(kept) > MOST_KEPT:
            self._kept = None
        if self._client.full:
            backend.hold()
        backend.ask(self, request, kept, whole=self._body is None)
        if self._client.left and self._body is None:
            backend.no_more()
        if self._body is not None:
            self._client.read_on()

    # the answer

    def answer(self, data: bytes) -> None:
        """The next bytes of the answer."""
        self._client.transport.write(data)

    def answered(self) -> None:
        """The answer is whole."""
        backend, request = self._backend, self._request
        assert backend is not None
        assert request is not None
        self._seen = self._sessions.tick
        stays = request.keeps and backend.delimited
        if self._body is not None:
            # An early answer: the client has not said all, and there is nobody left to say it to.
            backend.close()
            self._settle()
            if stays and not request.asks_first:
                self._state = _SKIPPING
                self._client.read_on()
            else:
                self._linger()
            return
        backend.rest()
        self._settle()
        if stays:
            self._go_on()
        else:
            self._finish()

    def _go_on(self) -> None:
        if self._buffer:
            self._next()
        else:
            self._state = _WAITING
            if self._client.left:
                self._finish()
            else:
                self._client.read_on()

    def _skip(self, data: bytes, body: Body) -> None:
        try:
            taken = body.feed(data)
        except BadBodyError:
            self._body = None
            if self._state == _SKIPPING:
                self._linger()
            return
        if body.done:
            self._body = None
            if self._state == _SKIPPING:
                self._buffer = data[taken:]
                self._go_on()

    def _next(self) -> None:
        data, self._buffer = self._buffer, b""
        self._state = _WAITING
        self._client.read_on()
        self._read_head(data)
        if self._client.left and self._state == _WAITING:
            self._finish()

    def switched(self, rest: bytes) -> None:
        """From here on the two connections are one."""
        backend, member = self._backend, self._member
        assert backend is not None
        assert member is not None
        far = backend.transport
        assert far is not None
        early = Early()
        early.said = rest
        self._backend = self._member = None
        self._hand_over().join(far, early, member)

    def _hand_over(self) -> Connection:
        """What is not HTTP/1, or no longer: bytes go through as they are."""
        near = self._client.transport
        raw = Connection(self._route, self._sessions)
        raw.said, raw.ended, self._buffer = self._buffer, self._client.left, b""
        self._sessions.leave(self)
        self._client.stop_reading()
        near.set_protocol(raw)
        raw.enter(near)
        return raw

    def failed(self, reason: str, *, begun: bool, unread: bool) -> None:
        """There is no whole answer."""
        member, request, again = self._member, self._request, self._backend is not None and self._backend.used
        assert member is not None
        assert request is not None
        member.failed += 1
        self._settle()
        if begun:
            # The client has a part of it: only a broken connection tells it that the rest is missing.
            self._state = _ENDING
            self._client.reset()
        # A fresh connection that ends when it hears that the client sends no more is the backend's decision.
        elif (not self._client.left or unread or again) and may_ask_again(
            kept=self._kept is not None, repeatable=request.repeatable, unread=unread, attempts=self._attempts
        ):
            if not again:
                self._tried.add(member)
            self._dialing = asyncio.create_task(self._dial(request))
        else:
            self._refuse(502, f"{member.target.pod}: {reason}")

    def backend_full(self) -> None:
        """The backend reads too slowly."""
        self._client.stop_reading()

    def backend_free(self) -> None:
        """The backend reads again."""
        self._client.read_on()

    # ends

    def _settle(self) -> None:
        member = self._member
        self._backend = self._member = None
        if self._tried:
            self._tried = set()
        if member is not None:
            member.end()

    def _abort(self) -> None:
        if self._dialing is not None:
            self._dialing.cancel()
            self._dialing = None
        if self._backend is not None:
            self._backend.close()
            self._settle()

    def _refuse(self, status: int, reason: str) -> None:
        self._client.write(refusal(status, self._route.service, reason))
        self._linger()

    def _linger(self) -> None:
        self._state = _ENDING
        self._buffer = b""
        self._seen = self._sessions.tick
        self._client.say_no_more()

    def _finish(self) -> None:
        self._state = _ENDING
        self._client.transport.close()

    def _hold(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > MOST_KEPT:
            self._client.stop_reading()
