"""Random pods, services and deployments, and strategic merge patches for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.machinery.answers.question import Object

_KEYS = {
    "containers": "name",
    "env": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "ownerReferences": "uid",
    "conditions": "type",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
}
_NEVER_TOUCHED = {*_KEYS.values(), "port"}


def strategic_patches(random: Random, count: int) -> Iterator[tuple[str, Object, Object]]:
    """Kind, live object and patch."""
    for _ in range(count):
        kind = random.choice(["Pod", "Pod", "Service", "Deployment", "ConfigMap"])
        live, wanted = _object(random, kind), _object(random, kind)
        yield kind, live, _patch(random, wanted, "port" if kind == "Service" else "containerPort")


def _some(random: Random, make: Callable[[Random], Any], most: int = 3) -> list[Any]:
    return [make(random) for _ in range(random.randint(0, most))]


def _unique(random: Random, make: Callable[[Random], Object], key: str) -> list[Object]:
    return list({item[key]: item for item in _some(random, make)}.values())


def _partly(random: Random, **members: Any) -> Object:
    chosen = {key: value for key, value in members.items() if random.random() < 0.6}
    return {key: value(random) if callable(value) else value for key, value in chosen.items()}


def _text(random: Random) -> str:
    return random.choice("abcde")


def _environment(random: Random) -> Object:
    return {"name": random.choice("ABC"), **_partly(random, value=_text, valueFrom={"fieldRef": {"fieldPath": "x"}})}


def _port(random: Random) -> Object:
    return {"containerPort": random.choice([80, 443, 90]), **_partly(random, protocol="TCP", name=_text)}


def _mount(random: Random) -> Object:
    return {"mountPath": _text(random), "name": _text(random)}


def _container(random: Random) -> Object:
    return {
        "name": random.choice("wxyz"),
        **_partly(
            random,
            image=_text,
            env=lambda r: _unique(r, _environment, "name"),
            ports=lambda r: _unique(r, _port, "containerPort"),
            command=lambda r: _some(r, _text),
            resources=lambda r: {"limits": _partly(r, cpu="1", memory="2")},
            volumeMounts=lambda r: _unique(r, _mount, "mountPath"),
        ),
    }


def _volume(random: Random) -> Object:
    sources: list[Object] = [{"emptyDir": {}}, {"configMap": {"name": _text(random)}}, {"secret": {"secretName": "s"}}]
    return {"name": random.choice("uv"), **random.choice(sources)}


def _metadata(random: Random) -> Object:
    return _partly(
        random,
        labels=lambda r: _partly(r, a="1", b="2", c="3"),
        annotations=lambda r: _partly(r, x="1"),
        finalizers=lambda r: r.sample("abcde", r.randint(0, 4)),
        ownerReferences=lambda r: _unique(r, lambda q: {"uid": q.choice("12"), "kind": _text(q)}, "uid"),
        name="n",
    )


def _pod_spec(random: Random) -> Object:
    return _partly(
        random,
        containers=lambda r: _unique(r, _container, "name"),
        volumes=lambda r: _unique(r, _volume, "name"),
        nodeSelector=lambda r: _partly(r, a="1", b="2"),
        tolerations=lambda r: _some(r, lambda q: {"key": _text(q)}),
        imagePullSecrets=lambda r: _unique(r, lambda q: {"name": _text(q)}, "name"),
        restartPolicy="Always",
    )


def _object(random: Random, kind: str) -> Object:
    match kind:
        case "Pod":
            specific = _partly(random, metadata=_metadata, spec=_pod_spec)
        case "Service":
            ports = _unique(random, lambda r: {"port": r.choice([80, 443]), **_partly(r, name=_text)}, "port")
            specific = _partly(random, metadata=_metadata, spec=lambda r: _partly(r, ports=ports, selector={"a": "1"}))
        case "Deployment":
            strategies: list[Object] = [
                {"type": "Recreate"},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            ]
            template: Object = _partly(random, metadata=_metadata, spec=_pod_spec)
            spec = _partly(random, replicas=1, strategy=random.choice(strategies), template=template)
            specific = _partly(random, metadata=_metadata, spec=spec)
        case _:
            specific = _partly(random, metadata=_metadata, data=lambda r: _partly(r, a="1", b="2"))
    return {"kind": kind, **specific}


def _patch(random: Random, wanted: Any, port_key: str, name: str = "") -> Any:
    """The wanted value with nulls and directives here and there."""
    if isinstance(wanted, list):
        return _list_patch(random, wanted, port_key, name)
    if not isinstance(wanted, dict):
        return wanted
    patch: Object = {}
    for key, value in wanted.items():
        share = random.random()
        if share < 0.08 and key not in _NEVER_TOUCHED:
            patch[key] = None
        elif share < 0.09 and key not in _NEVER_TOUCHED:
            patch[key] = random.choice([1, "text", [], {}, ["q"]])
        else:
            patch[key] = _patch(random, value, port_key, key)
            if isinstance(value, list) and random.random() < 0.3:
                patch |= _order(random, key, value, port_key)
    if random.random() < 0.05:
        patch["$patch"] = random.choice(["replace", "delete", "replace", "delete", "merge", "nope"])
    if random.random() < 0.06:
        patch["$retainKeys"] = [key for key in patch if not key.startswith("$") and random.random() < 0.95]
    return patch


def _order(random: Random, key: str, items: list[Any], port_key: str) -> Object:
    merge_key = port_key if key == "ports" else _KEYS.get(key)
    if merge_key:
        order: list[Any] = [{merge_key: item[merge_key]} for item in items] + [{merge_key: random.choice("xyzA1")}]
    elif key == "finalizers":
        order = [*items, *_some(random, _text, 2)]
    else:
        return {}
    if random.random() < 0.3:
        random.shuffle(order)
    directives: Object = {f"$setElementOrder/{key}": order}
    if key == "finalizers" and random.random() < 0.5:
        directives["$deleteFromPrimitiveList/finalizers"] = _some(random, _text)
    return directives


def _list_patch(random: Random, items: list[Any], port_key: str, name: str) -> list[Any]:
    patch = [_patch(random, item, port_key) for item in items]
    merge_key = port_key if name == "ports" else _KEYS.get(name)
    if merge_key and random.random() < 0.3:
        gone = random.choice([*"xyzAB1a", 80])
        patch.insert(random.randint(0, len(patch)), {merge_key: gone, "$patch": "delete"})
    if merge_key and random.random() < 0.05:
        patch.insert(random.randint(0, len(patch)), {"$patch": random.choice(["replace", "replace", "merge", "zz"])})
    if merge_key and random.random() < 0.02:
        patch.append(random.choice([{}, {"foo": 1}, "s"]))
    return patch
