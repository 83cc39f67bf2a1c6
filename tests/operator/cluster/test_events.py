"""What is told about writes."""

from __future__ import annotations

from rayward.kube.client.errors import Forbidden
from rayward.kube.core.resource import INGRESSES, PODS, SERVICES
from rayward.operator.cluster.events import Outcome, events, failure
from rayward.operator.cluster.state import Create, CreatePod, Delete, Patch
from tests.operator.cluster.world import cluster, settled

_CLUSTER = cluster()
_SMALL = _CLUSTER.groups[0]
_QUOTA = Forbidden(403, "Forbidden", "exceeded quota: small", {}, None)
_HEAD = Outcome(CreatePod(None), "plain-head-a")
_WORKERS = [Outcome(CreatePod(_SMALL, index), f"plain-small-worker-{name}") for index, name in enumerate("ab")]
_SERVICE = Outcome(Create(SERVICES, {}), "plain-head-svc")


def _told(*outcomes: Outcome) -> list[tuple[str, str]]:
    return [(note.reason, note.message) for note in events(_CLUSTER, outcomes)]


def test_a_new_cluster_costs_two_events() -> None:
    assert _told(_SERVICE, _HEAD, *_WORKERS) == [
        ("CreatedHeadPod", "Created head Pod ns/plain-head-a"),
        ("CreatedWorkerPod", "Created worker Pods ns/plain-small-worker-a, ns/plain-small-worker-b"),
    ]


def test_a_service_that_is_made_later_is_told() -> None:
    assert _told(_SERVICE) == [("CreatedService", "Created Service ns/plain-head-svc")]


def test_what_was_so_already_is_not_told() -> None:
    assert _told(Outcome(Create(SERVICES, {}), "plain-head-svc", changed=False)) == []


def test_deletions_say_why() -> None:
    pod = settled().live("small")[0]
    gone = Delete(PODS, "w", "uid", pod, "the worker group was scaled down")
    assert _told(Outcome(gone, "w")) == [
        ("DeletedWorkerPod", "Deleted worker Pod ns/w; the worker group was scaled down")
    ]


def test_other_objects_are_told_by_their_kinds() -> None:
    mended = Outcome(Patch(INGRESSES, "i", "uid", {}), "i")
    removed = Outcome(Delete(INGRESSES, "i", "uid"), "i")
    assert [reason for reason, _ in _told(mended, removed)] == ["UpdatedIngress", "DeletedIngress"]


def test_the_heads_failure_is_told_before_others() -> None:
    failed = [Outcome(CreatePod(_SMALL), "w", _QUOTA), Outcome(CreatePod(None), "h", _QUOTA)]
    found = failure(failed)
    assert found is not None
    assert found.reason == "FailedCreateHeadPod"
    assert found.message == "pod h: exceeded quota: small (and 1 more)"
    assert [reason for reason, _ in _told(*failed)] == ["FailedToCreateWorkerPod", "FailedToCreateHeadPod"]


def test_no_failure_is_none() -> None:
    assert failure([_HEAD]) is None


def test_a_pod_that_the_server_forbids_is_said_to_be_with_the_cause_first() -> None:
    forbidden = Forbidden(403, "Forbidden", 'pods "h" is forbidden: serviceaccount "nope" not found', {}, None)
    found = failure([Outcome(CreatePod(None), "h", forbidden)])
    assert found is not None
    assert found.message == 'pod h: forbidden: serviceaccount "nope" not found'
