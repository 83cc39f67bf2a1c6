"""The JSON of simulated Serve, with every field that real Serve has."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.operator.ray.application import Application
from tests.operator.ray.deployment import STARTING, Deployment, Replica

NODE_IP = "127.0.0.1"


def hex_id(what: str, digits: int = 56) -> str:
    return hashlib.sha256(what.encode()).hexdigest()[:digits]


def actor(what: str, log: str, instance: str, *, known: bool = True) -> dict[str, Any]:
    """Where an actor is; before that is ``known``, only its name."""
    if not known:
        return {"actor_name": what}
    return {
        "node_id": hex_id("node"),
        "node_ip": NODE_IP,
        "node_instance_id": instance,
        "actor_id": hex_id(what, 32),
        "actor_name": what,
        "worker_id": hex_id(f"worker of {what}"),
        "log_file_path": log,
    }


def application(app: Application, instance: str) -> dict[str, Any]:
    built = app.built is not None
    return {
        "name": app.name,
        "route_prefix": app.prefix,
        "docs_path": None,
        "status": app.status,
        "message": app.message,
        "last_deployed_time_s": app.deployed_at,
        "deployed_app_config": None if app.deleting else app.config,
        "source": "declarative",
        "deployments": {name: deployment(found, instance) for name, found in app.visible.items() if not found.deleting},
        "external_scaler_enabled": False,
        "deployment_topology": _topology(app) if built else None,
    }


def deployment(found: Deployment, instance: str) -> dict[str, Any]:
    return {
        "name": found.name,
        "status": found.status,
        "status_trigger": found.trigger,
        "message": found.message,
        "deployment_config": {
            "name": found.name,
            "num_replicas": found.target,
            "max_ongoing_requests": 5,
            "max_queued_requests": -1,
            "backpressure_config": {"status_code": 503, "retry_after_s": None},
            "user_config": found.settings,
            "graceful_shutdown_wait_loop_s": 2.0,
            "graceful_shutdown_timeout_s": 20.0,
            "health_check_period_s": 10.0,
            "health_check_timeout_s": 30.0,
            "ray_actor_options": {
                **({"runtime_env": found.code.environment} if found.code.environment else {}),
                "num_cpus": 0.1 if found.code.grouped else found.code.cpus,
            },
            **({"max_replicas_per_node": found.limit} if found.limit is not None else {}),
            **({"placement_group_bundles": [{"CPU": found.code.cpus}]} if found.code.grouped else {}),
            "request_router_config": {
                "request_router_class": "ray.serve._private.request_router:PowerOfTwoChoicesRequestRouter",
                "request_router_kwargs": {},
                "request_routing_stats_period_s": 10.0,
                "request_routing_stats_timeout_s": 30.0,
                "initial_backoff_s": 0.025,
                "backoff_multiplier": 2.0,
                "max_backoff_s": 0.5,
            },
            "rolling_update_percentage": 0.2,
            "max_surge_percent": 100 if found.surge else 0,
        },
        "target_num_replicas": found.target,
        "required_resources": {"CPU": int(found.code.cpus)},
        "replicas": [_replica(found, replica, instance) for replica in found.replicas],
        "recent_dead_replicas": [{**_replica(found, replica, instance), "state": "STOPPED"} for replica in found.dead],
    }


def _name(found: Deployment, replica: Replica) -> str:
    return f"{found.app}-{found.name}-{replica.number}"


def _replica(found: Deployment, replica: Replica, instance: str) -> dict[str, Any]:
    unique = hex_id(_name(found, replica), 8)
    name, known = f"SERVE_REPLICA::{found.app}#{found.name}#{unique}", replica.state != STARTING
    return {
        **actor(name, f"/serve/replica_{found.app}_{found.name}_{unique}.log", instance, known=known),
        "replica_id": unique,
        "state": replica.state,
        **({"pid": 1000 + replica.number} if known else {}),
        "start_time_s": replica.since,
    }


def _topology(app: Application) -> dict[str, Any]:
    return {
        "app_name": app.name,
        "nodes": {
            name: {"name": name, "app_name": app.name, "outbound_deployments": [], "is_ingress": True}
            for name in app.live
        },
        "ingress_deployment": next(iter(app.live), ""),
    }


def serve(apps: dict[str, Application], port: int, proxy: str, capacity: float | None, instance: str) -> dict[str, Any]:
    name = f"SERVE_PROXY_ACTOR-{hex_id('node')}"
    target = {"ip": NODE_IP, "port": port, "instance_id": instance, "name": name}
    return {
        "controller_info": actor("SERVE_CONTROLLER_ACTOR", "/serve/controller_1.log", instance),
        "proxy_location": "EveryNode",
        "http_options": {
            "host": NODE_IP,
            "port": port,
            "root_path": "",
            "request_timeout_s": None,
            "keep_alive_timeout_s": 90,
            "ssl_keyfile": None,
            "ssl_certfile": None,
            "ssl_keyfile_password": None,
            "ssl_ca_certs": None,
        },
        "grpc_options": {
            "port": 9000,
            "grpc_servicer_functions": [],
            "request_timeout_s": None,
            "enable_reflection": True,
        },
        "proxies": {hex_id("node"): {**actor(name, f"/serve/proxy_{NODE_IP}.log", instance), "status": proxy}},
        "applications": {app.name: application(app, instance) for app in apps.values()},
        "target_capacity": capacity,
        "target_groups": [
            {
                "targets": [target],
                "route_prefix": "/",
                "protocol": "HTTP",
                "app_name": "",
                "ingress_request_router_targets": [],
                "ingress_deployment_name": "",
            }
        ],
        "controller_health_metrics": {},
        "restores_unset_config_options": True,
    }
