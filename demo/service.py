"""A Ray Serve service, and requests that keep coming while it is changed."""

from __future__ import annotations

import urllib.request
from collections.abc import Generator
from contextlib import contextmanager

from demo.load import Load, Tally
from demo.shell import ROOT, rayward, show, until

NAME = "rayservice/hello"
NEXT = f"rayward describe {NAME}"
_RATE = 50


def release(number: int, app: str = "hello:app") -> str:
    """The sample's manifest, as a release of its own."""
    manifest = (ROOT / "samples" / "rayservice.yaml").read_text()
    return manifest.replace('name: RELEASE, value: "1"', f'name: RELEASE, value: "{number}"').replace("hello:app", app)


def show_service() -> str:
    """From a manifest to an answer; returns where the service answers."""
    rayward("apply", "-f", "samples/rayservice.yaml", "--wait")
    rayward("get", "rayservice,services")
    address = rayward("get", "service", "hello-serve-svc", "--no-headers", quiet=True).split()[-1]
    show(f"\n$ curl http://{address}/?name=you")
    with urllib.request.urlopen(f"http://{address}/?name=you", timeout=60) as answer:
        show(answer.read().decode())
    return address


@contextmanager
def requests(address: str) -> Generator[Load]:
    """Requests to the service for the length of a block; the demo fails if one of them is lost."""
    host, _, port = address.partition(":")
    with Load(host, int(port), rate=_RATE) as load:
        answered_by(load, "1")
        yield load
        tally = load.stop()
    show(f"\n{tally.sent} requests at {_RATE}/s, {len(tally.lost)} lost, answered by release {dict(tally.answered)}")
    if tally.lost:
        raise SystemExit(f"error: requests were lost, the first: {tally.lost[0]}\n  next: {NEXT}")


def answered_by(load: Load, number: str) -> None:
    """Wait until a release answers, and show what came of the requests so far."""
    before = load.tally.answered[number]
    until(lambda: load.tally.answered[number] > before + _RATE, f"release {number} answers", NEXT)
    show(f"  {_told(load.tally)}")


def _told(tally: Tally) -> str:
    return f"{tally.sent} requests, {len(tally.lost)} lost, by release {dict(tally.answered)}"
