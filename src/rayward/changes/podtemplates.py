"""Which pods are not of the templates that a RayCluster has now: pure, for operators that do not say so.

A pod is never quite its template: KubeRay's operator and admission add to it. So a pod counts as older only where it
lacks something that its template asks for, in the fields that are compared here, and was made before its part of the
spec was written last, by another template as far as that is recorded: a write of sizes makes no pod older, whatever
admission once made of it. What was only taken out of a template is not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rayward.changes.revisions import Revision, last_writer
from rayward.kinds import labels
from rayward.kinds.resources import GROUP
from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, is_object, section
from rayward.kube.machinery.quantity import QuantityError

_OF_POD: Final = ("nodeSelector", "serviceAccountName", "priorityClassName", "runtimeClassName")
_OF_CONTAINER: Final = ("image",)
_LISTS: Final = ("containers", "initContainers")


def older_pods(cluster: Object, pods: Iterable[Object], revisions: Sequence[Revision] = ()) -> list[Object]:
    """The pods of a RayCluster that an earlier template made; those of groups that are gone are passed over.

    Args:
        cluster: The RayCluster.
        pods: Its pods.
        revisions: What was asked for before, as far as it is recorded, the oldest first.
    """
    templates = _templates(section(cluster, "spec"))
    head, workers = (_written_at(cluster, part) for part in ("f:headGroupSpec", "f:workerGroupSpecs"))
    before = [(one.changed_at, _templates(one.spec)) for one in revisions if one.spec is not None and one.changed_at]
    found: list[Object] = []
    for pod in pods:
        group = _group(pod)
        template, written = templates.get(group), workers if group else head
        made = str(section(pod, "metadata").get("creationTimestamp") or "")
        if template is None or (written and made > written) or _is_of(pod, template):
            continue
        asked = [one.get(group) for one in _asked_at(made, before)]
        if not asked or any(one != template for one in asked):
            found.append(pod)
    return found


def _written_at(cluster: Object, part: str) -> str:
    """When a part of the spec may have been written last: whoever did owns something of it."""
    fields = entries(section(cluster, "metadata"), "managedFields")
    owners = [one for one in fields if _owns(section(section(one, "fieldsV1"), "f:spec"), part)]
    return last_writer({"metadata": {"managedFields": owners}})[1]


def _owns(owned: Object, part: str) -> bool:
    """Whether a part is owned, or the whole."""
    return not owned or part in owned


def _asked_at(made: str, before: list[tuple[str, dict[str, Object]]]) -> list[dict[str, Object]]:
    """The templates that a pod may be of: times are whole seconds, and within one there may be several."""
    return [*[one for at, one in before if at < made][-1:], *(one for at, one in before if at == made)]


def _templates(spec: Object) -> dict[str, Object]:
    """By group; the head's under no name."""
    found = {str(one.get("groupName")): section(one, "template") for one in entries(spec, "workerGroupSpecs")}
    return {**found, "": section(section(spec, "headGroupSpec"), "template")}


def _group(pod: Object) -> str:
    told = section(section(pod, "metadata"), "labels")
    return "" if told.get(labels.NODE_TYPE) == labels.HEAD else str(told.get(labels.GROUP))


def _is_of(pod: Object, template: Object) -> bool:
    metadata, asked = section(pod, "metadata"), section(template, "metadata")
    spec, wanted = section(pod, "spec"), section(template, "spec")
    return (
        all(_holds(section(metadata, part), _own(section(asked, part))) for part in ("labels", "annotations"))
        and all(_holds(spec.get(part), wanted.get(part)) for part in _OF_POD)
        and all(_has_containers(entries(spec, part), entries(wanted, part)) for part in _LISTS)
    )


def _own(told: Object) -> Object:
    """What an operator takes over as it is: of its own group it sets what it needs."""
    return {name: value for name, value in told.items() if not name.startswith(f"{GROUP}/")}


def _has_containers(found: list[Any], wanted: list[Any]) -> bool:
    named = {one.get("name"): one for one in found}
    return all(_is_container(named.get(one.get("name"), {}), one) for one in wanted)


def _is_container(found: Object, wanted: Object) -> bool:
    return (
        all(_holds(found.get(part), wanted.get(part)) for part in _OF_CONTAINER)
        and all(_has_variable(entries(found, "env"), one) for one in entries(wanted, "env"))
        and all(
            _has_amounts(section(section(found, "resources"), part), section(section(wanted, "resources"), part))
            for part in ("requests", "limits")
        )
    )


def _has_variable(found: list[Any], wanted: Object) -> bool:
    """Whether the variable is there; an operator may append another one of its name."""
    return any(one.get("name") == wanted.get("name") and _holds(one, wanted) for one in found)


def _has_amounts(found: Object, wanted: Object) -> bool:
    return all(_amount(found.get(name)) == _amount(value) for name, value in wanted.items())


def _amount(value: Any) -> Any:
    """``1000m`` is ``1``; what is no amount is compared as it is."""
    try:
        return quantity.parse(value)
    except QuantityError:
        return value


def _holds(found: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; what is empty may be left out."""
    if is_object(wanted):
        return all(_holds(found.get(name) if is_object(found) else None, value) for name, value in wanted.items())
    return not wanted or found == wanted or _amount(found) == _amount(wanted)
