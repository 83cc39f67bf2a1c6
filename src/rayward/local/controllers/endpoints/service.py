"""Services, as far as they say which pods stand behind them."""

from __future__ import annotations

from typing import Final

import msgspec

from rayward.kube.core.service import Service, ServiceSpec

HEADLESS_LABEL: Final = "service.kubernetes.io/headless"
HEADLESS: Final = "None"


class _Spec(ServiceSpec, frozen=True, gc=False):
    ip_families: tuple[str, ...] | None = msgspec.field(default=None, name="ipFamilies")


class SelectingService(Service, frozen=True, gc=False):
    spec: _Spec = _Spec()

    @property
    def has_endpoints(self) -> bool:
        """Whether its endpoints are made from pods, and not by its user."""
        return bool(self.spec.selector) and self.spec.type != "ExternalName"

    @property
    def has_address(self) -> bool:
        """Whether it has an address of its own."""
        return self.spec.cluster_ip not in ("", HEADLESS)

    @property
    def families(self) -> tuple[str, ...]:
        """The address families it serves; a server fills them in."""
        if self.spec.ip_families:
            return self.spec.ip_families
        return ("IPv6" if ":" in self.spec.cluster_ip else "IPv4",)

    def selects(self, labels: dict[str, str] | None) -> bool:
        """Whether a pod with these labels stands behind it."""
        if not self.has_endpoints:
            return False
        given = labels or {}
        return all(given.get(name) == value for name, value in (self.spec.selector or {}).items())
