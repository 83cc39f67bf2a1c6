"""What a new pod gets from the objects around it: requests, service account, priority, runtime class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from rayward.local.apiserver import status
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.pod import admit as podadmit
from rayward.local.apiserver.limitranger import LimitRanger

if TYPE_CHECKING:
    from rayward.local.apiserver.attributes import Attributes
    from rayward.local.apiserver.core import Core

_RUNTIMES = "/runtimeclasses.node.k8s.io/"
_CLASSES = "/priorityclasses.scheduling.k8s.io/"


class PodAdmission:
    """Completes new pods; what it reads again and again is decoded once per version."""

    def __init__(self, limits: LimitRanger) -> None:
        self._limits = limits
        self._decoded: dict[str, tuple[int, Object]] = {}

    def admit(self, core: Core, attributes: Attributes) -> None:
        """Complete a pod, or refuse it."""
        pod = attributes.obj
        assert pod is not None
        if attributes.old is not None:
            podadmit.admit_change(pod, attributes.old)
            return
        self._limits.fill(core, attributes)
        runtime = pod["spec"].get("runtimeClassName")
        runtime_class = self._find(core, f"{_RUNTIMES}{runtime}") if runtime else None
        name = podadmit.account_of(pod)
        account = self._find(core, f"/serviceaccounts/{attributes.namespace}/{name}") if name else None
        keys = core.objects.store.keys(_CLASSES)
        classes = [found for key in keys if (found := self._find(core, key)) is not None]
        try:
            podadmit.admit(pod, account, classes, core.suffix(), runtime_class)
        except podadmit.Refused as error:
            raise status.forbidden(attributes.resource, attributes.name, str(error)) from None

    def _find(self, core: Core, key: str) -> Object | None:
        record = core.objects.store.newest(key)
        if record is None:
            self._decoded.pop(key, None)
            return None
        known = self._decoded.get(key)
        if known is None or known[0] != record.revision:
            known = self._decoded[key] = (record.revision, orjson.loads(record.value))
        return known[1]
