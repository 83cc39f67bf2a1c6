"""A Ray Serve service that is upgraded under load, and refuses a broken release."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from typing import Any

from demo.load import Load
from demo.shell import ROOT, rayward, show, until

_NEXT = "rayward describe rayservice hello"
_RATE = 50


def show_service() -> str:
    """From a manifest to a service that survives two edits; returns its address."""
    rayward("apply", "-f", "samples/rayservice.yaml")
    until(lambda: _progressing()[1] == "NewReleaseAvailable", "RayService hello serves", _NEXT)
    rayward("get", "rayservice,services")
    address = _serve_address()
    show(f"\n$ curl http://{address}/?name=you")
    with urllib.request.urlopen(f"http://{address}/?name=you", timeout=60) as answer:
        show(answer.read().decode())
    host, _, port = address.partition(":")
    manifest = (ROOT / "samples" / "rayservice.yaml").read_text()
    with Load(host, int(port), rate=_RATE) as load:
        until(lambda: load.tally.answered["1"] > _RATE, f"http://{address}/ answers", _NEXT)
        second = manifest.replace('name: RELEASE, value: "1"', 'name: RELEASE, value: "2"')
        show("\n# another environment for the pods: a new cluster, made ready beside the one that serves")
        rayward("apply", "-f", "-", given=second)
        _watch(load, lambda: load.tally.answered["2"] > _RATE and _progressing()[1] == "NewReleaseAvailable")
        show("\n# a release that cannot work: it is given up, and the one that serves goes on")
        broken = second.replace('name: RELEASE, value: "2"', 'name: RELEASE, value: "3"')
        rayward("apply", "-f", "-", given=broken.replace("hello:app", "hello:nothing"))
        _watch(load, lambda: _progressing()[0] == "False")
        show(f"\nProgressing: {_progressing()[1]}: {_progressing()[2].strip().splitlines()[-1]}")
        rayward("apply", "-f", "-", given=second)
        tally = load.stop()
    show(f"\n{tally.sent} requests at {_RATE}/s, {len(tally.lost)} lost, answered by release {dict(tally.answered)}")
    if tally.lost:
        raise SystemExit(f"error: requests were lost, the first: {tally.lost[0]}\n  next: {_NEXT}")
    return address


def _watch(load: Load, done: Any) -> None:
    """A line that lives until the change is over."""
    before, began = "", time.monotonic()

    def holds() -> bool:
        nonlocal before
        tally, (_, phase, _) = load.tally, _progressing()
        line = f"  {phase:<24} {tally.sent:>6} requests, {len(tally.lost)} lost, by release {dict(tally.answered)}"
        if sys.stdout.isatty():
            sys.stdout.write(f"\r{line}\x1b[K")
            sys.stdout.flush()
        elif phase != before:
            show(line)
        before = phase
        return bool(done())

    until(holds, "the change is over", _NEXT)
    show(
        f"\n  after {time.monotonic() - began:.0f} s"
        if sys.stdout.isatty()
        else f"  after {time.monotonic() - began:.0f} s"
    )


def _progressing() -> tuple[str, str, str]:
    status: dict[str, Any] = (
        json.loads(rayward("get", "rayservice", "hello", "-o", "json", quiet=True)).get("status") or {}
    )
    for condition in status.get("conditions") or ():
        if condition["type"] == "Progressing" and condition["observedGeneration"]:
            return condition["status"], condition["reason"], condition.get("message", "")
    return "", "Starting", ""


def _serve_address() -> str:
    line = rayward("get", "service", "hello-serve-svc", "--no-headers", quiet=True)
    return line.split()[-1]
