"""What the rules of a CRD may cost together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from rayward.kube.machinery import fielderror
from rayward.kube.machinery.cel.decltype import MAX_REQUEST
from rayward.kube.machinery.cel.prices import UNBOUNDED
from rayward.kube.machinery.fielderror import FieldError

PER_RULE: Final = 10_000_000
PER_SCHEMA: Final = 100_000_000
_SHOWN: Final = 4


@dataclass(slots=True)
class Budget:
    """Adds up estimated costs and remembers the most expensive rules."""

    total: int = 0
    expensive: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def observe(self, path: str, cost: int) -> None:
        """Counts a rule or message."""
        self.total = min(self.total + cost, UNBOUNDED)
        if cost >= PER_SCHEMA // 100:
            self.expensive.append((cost, path))
            self.expensive.sort(key=lambda each: -each[0])
            del self.expensive[_SHOWN:]

    def check_total(self, path: str) -> list[FieldError]:
        """The complaints when all rules together cost too much."""
        if self.total <= PER_SCHEMA:
            return []
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        errors = [fielderror.forbidden(where, text) for _, where in self.expensive]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*errors, fielderror.forbidden(path, excess(name, self.total, PER_SCHEMA))]


def excess(name: str, cost: int, limit: int) -> str:
    """By how much a cost is over its limit."""
    factor = cost / limit
    shown = f"{factor:f}x" if factor < 1.5 else "more than 100x" if factor > 100 else f"{factor:.1f}x"
    return (
        f"{name} exceeds budget by factor of {shown} (try simplifying the rule, or adding maxItems, maxProperties, "
        "and maxLength where arrays, maps, and strings are declared)"
    )


def elements(schema: dict[str, Any]) -> int | None:
    """By how many a schema multiplies what is below it; None without a bound."""
    match schema.get("type"):
        case "object" if schema.get("additionalProperties") is not None:
            bound = schema.get("maxProperties")
        case "array":
            bound = schema.get("maxItems")
        case _:
            return 1
    return None if bound is None else max(bound, 0)


def repeated(cost: int, cardinality: int | None, min_size: int) -> int:
    """The cost of a rule that runs once per value: as often as bounds allow, else as often as a request can hold."""
    times = MAX_REQUEST // (min_size + 1) if cardinality is None else cardinality
    return min(cost * times, UNBOUNDED)
