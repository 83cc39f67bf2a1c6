"""What Prometheus and Grafana need to watch a stack, written into its data folder.

The operator and the traffic serve their metrics on this machine's loopback, at ports that files tell; Ray's pods are
reached through the API server.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import yaml

from rayward.stack.folder import Folder

ALERTS: Final = "alerts.yaml"
DASHBOARD: Final = "rayward-services.json"
SCRAPING: Final = "prometheus.yml"


def write(folder: Folder) -> None:
    """Write, or write again, how to scrape this stack, the alert rules and the dashboard."""
    folder = Folder(folder.root.resolve())
    folder.monitoring.mkdir(mode=0o700, exist_ok=True)
    given = files(__name__)
    for name in (ALERTS, DASHBOARD):
        (folder.monitoring / name).write_bytes((given / name).read_bytes())
    port = int(folder.port.read_text())
    (folder.monitoring / SCRAPING).write_text(yaml.safe_dump(scraping(folder, port), sort_keys=False))


def scraping(folder: Folder, port: int) -> dict[str, Any]:
    """A whole configuration of Prometheus for the stack whose API server has that port."""
    server = f"127.0.0.1:{port}"
    keys = folder.kubeconfig_of("monitoring")

    def access() -> dict[str, Any]:
        # made anew each time, or YAML refers from one to the other
        return {
            "scheme": "https",
            "tls_config": {"ca_file": str(keys.with_name("ca.crt"))},
            "authorization": {"credentials_file": str(keys.with_suffix(".token"))},
        }

    return {
        # As often as Ray's pods report to their agents.
        "global": {"scrape_interval": "5s", "evaluation_interval": "5s"},
        "rule_files": [ALERTS],
        "scrape_configs": [
            {
                "job_name": "rayward",
                "file_sd_configs": [{"files": [str(folder.operator_metrics), str(folder.traffic_metrics)]}],
            },
            {"job_name": "apiserver", **access(), "static_configs": [{"targets": [server]}]},
            {"job_name": "ray", **access(), "file_sd_configs": [{"files": [str(folder.ray_metrics)]}]},
        ],
    }
