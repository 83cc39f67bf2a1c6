"""generateName."""

from __future__ import annotations

from tests.contract.case import case, create, get
from tests.contract.objects import pod, raycluster


def _generated(prefix: str, **more: object) -> dict[str, object]:
    return {"metadata": {"generateName": prefix, **more}}


CASES = [
    case(
        "five letters are put behind the prefix",
        create("configmaps", _generated("c-")).keeping(name="metadata.name"),
        get("configmaps/{name}"),
    ),
    case("a name wins over a prefix", create("configmaps", _generated("c-", name="fixed"))),
    case(
        "a long prefix is cut",
        create("configmaps", _generated("p" * 253)),
        create("services", {**_generated("p" * 63), "spec": {"ports": [{"port": 80}]}}),
    ),
    case(
        "a prefix that is not allowed is refused",
        create("configmaps", _generated("Bad_")),
        create("configmaps", _generated("-")),
        create("pods", {**pod("x"), "metadata": {"generateName": "Bad Prefix"}}),
    ),
    case(
        "a prefix may end in a dash or a dot",
        create("configmaps", _generated("c.")),
        create("configmaps", _generated("c--")),
    ),
    case("a custom object", create("rayclusters", {**raycluster("x"), "metadata": {"generateName": "ray-"}})),
    case("dry run too", create("configmaps", _generated("c-"), dryRun="All")),
    case("several of one prefix", create("configmaps", _generated("c-")), create("configmaps", _generated("c-"))),
    case("an empty prefix needs a name", create("configmaps", _generated(""))),
]
