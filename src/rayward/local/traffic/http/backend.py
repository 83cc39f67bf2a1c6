"""A connection to a backend: one request after another."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Final, Protocol, cast

from rayward.local.traffic.http.body import BadBodyError, Body
from rayward.local.traffic.http.message import LARGEST_HEAD, UNTIL_CLOSE, Answer, BadMessageError, Request, read_answer
from rayward.local.traffic.http.repeating import was_unread
from rayward.local.traffic.kernel import lost
from rayward.local.traffic.route import Member

_MOST_IDLE: Final = 64
_RESET_SECONDS: Final = 1.0
"""A kernel resets at once, but a busy machine may hand it over late."""
_RESET_PAUSE: Final = 0.05


class Asker(Protocol):
    """Who waits for the answer."""

    def answer(self, data: bytes) -> None:
        """The next bytes of it."""
        ...

    def answered(self) -> None: ...

    def switched(self, rest: bytes) -> None:
        """The answer was that this is no longer HTTP; ``rest`` came after it."""
        ...

    def failed(self, reason: str, *, begun: bool, unread: bool) -> None:
        """There is no whole answer; ``unread`` if the backend certainly never read the request."""
        ...

    def backend_full(self) -> None:
        """Send no more until told."""
        ...

    def backend_free(self) -> None: ...


class Backend(asyncio.Protocol):
    """One connection to one backend."""

    __slots__ = (
        "_asked", "_asker", "_at_once", "_begun", "_body", "_buffer", "_ending", "_held", "_keeps", "_last",
        "_sent", "_status", "delimited", "member", "transport", "used",
    )  # fmt: skip

    def __init__(self, member: Member) -> None:
        self.member = member
        self.transport: asyncio.Transport | None = None
        self.used = False
        """Whether it answered before."""
        self.delimited = True
        """Whether the end of the last answer was told by more than the end of the connection."""
        self._asker: Asker | None = None
        self._asked: Request | None = None
        self._body: Body | None = None
        self._buffer = b""
        self._at_once = False
        self._begun = False
        self._keeps = True
        self._held = False
        self._last = False
        self._sent = 0.0
        self._status = 0
        self._ending: asyncio.TimerHandle | None = None

    def ask(self, asker: Asker, asked: Request, data: bytes, *, whole: bool) -> None:
        """Send a request, or the beginning of one."""
        self._asker = asker
        self._asked = asked
        self._begun = False
        self._at_once = whole
        self._sent = time.monotonic()
        self.send(data)

    def send(self, data: bytes) -> None:
        """Send more of the request."""
        if self.transport is not None:
            self.transport.write(data)

    def no_more(self) -> None:
        """Tell the backend that its client sends no more: whether to answer still is its decision."""
        self._last = True
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write_eof()

    def rest(self) -> None:
        """The request is whole too: wait for the next one, if that can be."""
        member = self.member
        self._asker = None
        if (
            self._keeps
            and not self._last
            and member.current
            and len(member.idle) < _MOST_IDLE
            and self.transport is not None
            and not self.transport.is_closing()
            # One that answered before it read all may never read the rest.
            and not self.transport.get_write_buffer_size()
        ):
            self.used = True
            if self._held:
                self.go_on()
            member.idle.append(self)
        else:
            self.close()

    def close(self) -> None:
        self._asker = None
        if self._ending is not None:
            self._ending.cancel()
        if self.transport is not None:
            self.transport.close()

    def hold(self) -> None:
        """Read no more until told: the client is slow."""
        if self.transport is not None and not self.transport.is_closing():
            self._held = True
            self.transport.pause_reading()

    def go_on(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self._held = False
            self.transport.resume_reading()

    def look(self) -> None:
        """Fail if the backend no longer acknowledges what it is sent."""
        transport = self.transport
        if transport is not None and lost(transport):
            self._fail("it stopped acknowledging packets")
            transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of an answer."""
        if self._asker is None:
            # Nothing was asked.
            self._drop()
            return
        self._begun = True
        try:
            if self._body is not None:
                self._pass(data, self._body)
            else:
                self._read_head(self._buffer + data if self._buffer else data)
        except (BadMessageError, BadBodyError) as error:
            self._fail(str(error))

    def _read_head(self, data: bytes) -> None:
        asker, asked = self._asker, self._asked
        assert asker is not None
        assert asked is not None
        while True:
            end = data.find(b"\r\n\r\n") + 4
            if end < 4:
                if len(data) > LARGEST_HEAD:
                    raise BadMessageError(502, "the head of its answer is too large")
                self._buffer = data
                return
            if end > LARGEST_HEAD:
                raise BadMessageError(502, "the head of its answer is too large")
            answer = read_answer(data[:end], asked)
            if answer.switches:
                self._buffer = b""
                asker.answer(answer.head)
                asker.switched(data[end:])
                return
            if not answer.interim:
                break
            if not asked.old:
                asker.answer(answer.head)
            data = data[end:]
        self._buffer = b""
        self._keeps = answer.keeps
        self.delimited = answer.length != UNTIL_CLOSE
        self._begin(answer, data, end)

    def _begin(self, answer: Answer, data: bytes, end: int) -> None:
        assert self._asker is not None
        body = Body(answer.length)
        taken = 0 if body.done else body.feed(data[end:])
        if answer.head == data[:end] and end + taken == len(data):
            out = data
        else:
            out = answer.head + data[end : end + taken]
            if end + taken < len(data):
                # More than was asked for: whatever it is, it is no answer to the next request.
                self._keeps = False
        self._body = body
        self._status = answer.status
        self._asker.answer(out)
        if body.done:
            self._finish()

    def _pass(self, data: bytes, body: Body) -> None:
        assert self._asker is not None
        taken = body.feed(data)
        if taken < len(data):
            self._keeps = False
            data = data[:taken]
        self._asker.answer(data)
        if body.done:
            self._finish()

    def _finish(self) -> None:
        asker = self._asker
        self._body = None
        self.member.answers.add(self._status, time.monotonic() - self._sent)
        if asker is not None:
            asker.answered()

    def eof_received(self) -> bool:
        """The backend sends no more."""
        if self._asker is None:
            self._drop()
            return False
        if self._begun:
            return False
        # It closed before the request came, or read it and said nothing. In the first case its kernel answers the
        # request with a reset, which may take a moment to arrive.
        return self._judge_end(time.monotonic() + _RESET_SECONDS)

    def _judge_end(self, until: float) -> bool:
        if self._asker is None or self.transport is None:
            return False
        made: socket.socket = self.transport.get_extra_info("socket")
        error = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not error and time.monotonic() < until and self._asked is not None and not self._asked.repeatable:
            self._ending = asyncio.get_running_loop().call_later(_RESET_PAUSE, self._judge_end, until)
            return True
        self._fail("it closed the connection without an answer", unread=was_unread(error, at_once=self._at_once))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._asker is None:
            self._drop()
        elif self._body is not None and exc is None and not self.delimited:
            self._finish()
        else:
            error = exc.errno if isinstance(exc, OSError) else None
            reason = "it closed the connection within its answer" if self._begun else "it reset the connection"
            self._fail(reason, unread=was_unread(error, at_once=self._at_once))

    def pause_writing(self) -> None:
        """It reads too slowly."""
        if self._asker is not None:
            self._asker.backend_full()

    def resume_writing(self) -> None:
        if self._asker is not None:
            self._asker.backend_free()

    def _fail(self, reason: str, *, unread: bool = False) -> None:
        asker, begun = self._asker, self._begun
        self._body = None
        self.close()
        if asker is not None:
            asker.failed(reason, begun=begun, unread=unread and not begun)

    def _drop(self) -> None:
        if self in self.member.idle:
            self.member.idle.remove(self)
        if self.transport is not None:
            self.transport.close()
