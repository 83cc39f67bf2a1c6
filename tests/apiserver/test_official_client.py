"""Programs on the official Python client work on the embedded server."""

from __future__ import annotations

import threading
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client import ApiException
from kubernetes.dynamic.exceptions import ConflictError
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from tests.contract.target import embedded_server
from tests.waiting import eventually

_GROUP = "shop.example.com"
Object = dict[str, Any]


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    folder = tmp_path_factory.mktemp("server")
    with embedded_server(folder):
        yield folder / "kubeconfig"


@pytest.fixture
def api(kubeconfig: Path) -> Generator[client.ApiClient]:
    settings = client.Configuration()
    config.load_kube_config(str(kubeconfig), client_configuration=settings)
    # some of its helpers make clients of their own
    before, client.Configuration._default = client.Configuration._default, settings
    with client.ApiClient(settings) as made:
        yield made
    client.Configuration._default = before


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


@pytest.fixture
def namespace(core: Any) -> str:
    name = f"test-{uuid4().hex[:8]}"
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    account = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="default"))
    core.create_namespaced_service_account(name, account)
    return name


def _config_map(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "test"}), data=data)


def _pod(name: str) -> client.V1Pod:
    container = client.V1Container(name="main", image="example:1", command=["true"])
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=client.V1PodSpec(containers=[container]))


def test_the_server_says_what_it_is(api: Any) -> None:
    version: Any = client.VersionApi(api).get_code()
    assert version.git_version.startswith("v1.36")
    assert {group.name for group in client.ApisApi(api).get_api_versions().groups} >= {"apps", "batch"}
    assert "pods" in {resource.name for resource in client.CoreV1Api(api).get_api_resources().resources}


def test_a_config_map_lives_and_dies(core: Any, namespace: str) -> None:
    created = core.create_namespaced_config_map(namespace, _config_map("c", a="1"))
    read = core.read_namespaced_config_map("c", namespace)
    assert read == created
    assert datetime.now(UTC) >= read.metadata.creation_timestamp

    read.data["b"] = "2"
    replaced = core.replace_namespaced_config_map("c", namespace, read)
    patched = core.patch_namespaced_config_map("c", namespace, {"data": {"a": None, "c": "3"}})
    assert patched.data == {"b": "2", "c": "3"}
    versions = [int(o.metadata.resource_version) for o in (created, replaced, patched)]
    assert versions == sorted(set(versions))

    listed = core.list_namespaced_config_map(namespace, label_selector="app=test")
    assert [item.metadata.name for item in listed.items] == ["c"]
    assert core.list_namespaced_config_map(namespace, field_selector="metadata.name!=c").items == []
    deleted = core.delete_namespaced_config_map("c", namespace)
    assert (deleted["status"], deleted["details"]["name"]) == ("Success", "c")


def test_a_long_list_comes_in_pages(core: Any, namespace: str) -> None:
    names = [f"c-{number}" for number in range(7)]
    for name in names:
        core.create_namespaced_config_map(namespace, _config_map(name))

    page = core.list_namespaced_config_map(namespace, limit=3)
    found = [item.metadata.name for item in page.items]
    while page.metadata._continue:
        page = core.list_namespaced_config_map(namespace, limit=3, _continue=page.metadata._continue)
        found += [item.metadata.name for item in page.items]

    assert found == names
    core.delete_collection_namespaced_config_map(namespace, label_selector="app=test")
    assert core.list_namespaced_config_map(namespace).items == []


def test_a_pod_is_bound_runs_and_is_evicted(core: Any, namespace: str) -> None:
    created = core.create_namespaced_pod(namespace, _pod("p"))
    assert (created.status.phase, created.spec.containers[0].image_pull_policy) == ("Pending", "IfNotPresent")
    assert (created.spec.service_account_name, created.status.qos_class) == ("default", "BestEffort")

    target = client.V1ObjectReference(api_version="v1", kind="Node", name="node-1")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=target)
    core.create_namespaced_pod_binding("p", namespace, binding, _preload_content=False)
    status = {"phase": "Running", "podIP": "192.0.2.7", "conditions": [{"type": "Ready", "status": "True"}]}
    core.patch_namespaced_pod_status("p", namespace, {"status": status})
    running = core.read_namespaced_pod("p", namespace)
    assert (running.spec.node_name, running.status.pod_ip) == ("node-1", "192.0.2.7")

    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="p", namespace=namespace))
    core.create_namespaced_pod_eviction("p", namespace, eviction, _preload_content=False)
    leaving = core.read_namespaced_pod("p", namespace)
    assert leaving.metadata.deletion_grace_period_seconds == 30
    core.delete_namespaced_pod("p", namespace, grace_period_seconds=0)
    assert core.list_namespaced_pod(namespace).items == []


def test_a_service_gets_an_address(core: Any, namespace: str) -> None:
    port = client.V1ServicePort(name="a", port=80, target_port="http")
    spec = client.V1ServiceSpec(selector={"app": "x"}, ports=[port])
    created = core.create_namespaced_service(
        namespace, client.V1Service(metadata=client.V1ObjectMeta(name="s"), spec=spec)
    )
    assert created.spec.cluster_ip == created.spec.cluster_ips[0]
    assert (created.spec.type, created.spec.ports[0].protocol) == ("ClusterIP", "TCP")

    more = core.patch_namespaced_service("s", namespace, {"spec": {"ports": [{"port": 81, "name": "b"}]}})
    assert [p.port for p in more.spec.ports] == [81, 80]
    assert more.spec.cluster_ip == created.spec.cluster_ip


def test_a_job_reports_its_status(api: Any, namespace: str) -> None:
    batch: Any = client.BatchV1Api(api)
    template: Any = client.V1PodTemplateSpec(spec=_pod("unused").spec)
    template.spec.restart_policy = "Never"
    body = client.V1Job(
        metadata=client.V1ObjectMeta(generate_name="job-"), spec=client.V1JobSpec(template=template, completions=2)
    )
    created = batch.create_namespaced_job(namespace, body)
    name = created.metadata.name
    assert name.startswith("job-")
    assert (created.spec.parallelism, created.spec.backoff_limit) == (1, 6)
    assert created.spec.selector.match_labels == {"batch.kubernetes.io/controller-uid": created.metadata.uid}

    batch.patch_namespaced_job_status(name, namespace, {"status": {"active": 1}})
    assert batch.read_namespaced_job_status(name, namespace).status.active == 1
    with pytest.raises(ApiException) as refused:
        batch.patch_namespaced_job(name, namespace, {"spec": {"completions": 3}})
    assert refused.value.status == 422
    assert "field is immutable" in str(refused.value.body)


def test_quantities_and_strings_of_yaml_manifests(api: Any, namespace: str, tmp_path: Path) -> None:
    manifest = tmp_path / "all.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n---\n"
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: v}\n"
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
    )
    utils.create_from_yaml(api, str(manifest), namespace=namespace)

    core: Any = client.CoreV1Api(api)
    assert core.read_namespaced_secret("s", namespace).data == {"password": "aHVudGVyMg=="}
    claim = core.read_namespaced_persistent_volume_claim("v", namespace)
    assert utils.parse_quantity(claim.spec.resources.requests["storage"]) == 1 << 30


@pytest.fixture(scope="module")
def plural(kubeconfig: Path) -> Generator[str]:
    """A custom kind with a schema, a status and a scale, served while the tests of this module run."""
    settings = client.Configuration()
    config.load_kube_config(str(kubeconfig), client_configuration=settings)
    count: Object = {"type": "integer", "minimum": 0, "maximum": 9}
    schema: Object = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"replicas": {**count, "default": 1}, "colour": {"type": "string"}},
                "x-kubernetes-validations": [{"rule": "!has(self.colour) || self.colour != 'beige'"}],
            },
            "status": {"type": "object", "properties": {"replicas": count}},
        },
    }
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": scale},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    with client.ApiClient(settings) as api:
        extensions: Any = client.ApiextensionsV1Api(api)
        name = f"widgets.{_GROUP}"
        extensions.create_custom_resource_definition(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": name},
                "spec": {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
            }
        )

        def established() -> bool:
            conditions = extensions.read_custom_resource_definition(name).status.conditions
            return {c.type: c.status for c in conditions}.get("Established") == "True"

        eventually(established)
        yield "widgets"
        extensions.delete_custom_resource_definition(name)


def _widget(name: str, **spec: Any) -> Object:
    return {"apiVersion": f"{_GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def test_custom_objects_are_pruned_defaulted_and_validated(api: Any, namespace: str, plural: str) -> None:
    custom: Any = client.CustomObjectsApi(api)
    where = (_GROUP, "v1", namespace, plural)
    created = custom.create_namespaced_custom_object(*where, _widget("w", unknown=True))
    assert created["spec"] == {"replicas": 1}
    with pytest.raises(ApiException) as refused:
        custom.create_namespaced_custom_object(*where, _widget("x", colour="beige", replicas=10))
    assert refused.value.status == 422
    assert "failed rule" in str(refused.value.body)
    assert "spec.replicas in body should be less than or equal to 9" in str(refused.value.body)

    custom.patch_namespaced_custom_object_status(*where, "w", {"status": {"replicas": 1}, "spec": {"replicas": 5}})
    assert custom.get_namespaced_custom_object_scale(*where, "w")["spec"] == {"replicas": 1}
    custom.patch_namespaced_custom_object_scale(*where, "w", {"spec": {"replicas": 3}})
    stored = custom.get_namespaced_custom_object(*where, "w")
    assert (stored["spec"]["replicas"], stored["status"]["replicas"], stored["metadata"]["generation"]) == (3, 1, 2)
    assert [w["metadata"]["name"] for w in custom.list_namespaced_custom_object(*where)["items"]] == ["w"]
    assert custom.delete_namespaced_custom_object(*where, "w")["status"] == "Success"


def test_the_dynamic_client_applies_and_watches(api: Any, namespace: str, plural: str) -> None:
    widgets: Any = dynamic.DynamicClient(api).resources.get(api_version=f"{_GROUP}/v1", kind="Widget")

    def apply(manager: str, replicas: int, **options: Any) -> Any:
        return widgets.server_side_apply(
            _widget("w", replicas=replicas), namespace=namespace, field_manager=manager, **options
        )

    first = apply("one", 2)
    with pytest.raises(ConflictError) as refused:
        apply("two", 3)
    assert 'conflict with "one"' in refused.value.summary()
    taken = apply("two", 3, force_conflicts=True)
    assert [entry.manager for entry in taken.metadata.managedFields] == ["two"]

    since = first.metadata.resourceVersion
    seen: list[tuple[str, int]] = []
    for event in widgets.watch(namespace=namespace, resource_version=since, timeout=20):
        seen.append((event["type"], event["object"].spec.replicas))
        if event["type"] == "DELETED":
            break
        widgets.delete("w", namespace)
    assert seen == [("MODIFIED", 3), ("DELETED", 3)]


def test_a_watch_starts_at_a_version_and_ends_in_time(core: Any, namespace: str) -> None:
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, _config_map("c", n="0"))
    for number in (1, 2, 3):
        core.patch_namespaced_config_map("c", namespace, {"data": {"n": str(number)}})
    core.delete_namespaced_config_map("c", namespace)

    def events(version: str) -> list[tuple[str, str, str]]:
        stream: Any = watch.Watch().stream(
            core.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=1
        )
        return [(e["type"], e["object"].data["n"], e["object"].metadata.resource_version) for e in stream]

    everything = events(start)
    assert [(kind, n) for kind, n, _ in everything] == [
        ("ADDED", "0"),
        ("MODIFIED", "1"),
        ("MODIFIED", "2"),
        ("MODIFIED", "3"),
        ("DELETED", "3"),
    ]
    assert events(everything[1][2]) == everything[2:]


def test_a_watch_with_a_selector_sees_objects_come_and_go(core: Any, namespace: str) -> None:
    start = core.create_namespaced_config_map(namespace, _config_map("c")).metadata.resource_version
    for label in ("other", "test", "other"):
        core.patch_namespaced_config_map("c", namespace, {"metadata": {"labels": {"app": label}}})

    stream: Any = watch.Watch().stream(
        core.list_namespaced_config_map,
        namespace,
        label_selector="app=test",
        resource_version=start,
        timeout_seconds=1,
    )

    assert [event["type"] for event in stream] == ["DELETED", "ADDED", "DELETED"]


def test_an_informer_keeps_a_cache(core: Any, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, _config_map("before"))
    informer = SharedInformer(core.list_namespaced_config_map, namespace=namespace)
    deleted = threading.Event()
    informer.add_event_handler("DELETED", lambda _: deleted.set())
    informer.start()
    try:
        core.create_namespaced_config_map(namespace, _config_map("after"))
        eventually(lambda: set(informer.cache.list_keys()) == {f"{namespace}/before", f"{namespace}/after"})
        core.delete_namespaced_config_map("before", namespace)
        assert deleted.wait(60)
        assert informer.cache.list_keys() == [f"{namespace}/after"]
    finally:
        informer.stop()


def test_one_of_two_candidates_leads_until_it_lets_go(api: Any, namespace: str) -> None:
    leading = threading.Event()
    leases: Any = client.CoordinationV1Api(api)

    def candidate(identity: str) -> LeaderElection:
        lock = LeaseLock("lock", namespace, identity)
        return LeaderElection(Config(lock, 30, 20, 1, leading.set, leading.clear))

    first, second = candidate("first"), candidate("second")
    assert first.try_acquire_or_renew()
    assert not second.try_acquire_or_renew()
    assert first.try_acquire_or_renew()
    assert leases.read_namespaced_lease("lock", namespace).spec.holder_identity == "first"
    leases.patch_namespaced_lease("lock", namespace, {"spec": {"holderIdentity": None}})
    assert second.try_acquire_or_renew()
    assert leases.read_namespaced_lease("lock", namespace).spec.holder_identity == "second"


def _bad_name() -> client.V1ConfigMap:
    return _config_map("Not A Name")


def test_refusals_are_exceptions_that_say_why(core: Any, namespace: str) -> None:
    stale = core.create_namespaced_config_map(namespace, _config_map("c", a="1"))
    core.patch_namespaced_config_map("c", namespace, {"data": {"a": "2"}})

    for attempt, code, reason in (
        (lambda: core.read_namespaced_config_map("none", namespace), 404, "NotFound"),
        (lambda: core.create_namespaced_config_map("nowhere", _config_map("c")), 404, "NotFound"),
        (lambda: core.create_namespaced_config_map(namespace, _config_map("c")), 409, "AlreadyExists"),
        (lambda: core.replace_namespaced_config_map("c", namespace, stale), 409, "Conflict"),
        (lambda: core.create_namespaced_config_map(namespace, _bad_name()), 422, "Invalid"),
        (lambda: core.list_namespaced_config_map(namespace, label_selector="a in b"), 400, "BadRequest"),
        (lambda: core.list_namespaced_config_map(namespace, limit=1, _continue="x"), 400, "BadRequest"),
    ):
        with pytest.raises(ApiException) as refused:
            attempt()
        assert refused.value.status == code
        assert f'"reason":"{reason}"' in str(refused.value.body)


def test_a_service_account_acts_with_its_token(api: Any, namespace: str) -> None:
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    core: Any = client.CoreV1Api(api)
    token = core.create_namespaced_service_account_token("default", namespace, request).status.token

    settings = client.Configuration()
    settings.host, settings.ssl_ca_cert = api.configuration.host, api.configuration.ssl_ca_cert
    settings.api_key = {"authorization": f"Bearer {token}"}
    with client.ApiClient(settings) as theirs:
        who: Any = client.AuthenticationV1Api(theirs).create_self_subject_review(client.V1SelfSubjectReview())
        assert who.status.user_info.username == f"system:serviceaccount:{namespace}:default"
        theirs_core: Any = client.CoreV1Api(theirs)
        with pytest.raises(ApiException) as refused:
            theirs_core.list_namespaced_pod(namespace)
        assert refused.value.status == 403
        rules: Any = client.RbacAuthorizationV1Api(api)
        rule = client.V1PolicyRule(api_groups=[""], resources=["pods"], verbs=["list"])
        named = client.V1ObjectMeta(name="reader")
        rules.create_namespaced_role(namespace, client.V1Role(metadata=named, rules=[rule]))
        role = client.V1RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="reader")
        account = client.RbacV1Subject(kind="ServiceAccount", name="default", namespace=namespace)
        binding = client.V1RoleBinding(metadata=named, role_ref=role, subjects=[account])
        rules.create_namespaced_role_binding(namespace, binding)
        assert theirs_core.list_namespaced_pod(namespace).items == []
