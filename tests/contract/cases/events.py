"""Events and Leases."""

from __future__ import annotations

from tests.contract.case import case, create, delete, get, merge, update
from tests.contract.objects import lease

_EVENT = {
    "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p"},
    "reason": "R",
    "message": "m",
    "type": "Normal",
    "firstTimestamp": "2020-01-01T00:00:00Z",
    "lastTimestamp": "2020-01-01T00:00:00Z",
    "count": 1,
    "source": {"component": "c"},
}
_NEW_EVENT = {
    "eventTime": "2020-01-01T00:00:00.000000Z",
    "reportingController": "example.com/c",
    "reportingInstance": "i",
    "action": "a",
    "reason": "R",
    "type": "Normal",
    "regarding": {"kind": "Pod", "namespace": "{ns}", "name": "p"},
    "note": "n",
}
_EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"

CASES = [
    case(
        "event: the old group",
        create("events", {"metadata": {"name": "e"}, **_EVENT}),
        get("events/e"),
        merge("events/e", {"count": 2}),
        get(f"{_EVENTS}/e"),
        delete("events/e"),
    ),
    case(
        "event: the new group",
        create(_EVENTS, {"metadata": {"name": "e"}, **_NEW_EVENT}),
        get("events/e"),
        merge(f"{_EVENTS}/e", {"series": {"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}}),
        merge(f"{_EVENTS}/e", {"note": "other"}),
    ),
    case(
        "event: what is not allowed",
        create("events", {"metadata": {"name": "e"}, "involvedObject": {"namespace": "other"}}),
        create("events", {"metadata": {"name": "e"}}),
        create(_EVENTS, {"metadata": {"name": "e"}}),
        create(
            _EVENTS,
            {
                "metadata": {"name": "e"},
                **_NEW_EVENT,
                "type": "Odd",
                "reason": "",
                "reportingController": "",
                "action": "",
            },
        ),
        create(_EVENTS, {"metadata": {"name": "e"}, **_NEW_EVENT, "reason": "r" * 129, "note": "n" * 1025}),
    ),
    case(
        "event: selected by fields",
        create("events", {"metadata": {"name": "e"}, **_EVENT}),
        create("events", {"metadata": {"name": "f"}, **_EVENT, "reason": "S", "type": "Warning"}),
        *[
            get("events", fieldSelector=text).only_of("items[0].metadata.name", "items[1].metadata.name")
            for text in (
                "involvedObject.name=p",
                "reason=S",
                "type!=Warning",
                "involvedObject.kind=Pod,involvedObject.namespace={ns}",
                "source=c",
                "reportingComponent=x",
            )
        ],
        get(_EVENTS, fieldSelector="regarding.name=p").only_of("items[0].metadata.name"),
        get(_EVENTS, fieldSelector="involvedObject.name=p").only_of("items[0].metadata.name"),
    ),
    case(
        "event: patched as client-go does",
        create("events", {"metadata": {"name": "e"}, **_EVENT}),
        update("events/e", {"metadata": {"name": "e"}, **_EVENT, "count": 5, "lastTimestamp": "2020-01-01T00:01:00Z"}),
    ),
    case(
        "lease: times and numbers",
        create(
            "leases",
            lease(
                "ok",
                holderIdentity="a",
                leaseDurationSeconds=15,
                acquireTime="2020-01-01T00:00:00.000000Z",
                renewTime="2020-01-01T01:00:00.123456+01:00",
                leaseTransitions=0,
            ),
        ),
        create(
            "leases",
            lease(
                "l",
                holderIdentity="a",
                leaseDurationSeconds=15,
                acquireTime="2020-01-01T00:00:00Z",
                renewTime="2020-01-01T00:00:00.123456Z",
                leaseTransitions=0,
            ),
        ),
        create("leases", lease("m", renewTime="2020-01-01T00:00:00.123456789Z")),
        create("leases", lease("n", renewTime="2020-01-01T01:00:00.5+01:00")),
    ),
    case(
        "lease: what is not allowed",
        create("leases", lease("l", leaseDurationSeconds=0)),
        create("leases", lease("l", leaseTransitions=-1)),
        create("leases", lease("l", renewTime="now")),
        create("leases", lease("l", strategy="Odd")),
        create("leases", lease("l", holderIdentity=5)),
    ),
]
