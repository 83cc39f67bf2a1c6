"""WebSockets of a server; apart, because most servers of ours have none and the library takes two megabytes."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from rayward.net.server import SLASH, subject_of


class WebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that knows its client's certificate, and Kubernetes' names of subprotocols."""

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if self.close_sent:
            return
        # the application is called in the next turn of the loop, not before
        slash = SLASH.decode()
        self.scope["subprotocols"] = [name.replace(slash, "/") for name in self.scope["subprotocols"]]
        certificate = self.transport.get_extra_info("peercert")
        subject = subject_of(certificate) if certificate else None
        if subject is not None:
            extensions: Any = self.scope.get("extensions")
            extensions["tls"] = {"client_subject": subject}

    async def send(self, message: Any) -> None:
        await super().send(message)
        # refused with an answer of its own: that is an end of the handshake, which uvicorn would log as an error
        self.handshake_complete = self.handshake_complete or self.close_sent
