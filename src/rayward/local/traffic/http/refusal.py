"""What a client hears where no backend answers. Pure."""

from __future__ import annotations

from http import HTTPStatus


def refusal(status: int, service: str, reason: str) -> bytes:
    """A whole answer that says which service and why."""
    body = f"service {service}: {reason}\n".encode()
    phrase = HTTPStatus(status).phrase
    head = (
        f"HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
