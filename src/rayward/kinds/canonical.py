"""One form for everything that the API takes for the same: what clients write back differently and mean alike.

A typed Go client writes ``resources: {}`` and ``metadata: {}`` where nothing was, drops fields that are empty or zero,
and spells quantities anew; other clients keep ``null`` and ``[]``; users spell defaults out. In the canonical form all
of that is gone: nothing is absent, quantities are numbers, defaults of pods are left out. What is empty and means
something stays: an empty volume, a selector of everything, an empty label value, zero where zero is not the default.
"""

from __future__ import annotations

from typing import Any, Final, cast

from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, is_object

_TEMPLATE_METADATA: Final = ("name", "labels", "annotations", "finalizers")
"""What of a template's metadata reaches a pod."""
_USER_KEYS: Final = frozenset(
    {"labels", "annotations", "nodeSelector", "matchLabels", "volumeAttributes", "options", "data", "rayStartParams"}
)
"""Maps whose keys are the user's: an empty value there is a value."""
_AMOUNTS: Final = frozenset({"limits", "requests", "overhead"})
_AMOUNT: Final = frozenset({"sizeLimit", "divisor"})
_EMPTY_MEANS_SOMETHING: Final = frozenset(
    {"emptyDir", "downwardAPI", "projected", "labelSelector", "namespaceSelector", "podSelector"}
)
_BLANK_MEANS_SOMETHING: Final = frozenset({"storageClassName"})
_ZERO_IS_ABSENT: Final = frozenset(
    {
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "stdin",
        "stdinOnce",
        "tty",
        "readOnly",
        "hostPort",
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
        "publishNotReadyAddresses",
        "nodePort",
    }
)
"""Fields that Go's types hold as plain numbers and booleans: a typed client drops their zero."""
_ZERO_IS_ABSENT_FROM_V3: Final = frozenset(
    {"targetPort", "healthCheckNodePort", "partition", "sslEnabled", "chapAuthDiscovery", "chapAuthSession"}
)
"""The rest of them, which v2 of the hash did not know; a Go client adds ``targetPort: 0`` where none was written."""

_POD: Final[Object] = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "enableServiceLinks": True,
}
_CONTAINER: Final[Object] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Final[Object] = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_FILES: Final[Object] = {"defaultMode": 420}
_DEFAULTS: Final[dict[str, Object]] = {
    "containers": _CONTAINER,
    "initContainers": _CONTAINER,
    "ports": {"protocol": "TCP"},
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "startupProbe": _PROBE,
    "httpGet": {"path": "/", "scheme": "HTTP"},
    "fieldRef": {"apiVersion": "v1"},
    "configMap": _FILES,
    "secret": _FILES,
    "downwardAPI": _FILES,
    "projected": _FILES,
    "serviceAccountToken": {"expirationSeconds": 3600},
}
"""The API's defaults, by the name of the field whose object, or whose list of objects, has them."""


def canonical_template(template: Object, *, without: tuple[str, ...] = (), as_v2: bool = False) -> Object:
    """A pod template; ``without`` these fields of the pod's spec, and ``as_v2`` of the hash counted it."""
    if not as_v2:
        template = _without_zeros(template)
    found: Object = {}
    given = template.get("metadata")
    if is_object(given):
        metadata = _canonical({part: given[part] for part in _TEMPLATE_METADATA if part in given})
        if metadata:
            found["metadata"] = metadata
    given = template.get("spec")
    if is_object(given):
        spec: Object = _canonical({name: part for name, part in given.items() if name not in without})
        spec = _without_defaults(spec, _POD)
        if spec:
            found["spec"] = spec
    return found


def canonical(value: Any, field: str = "", *, as_v2: bool = False) -> Any:
    """A value of the API; ``field`` is the name of the field that holds it."""
    return _canonical(value if as_v2 else _without_zeros(value, field), field)


def _without_zeros(value: Any, field: str = "") -> Any:
    if isinstance(value, list):
        return [_without_zeros(item, field) for item in cast("list[Any]", value)]
    if not is_object(value) or field in _USER_KEYS or field in _AMOUNTS:
        return value
    found: Object = {
        name: _without_zeros(part, name)
        for name, part in value.items()
        if not (name in _ZERO_IS_ABSENT_FROM_V3 and part in (0, False, ""))
        # Nobody asks for the status of a Service: a typed client writes one.
        and not (field == "headService" and name == "status")
    }
    if "targetPort" in found and found["targetPort"] == found.get("port"):
        # The default of a Service.
        del found["targetPort"]
    return found


def _canonical(value: Any, field: str = "") -> Any:
    if is_object(value):
        return _canonical_object(value, field)
    if isinstance(value, list):
        return [_canonical(item, field) for item in cast("list[Any]", value)]
    if field in _AMOUNT:
        return _amount(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _canonical_object(value: Object, field: str) -> Object:
    if field in _AMOUNTS:
        return {name: _amount(part) for name, part in value.items() if part is not None}
    if field in _USER_KEYS:
        return {name: part for name, part in value.items() if part is not None}
    found: Object = {}
    for name, part in value.items():
        made = _canonical(part, name)
        if not _is_absent(made, name):
            found[name] = made
    if field in ("containers", "initContainers"):
        _simplify_container(found)
    if field == "resourceFieldRef" and found.get("divisor") in (_amount("0"), _amount("1")):
        del found["divisor"]
    return _without_defaults(found, _DEFAULTS.get(field, {}))


def _is_absent(value: Any, name: str) -> bool:
    if value is None or value == []:
        return True
    if value == {}:
        return name not in _EMPTY_MEANS_SOMETHING
    if value == "":
        return name not in _BLANK_MEANS_SOMETHING
    return name in _ZERO_IS_ABSENT and value in (0, False)


def _simplify_container(container: Object) -> None:
    resources: Object = container.get("resources") or {}
    limits, requests = resources.get("limits"), resources.get("requests")
    if limits and requests:
        # A request that is left out is the limit.
        kept = {name: amount for name, amount in requests.items() if limits.get(name) != amount}
        container["resources"] = {**resources, "requests": kept} if kept else _without(resources, "requests")
    if container.get("imagePullPolicy") == _pull_policy(container.get("image")):
        del container["imagePullPolicy"]


def _without(value: Object, name: str) -> Object:
    return {other: part for other, part in value.items() if other != name}


def _pull_policy(image: Any) -> str:
    if not isinstance(image, str):
        return ""
    name, at, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or at) else "IfNotPresent"


def _amount(value: Any) -> Any:
    """The number that a quantity is; what is no quantity stays as it is."""
    try:
        found = quantity.parse(value)
    except quantity.QuantityError:
        return value
    unscaled, scale = found.unscaled, found.scale
    if unscaled == 0:
        return "0e0"
    while unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale + 1
    return f"{unscaled}e{scale}"


def _without_defaults(value: Object, defaults: Object) -> Object:
    return {name: part for name, part in value.items() if name not in defaults or part != defaults[name]}
