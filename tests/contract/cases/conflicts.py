"""Two writers, one object."""

from __future__ import annotations

from tests.contract.case import (
    NEVER_A_SERVER_ERROR,
    bad_request_in,
    case,
    create,
    delete,
    get,
    json_patch,
    merge,
    update,
)
from tests.contract.objects import configmap, lease, raycluster

_CM = create("configmaps", configmap("c")).keeping(rv="metadata.resourceVersion", uid="metadata.uid")

CASES = [
    case(
        "the second of two updates from one read is refused",
        _CM,
        update("configmaps/c", configmap("c", {"a": "2"}, resourceVersion="{rv}")),
        update("configmaps/c", configmap("c", {"a": "3"}, resourceVersion="{rv}")),
        get("configmaps/c"),
    ),
    case(
        "an update of a custom object needs a resource version",
        create("rayclusters", raycluster("r")),
        update("rayclusters/r", raycluster("r")),
    ),
    case(
        "a stale update of a custom object",
        create("rayclusters", raycluster("r")),
        update("rayclusters/r", raycluster("r", metadata={"resourceVersion": "1"})),
    ),
    case(
        "a stale update that would change nothing",
        _CM,
        merge("configmaps/c", {"data": {"a": "2"}}),
        update("configmaps/c", configmap("c", {"a": "2"}, resourceVersion="{rv}")),
    ),
    case(
        "an update of what was deleted and made again",
        _CM,
        delete("configmaps/c"),
        create("configmaps", configmap("c")),
        update("configmaps/c", configmap("c", {"a": "2"}, uid="{uid}")),
    ),
    case(
        "an update with a resource version of what was deleted",
        _CM,
        delete("configmaps/c"),
        update("configmaps/c", configmap("c", resourceVersion="{rv}")),
    ),
    case(
        "a resource version that is no number",
        _CM,
        update("configmaps/c", configmap("c", resourceVersion="abc")),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(1),
    ),
    case("a resource version of the future", _CM, update("configmaps/c", configmap("c", resourceVersion="999999999"))),
    case("resource version 0", _CM, update("configmaps/c", configmap("c", resourceVersion="0"))),
    case(
        "a test of the resource version in a JSON patch",
        _CM,
        json_patch(
            "configmaps/c",
            {"op": "test", "path": "/metadata/resourceVersion", "value": "{rv}"},
            {"op": "add", "path": "/data/x", "value": "1"},
        ),
        json_patch("configmaps/c", {"op": "test", "path": "/metadata/resourceVersion", "value": "{rv}"}),
    ),
    case(
        "a lease changes hands",
        create("leases", lease("l", holderIdentity="a", leaseTransitions=0)).keeping(rv="metadata.resourceVersion"),
        update(
            "leases/l",
            {
                **lease("l", holderIdentity="b", leaseTransitions=1),
                "metadata": {"name": "l", "resourceVersion": "{rv}"},
            },
        ),
        update(
            "leases/l",
            {
                **lease("l", holderIdentity="c", leaseTransitions=1),
                "metadata": {"name": "l", "resourceVersion": "{rv}"},
            },
        ),
    ),
    case(
        "deletion after a change, with a precondition",
        _CM,
        merge("configmaps/c", {"data": {"b": "1"}}),
        delete("configmaps/c", {"preconditions": {"uid": "{uid}", "resourceVersion": "{rv}"}}),
        delete("configmaps/c", {"preconditions": {"uid": "{uid}"}}),
    ),
    case("preconditions of what does not exist", delete("configmaps/c", {"preconditions": {"uid": "u"}})),
]
