"""LimitRanges: what pods get that ask for nothing, and what is too little or too much; RuntimeClasses beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.contract.case import Case, Step, case, create, delete, get, merge
from tests.contract.objects import claim, container, pod

_SHOWN = ("kind", "metadata.annotations", "spec.containers", "spec.initContainers", "status.qosClass")
_REFUSED = ("message", "reason", "code", "details")
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def _range(*limits: Mapping[str, Any], name: str = "l") -> Step:
    return (
        create("limitranges", {"metadata": {"name": name}, "spec": {"limits": list(limits)}})
        .only_of("kind", "spec", *_REFUSED)
        .in_any_order()
    )


def _post(body: Any, kind: str = "pods", **query: Any) -> Step:
    return create(kind, body, **query).only_of(*_SHOWN, *_REFUSED)


def _pod(*containers: Mapping[str, Any], name: str = "p", **spec: Any) -> Step:
    return _post(pod(name, *(dict(each) for each in containers), **spec))


def _asks(requests: Mapping[str, str] | None = None, limits: Mapping[str, str] | None = None) -> dict[str, Any]:
    given = {"requests": requests, "limits": limits}
    return container(resources={field: dict(amounts) for field, amounts in given.items() if amounts})


def _refused(name: str, *limits: Mapping[str, Any]) -> Case:
    return case(f"refused: {name}", _range(*limits))


_USUAL = {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}}
_BOUNDS = {"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "1"}}
_OF_PODS = {"type": "Pod", "min": {"cpu": "100m"}, "max": {"cpu": "1"}}
_OF_CLAIMS = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}


def _claim(storage: str) -> Step:
    return create("persistentvolumeclaims", claim("c", resources={"requests": {"storage": storage}})).only_of(
        "kind", *_REFUSED
    )


def _class(**fields: Any) -> Step:
    return create("runtimeclasses", {"metadata": {"name": "r-{ns}"}, **fields})


_SCHEDULED = ("kind", "spec.overhead", "spec.nodeSelector", "spec.tolerations", *_REFUSED)


def _of_class(**spec: Any) -> Step:
    return create("pods", pod("p", runtimeClassName="r-{ns}", **spec)).only_of(*_SCHEDULED)


CASES = [
    case("defaults: requests and limits", _range(_USUAL), _pod()),
    case("defaults: what is given stays", _range(_USUAL), _pod(_asks({"cpu": "200m"}, {"cpu": "300m"}))),
    case("defaults: a limit alone", _range(_USUAL), _pod(_asks(None, {"cpu": "2"}))),
    case("defaults: several containers", _range(_USUAL), _pod(container("a"), container("b"))),
    case("defaults: init containers", _range(_USUAL), _pod(container("a"), initContainers=[container("i")])),
    case("defaults: the highest limit is the usual one", _range(_BOUNDS), _pod()),
    case("defaults: the least is requested", _range({"type": "Container", "min": {"cpu": "100m"}}), _pod()),
    case("defaults: nothing for what is there", _pod(name="a"), _range(_USUAL), get("pods/a").only_of(*_SHOWN)),
    case("defaults: a dry run", _range(_USUAL), _post(pod("p"), dryRun="All")),
    case("defaults: extended resources", _range({"type": "Container", "default": {"example.com/gpu": "1"}}), _pod()),
    case("bounds: within", _range(_BOUNDS), _pod(_asks({"cpu": "200m"}, {"cpu": "1"}))),
    case("bounds: too little", _range(_BOUNDS), _pod(_asks({"cpu": "50m"}, {"cpu": "1"}))),
    case("bounds: too much", _range(_BOUNDS), _pod(_asks({"cpu": "200m"}, {"cpu": "2"}))),
    case(
        "bounds: a limit below the least",
        _range({"type": "Container", "min": {"cpu": "1"}}),
        _pod(_asks({"cpu": "1"}, {"cpu": "1"})),
    ),
    case(
        "bounds: two containers",
        _range(_BOUNDS),
        _post(
            pod(
                "p",
                {**_asks({"cpu": "50m"}, {"cpu": "1"}), "name": "a"},
                {**_asks({"cpu": "200m"}, {"cpu": "3"}), "name": "b"},
            )
        ),
    ),
    case(
        "bounds: the same problem twice is told once",
        _range(_BOUNDS),
        _post(pod("p", *({**_asks({"cpu": "50m"}, {"cpu": "1"}), "name": name} for name in "ab"))),
    ),
    case(
        "bounds: an init container",
        _range(_BOUNDS),
        _pod(initContainers=[{**_asks({"cpu": "2"}, {"cpu": "2"}), "name": "i"}]),
    ),
    case("bounds of pods: within", _range(_OF_PODS), _pod(_asks({"cpu": "200m"}, {"cpu": "1"}))),
    case("bounds of pods: nothing is said", _range({"type": "Pod", "min": {"cpu": "1"}}), _pod()),
    case("bounds of pods: no limit is said", _range({"type": "Pod", "max": {"cpu": "1"}}), _pod(_asks({"cpu": "1"}))),
    case(
        "bounds of pods: containers together",
        _range(_OF_PODS),
        _post(pod("p", *({**_asks(None, {"cpu": "600m"}), "name": name} for name in "ab"))),
    ),
    case(
        "bounds of pods: a sidecar counts",
        _range({"type": "Pod", "max": {"cpu": "1"}}),
        _pod(
            _asks(None, {"cpu": "600m"}),
            initContainers=[{**_asks(None, {"cpu": "600m"}), "name": "s", "restartPolicy": "Always"}],
        ),
    ),
    case(
        "bounds of pods: what the pod says itself",
        _range({"type": "Pod", "max": {"cpu": "1"}}),
        _pod(resources={"limits": {"cpu": "2"}}),
    ),
    case(
        "ratio: within",
        _range({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}),
        _pod(_asks({"cpu": "500m"}, {"cpu": "1"})),
    ),
    case(
        "ratio: beyond",
        _range({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}),
        _pod(_asks({"cpu": "300m"}, {"cpu": "1"})),
    ),
    case("ratio: no request", _range({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}), _pod()),
    case(
        "ratio: no limit",
        _range({"type": "Pod", "maxLimitRequestRatio": {"cpu": "2"}}),
        _pod(_asks({"cpu": "300m"})),
    ),
    case("claims: within", _range(_OF_CLAIMS), _claim("1Gi")),
    case("claims: too little", _range(_OF_CLAIMS), _claim("1Mi")),
    case("claims: too much", _range(_OF_CLAIMS), _claim("3Gi")),
    case(
        "changed and deleted",
        _range(_USUAL),
        merge("limitranges/l", {"spec": {"limits": []}}).only_of("spec"),
        _pod(name="a"),
        delete("limitranges/l").only_of("kind", "status"),
    ),
    case(
        "whole",
        create("limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [_USUAL, _OF_PODS]}}),
        get("limitranges/l"),
        get("limitranges/l", _TABLE),
    ),
    case(
        "a quota is met by defaults",
        _range(_USUAL),
        create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "150m"}}}).only_of(
            "spec"
        ),
        get("resourcequotas/q").polled(status__used={"requests.cpu": "0"}).only_of("status"),
        _pod(name="a"),
        _pod(name="b"),
    ),
    _refused("an unknown type", {"type": "Node", "max": {"cpu": "1"}}),
    _refused("no type", {"max": {"cpu": "1"}}),
    _refused("one type twice", _BOUNDS, _BOUNDS),
    _refused("an unknown resource", {"type": "Container", "max": {"wine": "1"}}),
    _refused("storage of containers", {"type": "Container", "max": {"storage": "1"}}),
    _refused("defaults of pods", {"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}),
    _refused("the least above the most", {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}),
    _refused("a default above the most", {"type": "Container", "default": {"cpu": "2"}, "max": {"cpu": "1"}}),
    _refused("a default below the least", {"type": "Container", "default": {"cpu": "1"}, "min": {"cpu": "2"}}),
    _refused(
        "a request above the default", {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}
    ),
    _refused("a request above the most", {"type": "Container", "defaultRequest": {"cpu": "2"}, "max": {"cpu": "1"}}),
    _refused("a ratio below one", {"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}}),
    _refused(
        "a ratio that bounds forbid",
        {"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}},
    ),
    _refused("claims without storage", {"type": "PersistentVolumeClaim", "max": {"cpu": "1"}}),
    _refused(
        "an extended resource that is overcommitted",
        {"type": "Container", "default": {"example.com/gpu": "2"}, "defaultRequest": {"example.com/gpu": "1"}},
    ),
    case("runtime class: whole", _class(handler="runc"), get("runtimeclasses/r-{ns}", _TABLE)),
    case("runtime class: none of the name", _of_class()),
    case("runtime class: nothing but a handler", _class(handler="runc").only_of("kind"), _of_class()),
    case(
        "runtime class: overhead",
        _class(handler="runc", overhead={"podFixed": {"cpu": "250m", "memory": "64Mi"}}),
        _of_class(),
    ),
    case(
        "runtime class: another overhead",
        _class(handler="runc", overhead={"podFixed": {"cpu": "250m"}}).only_of("kind"),
        _of_class(overhead={"cpu": "1"}),
        _of_class(overhead={"cpu": "0.25"}),
    ),
    case(
        "runtime class: overhead counts in quotas",
        _class(handler="runc", overhead={"podFixed": {"cpu": "250m"}}).only_of("kind"),
        create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "1"}}}).only_of("spec"),
        get("resourcequotas/q").polled(status__used={"requests.cpu": "0"}).only_of("status"),
        create("pods", pod("p", _asks({"cpu": "1"}), runtimeClassName="r-{ns}")).only_of(*_SCHEDULED),
        create("pods", pod("p", _asks({"cpu": "500m"}), runtimeClassName="r-{ns}")).only_of(*_SCHEDULED),
        get("resourcequotas/q").polled(status__used={"requests.cpu": "750m"}).only_of("status"),
    ),
    case(
        "runtime class: where it runs",
        _class(
            handler="runc",
            scheduling={
                "nodeSelector": {"disk": "fast"},
                "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
            },
        ),
        _of_class(nodeSelector={"zone": "z"}, tolerations=[{"key": "a", "value": "b", "effect": "NoSchedule"}]),
    ),
    case(
        "runtime class: another place",
        _class(handler="runc", scheduling={"nodeSelector": {"disk": "fast"}}).only_of("kind"),
        _of_class(nodeSelector={"disk": "slow"}),
    ),
    case(
        "runtime class: refused",
        _class(),
        _class(handler="a.b"),
        _class(handler="runc", overhead={"podFixed": {"wine": "1"}}),
        _class(
            handler="runc",
            scheduling={
                "nodeSelector": {"a b": "c"},
                "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "Exists"}],
            },
        ),
    ),
    case(
        "runtime class: the handler stays",
        _class(handler="runc").only_of("kind"),
        merge("runtimeclasses/r-{ns}", {"handler": "other"}),
    ),
]
