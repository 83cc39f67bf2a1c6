"""What a pod can be selected by, how long it gets to end, and what may change in it."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.builtin.pod.strategy import fields, grace
from tests.apiserver.builtin.judge import Judge
from tests.apiserver.builtin.judgements import changes

Object = dict[str, Any]


def test_selectable_fields() -> None:
    pod: Object = {
        "spec": {"nodeName": "n", "restartPolicy": "Never", "schedulerName": "s", "serviceAccountName": "a"},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "nominatedNodeName": "m"},
    }
    assert fields(pod) == {
        "spec.nodeName": "n",
        "spec.restartPolicy": "Never",
        "spec.schedulerName": "s",
        "spec.serviceAccountName": "a",
        "spec.hostNetwork": "false",
        "status.phase": "Running",
        "status.podIP": "10.0.0.1",
        "status.nominatedNodeName": "m",
    }
    assert fields({"spec": {"hostNetwork": True}})["spec.hostNetwork"] == "true"


@pytest.mark.parametrize(
    ("spec", "phase", "asked", "seconds"),
    [
        pytest.param({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Running", None, 30, id="its own"),
        pytest.param({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Running", 5, 5, id="as asked"),
        pytest.param({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Running", 0, 0, id="at once"),
        pytest.param({"nodeName": "n", "terminationGracePeriodSeconds": -5}, "Running", None, 1, id="negative"),
        pytest.param({"terminationGracePeriodSeconds": 30}, "Pending", None, 0, id="on no node"),
        pytest.param({"nodeName": "n", "terminationGracePeriodSeconds": 30}, "Failed", None, 0, id="ended"),
    ],
)
def test_grace(spec: Object, phase: str, asked: int | None, seconds: int) -> None:
    assert grace({"spec": spec, "status": {"phase": phase}}, asked) == seconds


def test_a_change_that_may_not_be_is_shown_as_a_difference(judge: Judge) -> None:
    _, line = next(case for case in changes() if case[0] == "pods")
    (answer,) = judge.changed("pods", line, [{"patch": {"spec": {"hostname": "h"}}}])
    (cause,) = answer["causes"]
    text = (
        "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
        "@@ -208,7 +208,7 @@\n"
        '   "SELinuxChangePolicy": null\n'
        "  },\n"
        '  "ImagePullSecrets": null,\n'
        '- "Hostname": "",\n'
        '+ "Hostname": "h",\n'
        '  "Subdomain": "",\n'
        '  "SetHostnameAsFQDN": null,\n'
        '  "Affinity": null,\n'
    )
    assert cause == ["spec", text, "FieldValueForbidden"]
