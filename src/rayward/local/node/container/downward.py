"""What a pod may know of itself: fields of its object and its resources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.quantity import Quantity

_ONE_OF: Final = re.compile(r"^metadata\.(labels|annotations)\['(.*)'\]$")


class NoSuchField(ValueError):  # noqa: N818
    """The pod has no such field; the text is for the user."""


def field_value(pod: Object, path: str) -> str:
    """One field of a pod as text.

    Raises:
        NoSuchField: Pods do not tell this field.
    """
    metadata, status = section(pod, "metadata"), section(pod, "status")
    one = _ONE_OF.match(path)
    if one:
        return section(metadata, one.group(1)).get(one.group(2), "")
    if path in ("metadata.labels", "metadata.annotations"):
        return _listed(section(metadata, path.rpartition(".")[2]))
    simple = {
        "metadata.name": metadata.get("name", ""),
        "metadata.namespace": metadata.get("namespace", ""),
        "metadata.uid": metadata.get("uid", ""),
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName", ""),
        "status.hostIP": status.get("hostIP", ""),
        "status.hostIPs": ",".join(found["ip"] for found in entries(status, "hostIPs")),
        "status.podIP": status.get("podIP", ""),
        "status.podIPs": ",".join(found["ip"] for found in entries(status, "podIPs")),
    }
    if path not in simple:
        raise NoSuchField(f"unsupported fieldPath: {path}")
    return simple[path]


def resource_value(
    spec: Object, reference: Mapping[str, Any], allocatable: Mapping[str, Quantity], own: str | None = None
) -> str:
    """A request or limit of a container, in units of ``divisor``; what has no limit may have all of the node.

    Raises:
        NoSuchField: There is no such container or resource.
    """
    name = reference.get("containerName") or own
    containers = [*entries(spec, "containers"), *entries(spec, "initContainers")]
    container = next((found for found in containers if found["name"] == name), None)
    if container is None:
        raise NoSuchField(f"container {name} not found")
    kind, _, resource = reference["resource"].partition(".")
    if kind not in ("limits", "requests") or not resource:
        raise NoSuchField(f"unsupported container resource : {reference['resource']}")
    resources = section(container, "resources")
    value = section(resources, kind).get(resource)
    if kind == "limits" and value is None:
        amount = allocatable.get(resource, quantity.parse("0"))
    else:
        if value is None:
            value = section(resources, "limits").get(resource, "0")
        amount = quantity.parse(value)
    divisor = quantity.parse(reference.get("divisor") or "1")
    if divisor.is_zero:
        divisor = quantity.parse("1")
    # In thousandths on both sides, so that 500m in units of 1m is 500, and in units of 1 is 1.
    return str(-(-_exact(amount) // _exact(divisor)))


def _exact(amount: Quantity) -> int:
    return amount.milli()


def _listed(values: Mapping[str, str]) -> str:
    return "\n".join(f'{name}="{_escaped(values[name])}"' for name in sorted(values))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
