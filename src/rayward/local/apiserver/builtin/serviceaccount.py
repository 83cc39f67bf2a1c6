"""What kube-apiserver fills in, refuses and shows of ServiceAccounts."""

from __future__ import annotations

from typing import Any

from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, meta_of, name_of

_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


def serviceaccount_behaviour() -> Behaviour:
    """The rules of ``v1/serviceaccounts``."""
    return behaviour(
        "io.k8s.api.core.v1.ServiceAccount",
        "v1/serviceaccounts",
        cells,
        prepare_create=_only_secret_names,
        prepare_update=lambda new, _old: _only_secret_names(new),
        warnings=warnings,
        returns_deleted=True,
        kube_finalizers=True,
    )


def _only_secret_names(obj: Object) -> None:
    for index, secret in enumerate(obj.get("secrets") or NO_ITEMS):
        obj["secrets"][index] = {"name": secret["name"]} if secret.get("name") else {}


def warnings(new: Object, old: Object | None) -> list[str]:
    """Doubts about an account."""
    if old is not None and _MOUNTABLE in (meta_of(old).get("annotations") or NOTHING):
        return []
    if _MOUNTABLE not in (meta_of(new).get("annotations") or NOTHING):
        return []
    text = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_MOUNTABLE}]: {text}"]


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Age; older columns counted secrets."""
    return [name_of(obj), age_of(obj, now)]
