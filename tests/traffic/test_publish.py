"""What is told in a service's own object."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kinds.labels import DRAINING, SERVING
from rayward.kube.core.service import Service
from rayward.local.traffic.publish import Seen, metadata_patch, status_patch, wanted_annotations


def _service(port: int = 8000, annotations: dict[str, str] | None = None, **more: Any) -> Service:
    spec = {"clusterIP": "10.43.0.7", "ports": [{"port": port}], **more.pop("spec", {})}
    metadata = {"name": "web", "namespace": "default", "uid": "u", "annotations": annotations}
    return msgspec.convert({"metadata": metadata, "spec": spec, **more}, Service)


@pytest.mark.parametrize(
    ("seen", "serving", "draining"),
    [
        pytest.param([], "", None, id="nobody"),
        pytest.param([Seen("b", True, 3), Seen("a", True, 0)], "a,b", None, id="two"),
        pytest.param([Seen("a", False, 1), Seen("b", True, 0)], "b", "a", id="one-left"),
        pytest.param([Seen("a", False, 0), Seen("b", True, 0)], "b", None, id="one-left-and-finished"),
        pytest.param([Seen("a", False, 1), Seen("a", True, 0)], "a", None, id="left-one-port-of-two"),
    ],
)
def test_who_serves_and_who_drains(seen: list[Seen], serving: str, draining: str | None) -> None:
    wanted = wanted_annotations(_service(), seen, {})
    assert (wanted[SERVING], wanted[DRAINING]) == (serving, draining)


def test_services_without_a_port_for_serve_are_left_alone() -> None:
    assert metadata_patch(_service(5432), wanted_annotations(_service(5432), [Seen("a", True, 1)], {})) is None


def test_only_what_is_wrong_is_written() -> None:
    service = _service(annotations={SERVING: "a", DRAINING: "b", "mine": "x"})
    assert metadata_patch(service, wanted_annotations(service, [Seen("a", True, 0), Seen("b", False, 1)], {})) is None
    assert metadata_patch(service, wanted_annotations(service, [Seen("a", True, 0)], {})) == {
        "metadata": {"uid": "u", "annotations": {DRAINING: None}}
    }


_BALANCER = {"type": "LoadBalancer"}
_OURS = {"metadata": {"uid": "u"}, "status": {"loadBalancer": {"ingress": [{"ip": "127.43.0.7"}]}}}


@pytest.mark.parametrize(
    ("service", "patch"),
    [
        pytest.param(_service(), None, id="not-a-balancer"),
        pytest.param(_service(spec=_BALANCER), _OURS, id="without-a-class"),
        pytest.param(_service(spec={**_BALANCER, "loadBalancerClass": "rayward.dev/loopback"}), _OURS, id="our-class"),
        pytest.param(_service(spec={**_BALANCER, "loadBalancerClass": "other"}), None, id="another-class"),
        pytest.param(
            _service(spec=_BALANCER, status={"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}), None, id="has-one"
        ),
    ],
)
def test_load_balancers(service: Service, patch: dict[str, Any] | None) -> None:
    assert status_patch(service) == patch
