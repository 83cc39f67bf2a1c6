"""Whether somebody is seen to renew a lease: whether another program is alive that must not run beside this one."""

from __future__ import annotations

import logging
from typing import Final

from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.values import as_dict, as_str
from rayward.kube.core.meta import parse_time
from rayward.kube.core.resource import LEASES
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock

_LONG_AGO_SECONDS: Final = 300.0
_LEASE_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


async def is_renewed(client: Client, lease: Object, clock: Clock = SYSTEM_CLOCK) -> bool:
    """Whether the holder of ``lease`` renews it within its duration.

    Clocks of two machines are compared only as far as any clock is right.
    """
    first = as_dict(lease.get("spec"))
    renewed = as_str(first.get("renewTime"))
    if not first.get("holderIdentity") or not renewed:
        return False
    if (clock.utc() - parse_time(renewed)).total_seconds() > _LONG_AGO_SECONDS:
        return False
    meta = as_dict(lease.get("metadata"))
    namespace, name = as_str(meta.get("namespace")), as_str(meta.get("name"))
    seconds = first.get("leaseDurationSeconds")
    deadline = clock.now() + (seconds if isinstance(seconds, int) else _LEASE_SECONDS)
    _log.info("lease %s/%s is held by %s: looking whether it is renewed", namespace, name, first["holderIdentity"])
    while clock.now() < deadline:
        await clock.sleep(_POLL_SECONDS)
        try:
            spec = as_dict((await client.get(LEASES, name, namespace)).get("spec"))
        except NotFound:
            return False
        if not spec.get("holderIdentity"):
            return False
        if spec.get("renewTime") != renewed:
            return True
    return False
