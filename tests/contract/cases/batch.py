"""Jobs, Deployments and their companions."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Case, case, create, get, merge, strategic
from tests.contract.objects import container, deployment, job


def _job_refused(name: str, /, **spec: Any) -> Case:
    return case(f"job refused: {name}", create("jobs", job("j", **spec)))


_DONE = {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}

CASES = [
    case("job: defaults", create("jobs", job("j")), get("jobs/j")),
    case(
        "job: more of its spec",
        create(
            "jobs",
            job(
                "j",
                parallelism=2,
                completions=4,
                completionMode="Indexed",
                backoffLimitPerIndex=1,
                ttlSecondsAfterFinished=5,
                activeDeadlineSeconds=10,
                suspend=True,
                podReplacementPolicy="Failed",
            ),
        ),
    ),
    case(
        "job: a pod failure policy",
        create(
            "jobs",
            job(
                "j",
                podFailurePolicy={"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]},
            ),
        ),
    ),
    case(
        "job: labels of its own on the template",
        create(
            "jobs",
            {
                **job("j"),
                "spec": {
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"restartPolicy": "OnFailure", "containers": [container()]},
                    }
                },
            },
        ),
    ),
    _job_refused("no restart policy", template={"containers": [container()]}),
    _job_refused("restart policy Always", template={"restartPolicy": "Always", "containers": [container()]}),
    _job_refused("no containers", template={"restartPolicy": "Never", "containers": []}),
    _job_refused(
        "negative numbers",
        parallelism=-1,
        completions=-1,
        backoffLimit=-1,
        activeDeadlineSeconds=-1,
        ttlSecondsAfterFinished=-1,
    ),
    _job_refused("a completion mode", completionMode="Random"),
    case("job: Indexed without completions", create("jobs", job("j", completionMode="Indexed"))),
    _job_refused("an own selector", selector={"matchLabels": {"a": "b"}}),
    _job_refused("a manual selector that does not match", manualSelector=True, selector={"matchLabels": {"a": "b"}}),
    _job_refused("a replacement policy", podReplacementPolicy="Odd"),
    case("job refused: no template", create("jobs", {"metadata": {"name": "j"}, "spec": {}})),
    case("job refused: a long name", create("jobs", job("j" * 64))),
    case(
        "job: a manual selector",
        create(
            "jobs",
            {
                **job("j"),
                "spec": {
                    "manualSelector": True,
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"restartPolicy": "Never", "containers": [container()]},
                    },
                },
            },
        ),
    ),
    case(
        "job: may change parallelism and suspension",
        create("jobs", job("j")),
        merge(
            "jobs/j",
            {
                "spec": {
                    "parallelism": 3,
                    "suspend": True,
                    "activeDeadlineSeconds": 7,
                    "backoffLimit": 1,
                    "ttlSecondsAfterFinished": 1,
                }
            },
        ),
    ),
    case(
        "job: may not change the rest",
        create("jobs", job("j")),
        merge("jobs/j", {"spec": {"completions": 3}}),
        merge("jobs/j", {"spec": {"selector": {"matchLabels": {"a": "b"}}}}),
        merge("jobs/j", {"spec": {"completionMode": "Indexed"}}),
        strategic("jobs/j", {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "new"}]}}}}),
    ),
    case(
        "job: a suspended one may change its scheduling",
        create("jobs", job("j", suspend=True)),
        merge("jobs/j", {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}),
        merge("jobs/j", {"spec": {"template": {"spec": {"priorityClassName": "x"}}}}),
    ),
    case(
        "job: status",
        create("jobs", job("j")),
        merge(
            "jobs/j/status",
            {
                "status": {
                    "active": 1,
                    "startTime": "2020-01-01T00:00:00Z",
                    "ready": 0,
                    "terminating": 0,
                    "uncountedTerminatedPods": {},
                }
            },
        ),
        merge("jobs/j/status", {"status": {"active": -1}}),
        merge("jobs/j/status", {"status": _DONE}),
    ),
    case(
        "job: a finished status",
        create("jobs", job("j")),
        merge(
            "jobs/j/status",
            {
                "status": {
                    "startTime": "2020-01-01T00:00:00Z",
                    "completionTime": "2020-01-01T00:00:05Z",
                    "succeeded": 1,
                    "conditions": [
                        {"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": "2020-01-01T00:00:05Z"},
                        {"type": "Complete", "status": "True", "lastTransitionTime": "2020-01-01T00:00:05Z"},
                    ],
                }
            },
        ),
        merge("jobs/j/status", {"status": {"conditions": []}}),
    ),
    case(
        "job: selecting by successes",
        create("jobs", job("j")),
        get("jobs", fieldSelector="status.successful=0").only_of("items[0].metadata.name"),
        get("jobs", fieldSelector="status.successful=1").only_of("items"),
    ),
    case("deployment: defaults", create("deployments", deployment("d")), get("deployments/d")),
    case(
        "deployment: generation follows its spec",
        create("deployments", deployment("d")),
        merge("deployments/d", {"metadata": {"labels": {"a": "b"}}}),
        merge("deployments/d", {"spec": {"replicas": 2}}),
        merge("deployments/d", {"metadata": {"annotations": {"deployment.kubernetes.io/revision": "1"}}}),
    ),
    case("deployment: Recreate", create("deployments", deployment("d", strategy={"type": "Recreate"}))),
    case(
        "deployment: what is not allowed",
        create("deployments", deployment("d", selector={})),
        create("deployments", deployment("d", selector={"matchLabels": {"other": "x"}})),
        create("deployments", deployment("d", replicas=-1)),
        create("deployments", deployment("d", strategy={"type": "Odd"})),
        create("deployments", deployment("d", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})),
        create("deployments", deployment("d", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}})),
        create("deployments", deployment("d", strategy={"rollingUpdate": {"maxSurge": "x%"}})),
    ),
    case(
        "deployment: the selector does not change",
        create("deployments", deployment("d")),
        merge(
            "deployments/d",
            {"spec": {"selector": {"matchLabels": {"app": "b"}}, "template": {"metadata": {"labels": {"app": "b"}}}}},
        ),
    ),
    case(
        "deployment: refused without a selector or template",
        create("deployments", {"metadata": {"name": "d"}, "spec": {}}),
        create(
            "deployments",
            {
                "metadata": {"name": "d"},
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [container()], "restartPolicy": "Never"},
                    },
                },
            },
        ),
    ),
    case(
        "controllerrevision",
        create("controllerrevisions", {"metadata": {"name": "c"}, "revision": 1, "data": {"a": {"b": [1, 2.5, None]}}}),
        merge("controllerrevisions/c", {"data": {"a": 2}}),
        create("controllerrevisions", {"metadata": {"name": "d"}, "revision": -1, "data": {}}),
        create("controllerrevisions", {"metadata": {"name": "e"}, "revision": 1}),
    ),
    case(
        "controllerrevision: another number for the same data",
        create("controllerrevisions", {"metadata": {"name": "c"}, "revision": 1, "data": {"a": {"b": [1, 2.5, None]}}}),
        merge("controllerrevisions/c", {"revision": 2}).only_of("revision"),
        differs="the real server compares data byte by byte, and refuses what a patch merely wrote without spaces",
        ours={1: {"code": 200, "body.revision": 2}},
    ),
]
