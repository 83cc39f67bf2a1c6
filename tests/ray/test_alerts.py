"""Each alert fires when it should and is quiet when it should be, to Prometheus' own ``promtool``."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from rayward.stack import monitoring
from tests.kube.real.debian import unpacked

pytestmark = pytest.mark.ray

_RULES: Final = Path(monitoring.__file__).parent / monitoring.ALERTS
_SHOP: Final = 'namespace="d",name="shop"'
_APP: Final = 'namespace="d",ray_cluster="c",application="app"'
_POD: Final = f'{_APP},deployment="web"'

_READY: Final = {f'kuberay_service_info{{{_SHOP},uid="u"}}': "1"}
_NOT_READY: Final = {**_READY, f'kuberay_service_condition_ready{{{_SHOP},condition="false"}}': "1"}
_LATENCY: Final = "ray_serve_http_request_latency_ms_bucket"

Series = dict[str, str]


def _phase(phase: str) -> Series:
    return {f'rayward_service_phase{{{_SHOP},phase="{phase}"}}': "1"}


def _requests(errors: int) -> Series:
    return {
        f"ray_serve_num_http_requests_total{{{_APP}}}": "0+100",
        **({f"ray_serve_num_http_error_requests_total{{{_APP}}}": f"0+{errors}"} if errors else {}),
    }


def _latencies(fast: int, slow: int) -> Series:
    return {
        f'{_LATENCY}{{{_APP},le="1000"}}': f"0+{fast}",
        f'{_LATENCY}{{{_APP},le="10000"}}': f"0+{fast + slow}",
        f'{_LATENCY}{{{_APP},le="+Inf"}}': f"0+{fast + slow}",
    }


_FIRES: Final[dict[str, Series]] = {
    "RayServiceStalled": {f'rayward_service_stalled{{{_SHOP},reason="ValidationFailed"}}': "1"},
    "RayServiceNotReady": {**_NOT_READY, **_phase("Unavailable")},
    "RayServiceUpgradeSlow": {
        f'rayward_service_cluster_info{{{_SHOP},ray_cluster="{name}"}}': "1" for name in ("a", "b")
    },
    "RayServeErrors": _requests(errors=6),
    "RayServeSlow": _latencies(fast=90, slow=10),
    "RayServeReplicasMissing": {f"ray_serve_autoscaling_target_replicas{{{_POD}}}": "2"},
    "RayPodNotScraped": {'up{job="ray",namespace="d",pod="p",ray_cluster="c"}': "0"},
    "ServiceWithoutBackend": {'rayward_traffic_refused_total{namespace="d",service="shop-serve-svc"}': "0+1"},
    "BackendFails": {'rayward_traffic_failures_total{namespace="d",service="shop-serve-svc"}': "0+1"},
    "RaywardPartDown": {'up{job="rayward",part="operator"}': "0"},
    "RaywardReconcileErrors": {'controller_runtime_reconcile_errors_total{controller="rayservice"}': "0+12"},
    "RaywardWatchSilent": {'rayward_reflector_last_sync_age_seconds{resource="pods"}': "181"},
}
_QUIET: Final[list[tuple[str, Series]]] = [
    ("RayServiceStalled", {f'rayward_service_stalled{{{_SHOP},reason=""}}': "0"}),
    ("RayServiceNotReady", {**_READY, f'kuberay_service_condition_ready{{{_SHOP},condition="true"}}': "1"}),
    *(("RayServiceNotReady", {**_NOT_READY, **_phase(phase)}) for phase in ("Suspending", "Suspended", "Queued")),
    ("RayServiceUpgradeSlow", {f'rayward_service_cluster_info{{{_SHOP},ray_cluster="a"}}': "1"}),
    ("RayServeErrors", _requests(errors=4)),
    ("RayServeErrors", _requests(errors=0)),
    ("RayServeSlow", _latencies(fast=1000, slow=1)),
    (
        "RayServeReplicasMissing",
        {
            f"ray_serve_autoscaling_target_replicas{{{_POD}}}": "2",
            f'ray_serve_deployment_replica_healthy{{{_POD},replica="1"}}': "1",
            f'ray_serve_deployment_replica_healthy{{{_POD},replica="2"}}': "1",
        },
    ),
    ("RayPodNotScraped", {'up{job="ray",namespace="d",pod="p",ray_cluster="c"}': "1"}),
    ("ServiceWithoutBackend", {'rayward_traffic_refused_total{namespace="d",service="shop-serve-svc"}': "7"}),
    ("ServiceWithoutBackend", {'rayward_traffic_refused_total{namespace="d",service="other"}': "0+1"}),
    ("BackendFails", {'rayward_traffic_failures_total{namespace="d",service="shop-serve-svc"}': "7"}),
    ("RaywardPartDown", {'up{job="rayward",part="operator"}': "1"}),
    ("RaywardReconcileErrors", {'controller_runtime_reconcile_errors_total{controller="rayservice"}': "0+1"}),
    ("RaywardWatchSilent", {'rayward_reflector_last_sync_age_seconds{resource="pods"}': "75"}),
]


def _rules() -> list[dict[str, Any]]:
    found: Any = yaml.safe_load(_RULES.read_text())
    return [rule for group in found["groups"] for rule in group["rules"]]


def _minutes(value: str) -> str:
    """A constant or a growth of each minute, for an hour, in promtool's words."""
    return f"{value}x60" if "+" in value else f"{value}+0x60"


def _test(alert: str, series: Series, *, fires: bool) -> dict[str, Any]:
    """Whether an alert is firing after an hour of these series."""
    marker = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
    samples = [{"labels": "{}", "value": 1}] if fires else []
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": _minutes(value)} for name, value in series.items()],
        "promql_expr_test": [{"expr": f"count({marker})", "eval_time": "1h", "exp_samples": samples}],
    }


def test_every_alert_fires_when_it_should_and_is_quiet_when_not(tmp_path: Path) -> None:
    names = {rule["alert"] for rule in _rules()}
    assert set(_FIRES) == {name for name, _ in _QUIET} == names
    tests = [_test(name, series, fires=True) for name, series in _FIRES.items()]
    tests += [_test(name, series, fires=False) for name, series in _QUIET]
    file = tmp_path / "tests.json"
    file.write_text(json.dumps({"rule_files": [str(_RULES)], "evaluation_interval": "1m", "tests": tests}))
    program = shutil.which("promtool") or str(unpacked("prometheus", "prometheus") / "bin" / "promtool")
    done = subprocess.run([program, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
