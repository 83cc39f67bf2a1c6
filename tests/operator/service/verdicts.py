"""What tools conclude from an object: kstatus, ``kubectl wait`` by their rules, Argo CD by our script in real Lua."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec
from lupa import lua51

from rayward.kinds.crds import HEALTH
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayjob import RayJob
from rayward.kinds.rayservice import RayService

Object = dict[str, Any]

# Argo CD puts the object into a global and reads what the script returns, in Lua 5.1.
_LUA: Final[Any] = cast("Any", lua51).LuaRuntime(register_eval=False)
_RUN: Final[Any] = _LUA.eval("function(text, given) obj = given; return loadstring(text)() end")

ARGOCD: Final = {"Healthy": "Current", "Progressing": "InProgress", "Degraded": "Failed", "Suspended": "InProgress"}
"""What each health of Argo CD is to kstatus, which has no word for what is suspended."""


def as_written(found: RayCluster | RayService | RayJob) -> Object:
    """An object that has a status, as it was read: decoded, it lacks the 0 that the operator writes."""
    whole: Object = msgspec.to_builtins(found)
    return {**whole, "status": {"observedGeneration": 0, **whole["status"]}}


def kstatus(found: Object) -> str:
    """The rules of sigs.k8s.io/cli-utils for kinds that it does not know, in its order."""
    status = found.get("status") or {}
    if found["metadata"].get("deletionTimestamp"):
        return "Terminating"
    # From an absent one nothing follows: an object without a status is Current.
    if status.get("observedGeneration", found["metadata"]["generation"]) != found["metadata"]["generation"]:
        return "InProgress"
    for condition in status.get("conditions") or ():
        if condition["type"] == "Reconciling" and condition["status"] == "True":
            return "InProgress"
        if condition["type"] == "Stalled" and condition["status"] == "True":
            return "Failed"
    ready = _condition(status, "Ready")
    return "Current" if ready is None or ready["status"] == "True" else "InProgress"


def waited_for(found: Object) -> bool:
    """Whether ``kubectl wait --for=condition=Ready`` ends: the condition's own generation counts before another."""
    status = found.get("status") or {}
    ready = _condition(status, "Ready")
    if ready is None or ready["status"] != "True":
        return False
    return ready.get("observedGeneration", status.get("observedGeneration", 0)) >= found["metadata"]["generation"]


def argocd(found: Object) -> tuple[str, str]:
    """Health and message that Argo CD shows."""
    answer = _RUN(HEALTH, _LUA.table_from(found, recursive=True))
    return answer["status"], answer["message"]


def _condition(status: Object, kind: str) -> Object | None:
    return next((condition for condition in status.get("conditions") or () if condition["type"] == kind), None)
