"""Whether Ray Serve has the config of a RayService, by Ray's own word.

KubeRay's operator writes its status only when something in it changes other than the generation: nothing there tells
whether it has sent a Serve config on. Rayward's operator says so, and is not asked twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from rayward.changes.judging import State, Verdict
from rayward.changes.raydashboard import dashboard_of
from rayward.changes.refs import Ref
from rayward.changes.steps import Operation, Send
from rayward.kinds.serveconfig import ServeConfigError, parse
from rayward.kube.client import errors
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.net.errors import NetworkError

UNDEPLOYED: Final = "NotDeployed"
"""The reason of a verdict that no event will change: Ray has to be asked again."""
_DEFAULT: Final = "default"


def confirm(ref: Ref, live: Object, verdict: Verdict) -> Operation[Verdict]:
    """The verdict, unless Ray Serve on the cluster that serves says otherwise.

    Who may not ask Ray gets the verdict as it is, and the message says so.
    """
    try:
        wanted = parse(section(live, "spec").get("serveConfigV2")).applications
    except ServeConfigError:
        return verdict
    active: Any = section(section(live, "status"), "activeServiceStatus").get("rayClusterName")
    try:
        dashboard = yield from dashboard_of(ref.namespace, str(active))
        if dashboard is None:
            return Verdict(State.PROGRESSING, UNDEPLOYED, f"RayCluster {active} is gone")
        found: Object = yield Send(dashboard.serve())
    except (errors.Forbidden, errors.Unauthorized) as error:
        return dataclasses.replace(verdict, message=f"{verdict.message} (Ray Serve was not asked: {error})".lstrip())
    except (errors.ApiError, NetworkError) as error:
        return Verdict(State.PROGRESSING, UNDEPLOYED, f"the dashboard of RayCluster {active} does not answer: {error}")
    return compare({str(app.get("name", _DEFAULT)): app for app in wanted}, section(found, "applications")) or verdict


def compare(wanted: Mapping[str, Object], found: Object) -> Verdict | None:
    """What Serve's applications lack of a config; None where they have all of it and run."""
    for name, config in wanted.items():
        one = section(found, name)
        if one.get("deployed_app_config") != config:
            return Verdict(State.PROGRESSING, UNDEPLOYED, f"Ray Serve has an earlier config of application {name}")
        status = str(one.get("status") or "")
        if status == "DEPLOY_FAILED":
            return Verdict(State.FAILED, status, f"application {name}: {one.get('message') or ''}")
        if status != "RUNNING":
            return Verdict(State.PROGRESSING, UNDEPLOYED, f"application {name} is {status}")
    gone = sorted(name for name in found if name not in wanted)
    return Verdict(State.PROGRESSING, UNDEPLOYED, f"Ray Serve still has application {gone[0]}") if gone else None
