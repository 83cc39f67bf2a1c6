"""The playbook: a change predicted, made, taken back, one that fails, and what is left of it all."""

from __future__ import annotations

import json

from demo.load import Load
from demo.service import NAME, answered_by, release
from demo.shell import rayward, show, until

_ROLLED_BACK = 9
_SHOWN = 20


def show_upgrade(load: Load) -> None:
    """Another environment for the pods: a new cluster, made ready beside the one that serves."""
    show("\n# release 2 has another environment for its pods: what would that do?")
    rayward("plan", "-f", "-", given=release(2))
    rayward("apply", "-f", "-", "--wait", "--cause", "release 2", given=release(2))
    answered_by(load, "2")


def show_undo(load: Load) -> None:
    """The last release is still warm: going back is a switch."""
    show("\n# back to release 1, whose cluster is still warm: only the traffic moves")
    rayward("undo", NAME, "--wait")
    answered_by(load, "1")


def show_broken_release(load: Load) -> None:
    """A release that cannot work: it is given up and rolled back, and the one that serves goes on."""
    show("\n# a release that cannot work is rolled back, and the one that serves goes on")
    rayward("apply", "-f", "-", "--wait", "--cause", "release 3", given=release(3, "hello:nothing"), code=_ROLLED_BACK)
    answered_by(load, "1")


def show_why(load: Load) -> None:
    """Workers that fit on no node: the cause, its evidence and what to run next."""
    show("\n# workers that no node has room for: why does nothing happen?")
    rayward("set", NAME, "small.requests.cpu=64", "small.limits.cpu=64")
    until(lambda: _cause() == "Unschedulable", "a worker is unschedulable", f"rayward why {NAME}")
    rayward("why", NAME)
    rayward("undo", NAME, "--wait")
    answered_by(load, "1")


def show_record() -> None:
    """What was asked for, and what happened."""
    rayward("history", NAME)
    shown = rayward("timeline", NAME, quiet=True).splitlines()
    show(f"\n$ rayward timeline {NAME} | tail -n {_SHOWN}")
    show("\n".join(shown[-_SHOWN:]))


def _cause() -> str:
    return json.loads(rayward("why", NAME, "-o", "json", quiet=True))["code"]
