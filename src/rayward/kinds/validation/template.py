"""Pod templates read with care: nothing is certain of what is below them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from rayward.kube.machinery.jsonvalue import Object


def pod_spec(template: Object) -> Object:
    """The pod's spec; empty where there is none."""
    return _object(template.get("spec"))


def containers(template: Object) -> list[Object]:
    """Its containers, the Ray container first."""
    return list(_objects(pod_spec(template).get("containers")))


def images(template: Object) -> Iterator[tuple[str, str]]:
    """The images of all containers, each with the path below the pod's spec."""
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(_objects(pod_spec(template).get(kind))):
            yield f"{kind}[{index}].image", _text(container.get("image"))


def environment(template: Object) -> dict[str, str]:
    """Variables of the Ray container by name; one that is taken from elsewhere counts as empty."""
    found = containers(template)
    if not found:
        return {}
    return {_text(variable.get("name")): _text(variable.get("value")) for variable in _objects(found[0].get("env"))}


def mounts(template: Object) -> Iterator[tuple[str, str]]:
    """Name and path of what is mounted into the Ray container."""
    for container in containers(template)[:1]:
        for mount in _objects(container.get("volumeMounts")):
            yield _text(mount.get("name")), _text(mount.get("mountPath"))


def volume_names(template: Object) -> set[str]:
    """Names of the pod's volumes."""
    return {_text(volume.get("name")) for volume in _objects(pod_spec(template).get("volumes"))}


def restart_policy(template: Object) -> str:
    """The pod's restart policy; empty if unset."""
    return _text(pod_spec(template).get("restartPolicy"))


def env_names(variables: list[Object] | None) -> set[str]:
    """Names in a list of variables."""
    return {_text(variable.get("name")) for variable in variables or ()}


def name_in(value: Object | None) -> str:
    """``metadata.name`` of an embedded object."""
    return _text(_object(_object(value).get("metadata")).get("name"))


def _object(value: Any) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}


def _objects(value: Any) -> Iterator[Object]:
    if isinstance(value, list):
        for part in cast("list[Any]", value):
            if isinstance(part, dict):
                yield cast("Object", part)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
