"""As whom a part of the stack is run in tests: with its own rights on the embedded server, as everybody on another."""

from __future__ import annotations

from pathlib import Path


def own_kubeconfig(administrator: Path, part: str) -> Path:
    """The kubeconfig of a part beside the administrator's; the latter where the server knows no parts."""
    own = administrator.parent / "pki" / f"{part}.kubeconfig"
    return own if own.exists() else administrator
