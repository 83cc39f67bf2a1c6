"""The four ways to write, on a server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from rayward.changes import writing
from rayward.changes.compiler import CompiledPatch
from rayward.changes.intents import Annotate, Scale, SetEnv, SetField
from rayward.changes.outcomes import Conflict, Invalid
from rayward.changes.refs import Ref
from rayward.changes.steps import run
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import errors
from rayward.kube.client.access import Access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.sdk import Client
from tests.changes.beside import with_another_writer
from tests.kinds.clusters import Object, changed, manifest

AUTOSCALED = changed(manifest(), "spec.enableInTreeAutoscaling", True)


def _made(client: SyncClient, namespace: str, body: Object, manager: str = "kubectl") -> Ref:
    ref = Ref("RayCluster", body["metadata"]["name"], namespace)
    body = changed(body, "metadata.namespace", namespace)
    client.apply(RAY_CLUSTERS, body, field_manager=manager)
    return ref


def _autoscale(client: SyncClient, ref: Ref, replicas: int, index: int = 0) -> None:
    """As the Ray autoscaler writes: by index, without a test, under the name of its HTTP library."""
    operations = [{"op": "replace", "path": f"/spec/workerGroupSpecs/{index}/replicas", "value": replicas}]
    client.patch(RAY_CLUSTERS, ref.name, operations, PatchType.JSON, ref.namespace, field_manager="python-requests")


def test_apply_creates_changes_and_leaves_alone(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    first = run(client, writing.apply(ref, manifest()))
    assert first.before is None
    assert first.changed
    assert not run(client, writing.apply(ref, manifest())).changed
    third = run(client, writing.apply(ref, changed(manifest(), "spec.rayVersion", "2.61.0")))
    assert third.changed
    assert third.object["spec"]["rayVersion"] == "2.61.0"


def test_what_the_same_manager_set_is_its_own_to_apply_again(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    run(client, writing.apply(ref, manifest()))
    run(client, writing.change(ref, [SetField("rayVersion", "2.61.0")]))
    done = run(client, writing.apply(ref, manifest()))
    assert done.object["spec"]["rayVersion"] == "2.60.0"
    assert [(row.field, row.manager) for row in done.taken] == [("spec.rayVersion", "rayward")]


def test_a_conflict_is_a_table_and_forcing_says_what_it_took(client: SyncClient, namespace: str) -> None:
    ref = _made(client, namespace, manifest())
    wanted = changed(manifest(), "spec.rayVersion", "2.61.0")
    with pytest.raises(Conflict) as caught:
        run(client, writing.apply(ref, wanted))
    assert caught.value.code == 5
    assert "spec.rayVersion: owned by kubectl, which has '2.60.0'; yours is '2.61.0'" in caught.value.why
    forced = run(client, writing.apply(ref, wanted, force=True))
    assert ("spec.rayVersion", "kubectl") in [(row.field, row.manager) for row in forced.taken]


def test_apply_keeps_what_the_autoscaler_chose_and_takes_the_list_from_it_alone(
    client: SyncClient, namespace: str
) -> None:
    ref = Ref("RayCluster", "c", namespace)
    run(client, writing.apply(ref, AUTOSCALED))
    _autoscale(client, ref, 3)
    wanted = changed(AUTOSCALED, "spec.workerGroupSpecs.0.maxReplicas", 9)
    done = run(client, writing.apply(ref, wanted))
    group = done.object["spec"]["workerGroupSpecs"][0]
    assert (group["replicas"], group["maxReplicas"]) == (3, 9)
    assert [(row.field, row.manager) for row in done.taken] == [("spec.workerGroupSpecs", "python-requests")]


def test_apply_takes_the_list_from_the_autoscaler_when_its_sizes_are_the_manifests_again(
    client: SyncClient, namespace: str
) -> None:
    ref = Ref("RayCluster", "c", namespace)
    run(client, writing.apply(ref, AUTOSCALED))
    _autoscale(client, ref, 3)
    _autoscale(client, ref, 1)
    done = run(client, writing.apply(ref, changed(AUTOSCALED, "spec.workerGroupSpecs.0.maxReplicas", 9)))
    group = done.object["spec"]["workerGroupSpecs"][0]
    assert (group["replicas"], group["maxReplicas"]) == (1, 9)
    assert [(row.field, row.manager) for row in done.taken] == [("spec.workerGroupSpecs", "python-requests")]


def test_apply_keeps_a_size_that_moves_after_it_was_read_as_the_manifests(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    run(client, writing.apply(ref, AUTOSCALED))
    wanted = changed(AUTOSCALED, "spec.workerGroupSpecs.0.maxReplicas", 9)
    operation = with_another_writer(writing.apply(ref, wanted, force=True), 2, lambda: _autoscale(client, ref, 3))
    done = run(client, operation)
    assert (done.attempts, done.object["spec"]["workerGroupSpecs"][0]["replicas"]) == (2, 3)


def test_apply_takes_an_autoscaled_list_from_nobody_else(client: SyncClient, namespace: str) -> None:
    ref = _made(client, namespace, changed(AUTOSCALED, "spec.workerGroupSpecs.0.replicas", 3), "argocd-controller")
    with pytest.raises(Conflict, match="argocd-controller"):
        run(client, writing.apply(ref, changed(AUTOSCALED, "spec.workerGroupSpecs.0.maxReplicas", 9)))


def test_a_list_that_an_operator_wrote_back_as_it_read_it_is_no_conflict(client: SyncClient, namespace: str) -> None:
    """KubeRay's does so when it adds its finalizer: fields that Go cannot leave out are in it then, empty."""
    sdk = Client(client, namespace=namespace)
    made = sdk.apply(manifest()).object
    live = client.get(RAY_CLUSTERS, "c", namespace)
    live["spec"]["workerGroupSpecs"][0]["scaleStrategy"] = {}
    client.update(RAY_CLUSTERS, live, "c", namespace, field_manager="manager")
    smaller = changed(manifest(), "spec.workerGroupSpecs.0.maxReplicas", 2)
    done = sdk.apply(smaller)
    assert [(one.manager, one.field) for one in done.taken] == [("manager", "spec.workerGroupSpecs")]
    assert done.object["spec"] == changed(made["spec"], "workerGroupSpecs.0.maxReplicas", 2)
    more = changed(done.object, "spec.workerGroupSpecs.0.replicas", 3)
    client.update(RAY_CLUSTERS, more, "c", namespace, field_manager="manager")
    with pytest.raises(Conflict, match="manager"):
        sdk.apply(manifest())
    done = sdk.apply(changed(smaller, "spec.workerGroupSpecs.0.replicas", 3))
    assert done.object["spec"]["workerGroupSpecs"][0]["replicas"] == 3, "both ask for the same"


def test_a_merge_patch_that_would_drop_a_group_changes_nothing(client: SyncClient, namespace: str) -> None:
    ref = _made(client, namespace, manifest())
    before = run(client, writing.read(ref))
    with pytest.raises(Invalid, match="would drop"):
        run(client, writing.merge_patch(ref, {"spec": {"workerGroupSpecs": [{"groupName": "small", "replicas": 3}]}}))
    assert run(client, writing.read(ref)) == before
    done = run(client, writing.merge_patch(ref, {"spec": {"suspend": True}}))
    assert done.object["spec"]["suspend"] is True


def test_a_json_patch_is_sent_as_it_is(client: SyncClient, namespace: str) -> None:
    ref = _made(client, namespace, manifest())
    operations = [
        {"op": "test", "path": "/spec/rayVersion", "value": "1"},
        {"op": "remove", "path": "/spec/rayVersion"},
    ]
    with pytest.raises(Invalid):
        run(client, writing.json_patch(ref, operations))
    assert run(client, writing.json_patch(ref, operations[1:])).changed


def test_a_moved_group_is_found_again(client: SyncClient, namespace: str) -> None:
    ref = _made(client, namespace, manifest())
    groups = manifest()["spec"]["workerGroupSpecs"]
    moved = [{"op": "add", "path": "/spec/workerGroupSpecs/0", "value": {**groups[0], "groupName": "first"}}]

    def insert() -> None:
        client.patch(RAY_CLUSTERS, "c", moved, PatchType.JSON, namespace)

    operation = with_another_writer(writing.change(ref, [Scale("small", 3)]), 2, insert)
    done = run(client, operation)
    assert done.attempts == 2
    sizes = {group["groupName"]: group["replicas"] for group in done.object["spec"]["workerGroupSpecs"]}
    assert sizes == {"first": 1, "small": 3}


def test_a_value_that_admission_rejects_is_told_and_not_tried_again(client: SyncClient, namespace: str) -> None:
    ref = _made(client, namespace, changed(manifest(), "spec.managedBy", "ray.io/kuberay-operator"))
    with pytest.raises(ApiError, match="managedBy"):
        run(client, writing.change(ref, [SetField("managedBy", "kueue.x-k8s.io/multikueue")]))


def test_an_operation_that_does_not_fit_is_named(client: SyncClient, namespace: str) -> None:
    ref = _made(client, namespace, manifest())
    operations = [{"op": "add", "path": "/spec/suspend", "value": True}, {"op": "remove", "path": "/spec/nowhere"}]
    with pytest.raises(Invalid, match="operation 2 of the patch") as caught:
        run(client, writing.json_patch(ref, operations))
    assert "/spec/nowhere" in caught.value.why
    assert not run(client, writing.read(ref))["spec"].get("suspend")


def test_a_patch_that_never_fits_is_not_blamed_on_others(
    client: SyncClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = _made(client, namespace, manifest())
    never = CompiledPatch(({"op": "test", "path": "/metadata/name", "value": "another"},))
    monkeypatch.setattr(writing, "compile_patch", lambda *_, **__: never)
    with pytest.raises(Invalid, match="does not fit"):
        run(client, writing.change(ref, [Scale("small", 2)]))


def test_a_manifest_takes_the_place_of_an_object(client: SyncClient, namespace: str) -> None:
    live = _made(client, namespace, changed(manifest(), "metadata.labels", {"team": "search"}))
    body = changed(manifest(), "spec.rayVersion", "2.61.0")
    done = run(client, writing.replace(live, lambda found: writing.with_manifest(found, body)))
    assert done.object["spec"]["rayVersion"] == "2.61.0"
    assert "labels" not in done.object["metadata"]
    assert done.before is not None
    assert done.object["metadata"]["uid"] == done.before["metadata"]["uid"]


def test_replace_runs_its_mutation_again_on_what_is_there(client: SyncClient, namespace: str) -> None:
    ref = _made(client, namespace, manifest())
    seen: list[str] = []

    def mutate(obj: Object) -> None:
        seen.append(obj["spec"]["rayVersion"])
        obj["spec"]["suspend"] = True

    def write() -> None:
        client.patch(RAY_CLUSTERS, "c", {"spec": {"rayVersion": "2.61.0"}}, PatchType.MERGE, namespace)

    done = run(client, with_another_writer(writing.replace(ref, mutate), 2, write))
    assert (done.attempts, seen) == (2, ["2.60.0", "2.61.0"])
    assert (done.object["spec"]["rayVersion"], done.object["spec"]["suspend"]) == ("2.61.0", True)


def test_two_writers_and_the_autoscaler_lose_nothing(access: Access, client: SyncClient, namespace: str) -> None:
    body = AUTOSCALED
    body = changed(body, "spec.workerGroupSpecs.-", {**body["spec"]["workerGroupSpecs"][0], "groupName": "second"})
    ref = _made(client, namespace, body)
    rounds = 60
    failures: list[BaseException] = []

    def work(write: Callable[[SyncClient, int], object]) -> None:
        try:
            with SyncClient.connect(access) as own:
                for number in range(rounds):
                    insist(own, number, write)
        except BaseException as error:
            failures.append(error)

    def insist(own: SyncClient, number: int, write: Callable[[SyncClient, int], object]) -> None:
        """Others may be faster at every attempt; that is told as a conflict, and is no loss."""
        while True:
            with suppress(Conflict, errors.Conflict):
                write(own, number)
                return

    def count(own: SyncClient, _number: int) -> None:
        def more(obj: Object) -> None:
            annotations = obj["metadata"].setdefault("annotations", {})
            annotations["count"] = str(int(annotations.get("count", "0")) + 1)

        run(own, writing.replace(ref, more))

    def intend(own: SyncClient, number: int) -> None:
        intents = [Scale("second", max_replicas=10 + number), SetEnv("N", str(number), "small")]
        run(own, writing.change(ref, [*intents, Annotate("seen", str(number))]))

    works = [count, count, intend, lambda own, number: _autoscale(own, ref, number % 4)]
    threads = [threading.Thread(target=work, args=(one,)) for one in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    after = run(client, writing.read(ref))
    assert after["metadata"]["annotations"]["count"] == str(2 * rounds)
    groups = {group["groupName"]: group for group in after["spec"]["workerGroupSpecs"]}
    assert groups["second"]["maxReplicas"] == 10 + rounds - 1
    assert groups["small"]["replicas"] == (rounds - 1) % 4
    container = groups["small"]["template"]["spec"]["containers"][0]
    assert {"name": "N", "value": str(rounds - 1)} in container["env"]
