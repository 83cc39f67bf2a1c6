"""Match conditions of webhooks that fail or cost too much. No webhook listens: being asked is a failure of its own."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Case, case, create
from tests.contract.objects import configmap

_SHOWN = ("kind", "metadata.name", "message", "reason", "code", "details", "status")
_FAILS = "object.metadata.name == 'canary' || object.data.nope == 'x'"
_OTHERS = "object.metadata.name == 'canary'"
# 810,000 each: below what one expression may cost
_DEAR = "object.metadata.name == 'canary' || !object.data.a.contains(object.data.b)"


def _hook(*conditions: str, policy: str = "Fail") -> dict[str, Any]:
    return {
        "name": "a.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/x"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}},
        "matchConditions": [{"name": f"c{number}", "expression": each} for number, each in enumerate(conditions)],
        "failurePolicy": policy,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }


def _asked(name: str, *conditions: str, policy: str = "Fail") -> Case:
    """A second webhook, about the canary alone, tells when the configuration is known."""
    seen = {**_hook(_OTHERS), "name": "b.example.com"}
    hooks = {"metadata": {"name": "w-{ns}"}, "webhooks": [_hook(*conditions, policy=policy), seen]}
    big = configmap("m", {"a": "a" * 9_000, "b": "b" * 9_000})
    return case(
        name,
        create("validatingwebhookconfigurations", hooks).only_of("kind"),
        create("configmaps", configmap("canary"), dryRun="All").polled(code=500).only_of("code"),
        create("configmaps", big, dryRun="All").only_of(*_SHOWN),
    )


CASES = [
    _asked("one that fails", _FAILS),
    _asked("two that fail", _FAILS, f"{_FAILS} || false"),
    _asked("one that fails, ignored", _FAILS, policy="Ignore"),
    _asked("a false one decides, whatever fails before it", _FAILS, _OTHERS),
    _asked("all of them may cost 2.5 million", *[_DEAR] * 3, _OTHERS),
    _asked("they cost more", *[_DEAR] * 4),
    _asked("they cost more, and one is false", _OTHERS, *[_DEAR] * 4),
]
