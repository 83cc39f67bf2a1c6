"""Whether a process lives and is ready, as data for its probes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rayward.kube.runtime.reflector import Reflector

Check = Callable[[], str | None]
"""What is wrong, or None."""


@dataclass(frozen=True, slots=True)
class Report:
    """The answer to a probe."""

    problems: tuple[tuple[str, str], ...]
    passed: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Whether every check passed."""
        return not self.problems

    @property
    def text(self) -> str:
        """In the words of Kubernetes' own health endpoints."""
        lines = [f"[+]{name} ok" for name in self.passed]
        lines += [f"[-]{name} failed: {problem}" for name, problem in self.problems]
        return "\n".join([*lines, "check passed" if self.healthy else "check failed", ""])


class Health:
    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        self._checks[name] = check

    def report(self) -> Report:
        found = [(name, check()) for name, check in self._checks.items()]
        return Report(
            tuple((name, problem) for name, problem in found if problem is not None),
            tuple(name for name, problem in found if problem is None),
        )


def follows(reflectors: Iterable[Reflector[Any]], longest_silence: float = 180.0) -> Check:
    """A check that every reflector that is needed has synced and still hears from the server."""
    followed = tuple(reflectors)

    def check() -> str | None:
        for reflector in followed:
            if reflector.is_done_without:
                continue
            resource, age = reflector.cache.resource, reflector.last_sync_age
            if not reflector.cache.synced:
                return f"{resource} not listed yet" + (f": {reflector.last_error}" if reflector.last_error else "")
            if age is not None and age > longest_silence:
                return f"{resource} not heard of for {age:.0f} s"
        return None

    return check
