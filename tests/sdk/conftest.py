"""The servers of ``tests.changes``."""

from tests.changes.conftest import access, client, embedded_kubeconfig, namespace, real_kubeconfig

__all__ = ["access", "client", "embedded_kubeconfig", "namespace", "real_kubeconfig"]
