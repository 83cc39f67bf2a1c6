"""Kinds that are only sent and answered, never stored: reviews, bindings."""

from __future__ import annotations

from rayward.local.apiserver.behaviour import Behaviour
from rayward.local.apiserver.builtin.kind import behaviour, meta_of, name_of


def review_behaviour(type_name: str, resource: str) -> Behaviour:
    """A kind of which only the structure matters."""
    return behaviour(type_name, resource, lambda obj, _now: [name_of(obj), meta_of(obj).get("creationTimestamp")])
