"""Each numbered procedure of the widely shared playbook under KubeRay's operator, with real Ray on our node.

The same procedures as in ``test_document``. Where KubeRay's operator does less than ours the test says what happens
instead: the client foresees it, and does what can be done from outside.
"""

from __future__ import annotations

import copy
import urllib.request
from collections.abc import Generator
from typing import Any, Final

import pytest
import yaml

from rayward import Client
from rayward.changes.intents import SetEnv, SetField
from rayward.changes.judging import State, judge
from rayward.changes.outcomes import Conflict, Invalid, RolledBack, RolloutFailed
from rayward.kinds import labels
from rayward.kinds.effects import Rules
from rayward.kube.core.resource import CONFIG_MAPS, PODS, SERVICES
from rayward.local.addresses import shell_addresses_of
from tests.kinds.clusters import changed
from tests.kube.kuberay_stack import kuberay_stack
from tests.operator.stage import condition, uids
from tests.ray.stack import SAMPLES, sample_cluster
from tests.waiting import eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1500)]

Object = dict[str, Any]

_PATIENCE: Final = 600.0
_CODE: Final = """
from ray import serve


@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Says:
    def __init__(self, word: str) -> None:
        self.word = word

    def __call__(self) -> str:
        return self.word


def app(args: dict[str, str]) -> serve.Application:
    return Says.bind(args["word"])
"""


def _serve(word: str) -> str:
    application = {"name": "says", "route_prefix": "/", "import_path": "says:app", "args": {"word": word}}
    return yaml.safe_dump({"applications": [application]})


def _service(word: str, release: str = "1", strategy: str = "NewCluster") -> Object:
    found: Object = list(yaml.safe_load_all((SAMPLES / "rayservice.yaml").read_text()))[1]
    text = yaml.safe_dump(found).replace("hello-code", "says-code").replace("value: '1'", f"value: '{release}'")
    body: Object = yaml.safe_load(text)
    body["metadata"]["name"] = "says"
    body["spec"] |= {"serveConfigV2": _serve(word), "upgradeStrategy": {"type": strategy}}
    del body["spec"]["rayClusterConfig"]["authOptions"]
    return body


def _cluster(**spec: Any) -> Object:
    body = sample_cluster("plain", 1, **spec)
    del body["spec"]["authOptions"]
    other = copy.deepcopy(body["spec"]["workerGroupSpecs"][0])
    body["spec"]["workerGroupSpecs"].append({**other, "groupName": "other", "replicas": 1})
    return body


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Generator[Client]:
    with (
        kuberay_stack(tmp_path_factory.mktemp("kuberay")) as stack,
        Client.connect(stack.folder / "kubeconfig", namespace="default") as client,
    ):
        yield client


@pytest.fixture(scope="module")
def service(sdk: Client) -> Generator[str]:
    """A RayService; the procedures change it one after another, in whichever order they run."""
    code = {"metadata": {"name": "says-code"}, "data": {"says.py": _CODE}}
    sdk.api.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", **code}, "default")
    yield "rayservice/says"
    _gone(sdk, "rayservice/says")


@pytest.fixture
def says(sdk: Client, service: str) -> str:
    """The RayService as it was first, whatever the procedure before made of it; it says ``zero``."""
    sdk.settle(sdk.apply(_service("zero"), force_conflicts=True))
    eventually(lambda: _answer(sdk) == "zero", _PATIENCE)
    return service


@pytest.fixture(scope="module")
def plain(sdk: Client) -> Generator[str]:
    """A RayCluster with two groups."""
    sdk.settle(sdk.apply(_cluster()))
    yield "raycluster/plain"
    _gone(sdk, "raycluster/plain")


def _gone(sdk: Client, name: str) -> None:
    """Deleted in the foreground, as the playbook says: the pods of a RayCluster go first.

    Of a RayService and a RayJob KubeRay deletes the RayClusters itself, in the background: their pods go afterwards.
    """
    ref = sdk.ref(name)
    sdk.api.delete(ref.resource, ref.name, "default", propagation_policy="Foreground")

    def left() -> list[str]:
        found = [*sdk.api.list(ref.resource, "default").items, *sdk.api.list(PODS, "default").items]
        return [one["metadata"]["name"] for one in found if f"{one['metadata']['name']}-".startswith(f"{ref.name}-")]

    eventually(lambda: ref.name not in left(), _PATIENCE)
    if ref.kind != "RayCluster":
        eventually(lambda: not left(), _PATIENCE)
    assert not left()


def _active(sdk: Client) -> str:
    return sdk.get("rayservice/says")["status"]["activeServiceStatus"]["rayClusterName"]


def _answer(sdk: Client) -> str:
    (address,) = shell_addresses_of(sdk.api.get(SERVICES, "says-serve-svc", "default"))
    with urllib.request.urlopen(f"http://{address}/", timeout=60) as answer:
        return answer.read().decode()


def _pods(sdk: Client, group: str = "") -> list[Object]:
    selector = f"{labels.CLUSTER}=plain" + (f",{labels.GROUP}={group}" if group else "")
    found = sdk.api.list(PODS, "default", label_selector=selector).items
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def test_a1_another_serve_config_by_a_new_cluster(sdk: Client, says: str) -> None:
    """KubeRay itself would send it to the cluster that serves: the client says so, and ``upgrade`` gets a new one."""
    first = _active(sdk)
    wanted = _service("one")
    plan = sdk.plan(wanted)
    assert (plan.rules, plan.strongest) == (Rules.KUBERAY_1_6, "InPlace")
    with pytest.raises(Invalid, match="KubeRay"):
        sdk.apply(wanted, strategy="new-cluster")
    assert _answer(sdk) == "zero"
    sdk.settle(sdk.upgrade(says, SetField("serveConfigV2", _serve("one"))))
    assert _active(sdk) != first
    eventually(lambda: _answer(sdk) == "one", _PATIENCE)


def test_a2_another_cluster_spec_by_a_new_cluster(sdk: Client, says: str) -> None:
    first = _active(sdk)
    before = sdk.get(says)
    wanted = _service("zero", release="2")
    assert sdk.plan(wanted).strongest == "NewCluster"
    sdk.settle(sdk.apply(wanted))
    second = _active(sdk)
    assert second != first
    eventually(lambda: _answer(sdk) == "zero", _PATIENCE)
    undo, written = sdk.undo(says)
    assert undo.to.revision == before["metadata"]["generation"]
    sdk.settle(written)
    assert _active(sdk) not in (first, second)
    assert sdk.get(says)["spec"] == before["spec"]


def test_a3_in_place_where_no_new_cluster_may_be_made(sdk: Client, says: str) -> None:
    first = _active(sdk)
    release = sdk.get(says)["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0]["env"][1]
    for word in ("three", "four"):
        waited = sdk.settle(sdk.apply(_service(word, release["value"]), strategy="in-place"))
        assert waited.verdict.state is State.APPLIED
        assert _answer(sdk) == word
    assert _active(sdk) == first
    needs_cluster = sdk.plan(_service("four", "other"), strategy="in-place")
    assert needs_cluster.strongest == "NextCluster", "type None holds it back"


def test_a4_the_serve_config_alone_is_applied(sdk: Client, says: str) -> None:
    """A part of a manifest by a manager of its own: it takes nothing from others that it was not told to take."""
    first = _active(sdk)
    with Client(sdk.api, namespace="default", field_manager="ops-tool") as tool:
        part = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "says"}}
        part["spec"] = {"serveConfigV2": _serve("five")}
        with pytest.raises(Conflict) as refused:
            tool.apply(part)
        assert "spec.serveConfigV2" in f"{refused.value.what}\n{refused.value.why}"
        written = tool.apply(part, force_conflicts=True)
        assert {one.manager for one in written.taken} == {"rayward"}
        tool.settle(written)
    assert (_active(sdk), _answer(sdk)) == (first, "five")


def test_rollback_of_a_release_that_fails(sdk: Client, says: str) -> None:
    """KubeRay would wait for the new cluster for ever: the client sees that it fails, and goes back.

    The old cluster stays in traffic meanwhile. KubeRay goes on to a third one, of the spec that it had already.
    """
    before, first = sdk.get(says), _active(sdk)
    broken = changed(_service("six", release="broken"), "spec.serveConfigV2", _serve("six").replace(":app", ":nope"))
    assert sdk.plan(broken).strongest == "NewCluster"
    with pytest.raises(RolledBack) as told:
        sdk.settle(sdk.apply(broken))
    assert "DEPLOY_FAILED" in f"{told.value.what}\n{told.value.why}"
    assert f"rolled back to revision {before['metadata']['generation']}" in told.value.what
    after = sdk.get(says)
    assert after["spec"] == before["spec"]
    assert not after["status"].get("pendingServiceStatus", {}).get("rayClusterName")
    assert _active(sdk) != first
    assert _answer(sdk) == "zero"
    outcomes = {one.revision: one.result for one in sdk.history(says)}
    assert outcomes[before["metadata"]["generation"] + 1] == "Failed"


def test_patterns_3_and_4_a_json_patch_and_a_replace(sdk: Client, plain: str) -> None:
    """One by path, refused whole where its test fails; one that keeps what others wrote."""
    small = "/spec/workerGroupSpecs/0"
    other = {"op": "test", "path": f"{small}/groupName", "value": "other"}
    two = {"op": "replace", "path": f"{small}/replicas", "value": 2}
    with pytest.raises(Invalid):
        sdk.json_patch(plain, [other, two])
    assert sdk.get(plain)["spec"]["workerGroupSpecs"][0]["replicas"] == 1
    sdk.settle(sdk.json_patch(plain, [{**other, "value": "small"}, two]))
    assert (len(_pods(sdk, "small")), len(_pods(sdk, "other"))) == (2, 1)

    def one(live: Object) -> Object:
        live["spec"]["workerGroupSpecs"][0]["replicas"] = 1
        return live

    sdk.settle(sdk.replace(plain, one))
    eventually(lambda: len(_pods(sdk)) == 3, _PATIENCE)


def test_b1_a_scale_loses_no_group(sdk: Client, plain: str) -> None:
    patch = {"spec": {"workerGroupSpecs": [{"groupName": "small", "replicas": 2}]}}
    with pytest.raises(Invalid, match="would drop") as refused:
        sdk.merge_patch(plain, patch)
    assert "other" in refused.value.why
    sdk.settle(sdk.scale(plain, "small", 2))
    assert (len(_pods(sdk, "small")), len(_pods(sdk, "other"))) == (2, 1)
    sdk.settle(sdk.scale(plain, "small", 1))
    eventually(lambda: len(_pods(sdk)) == 3, _PATIENCE)


def test_b2_another_template_as_the_strategy_says(sdk: Client, plain: str) -> None:
    """KubeRay keeps all pods or recreates all; it cannot replace workers one by one, and the client says so."""
    before = uids(_pods(sdk))
    path = "spec.workerGroupSpecs.0.template.spec.containers.0.env"
    wanted = changed(_cluster(), path, [{"name": "RELEASE", "value": "2"}])
    with pytest.raises(Invalid, match="one by one"):
        sdk.apply(wanted, strategy="rolling-workers")
    assert sdk.plan(wanted).strongest == "NextPods"
    with pytest.raises(RolloutFailed, match="OlderPods") as kept:
        sdk.settle(sdk.apply(wanted))
    assert "recreate" in kept.value.following
    assert sdk.why(plain)[0].code == "Drifted"
    assert uids(_pods(sdk)) == before
    again = changed(wanted, path, [{"name": "RELEASE", "value": "3"}])
    assert sdk.plan(again, strategy="recreate").strongest == "Recreate"
    sdk.settle(sdk.apply(again, strategy="recreate"))
    assert len(_pods(sdk)) == 3
    assert not before & uids(_pods(sdk))
    assert sdk.why(plain)[0].code == "AsAsked"


def test_b3_suspended_changed_and_resumed(sdk: Client, plain: str) -> None:
    before = uids(_pods(sdk))
    sdk.reassemble(plain, SetEnv("REASSEMBLED", "yes"))
    sdk.wait(plain)
    pods = _pods(sdk)
    assert len(pods) == 3
    assert not before & uids(pods)
    names = [{one["name"] for one in pod["spec"]["containers"][0]["env"]} for pod in pods]
    assert all("REASSEMBLED" in found for found in names)


def test_b4_conditions_say_when_it_is_done(sdk: Client, plain: str) -> None:
    """KubeRay writes no Ready; HeadPodReady and the numbers of workers are judged instead."""
    sdk.wait(plain)
    cluster = sdk.get(plain)
    generation = cluster["metadata"]["generation"]
    assert cluster["status"]["observedGeneration"] == generation
    assert condition(cluster, "HeadPodReady")["status"] == "True"
    assert judge("RayCluster", cluster, generation, pods=_pods(sdk)).state is State.APPLIED
    later = {**cluster, "metadata": {**cluster["metadata"], "generation": generation + 1}}
    assert judge("RayCluster", later, generation + 1).state is State.PROGRESSING


def test_tips_a_forced_reconcile(sdk: Client, plain: str) -> None:
    before, live = uids(_pods(sdk)), sdk.get(plain)
    written = sdk.reconcile(plain)
    assert labels.RESTARTED_AT in written.object["metadata"]["annotations"]
    assert written.object["metadata"]["generation"] == live["metadata"]["generation"]
    sdk.wait(plain)
    assert uids(_pods(sdk)) == before


def test_c_a_job_is_suspended_edited_and_run(sdk: Client) -> None:
    body: Object = yaml.safe_load((SAMPLES / "rayjob.yaml").read_text())
    body["metadata"]["name"] = "train"
    del body["spec"]["rayClusterSpec"]["authOptions"]
    body["spec"]["entrypoint"] = 'python -c "import time; time.sleep(3600)"'
    sdk.apply(body)
    eventually(lambda: sdk.get("rayjob/train").get("status", {}).get("jobStatus") == "RUNNING", _PATIENCE)
    edited = changed(body, "spec.entrypoint", "python -c 'print(7)'")
    assert sdk.plan(edited).strongest == "NextCluster", "an edit alone restarts nothing"
    sdk.edit("rayjob/train", SetField("entrypoint", "python -c 'print(7)'"))
    waited = sdk.wait("rayjob/train")
    status = waited.object["status"]
    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
    again = sdk.rerun("rayjob/train")
    assert again["metadata"]["name"] == "train-2"
    status = sdk.wait("rayjob/train-2").object["status"]
    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
    assert sdk.get("rayjob/train")["metadata"]["uid"] == waited.object["metadata"]["uid"]
    _gone(sdk, "rayjob/train-2")
    _gone(sdk, "rayjob/train")
