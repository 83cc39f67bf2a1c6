"""ConfigMap and Secret, with their contents."""

from __future__ import annotations

from rayward.kube.core.objects import KubeObject


class ConfigMap(KubeObject, frozen=True, gc=False):
    """Text and bytes by name; ``binary_data`` values are base64."""

    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None
    immutable: bool | None = None


class Secret(KubeObject, frozen=True, gc=False):
    """Bytes by name, as base64."""

    type: str = "Opaque"
    data: dict[str, str] | None = None
    immutable: bool | None = None

    def __repr__(self) -> str:
        return f"Secret({self.key})"
