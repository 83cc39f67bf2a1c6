"""A namespace with all that its deletion reads."""

from __future__ import annotations

from rayward.kube.core.objects import Condition, KubeObject, Slim


class _Spec(Slim, frozen=True, gc=False):
    finalizers: tuple[str, ...] = ()


class _Status(Slim, frozen=True, gc=False):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


_NO_SPEC = _Spec()
_NO_STATUS = _Status()


class Namespace(KubeObject, frozen=True, gc=False):
    spec: _Spec = _NO_SPEC
    status: _Status = _NO_STATUS
