"""A pod, as kubectl tells it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rayward.cli.describing.common import tell_conditions, tell_events, tell_marks, tell_metadata
from rayward.cli.describing.paper import Paper
from rayward.kube.machinery.jsonvalue import Object, entries, section

_PROBES = (("livenessProbe", "Liveness"), ("readinessProbe", "Readiness"), ("startupProbe", "Startup"))


def describe(pod: Object, events: Sequence[Object], now: datetime) -> str:
    """A pod with its containers, volumes, conditions and events."""
    paper = Paper()
    spec, status = section(pod, "spec"), section(pod, "status")
    tell_metadata(paper, pod)
    paper.field("Priority", spec.get("priority", 0))
    paper.field("Service Account", spec.get("serviceAccountName"))
    paper.field("Node", _node(spec, status))
    paper.field("Start Time", status.get("startTime"))
    tell_marks(paper, pod)
    paper.field("Status", _phase(pod, status))
    for name in ("reason", "message"):
        if status.get(name):
            paper.field(name.title(), status[name])
    paper.field("IP", status.get("podIP"))
    for title, field, told in (
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
    ):
        if entries(spec, field):
            paper.say(f"{title}:")
            states = {one["name"]: one for one in entries(status, told)}
            for container in entries(spec, field):
                _container(paper, container, section(states, container["name"]))
    tell_conditions(paper, entries(status, "conditions"))
    _volumes(paper, entries(spec, "volumes"))
    paper.field("QoS Class", status.get("qosClass"))
    paper.pairs("Node-Selectors", section(spec, "nodeSelector"))
    paper.field("Tolerations", "\n".join(map(toleration, entries(spec, "tolerations"))))
    tell_events(paper, events, now)
    return paper.text()


def _node(spec: Object, status: Object) -> str:
    name, address = spec.get("nodeName"), status.get("hostIP")
    return f"{name}/{address}" if name and address else name or ""


def _phase(pod: Object, status: Object) -> str:
    since = pod["metadata"].get("deletionTimestamp")
    return f"Terminating (since {since})" if since else str(status.get("phase") or "")


def _container(paper: Paper, container: Object, told: Object) -> None:
    paper.say(f"{container['name']}:", 1)
    ports = [f"{port['containerPort']}/{port.get('protocol', 'TCP')}" for port in entries(container, "ports")]
    named = [f" ({port['name']})" if port.get("name") else "" for port in entries(container, "ports")]
    fields: list[tuple[str, Any]] = [
        ("Image", container.get("image")),
        ("Ports", ", ".join(port + name for port, name in zip(ports, named, strict=True))),
    ]
    fields += [
        (title, "\n".join(map(str, entries(container, field))))
        for title, field in (("Command", "command"), ("Args", "args"))
        if entries(container, field)
    ]
    for title, value in fields:
        paper.field(title, value, depth=2)
    _state(paper, "State", section(told, "state"))
    if section(told, "lastState"):
        _state(paper, "Last State", section(told, "lastState"))
    paper.field("Ready", told.get("ready", False), depth=2)
    paper.field("Restart Count", told.get("restartCount", 0), depth=2)
    resources = section(container, "resources")
    for title, field in (("Limits", "limits"), ("Requests", "requests")):
        if section(resources, field):
            paper.pairs(title, section(resources, field), depth=2, sign=": ")
    for field, title in _PROBES:
        if section(container, field):
            paper.field(title, probe(section(container, field)), depth=2)
    variables = [_variable(one) for one in entries(container, "env")]
    variables += [_source(one) for one in entries(container, "envFrom")]
    paper.field("Environment", "\n".join(variables), depth=2)
    mounts = [
        f"{one['mountPath']} from {one['name']} ({'ro' if one.get('readOnly') else 'rw'})"
        for one in entries(container, "volumeMounts")
    ]
    paper.field("Mounts", "\n".join(mounts), depth=2)


def _state(paper: Paper, title: str, state: Object) -> None:
    word = next(iter(state), "waiting")
    details = section(state, word)
    paper.field(title, word.title(), depth=2)
    names = (
        ("Reason", "reason"),
        ("Message", "message"),
        ("Exit Code", "exitCode"),
        ("Signal", "signal"),
        ("Started", "startedAt"),
        ("Finished", "finishedAt"),
    )
    for shown, name in names:
        if details.get(name) not in (None, ""):
            paper.field(f"  {shown}", details[name], depth=2)


def probe(found: Object) -> str:
    """A probe in kubectl's words."""
    times = (
        f"delay={found.get('initialDelaySeconds', 0)}s timeout={found.get('timeoutSeconds', 1)}s "
        f"period={found.get('periodSeconds', 10)}s #success={found.get('successThreshold', 1)} "
        f"#failure={found.get('failureThreshold', 3)}"
    )
    web, tcp, command = (section(found, name) for name in ("httpGet", "tcpSocket", "exec"))
    if web:
        scheme = str(web.get("scheme", "HTTP")).lower()
        return f"http-get {scheme}://{web.get('host', '')}:{web.get('port')}{web.get('path', '')} {times}"
    if tcp:
        return f"tcp-socket {tcp.get('host', '')}:{tcp.get('port')} {times}"
    return f"exec [{' '.join(entries(command, 'command'))}] {times}"


def _variable(one: Object) -> str:
    source = section(one, "valueFrom")
    if not source:
        return f"{one['name']}: {one.get('value', '')}"
    kind, place = next(iter(source.items()))
    words = {
        "secretKeyRef": "<set to the key '{key}' in secret '{name}'>",
        "configMapKeyRef": "<set to the key '{key}' of config map '{name}'>",
        "fieldRef": "({fieldPath})",
        "resourceFieldRef": "({resource})",
    }
    try:
        return f"{one['name']}: {words[kind].format(**place)}"
    except KeyError:
        return f"{one['name']}: ({kind})"


def _source(one: Object) -> str:
    for field, words in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        if section(one, field):
            return f"all of {words} '{section(one, field).get('name')}'"
    return "<unknown>"


def _volumes(paper: Paper, volumes: Sequence[Object]) -> None:
    if not volumes:
        paper.field("Volumes", None)
        return
    paper.say("Volumes:")
    for volume in volumes:
        kind = next((name for name in volume if name != "name"), "emptyDir")
        shown = {name: value for name, value in section(volume, kind).items() if not isinstance(value, list | dict)}
        values = ", ".join(f"{name}={value}" for name, value in sorted(shown.items()))
        paper.say(f"{volume['name']}: {kind}{f' ({values})' if values else ''}", 1)


def toleration(one: Object) -> str:
    """A toleration in kubectl's words."""
    key, value, effect = one.get("key", ""), one.get("value"), one.get("effect")
    text = key + (f"={value}" if value else "") + (f":{effect}" if effect else "")
    text += " op=Exists" if one.get("operator") == "Exists" else ""
    seconds = one.get("tolerationSeconds")
    return text + (f" for {seconds}s" if seconds is not None else "")
