"""An object and what managers do to it, one after the other."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.apply import NOTHING, FieldSet, Map, Owners, apply_config, owners_of, track_update
from tests.machinery.apply.kinds import WIDGET

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"


def widget(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A configuration of a Widget."""
    obj: dict[str, Any] = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", **(metadata or {})},
    }
    return {**obj, "spec": spec} if spec else obj


class Story:
    """A Widget in a server: what is stored, and who owns it."""

    def __init__(self, of: Map = WIDGET, *, reset: FieldSet = NOTHING) -> None:
        self.live: dict[str, Any] | None = None
        self.owners: Owners | None = None
        self._of = of
        self._reset = reset

    def apply(self, manager: str, config: dict[str, Any], *, force: bool = False, now: str = NOW, **more: Any) -> Story:
        self._keep(
            apply_config(
                self.live, config, manager=manager, force=force, **self._request(config, now, more), owners=self.owners
            )
        )
        return self

    def update(self, manager: str, obj: dict[str, Any], *, now: str = NOW, **more: Any) -> Story:
        new = obj if self.live is None else _named(obj, self.live)
        self._keep(track_update(self.live, new, manager=manager, **self._request(obj, now, more), owners=self.owners))
        return self

    def _request(self, obj: dict[str, Any], now: str, more: dict[str, Any]) -> dict[str, Any]:
        return {"type": self._of, "reset": self._reset, "now": now, "api_version": obj["apiVersion"], **more}

    def _keep(self, result: tuple[dict[str, Any], Owners]) -> None:
        obj, self.owners = result
        self.live = _named({**obj, "metadata": {"uid": "u", **obj["metadata"]}}, obj)
        assert owners_of(self.live) == self.owners

    @property
    def spec(self) -> Any:
        assert self.live
        return self.live.get("spec")

    @property
    def managed(self) -> dict[str, Any]:
        """Whose entry holds which fields."""
        assert self.owners is not None
        return {owner.manager: owner.fields for owner in self.owners}

    @property
    def times(self) -> dict[str, str | None]:
        assert self.owners is not None
        return {owner.manager: owner.time for owner in self.owners}


def _named(obj: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    identity = {key: like["metadata"][key] for key in ("name", "uid") if key in like["metadata"]}
    return {**obj, "metadata": {**obj.get("metadata", {}), **identity}}
