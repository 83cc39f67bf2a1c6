"""The variables of a container."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping

import msgspec

from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.quantity import Quantity
from rayward.local.node.container.downward import NoSuchField, field_value, resource_value
from rayward.local.node.container.expansion import expand

Find = Callable[[str, str], Object | None]


class ConfigError(Exception):
    """The container cannot be made as it is written; the text is for the user, in the kubelet's words."""


class Sources(msgspec.Struct, frozen=True):
    """Where the values come from: (namespace, name) to the whole object."""

    config_map: Find
    secret: Find
    allocatable: Mapping[str, Quantity]


def container_variables(
    pod: Object, container: Object, sources: Sources, given: Mapping[str, str], services: Mapping[str, str]
) -> dict[str, str]:
    """All variables: ``given`` by the image, of services, of whole objects, and the named ones, later over earlier.

    Raises:
        ConfigError: Something that is named is not there.
    """
    namespace = pod["metadata"]["namespace"]
    found: dict[str, str] = {}
    for source in entries(container, "envFrom"):
        found.update(_whole(source, namespace, sources))
    known = {**services, **found}
    for variable in entries(container, "env"):
        value = _value(pod, container, variable, known, sources)
        if value is not None:
            found[variable["name"]] = known[variable["name"]] = value
    return {**given, **services, **found}


def service_variables(services: Iterable[Object], namespace: str, *, links: bool) -> dict[str, str]:
    """The variables by which pods of old find services; the API's own always, others of the namespace on request."""
    chosen: dict[str, Object] = {}
    for service in services:
        metadata, spec = service["metadata"], service["spec"]
        if not spec.get("clusterIP") or spec["clusterIP"] == "None":
            continue
        if metadata["namespace"] == namespace and links:
            chosen[metadata["name"]] = service
        elif metadata["namespace"] == "default" and metadata["name"] == "kubernetes":
            chosen.setdefault("kubernetes", service)
    variables: dict[str, str] = {}
    for name, service in chosen.items():
        variables.update(_of_service(name.upper().replace("-", "_"), service["spec"]))
    return variables


def _of_service(prefix: str, spec: Object) -> dict[str, str]:
    address, ports = spec["clusterIP"], entries(spec, "ports")
    if not ports:
        return {}
    first = ports[0]
    variables = {f"{prefix}_SERVICE_HOST": address, f"{prefix}_SERVICE_PORT": str(first["port"])}
    for port in ports:
        if port.get("name"):
            variables[f"{prefix}_SERVICE_PORT_{port['name'].upper().replace('-', '_')}"] = str(port["port"])
    protocol = first.get("protocol", "TCP").lower()
    variables[f"{prefix}_PORT"] = f"{protocol}://{address}:{first['port']}"
    for port in ports:
        protocol = port.get("protocol", "TCP")
        base = f"{prefix}_PORT_{port['port']}_{protocol}"
        variables[base] = f"{protocol.lower()}://{address}:{port['port']}"
        variables[f"{base}_PROTO"] = protocol.lower()
        variables[f"{base}_PORT"] = str(port["port"])
        variables[f"{base}_ADDR"] = address
    return variables


def _whole(source: Object, namespace: str, sources: Sources) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    for field, find, kind in (
        ("configMapRef", sources.config_map, "configmap"),
        ("secretRef", sources.secret, "secret"),
    ):
        reference = source.get(field)
        if reference is None:
            continue
        found = find(namespace, reference["name"])
        if found is None:
            if reference.get("optional"):
                return {}
            raise ConfigError(f'{kind} "{reference["name"]}" not found')
        return {prefix + name: value for name, value in _texts(found).items() if _is_name(prefix + name)}
    return {}


def _texts(found: Object) -> dict[str, str]:
    data: dict[str, str] = section(found, "data")
    if found.get("kind") == "Secret":
        return {name: base64.b64decode(value).decode(errors="replace") for name, value in data.items()}
    return data


def _is_name(text: str) -> bool:
    return bool(text) and "=" not in text and "\0" not in text


def _value(pod: Object, container: Object, variable: Object, known: Mapping[str, str], sources: Sources) -> str | None:
    source = variable.get("valueFrom")
    if source is None:
        return expand(variable.get("value") or "", known)
    namespace = pod["metadata"]["namespace"]
    try:
        if reference := source.get("fieldRef"):
            return field_value(pod, reference["fieldPath"])
        if reference := source.get("resourceFieldRef"):
            return resource_value(pod["spec"], reference, sources.allocatable, container["name"])
    except NoSuchField as error:
        raise ConfigError(str(error)) from error
    if reference := source.get("configMapKeyRef"):
        return _key(reference, sources.config_map(namespace, reference["name"]), namespace, ("configmap", "ConfigMap"))
    if reference := source.get("secretKeyRef"):
        return _key(reference, sources.secret(namespace, reference["name"]), namespace, ("secret", "Secret"))
    raise ConfigError(f"env {variable['name']} names a source that is not supported")


def _key(reference: Object, found: Object | None, namespace: str, kind: tuple[str, str]) -> str | None:
    name, key = reference["name"], reference["key"]
    if found is None:
        if reference.get("optional"):
            return None
        raise ConfigError(f'{kind[0]} "{name}" not found')
    value = _texts(found).get(key)
    if value is None and not reference.get("optional"):
        raise ConfigError(f"couldn't find key {key} in {kind[1]} {namespace}/{name}")
    return value
