"""ResourceQuota: how many objects a namespace may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from rayward.kube.machinery.jsonvalue import section
from rayward.kube.machinery.quantity import parse
from rayward.local.apiserver import status
from rayward.local.apiserver.resource import Resource

if TYPE_CHECKING:
    from rayward.local.apiserver.admission import Attributes
    from rayward.local.apiserver.core import Core

_PLAIN = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
    }
)


def names_of(resource: Resource) -> tuple[str, ...]:
    """Under which names a quota may limit the number of objects of a resource."""
    counted = f"count/{resource.qualified_name}"
    return (resource.plural, counted) if not resource.group and resource.plural in _PLAIN else (counted,)


def check(core: Core, attributes: Attributes) -> None:
    """Refuse a create that a quota of the namespace does not allow."""
    if attributes.operation != "CREATE" or not attributes.namespace or attributes.subresource:
        return
    store, resource = core.objects.store, attributes.resource
    prefix = f"/resourcequotas/{attributes.namespace}/"
    for key in store.keys(prefix):
        record = store.get(key)
        if record is None:
            continue
        hard = section(section(orjson.loads(record.value), "spec"), "hard")
        for name in names_of(resource):
            if name not in hard:
                continue
            used = store.newest_count(resource.scope(attributes.namespace))
            if used + 1 > parse(hard[name]).as_int():
                quota = key.removeprefix(prefix)
                why = f"exceeded quota: {quota}, requested: {name}=1, used: {name}={used}, limited: {name}={hard[name]}"
                raise status.forbidden(resource, attributes.name, why)
