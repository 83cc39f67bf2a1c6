"""What admission judges: one request, with the object before and after it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.resource import Resource


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is being done, to what, by whom."""

    operation: str
    resource: Resource
    subresource: str
    namespace: str
    obj: Object | None
    old: Object | None
    user: User
    dry_run: bool
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the caller said of how it is to be done."""
    named: str = ""
    """The name in the URL, where the object itself may have none."""
    requested: Resource | None = None
    """The version in which the request came, where it is not the one of ``resource``."""

    def with_object(self, obj: Object | None) -> Attributes:
        """The same request after the object was changed on the way."""
        return self if obj is self.obj else replace(self, obj=obj)

    @property
    def name(self) -> str:
        """The object's name, if it has one yet."""
        obj = self.obj if self.obj is not None else self.old
        return self.named or (obj["metadata"].get("name", "") if obj else "")

    @property
    def kind(self) -> tuple[str, str, str]:
        """Group, version and kind of the object."""
        return kind_of(self.resource, self.subresource)

    def in_version(self, resource: Resource) -> Attributes:
        """The same request as if it had come in another version of its resource."""
        if resource is self.resource:
            return self
        group, version, _kind = kind_of(resource, self.subresource)
        known = {"apiVersion": f"{group}/{version}" if group else version}
        obj, old = (None if each is None else {**each, **known} for each in (self.obj, self.old))
        return replace(self, resource=resource, obj=obj, old=old, requested=self.resource)


def kind_of(resource: Resource, subresource: str) -> tuple[str, str, str]:
    """Group, version and kind of what is sent to a resource, or to a part of it."""
    part = resource.subresources.get(subresource)
    if part is not None:
        return part.group, part.version, part.kind
    return resource.group, resource.version, resource.kind
