"""Lists: selectors, pages, resource versions."""

from __future__ import annotations

from typing import Any

from tests.contract.case import NEVER_A_SERVER_ERROR, Step, bad_request_in, case, create, delete, get, merge
from tests.contract.objects import lease, pod, secret

_THREE = [create("secrets", secret(name, labels={"n": name, "app": "x"})) for name in ("a", "b", "c")]
_NAMES = ("kind", "metadata", "items[0].metadata.name", "items[1].metadata.name", "items[2].metadata.name")


def _names(path: str, **query: Any) -> Step:
    return get(path, **query).only_of(*_NAMES)


CASES = [
    case(
        "a list has its kind, a resource version and items without kinds", create("leases", lease("l")), get("leases")
    ),
    case("an empty list has an empty array", get("leases")),
    case("a list is sorted by name", [create("leases", lease(name)) for name in ("m", "z", "a")], _names("leases")),
    case(
        "pages of a list carry a token and count what remains",
        _THREE,
        _names("secrets", limit=2).keeping(next="metadata.continue"),
        _names("secrets?continue={next}", limit=2),
    ),
    case("a page as long as the list has no token", _THREE, _names("secrets", limit=3), _names("secrets", limit=500)),
    case("limit 0 is no limit", _THREE, _names("secrets", limit=0)),
    case("a negative limit is no limit", _THREE, _names("secrets", limit=-1)),
    case("a limit that is no number is refused", get("secrets", limit="many")),
    case("a token that is no token is refused", get("secrets?continue=nonsense", limit=2)),
    case("a token with bad base64 is refused", get("secrets?continue=%25%25%25", limit=2)),
    case(
        "a token and a resource version together are refused",
        _THREE,
        _names("secrets", limit=2).keeping(next="metadata.continue"),
        get("secrets?continue={next}&resourceVersion=1", limit=2),
        get("secrets?continue={next}&resourceVersion=0", limit=2).only_of(*_NAMES),
    ),
    case(
        "a page shows the list as it was when the first page was read",
        _THREE,
        _names("secrets", limit=1).keeping(next="metadata.continue"),
        delete("secrets/b"),
        create("secrets", secret("bb")),
        _names("secrets?continue={next}", limit=5),
    ),
    case(
        "pages of a list with a selector hide how much remains",
        _THREE,
        _names("secrets", limit=2, labelSelector="app=x").keeping(next="metadata.continue"),
        _names("secrets?continue={next}", limit=2, labelSelector="app=x"),
    ),
    case(
        "labels are selected by equality",
        _THREE,
        _names("secrets", labelSelector="n=b"),
        _names("secrets", labelSelector="n==c,app=x"),
    ),
    case("labels are selected by inequality", _THREE, _names("secrets", labelSelector="n!=b,app=x")),
    case(
        "labels are selected by sets",
        _THREE,
        _names("secrets", labelSelector="n in (a,c)"),
        _names("secrets", labelSelector="app,n notin (a,c)"),
    ),
    case(
        "labels are selected by presence",
        _THREE,
        _names("secrets", labelSelector="n"),
        _names("secrets", labelSelector="!n,app"),
    ),
    case(
        "labels are selected by order of numbers",
        [
            create("leases", {**lease(f"l{n}"), "metadata": {"name": f"l{n}", "labels": {"n": str(n)}}})
            for n in (1, 5, 9)
        ],
        _names("leases", labelSelector="n>4"),
        _names("leases", labelSelector="n<5"),
    ),
    case("an empty selector selects all", _THREE, _names("secrets", labelSelector="")),
    *[
        case(f"the label selector {text!r} is refused", get("secrets", labelSelector=text))
        for text in (
            "a=",
            "=a",
            "a in",
            "a in (b",
            "a in b",
            "a!b",
            "a=b=c",
            "a,,b",
            "a/b/c=d",
            "A B",
            "a=b c",
            "a>x",
            "(",
            "a notin ()",
            "-a=b",
            "a=" + "v" * 64,
        )
    ],
    case(
        "fields: metadata.name and metadata.namespace",
        _THREE,
        _names("secrets", fieldSelector="metadata.name=b"),
        _names("secrets", fieldSelector="metadata.name!=b,metadata.namespace={ns}"),
    ),
    case(
        "fields: the type of a Secret",
        _THREE,
        _names("secrets", fieldSelector="type=Opaque"),
        _names("secrets", fieldSelector="type=kubernetes.io/tls"),
    ),
    case(
        "fields: those of a Pod",
        create("pods", pod("p", nodeName="node-1")),
        create("pods", pod("q", restartPolicy="Never")),
        _names("pods", fieldSelector="spec.nodeName=node-1"),
        _names("pods", fieldSelector="spec.nodeName="),
        _names("pods", fieldSelector="status.phase=Pending,spec.restartPolicy=Never"),
        _names("pods", fieldSelector="status.phase!=Pending"),
        _names("pods", fieldSelector="spec.schedulerName=default-scheduler,spec.serviceAccountName=default"),
        _names("pods", fieldSelector="status.podIP=10.0.0.1"),
        _names("pods", fieldSelector="spec.hostNetwork=false"),
    ),
    case(
        "a field that cannot be selected is refused",
        get("pods", fieldSelector="spec.priority=1"),
        get("configmaps", fieldSelector="data.a=1"),
        get("leases", fieldSelector="spec.holderIdentity=a"),
    ),
    *[
        case(f"the field selector {text!r} is refused", get("secrets", fieldSelector=text))
        for text in ("a", "metadata.name in (a)", "=", "metadata.name=a,b", "metadata.name=a\\b")
    ],
    case(
        "resource version 0 may be old",
        _THREE,
        _names("secrets", resourceVersion="0").polled(items__2="nothing")
        if False
        else get("secrets", resourceVersion="0").only_of("kind", "metadata"),
    ),
    case(
        "an exact resource version shows the past",
        create("leases", lease("l", holderIdentity="first")).keeping(rv="metadata.resourceVersion"),
        merge("leases/l", {"spec": {"holderIdentity": "second"}}),
        get("leases?resourceVersion={rv}&resourceVersionMatch=Exact").only_of(
            "items[0].spec", "items[0].metadata.resourceVersion"
        ),
        get("leases?resourceVersion={rv}&resourceVersionMatch=NotOlderThan").only_of("items[0].spec"),
        get("leases?resourceVersion={rv}").only_of("items[0].spec"),
        get("leases?resourceVersion={rv}&limit=1").only_of("items[0].spec"),
        get("leases?resourceVersion={rv}&limit=1&resourceVersionMatch=NotOlderThan").only_of("items[0].spec"),
        get("leases?resourceVersion={rv}&limit=1&resourceVersionMatch=Exact").only_of("items[0].spec"),
    ),
    case(
        "a match without a resource version is refused",
        get("leases?resourceVersionMatch=Exact"),
        get("leases?resourceVersionMatch=NotOlderThan"),
    ),
    case("an exact match of resource version 0 is refused", get("leases?resourceVersion=0&resourceVersionMatch=Exact")),
    case("an unknown match is refused", get("leases?resourceVersion=1&resourceVersionMatch=Sometimes")),
    case(
        "a resource version that is no number is refused",
        get("leases?resourceVersion=abc"),
        get("leases/l?resourceVersion=abc"),
        get("leases?resourceVersion=-1"),
        get("leases?resourceVersion=1.5"),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(1),
    ),
    case(
        "a list at a resource version of the future is refused",
        get("leases?resourceVersion=999999999"),
        get("leases?resourceVersion=999999999&resourceVersionMatch=Exact"),
        get("leases?resourceVersion=999999999&resourceVersionMatch=NotOlderThan"),
    ),
    case(
        "a get at a resource version of the future is refused",
        create("leases", lease("l")),
        get("leases/l?resourceVersion=999999999"),
    ),
    case(
        "a get may ask for at least a resource version",
        create("leases", lease("l")).keeping(rv="metadata.resourceVersion"),
        get("leases/l?resourceVersion={rv}"),
        get("leases/l?resourceVersion=0").polled(code=200),
    ),
    case(
        "a list over all namespaces",
        create("leases", {**lease("l"), "metadata": {"name": "l", "labels": {"case": "{ns}"}}}),
        get("/apis/coordination.k8s.io/v1/leases?labelSelector=case%3D{ns}"),
    ),
    case("a list of a custom kind", get("rayclusters")),
    case("sendInitialEvents is refused for a list", get("leases?sendInitialEvents=true")),
]
