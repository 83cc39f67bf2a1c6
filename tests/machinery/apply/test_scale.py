from __future__ import annotations

from typing import Any

from rayward.kube.machinery.apply import SCALE, Owner, Owners, encode, parent_owners, scale_owners, track_update
from rayward.kube.machinery.apply.fieldset import set_of

_PATH = ("f:spec", "f:replicas")
_OTHER = ("f:spec", "f:image")
_TIME = "2026-01-01T00:00:00Z"


def owner(manager: str, operation: str, *paths: tuple[str, ...], sub: str = "", time: str | None = _TIME) -> Owner:
    return Owner(manager, operation, "example.com/v1", sub, time, set_of(*paths))


def owners(*some: Owner) -> Owners:
    return Owners({each.key: each for each in some})


def scale(replicas: int, entries: Any) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "w", "uid": "u", "managedFields": entries},
        "spec": {"replicas": replicas},
    }


def scaled(parent: Owners, before: int, after: int, manager: str) -> Owners:
    """The owners of the parent after a write to its scale."""
    shown = scale_owners(parent, _PATH)
    _, left = track_update(
        scale(before, encode(shown)),
        scale(after, None),
        type=SCALE,
        manager=manager,
        api_version="autoscaling/v1",
        now=_TIME,
        subresource="scale",
        owners=shown,
    )
    return parent_owners(parent, left, _PATH, "example.com/v1")


_APPLIER = owner("applier", "Apply", _PATH, _OTHER)
_UPDATER = owner("updater", "Update", _PATH)


def test_a_scale_shows_those_who_own_the_replicas() -> None:
    shown = scale_owners(owners(_APPLIER, owner("other", "Update", _OTHER)), _PATH)
    assert [(each.manager, each.api_version, each.fields) for each in shown] == [
        ("applier", "autoscaling/v1", {"f:spec": {"f:replicas": {}}})
    ]


def test_who_scales_takes_the_replicas() -> None:
    assert scaled(owners(_APPLIER, _UPDATER), 1, 2, "scaler") == owners(
        owner("applier", "Apply", _OTHER), owner("scaler", "Update", _PATH, sub="scale", time=None)
    )


def test_scaling_to_what_it_is_changes_no_owner() -> None:
    parent = owners(_APPLIER, _UPDATER)
    assert scaled(parent, 1, 1, "scaler") == parent


def test_scaling_again_keeps_the_scaler() -> None:
    parent = owners(owner("scaler", "Update", _PATH, sub="scale", time=None))
    assert scaled(parent, 1, 2, "scaler") == parent
