"""A simulated application: built, deployed, deleted."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.operator.ray.behaviour import Behaviour, Timings
from tests.operator.ray.deployment import Deployment

Config = dict[str, Any]


class Application:
    """One entry of ``applications``.

    ``built`` is the code that its visible deployments come from: None while code is being built and after that
    failed, though what ran before goes on. That is why the same configuration sent twice during a build begins anew.
    """

    def __init__(self, name: str, cpus: float, timings: Timings) -> None:
        self.name = name
        self.config: Config = {}
        self.status = "DEPLOYING"
        self.message = ""
        self.deployed_at = 0.0
        self.prefix: str | None = None
        self.routed = False
        """Whether the proxies know its prefix."""
        self.live: dict[str, Deployment] = {}
        self.built: tuple[Any, ...] | None = None
        self.deleting = False
        self._cpus = cpus
        self._timings = timings
        self._code = Behaviour()
        self._building_since: float | None = None
        self._aimed = True

    @property
    def gone(self) -> bool:
        return self.deleting and not self.live

    @property
    def moving(self) -> bool:
        """Whether another round may change something."""
        if self.deleting or self._building_since is not None or not self._aimed:
            return True
        return any(
            deployment.status not in ("HEALTHY", "DEPLOY_FAILED")
            or deployment.code.sick_after is not None
            or len(deployment.replicas) != (deployment.target if deployment.status == "HEALTHY" else 0)
            for deployment in self.live.values()
        )

    @property
    def visible(self) -> dict[str, Deployment]:
        return {} if self.built is None else self.live

    def apply(self, config: Config, code: Behaviour, now: float) -> None:
        self.config, self.deployed_at = config, now
        self._code = msgspec.structs.replace(code, environment=config.get("runtime_env", {}))
        self.status, self.message, self.deleting = "DEPLOYING", "", False
        if self._version() == self.built:
            self._aimed = False
        else:
            self.built = None
            self._building_since = now

    def delete(self, now: float) -> None:
        if not self.deleting:
            self.deleting, self.built, self.routed, self._building_since = True, None, False, None
            self.status, self.message = "DELETING", ""
            for deployment in self.live.values():
                deployment.delete(now)

    def round(self, now: float) -> None:
        for deployment in self.live.values():
            deployment.round(now)
        if self._building_since is not None and now - self._building_since >= self._code.build_seconds:
            self._finish_build(now)
        elif not self._aimed:
            self._aim(now)
        self.live = {n: d for n, d in self.live.items() if not (d.deleting and not d.replicas)}
        if self.built is not None:
            self.status, self.message = self._judged()

    def _finish_build(self, now: float) -> None:
        self._building_since = None
        if self._code.build_error:
            self.status = "DEPLOY_FAILED"
            self.message = (
                f"Deploying app '{self.name}' failed with exception:\nTraceback (most recent call last):\n"
                f"{self._code.build_error}\n"
            )
            return
        self.built = self._version()
        self._aim(now)

    def _version(self) -> tuple[Any, ...]:
        return self.config["import_path"], self.config.get("args"), self._code

    def _aim(self, now: float) -> None:
        self._aimed = True
        self.prefix, self.routed = self.config.get("route_prefix", "/"), True
        code = self._code
        override = next((d for d in self.config.get("deployments", ()) if d.get("name") == code.deployment), {})
        replicas, settings = override.get("num_replicas", code.num_replicas), override.get("user_config")
        limit, surge = override.get("max_replicas_per_node"), override.get("max_surge_percent", 0) > 0
        for name, deployment in self.live.items():
            if name != code.deployment:
                deployment.delete(now)
        if code.deployment not in self.live:
            made = Deployment(self.name, code, replicas, settings, self._cpus, self._timings)
            self.live[code.deployment] = made
        self.live[code.deployment].aim(code, replicas, settings, limit, surge=surge)

    def _judged(self) -> tuple[str, str]:
        statuses = {name: deployment.status for name, deployment in self.live.items() if not deployment.deleting}
        failed = [name for name, status in statuses.items() if status == "DEPLOY_FAILED"]
        if failed:
            return "DEPLOY_FAILED", f"Failed to update the deployments {failed}."
        unhealthy = [name for name, status in statuses.items() if status == "UNHEALTHY"]
        if unhealthy:
            return "UNHEALTHY", f"The deployments {unhealthy} are UNHEALTHY."
        return ("DEPLOYING" if "UPDATING" in statuses.values() else "RUNNING"), ""
