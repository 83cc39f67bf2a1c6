"""What holds the size of worker groups."""

from __future__ import annotations

from collections.abc import Iterator

from rayward.changes.why.evidence import Evidence
from rayward.changes.why.match import Match
from rayward.kube.machinery.jsonvalue import entries, section

_IDLE_SECONDS = 60
"""Ray's own, where the spec says nothing."""


def held_size(evidence: Evidence) -> Match | None:
    """Groups that ask for more replicas than their own bounds allow."""
    lines: list[str] = []
    for group in entries(evidence.spec, "workerGroupSpecs"):
        wanted, most = group.get("replicas"), group.get("maxReplicas")
        if isinstance(wanted, int) and isinstance(most, int) and wanted > most:
            lines.append(f"group {group.get('groupName')}: replicas {wanted}, maxReplicas {most}")
    if not lines:
        return None
    group = lines[0].split(":")[0].removeprefix("group ")
    return Match(tuple(lines), {"group": group, "wanted": lines[0].split("replicas ")[1].split(",")[0]})


def at_maximum(evidence: Evidence) -> Match | None:
    """Groups that Ray's autoscaler has made as large as it may, and that all run."""
    status = evidence.status
    if not evidence.spec.get("enableInTreeAutoscaling"):
        return None
    if int(status.get("readyWorkerReplicas") or 0) < int(status.get("desiredWorkerReplicas") or 0):
        return None
    for group in entries(evidence.spec, "workerGroupSpecs"):
        most = group.get("maxReplicas")
        if isinstance(most, int) and group.get("replicas") == most > int(group.get("minReplicas") or 0):
            name = str(group.get("groupName"))
            return Match((f"group {name}: replicas {most}, maxReplicas {most}",), {"group": name, "most": str(most)})
    return None


def notes(evidence: Evidence) -> Iterator[str]:
    """Why groups that are as asked grow and shrink no further."""
    if evidence.ref.kind != "RayCluster":
        return
    scales = bool(evidence.spec.get("enableInTreeAutoscaling"))
    idle = section(evidence.spec, "autoscalerOptions").get("idleTimeoutSeconds")
    for group in entries(evidence.spec, "workerGroupSpecs"):
        size, least, most = (group.get(name) for name in ("replicas", "minReplicas", "maxReplicas"))
        if least == most:
            continue
        if not scales:
            yield f"group {group.get('groupName')} stays at replicas {size}: enableInTreeAutoscaling is off"
        elif isinstance(size, int) and size > int(least or 0):
            # 0 is an answer: they go as soon as they are idle
            told = (group.get("idleTimeoutSeconds"), idle, _IDLE_SECONDS)
            seconds = next(one for one in told if one is not None)
            yield f"group {group.get('groupName')}: the autoscaler removes workers that are idle for {seconds} s"
