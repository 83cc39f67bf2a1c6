"""A server of one's own for the length of a client: the embedded API server with Ray's kinds, in its own folder."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from rayward.stack import control
from rayward.stack.folder import Folder


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A stack that was started, or found running."""

    folder: Folder
    access: Access
    purged: bool
    """Whether ``stop`` ends it and wipes its data: it was made for one client."""

    def stop(self) -> None:
        """End it, unless it was there before."""
        if self.purged:
            control.down(self.folder, purge=True)


def start(folder: Path | None = None, *, pods: bool = False) -> LocalServer:
    """Start a stack in a temporary folder, or find or start the one in ``folder``, which then stays.

    Args:
        folder: Where its data lies; a temporary one that is wiped where it is not given.
        pods: Whether pods run as processes of this machine; without them objects are accepted and stay pending.

    Raises:
        StackError: It does not start here.
    """
    root = folder or Path(tempfile.mkdtemp(prefix="rayward-"))
    found = Folder(root.absolute())
    control.up(found, node=[] if pods else None, operator=True, tell=lambda text: None)
    return LocalServer(found, find_access(found.kubeconfig), folder is None)
