"""One webhook of a configuration, and whether it concerns a request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rayward.kube.machinery.cel import authorization
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.evaluation import Expression, compiled
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.webhooks.caller import Endpoint, endpoint_of
from rayward.local.apiserver.webhooks.matching import Matching, NamespaceLabels, matching_of

_VARIABLES = {"object": "dyn", "oldObject": "dyn", "request": "dyn", **authorization.VARIABLES}


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """A webhook, compiled from its configuration."""

    name: str
    endpoint: Endpoint
    matching: Matching
    conditions: tuple[Expression, ...]
    fails_closed: bool
    seconds: int
    dry_run_safe: bool
    reinvoked: bool

    def sees(
        self, attributes: Attributes, served: Iterable[Resource], namespace_labels: NamespaceLabels
    ) -> Attributes | None:
        """A request that rules and selectors pick, in the version that they do; match conditions are asked after."""
        return self.matching.sees(attributes, served, namespace_labels)


def hooks_of(configuration: Object) -> list[Hook]:
    """The webhooks of a stored configuration."""
    declared: list[Object] = configuration.get("webhooks") or []
    return [_hook(hook) for hook in declared]


def _hook(hook: Object) -> Hook:
    return Hook(
        name=hook["name"],
        endpoint=endpoint_of(hook.get("clientConfig") or {}),
        matching=matching_of(hook, "rules"),
        conditions=tuple(compiled(each["expression"], _VARIABLES) for each in hook.get("matchConditions") or ()),
        fails_closed=hook.get("failurePolicy", "Fail") != "Ignore",
        seconds=hook.get("timeoutSeconds") or 10,
        dry_run_safe=hook.get("sideEffects") in {"None", "NoneOnDryRun"},
        reinvoked=hook.get("reinvocationPolicy") == "IfNeeded",
    )
