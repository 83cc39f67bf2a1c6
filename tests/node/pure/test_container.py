"""Variables, images and what a pod knows of itself."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery import quantity
from rayward.local.node.container.downward import NoSuchField, field_value, resource_value
from rayward.local.node.container.environment import ConfigError, Sources, container_variables, service_variables
from rayward.local.node.container.expansion import expand
from rayward.local.node.container.images import NoImage, entrypoint, find_environment

Object = dict[str, Any]

POD: Object = {
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "uid": "u",
        "labels": {"b": "2", "a": "1"},
        "annotations": {"k": 'x"y'},
    },
    "spec": {
        "nodeName": "n",
        "serviceAccountName": "sa",
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "64Mi"}}}],
    },
    "status": {"podIP": "10.42.0.9", "hostIP": "127.0.0.1"},
}
OBJECTS: dict[tuple[str, str, str], Object] = {
    ("ConfigMap", "ns", "map"): {"kind": "ConfigMap", "data": {"key": "value", "other": "thing"}},
    ("Secret", "ns", "secret"): {"kind": "Secret", "data": {"key": base64.b64encode(b"hidden").decode()}},
}
SOURCES = Sources(
    lambda namespace, name: OBJECTS.get(("ConfigMap", namespace, name)),
    lambda namespace, name: OBJECTS.get(("Secret", namespace, name)),
    {"cpu": quantity.parse("8"), "memory": quantity.parse("16Gi")},
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(B)z", "x1y2z"),
        ("$(C)", "$(C)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A $", "$A $"),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("kill $$", "kill $"),
    ],
)
def test_expansion(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == expected


@given(st.text())
def test_text_without_dollars_stays(text: str) -> None:
    clean = text.replace("$", "")
    assert expand(clean, {"A": "1"}) == clean


@given(st.text())
def test_doubling_every_dollar_hides_them_all(text: str) -> None:
    assert expand(text.replace("$", "$$"), {"A": "1"}) == text


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.uid", "u"),
        ("metadata.labels['a']", "1"),
        ("metadata.labels['none']", ""),
        ("metadata.labels", 'a="1"\nb="2"'),
        ("metadata.annotations", 'k="x\\"y"'),
        ("spec.nodeName", "n"),
        ("status.podIP", "10.42.0.9"),
    ],
)
def test_fields_of_a_pod(path: str, value: str) -> None:
    assert field_value(POD, path) == value


def test_a_field_that_is_not_told() -> None:
    with pytest.raises(NoSuchField, match=r"unsupported fieldPath: spec\.containers"):
        field_value(POD, "spec.containers")


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        ("limits.cpu", "1m", "1500"),
        ("limits.cpu", "1", "2"),
        ("limits.cpu", "0", "2"),
        ("requests.memory", "1Mi", "64"),
        ("requests.cpu", "1m", "1500"),
        ("limits.memory", "1Gi", "16"),
    ],
)
def test_resources_of_a_container(resource: str, divisor: str, value: str) -> None:
    reference = {"resource": resource, "divisor": divisor}
    assert resource_value(POD["spec"], reference, SOURCES.allocatable, "c") == value


def _variables(*env: Object, env_from: list[Object] | None = None) -> dict[str, str]:
    return container_variables(
        POD, {"name": "c", "env": list(env), "envFrom": env_from or []}, SOURCES, {}, {"SVC": "s"}
    )


def test_later_variables_see_earlier_ones() -> None:
    found = _variables(
        {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(SVC)$(LATER)"}, {"name": "LATER", "value": "x"}
    )
    assert found["B"] == "1s$(LATER)"


def test_named_variables_win_over_whole_objects() -> None:
    found = _variables({"name": "key", "value": "mine"}, env_from=[{"configMapRef": {"name": "map"}}])
    assert (found["key"], found["other"]) == ("mine", "thing")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMapKeyRef": {"name": "none", "key": "k"}}, 'configmap "none" not found'),
        ({"secretKeyRef": {"name": "none", "key": "k"}}, 'secret "none" not found'),
        ({"configMapKeyRef": {"name": "map", "key": "k"}}, "couldn't find key k in ConfigMap ns/map"),
        ({"secretKeyRef": {"name": "secret", "key": "k"}}, "couldn't find key k in Secret ns/secret"),
        ({"fieldRef": {"fieldPath": "spec.x"}}, "unsupported fieldPath: spec.x"),
    ],
)
def test_what_is_missing_is_named(source: Object, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        _variables({"name": "V", "valueFrom": source})
    assert str(error.value) == message


def test_optional_sources_may_be_missing() -> None:
    source = {"secretKeyRef": {"name": "none", "key": "k", "optional": True}}
    assert "V" not in _variables(
        {"name": "V", "valueFrom": source}, env_from=[{"secretRef": {"name": "none", "optional": True}}]
    )


def _service(name: str, namespace: str, address: str = "10.43.0.7") -> Object:
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}, {"name": "dns-udp", "port": 53, "protocol": "UDP"}]
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"clusterIP": address, "ports": ports}}


def test_variables_of_services() -> None:
    services = [_service("my-app", "ns"), _service("other", "elsewhere"), _service("headless", "ns", "None")]
    services.append(_service("kubernetes", "default", "10.43.0.1"))
    found = service_variables(services, "ns", links=True)
    assert found["MY_APP_SERVICE_HOST"] == "10.43.0.7"
    assert found["MY_APP_SERVICE_PORT_DNS_UDP"] == "53"
    assert found["MY_APP_PORT"] == "tcp://10.43.0.7:80"
    assert found["MY_APP_PORT_53_UDP_ADDR"] == "10.43.0.7"
    assert found["KUBERNETES_SERVICE_HOST"] == "10.43.0.1"
    assert not any(name.startswith(("OTHER", "HEADLESS")) for name in found)
    assert all(name.startswith("KUBERNETES") for name in service_variables(services, "ns", links=False))


@pytest.fixture
def environment(tmp_path: Path) -> str:
    (tmp_path / "bin").mkdir()
    return str(tmp_path)


@pytest.mark.parametrize(
    ("mapped", "image"),
    [
        ("rayproject/ray", "rayproject/ray:2.52.0"),
        ("rayproject/ray", "docker.io/rayproject/ray"),
        ("rayproject/ray:2.52.0", "rayproject/ray:2.52.0"),
        ("busybox", "docker.io/library/busybox:1"),
        ("registry:5000/a/b", "registry:5000/a/b:tag"),
        ("*", "anything/at:all"),
        ("x", "x@sha256:" + "0" * 64),
    ],
)
def test_images_find_their_environment(environment: str, mapped: str, image: str) -> None:
    found = find_environment(image, {mapped: environment}, default="/other")
    assert (found.folder, found.mapped) == (environment, True)


def test_an_image_that_nobody_mapped_runs_in_the_default_environment() -> None:
    found = find_environment("example.com/any:1", {"other": "/nowhere"}, default="/default")
    assert (found.folder, found.mapped) == ("/default", False)


@pytest.mark.parametrize("image", ["redis", "redis:7.4-alpine", "docker.io/library/redis:latest"])
def test_redis_is_this_machines_own(image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(NoImage, match="redis-server, which is not installed"):
        find_environment(image, {}, default="/default")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "redis-server").touch(0o755)
    found = find_environment(image, {}, default="/default")
    assert (found.folder, found.mapped) == (str(tmp_path), True)


@pytest.mark.parametrize(
    ("image", "arguments", "runs"),
    [
        ("redis:7", [], ["redis-server"]),
        ("redis:7", ["--requirepass", "x"], ["redis-server", "--requirepass", "x"]),
        ("redis", ["/etc/redis.conf"], ["redis-server", "/etc/redis.conf"]),
        ("redis", ["redis-cli", "ping"], ["redis-cli", "ping"]),
        ("example.com/redis", [], ["python3"]),
        ("python", [], ["python3"]),
        ("python", ["app"], ["app"]),
    ],
)
def test_what_an_image_runs_without_a_command(image: str, arguments: list[str], runs: list[str]) -> None:
    assert entrypoint(image, arguments) == runs


@pytest.mark.parametrize(
    ("image", "reason", "text"),
    [
        ("rayproject/ray:2", "ErrImagePull", "add --image rayproject/ray=PATH"),
        ("broken", "ErrImagePull", "is not a Python environment"),
        ("Bad Name", "InvalidImageName", "invalid reference format"),
        ("", "InvalidImageName", "invalid reference format"),
    ],
)
def test_images_without_an_environment(image: str, reason: str, text: str) -> None:
    with pytest.raises(NoImage, match=text) as error:
        find_environment(image, {"broken": "/nowhere"})
    assert error.value.reason == reason
