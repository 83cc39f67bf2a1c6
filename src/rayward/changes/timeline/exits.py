"""How containers of a pod ended: pure, from two states of the pod.

An ended container shows in ``state.terminated`` until it is started again, and then in ``lastState.terminated``. Each
end is told once, in whichever of the two it is seen first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec

from rayward.changes.timeline.entry import Entry
from rayward.kube.core.meta import parse_time
from rayward.kube.core.pod import ContainerState, ContainerStateTerminated, ContainerStatus

_LONGEST_MESSAGE: Final = 4096


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of one container.

    Attributes:
        entry: As it is told, without its log.
        container: The container's name.
        ended: How it ended, as the node says.
        wants_log: Whether the end of its log may tell why.
    """

    entry: Entry
    container: str
    ended: ContainerStateTerminated
    wants_log: bool

    def is_previous(self, pod: Any) -> bool | None:
        """Whether the container runs again, so that its log is asked for as the previous one's; None where it is gone.

        While it waits to be started again, its last log is the present one.
        """
        for one in _statuses(pod):
            if one.name == self.container and self.ended in _ends(one):
                return one.state is not None and one.state.running is not None
        return None

    def own_lines(self, text: str, grace: timedelta = timedelta()) -> str:
        """The lines of a log with time stamps that this container wrote, without the stamps.

        It may have been started again before its log was read.

        Args:
            text: The log; what a program wrote with a carriage return, such as a progress bar, is one line.
            grace: How long after its end a line of its own may be stamped: the node reads it a moment later.
        """
        stamped = (line.partition(" ") for line in text.split("\n"))
        return "\n".join(line for at, _, line in stamped if self._lived(at, grace))

    def _lived(self, at: str, grace: timedelta) -> bool:
        """Whether a time, in whichever zone its node lives, is in the container's life, to the second."""
        try:
            moment = parse_time(at).replace(microsecond=0)
        except ValueError:
            return False
        began, ended = self.ended.started_at, self.ended.finished_at
        return not (began and moment < parse_time(began)) and not (ended and moment > parse_time(ended) + grace)

    def with_log(self, text: str) -> Entry:
        """As it is told with the end of its log."""
        log = text.strip()
        message = self.ended.message.strip()[-_LONGEST_MESSAGE:]
        # terminationMessagePolicy FallbackToLogsOnError takes the message from the log
        parts = (log,) if message in log else (message, log)
        return msgspec.structs.replace(self.entry, detail="\n".join(part for part in parts if part))


def of_pod(old: Any, new: Any, now: str, owner: str) -> Iterator[Exit]:
    """The containers that ended between two states of a pod, ``old`` being None where it was made since."""
    if new is None:
        return
    initial = {one.name for one in new.status.init_container_statuses or ()}
    before = {one.name: _ends(one) for one in _statuses(old)} if old is not None else {}
    for one in _statuses(new):
        known = list(before.get(one.name, ()))
        for ended in _ends(one):
            if ended in known:
                # two ends of one second look the same: each covers one
                known.remove(ended)
                continue
            if ended.exit_code == 0 and one.name in initial:
                continue
            failed = ended.exit_code != 0
            yield Exit(_told(new, one.name, ended, now, owner), one.name, ended, failed and not new.deleting)


def _told(pod: Any, container: str, ended: ContainerStateTerminated, now: str, owner: str) -> Entry:
    reason = f" ({ended.reason})" if ended.reason else ""
    text = f"container {container} ended with exit code {ended.exit_code}{reason}"
    metadata = pod.metadata
    message = ended.message.strip()[-_LONGEST_MESSAGE:]
    return Entry(
        ended.finished_at or now, metadata.namespace, "Pod", metadata.name, "pod", text, owner=owner, detail=message
    )


def _ends(status: ContainerStatus) -> list[ContainerStateTerminated]:
    return [ended for ended in (_ended(status.state), _ended(status.last_state)) if ended is not None]


def _ended(state: ContainerState | None) -> ContainerStateTerminated | None:
    return state.terminated if state is not None else None


def _statuses(pod: Any) -> Iterable[ContainerStatus]:
    status = pod.status
    return (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
