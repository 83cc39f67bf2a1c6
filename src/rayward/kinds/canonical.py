"""One form for everything that the API takes for the same: what clients write back differently and mean alike.

A typed Go client writes ``resources: {}`` and ``metadata: {}`` where nothing was, drops fields that are empty or zero,
and spells quantities anew; other clients keep ``null`` and ``[]``; users spell defaults out. In the canonical form all
of that is gone: nothing is absent, quantities are numbers, defaults of pods are left out. What is empty and means
something stays: an empty volume, a selector of everything, an empty label value, zero where zero is not the default.
"""

from __future__ import annotations

from typing import Any, Final, Literal, cast

from rayward.kube.machinery import quantity
from rayward.kube.machinery.images import pull_policy_of
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object

Reading = Literal["v2", "v3", "v4"]
"""Versions of these rules: what is stored was read by those of its time."""
LATEST: Final = "v4"

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
"""The rest of them, which v2 did not know; a Go client adds ``targetPort: 0`` where none was written."""

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
_DEFAULTS_FROM_V4: Final[dict[str, Object]] = {
    "ephemeralContainers": _CONTAINER,
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "iscsi": {"iscsiInterface": "default"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
_SAYS_NOTHING_FROM_V4: Final[Object] = {
    "hostUsers": True,
    "mountPropagation": "None",
    "optional": False,
    "preemptionPolicy": "PreemptLowerPriority",
    "procMount": "Default",
    "recursiveReadOnly": "Disabled",
    "shareProcessNamespace": False,
    "volumeMode": "Filesystem",
}
"""What is so anyway, wherever a field of that name is."""
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_FINEST: Final = -3
"""The API keeps amounts of resources in thousandths, rounded up."""


def canonical_template(template: Object, *, without: tuple[str, ...] = (), version: Reading = LATEST) -> Object:
    """A pod template; ``without`` these fields of the pod's spec, and as that version reads it."""
    template = _prepared(template, "", version)
    found: Object = {}
    given = template.get("metadata")
    if is_object(given):
        metadata = _canonical({part: given[part] for part in _TEMPLATE_METADATA if part in given})
        if metadata:
            found["metadata"] = metadata
    given = template.get("spec")
    if is_object(given):
        if version == "v4":
            given = _simplify_pod(given)
        spec: Object = _canonical({name: part for name, part in given.items() if name not in without})
        spec = _without_defaults(spec, _POD)
        if spec:
            found["spec"] = spec
    return found


def canonical(value: Any, field: str = "", *, version: Reading = LATEST) -> Any:
    """A value of the API; ``field`` is the name of the field that holds it."""
    return _canonical(_prepared(value, field, version), field)


def _prepared(value: Any, field: str, version: Reading) -> Any:
    """Without what versions after the second take for nothing."""
    if version == "v2":
        return value
    value = _without_zeros(value, field)
    return value if version == "v3" else _without_implied(value, field)


def _without_implied(value: Any, field: str = "") -> Any:
    """Without defaults that v3 did not know: a template read from a server, or written from the reference, has them."""
    if isinstance(value, list):
        return [_without_implied(item, field) for item in cast("list[Any]", value)]
    if field in _AMOUNTS and is_object(value):
        return {name: _rounded(part) for name, part in value.items()}
    if not is_object(value) or field in _USER_KEYS:
        return value
    found: Object = {
        name: _without_implied(part, name)
        for name, part in value.items()
        if not (name in _SAYS_NOTHING_FROM_V4 and part == _SAYS_NOTHING_FROM_V4[name])
    }
    if field in _CONTAINERS and not found.get("imagePullPolicy"):
        found["imagePullPolicy"] = pull_policy_of(str(found.get("image") or ""))
    if field == "image" and found.get("pullPolicy") == pull_policy_of(str(found.get("reference") or "")):
        del found["pullPolicy"]
    if field == "volumes" and all(part is None for name, part in found.items() if name != "name"):
        found["emptyDir"] = {}
    return _without_defaults(found, _DEFAULTS_FROM_V4.get(field, {}))


def _simplify_pod(spec: Object) -> Object:
    """A pod's spec without the old name of its account, and without the ports that its node gives it anyway."""
    spec = dict(spec)
    alias = spec.pop("serviceAccount", None)
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = alias
    if spec.get("hostNetwork"):
        for field in _CONTAINERS:
            if is_list(containers := spec.get(field)):
                spec[field] = [_without_host_ports(container) for container in containers]
    return spec


def _without_host_ports(container: Any) -> Any:
    """What is no container, or no port, is left for validation to find."""
    if not is_object(container) or not is_list(ports := container.get("ports")):
        return container
    return {
        **container,
        "ports": [
            _without(port, "hostPort")
            if is_object(port) and port.get("hostPort") == port.get("containerPort")
            else port
            for port in ports
        ],
    }


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


def _rounded(value: Any) -> Any:
    try:
        found = quantity.parse(value)
    except quantity.QuantityError:
        return value
    return value if found.scale >= _FINEST else f"{found.scaled(_FINEST)}e{_FINEST}"


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
