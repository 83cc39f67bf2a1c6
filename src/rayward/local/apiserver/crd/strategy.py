"""How the versions of a definition are converted: ``spec.conversion``."""

from __future__ import annotations

from dataclasses import dataclass

from rayward.kube.machinery.jsonvalue import section
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.webhooks.caller import Endpoint, endpoint_of

_REVIEWS = ("v1", "v1beta1")


@dataclass(frozen=True, slots=True)
class Conversion:
    """The webhook of a definition."""

    endpoint: Endpoint
    review: str
    """The version of the questions it understands; empty: none of ours."""


def conversion_of(spec: Object) -> Conversion | None:
    """How the versions of a definition are converted; None: only their name differs."""
    declared = section(spec, "conversion")
    if declared.get("strategy") != "Webhook":
        return None
    webhook = section(declared, "webhook")
    versions: list[str] = webhook.get("conversionReviewVersions") or []
    review = next((version for version in versions if version in _REVIEWS), "")
    return Conversion(endpoint_of(section(webhook, "clientConfig")), review)
