"""The two servers of the service tests: endpoints, garbage, namespaces and service accounts are looked after."""

from __future__ import annotations

from tests.operator.service.conftest import embedded_kubeconfig, real_kubeconfig

__all__ = ["embedded_kubeconfig", "real_kubeconfig"]
