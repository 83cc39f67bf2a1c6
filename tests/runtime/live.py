"""What client and runtime do on a real API server; run on the embedded one and on kube-apiserver."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.credentials import Credential, StaticCredentials
from rayward.kube.client.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    Timeout,
    Unauthorized,
)
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.kube.client.transport.base import ByteStream, Transport
from rayward.kube.client.watch import Bookmark, Change
from rayward.kube.core.data import ConfigMap
from rayward.kube.core.meta import controller_of, controller_reference
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
)
from rayward.kube.runtime.cache import Cache, by_owner
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.kube.runtime.leader import Elector, LeadershipLost, Terms
from rayward.kube.runtime.reflector import Reflector

Scenario = Callable[[Client, Access, str], Awaitable[None]]
SCENARIOS: list[Scenario] = []


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(function)
    return function


async def run_scenario(function: Scenario, access: Access) -> None:
    """Run one in a namespace of its own."""
    async with Client.connect(access) as client:
        name = f"t-{function.__name__.replace('_', '-')[:40]}-{random.randrange(10**6)}"
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # Where no controller makes it, Pods of the namespace would be refused.
        with suppress(AlreadyExists):
            await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": name}})
        await function(client, access, name)


async def eventually(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - what holds is in other processes
            await asyncio.sleep(0.01)


def config(namespace: str, name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod(namespace: str, name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


async def refused(kind: type[Exception], work: Awaitable[Any]) -> Any:
    try:
        await work
    except kind as error:
        return error
    raise AssertionError(f"nothing raised a {kind.__name__}")


@scenario
async def verbs_and_refusals(client: Client, access: Access, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config(namespace, "a", x="1"))
    await refused(AlreadyExists, client.create(CONFIG_MAPS, config(namespace, "a")))
    assert await client.get(CONFIG_MAPS, "a", namespace) == made
    slim = await client.send_as(verbs.get(CONFIG_MAPS, "a", namespace), ConfigMap)
    assert slim.data == {"x": "1"}
    updated = await client.update(CONFIG_MAPS, {**made, "data": {"x": "2"}}, field_manager="me")
    await refused(Conflict, client.update(CONFIG_MAPS, made))
    patches: list[tuple[PatchType, Any]] = [
        (PatchType.JSON, [{"op": "add", "path": "/data/json", "value": "1"}]),
        (PatchType.MERGE, {"data": {"merge": "1"}}),
        (PatchType.STRATEGIC, {"data": {"strategic": "1"}}),
    ]
    for kind, body in patches:
        await client.patch(CONFIG_MAPS, "a", body, kind, namespace)
    patched = await client.get(CONFIG_MAPS, "a", namespace)
    assert patched["data"] == {"x": "2", "json": "1", "merge": "1", "strategic": "1"}
    conflict = await refused(Conflict, client.apply(CONFIG_MAPS, config(namespace, "a", x="3"), field_manager="you"))
    assert [cause.field for cause in conflict.causes] == [".data.x"]
    forced = await client.apply(CONFIG_MAPS, config(namespace, "a", x="3"), field_manager="you", force=True)
    assert forced["data"]["x"] == "3"
    invalid = await refused(Invalid, client.create(PODS, {**pod(namespace, "p"), "spec": {"containers": []}}))
    assert [cause.field for cause in invalid.causes] == ["spec.containers"]
    await refused(BadRequest, client.page(CONFIG_MAPS, namespace, continue_token="nonsense"))
    await refused(NotFound, client.get(CONFIG_MAPS, "none", namespace))
    await refused(Conflict, client.delete(CONFIG_MAPS, "a", namespace, uid="another"))
    await client.create(CONFIG_MAPS, config(namespace, "dry"), dry_run=True)
    await client.delete(CONFIG_MAPS, "a", namespace, uid=updated["metadata"]["uid"])
    await client.create(CONFIG_MAPS, config(namespace, "b"))
    await client.delete_collection(CONFIG_MAPS, namespace, field_selector="metadata.name=b")
    left = [item["metadata"]["name"] for item in (await client.list(CONFIG_MAPS, namespace)).items]
    assert set(left) <= {"kube-root-ca.crt"}


@scenario
async def subresources(client: Client, access: Access, namespace: str) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s", "namespace": namespace}}
    await client.create(SERVICE_ACCOUNTS, account)
    answer = await client.token("s", namespace, {"expirationSeconds": 600})
    assert answer["status"]["token"].count(".") == 2
    await client.create(PODS, pod(namespace, "p"))
    await client.bind("p", namespace, "some-node")
    bound = await client.send_as(verbs.get(PODS, "p", namespace), Pod)
    assert bound.spec.node_name == "some-node"
    status = {"status": {"phase": "Running", "podIP": "10.0.0.9"}}
    await client.patch(PODS, "p", status, PatchType.MERGE, namespace, subresource="status")
    running = await client.send_as(verbs.get(PODS, "p", namespace), Pod)
    assert (running.status.phase, running.status.pod_ip) == ("Running", "10.0.0.9")
    await client.evict("p", namespace, grace_period_seconds=0)
    await refused(NotFound, client.get(PODS, "p", namespace))
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    await client.create(DEPLOYMENTS, deployment)
    assert (await client.scale(DEPLOYMENTS, "d", 3, namespace))["spec"]["replicas"] == 3
    assert (await client.get(DEPLOYMENTS, "d", namespace, subresource="scale"))["spec"]["replicas"] == 3


@scenario
async def lists_and_watches(client: Client, access: Access, namespace: str) -> None:
    for number in range(7):
        await client.create(SECRETS, {"metadata": {"name": f"s{number}", "namespace": namespace}})
    found = await client.list(SECRETS, namespace, limit=3)
    assert [item["metadata"]["name"] for item in found.items] == [f"s{number}" for number in range(7)]
    assert {item["kind"] for item in found.items} == {"Secret"}
    page = await client.page(SECRETS, namespace, limit=3)
    assert (len(page.items), page.remaining) == (3, 4)
    await client.delete(SECRETS, "s0", namespace)
    async with client.watch(
        SECRETS, KubeObject, namespace, resource_version=found.resource_version, timeout_seconds=1
    ) as events:
        seen = [(event.type, event.object.metadata.name) async for event in events if isinstance(event, Change)]
    assert seen == [("DELETED", "s0")]
    names: list[str] = []
    async with client.watch(
        SECRETS,
        KubeObject,
        namespace,
        send_initial_events=True,
        resource_version_match="NotOlderThan",
        allow_watch_bookmarks=True,
        timeout_seconds=30,
    ) as events:
        async for event in events:
            if isinstance(event, Bookmark) and event.initial_events_end:
                break
            if isinstance(event, Change):
                names.append(event.object.metadata.name)
    assert sorted(names) == [f"s{number}" for number in range(1, 7)]
    future = await refused(Timeout, client.page(SECRETS, namespace, resource_version="999999999"))
    assert future.version_too_large


@scenario
async def strangers_are_refused(client: Client, access: Access, namespace: str) -> None:
    stranger = msgspec.structs.replace(access, credentials=StaticCredentials(Credential("wrong")))
    async with Client.connect(stranger) as other:
        await refused(Unauthorized, other.list(SECRETS, namespace))


@scenario
async def the_waiting_client(client: Client, access: Access, namespace: str) -> None:
    def work() -> None:
        with SyncClient.connect(access) as waiting:
            for number in range(5):
                waiting.create(CONFIG_MAPS, config(namespace, f"c{number}"))
            found = waiting.list(CONFIG_MAPS, namespace, limit=2)
            names = {item["metadata"]["name"] for item in found.items}
            assert names >= {f"c{number}" for number in range(5)}
            waiting.delete(CONFIG_MAPS, "c0", namespace)
            with waiting.watch(
                CONFIG_MAPS, KubeObject, namespace, resource_version=found.resource_version, timeout_seconds=1
            ) as events:
                seen = [(event.type, event.object.metadata.name) for event in events if isinstance(event, Change)]
            assert ("DELETED", "c0") in seen

    await asyncio.to_thread(work)


async def _follow(client: Client, namespace: str, watch_list: bool) -> None:
    cache = Cache(CONFIG_MAPS, ConfigMap)
    told: list[tuple[str, int]] = []

    def note(old: ConfigMap | None, new: ConfigMap | None) -> None:
        found = new or old
        assert found is not None
        told.append((found.metadata.name, int(found.metadata.resource_version)))

    cache.subscribe(note)
    reflector = Reflector(client, cache, namespace=namespace, watch_list=watch_list)
    following = asyncio.ensure_future(reflector.run())
    await reflector.wait_synced()
    chance = random.Random(7)
    present: set[str] = set()

    async def churn(worker: int) -> None:
        for number in range(30):
            name = f"w{worker}-{number % 5}"
            if name not in present:
                await client.create(CONFIG_MAPS, config(namespace, name))
                present.add(name)
            elif chance.random() < 0.4:
                await client.delete(CONFIG_MAPS, name, namespace)
                present.discard(name)
            else:
                await client.patch(CONFIG_MAPS, name, {"data": {"n": str(number)}}, PatchType.MERGE, namespace)

    await asyncio.gather(*(churn(worker) for worker in range(8)))
    final = await client.list(CONFIG_MAPS, namespace)
    wanted = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in final.items}
    await eventually(lambda: {found.metadata.name: found.metadata.resource_version for found in cache} == wanted)
    versions = [version for _, version in told if version]
    assert versions == sorted(versions), "changes came out of order"
    assert len(set(told)) == len(told), "a change came twice"
    following.cancel()


@scenario
async def a_reflector_follows(client: Client, access: Access, namespace: str) -> None:
    await _follow(client, namespace, watch_list=False)


@scenario
async def a_reflector_follows_by_streamed_lists(client: Client, access: Access, namespace: str) -> None:
    await _follow(client, namespace, watch_list=True)


class _Late:
    """A transport whose watches lag behind, as those of a busy server do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.request = transport.request
        self.close = transport.close

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[ByteStream]:
        async with self._transport.stream(request) as stream:
            yield _LateStream(stream)


class _LateStream:
    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.status = stream.status
        self.headers = stream.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            await asyncio.sleep(0.02)
            yield part


@scenario
async def a_controller_never_makes_too_many(client: Client, access: Access, namespace: str) -> None:
    """Each owner shall have three children. A controller that trusts a cache without its own writes makes more."""
    late = Client(_Late(client.transport))
    owners = Cache(CONFIG_MAPS, ConfigMap)
    children = Cache(SECRETS, KubeObject, indexes={"owner": by_owner})
    reflectors = [Reflector(client, owners, namespace=namespace), Reflector(late, children, namespace=namespace)]
    made = 0

    async def reconcile(key: Key) -> Result:
        nonlocal made
        owner = owners.get(key)
        if owner is None or not key.name.startswith("owner"):
            return DONE
        missing = 3 - len(children.find("owner", owner.metadata.uid))
        metadata = {
            "generateName": f"{key.name}-",
            "namespace": namespace,
            "ownerReferences": [msgspec.to_builtins(controller_reference(owner, CONFIG_MAPS))],
        }
        for _ in range(missing):
            answer = await client.send_as(verbs.create(SECRETS, {"metadata": metadata}), KubeObject)
            controller.wrote(key, children, answer)
            made += 1
        return Result(requeue_after=0.001) if missing else DONE

    def owner_of(old: KubeObject | None, new: KubeObject | None) -> list[Key]:
        owner = controller_of(new or old or KubeObject())
        return [] if owner is None else [Key(namespace, owner.name)]

    controller = Controller("test", reconcile, workers=8)
    controller.watch(owners)
    controller.watch(children, owner_of)
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(reflector.run()) for reflector in reflectors]
        for reflector in reflectors:
            await reflector.wait_synced()
        running.append(tasks.create_task(controller.run()))
        for number in range(40):
            await client.create(CONFIG_MAPS, config(namespace, f"owner-{number}"))
        await eventually(lambda: len(children) >= 120 and controller.idle)
        assert made == 120
        assert len((await client.list(SECRETS, namespace)).items) == 120
        for task in running:
            task.cancel()


@scenario
async def one_of_two_leads(client: Client, access: Access, namespace: str) -> None:
    leading: list[str] = []

    def contender(name: str) -> tuple[Elector, asyncio.Task[None]]:
        terms = Terms(namespace, "test", name, lease_seconds=30, renew_seconds=20, retry_seconds=0.1)
        elector = Elector(client, terms)

        async def lead() -> None:
            leading.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                leading.remove(name)

        return elector, asyncio.create_task(elector.run(lead))

    electors: dict[str, tuple[Elector, asyncio.Task[None]]] = {"one": contender("one")}
    await eventually(lambda: leading == ["one"])
    electors["two"] = contender("two")
    await eventually(lambda: electors["two"][0].holder == "one")
    electors["one"][1].cancel()
    await eventually(lambda: leading == ["two"])
    electors["two"][1].cancel()
    with suppress(asyncio.CancelledError, LeadershipLost):
        await electors["two"][1]
    assert leading == []


@scenario
async def events_are_folded(client: Client, access: Access, namespace: str) -> None:
    about = await client.send_as(verbs.create(CONFIG_MAPS, config(namespace, "a")), KubeObject)
    recorder = EventRecorder(client, "test", instance="here")
    writing = asyncio.create_task(recorder.run())
    for _ in range(3):
        recorder.record(reference(CONFIG_MAPS, about), "Warning", "Tested", "it happened")
        await eventually(lambda: recorder.idle)
    (event,) = (await client.list(EVENTS, namespace, field_selector="involvedObject.name=a")).items
    assert (event["count"], event["reason"], event["type"]) == (3, "Tested", "Warning")
    assert recorder.dropped == 0
    writing.cancel()
