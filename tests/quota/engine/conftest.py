"""The two servers that the engine's tests run on."""

from tests.operator.conftest import access, buried, embedded_kubeconfig, real_kubeconfig

__all__ = ["access", "buried", "embedded_kubeconfig", "real_kubeconfig"]
