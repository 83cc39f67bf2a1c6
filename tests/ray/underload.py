"""A service that is asked all the time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from demo.load import Load

from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE
from tests.waiting import eventually

RATE: Final = 20


@contextmanager
def asked(service: HelloService) -> Generator[Load]:
    """Load for the length of a block, and for a while after it; every request is answered."""
    address = service.address
    with Load(address.host, address.shell_port, rate=RATE) as load:
        eventually(lambda: load.tally.answered.total() > 0, PATIENCE)
        yield load
        sent = load.tally.sent
        eventually(lambda: load.tally.sent > sent + RATE, PATIENCE)
        tally = load.stop()
    print(f"{tally.sent} requests, {len(tally.lost)} lost, answered by {dict(tally.answered)}")
    assert tally.lost == [], tally.lost[:5]
