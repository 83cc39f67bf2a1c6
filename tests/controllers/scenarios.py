"""What the controllers do on a whole server; the same for ours and for a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError, Forbidden, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    ENDPOINT_SLICES,
    EVENTS,
    NAMESPACES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from rayward.kube.runtime.clock import SystemClock
from rayward.local.controllers import Controllers, Published
from tests.identity import own_kubeconfig

Object = dict[str, Any]
ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
WIDGETS = Resource("controllers.example.com", "v1", "widgets", "Widget")


class Later(SystemClock):
    """The system's clock, but the calendar is an hour and a minute ahead."""

    def utc(self) -> datetime:
        return super().utc() + timedelta(minutes=61)


def _sockets() -> int:
    """How many sockets this process has open."""
    found = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found += str(entry.readlink()).startswith("socket:")
    return found


@asynccontextmanager
async def all_closed() -> AsyncGenerator[None]:
    """Waits in the end until every connection is down: closing one only begins that."""
    before = _sockets()
    try:
        yield
    finally:
        await until(lambda: asyncio.sleep(0, _sockets() <= before))


@asynccontextmanager
async def running(kubeconfig: Path, clock: SystemClock | None = None, **options: Any) -> AsyncGenerator[Client]:
    """A client, and the controllers at work beside it."""
    access, own = find_access(kubeconfig), find_access(own_kubeconfig(kubeconfig, "controllers"))
    async with all_closed(), Client.connect(access) as client, Client.connect(own) as theirs:
        controllers = Controllers(theirs, authority="the authority", clock=clock or SystemClock(), **options)
        task = asyncio.create_task(controllers.run())
        try:
            yield client
        finally:
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled(), task.exception()


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    """Wait for something the server will say; the suite's time limit ends it."""
    while not (result := await condition()):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return result


async def gone(client: Client, resource: Resource, name: str, namespace: str | None = None) -> bool:
    try:
        await client.get(resource, name, namespace)
    except NotFound:
        return True
    return False


async def names(client: Client, resource: Resource, namespace: str) -> set[str]:
    found = {item["metadata"]["name"] for item in (await client.list(resource, namespace)).items}
    return found - {"kube-root-ca.crt"}


@asynccontextmanager
async def space(client: Client) -> AsyncGenerator[str]:
    """A namespace that is ready for use."""
    name = f"controllers-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await until(lambda: _exists(client, SERVICE_ACCOUNTS, "default", name))
    yield name


async def _exists(client: Client, resource: Resource, name: str, namespace: str | None = None) -> bool:
    return not await gone(client, resource, name, namespace)


def owned_by(*owners: Object, block: bool | None = None) -> list[Object]:
    references: list[Object] = []
    for owner in owners:
        metadata = owner["metadata"]
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
        references.append(
            {**reference, "uid": metadata["uid"], **({} if block is None else {"blockOwnerDeletion": block})}
        )
    return references


def config_map(name: str, owners: list[Object] | None = None, finalizers: list[str] | None = None) -> Object:
    metadata: Object = {"name": name, "ownerReferences": owners or [], "finalizers": finalizers or []}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def secret(name: str, owners: list[Object]) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "ownerReferences": owners}}


def definition(plural: str = "widgets") -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.controllers.example.com"},
        "spec": {
            "group": "controllers.example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural[:-1], "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest.mark.anyio
class Scenarios:
    """Subclasses say, with the fixture ``kubeconfig``, on which server; a real one publishes itself."""

    published: Published | None = None

    async def test_default_roles_gather_the_rules_of_others(self, kubeconfig: Path) -> None:
        name = f"rayward-{uuid4().hex[:8]}"
        rule = {"apiGroups": ["example.com"], "resources": [name], "verbs": ["get"]}
        labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}

        async def viewed() -> bool:
            return rule in ((await client.get(CLUSTER_ROLES, "view")).get("rules") or [])

        async with running(kubeconfig) as client:
            await client.create(CLUSTER_ROLES, {"metadata": {"name": name, "labels": labels}, "rules": [rule]})
            await until(viewed)
            assert rule in (await client.get(CLUSTER_ROLES, "view"))["rules"]
            await client.delete(CLUSTER_ROLES, name)

            async def forgotten() -> bool:
                return not await viewed()

            await until(forgotten)

    async def test_background_deletion_takes_the_whole_family(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            top = await client.create(CONFIG_MAPS, config_map("top"), place)
            middle = await client.create(SECRETS, secret("middle", owned_by(top)), place)
            await client.create(CONFIG_MAPS, config_map("bottom", owned_by(middle)), place)
            await client.create(CONFIG_MAPS, config_map("alone"), place)
            await client.delete(CONFIG_MAPS, "top", place, propagation_policy="Background")
            await until(lambda: gone(client, CONFIG_MAPS, "bottom", place))
            assert await names(client, CONFIG_MAPS, place) == {"alone"}
            assert await gone(client, SECRETS, "middle", place)

    async def test_foreground_deletion_takes_the_owner_last(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            top = await client.create(CONFIG_MAPS, config_map("top"), place)
            held = config_map("held", owned_by(top, block=True), ["example.com/held"])
            await client.create(CONFIG_MAPS, held, place)
            await client.create(CONFIG_MAPS, config_map("free", owned_by(top, block=True)), place)
            await client.delete(CONFIG_MAPS, "top", place, propagation_policy="Foreground")
            await until(lambda: gone(client, CONFIG_MAPS, "free", place))
            waiting = await client.get(CONFIG_MAPS, "top", place)
            assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
            await client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, PatchType.MERGE, place)
            await until(lambda: gone(client, CONFIG_MAPS, "top", place))
            assert await names(client, CONFIG_MAPS, place) == set()

    async def test_orphans_stay_and_have_no_owner(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            top = await client.create(CONFIG_MAPS, config_map("top"), place)
            await client.create(SECRETS, secret("left", owned_by(top)), place)
            await client.delete(CONFIG_MAPS, "top", place, propagation_policy="Orphan")
            await until(lambda: gone(client, CONFIG_MAPS, "top", place))
            assert "ownerReferences" not in (await client.get(SECRETS, "left", place))["metadata"]

    async def test_one_of_two_owners_is_enough(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            first = await client.create(CONFIG_MAPS, config_map("first"), place)
            second = await client.create(CONFIG_MAPS, config_map("second"), place)
            await client.create(SECRETS, secret("child", owned_by(first, second, block=True)), place)
            await client.delete(CONFIG_MAPS, "first", place, propagation_policy="Foreground")
            await until(lambda: gone(client, CONFIG_MAPS, "first", place))
            child = await client.get(SECRETS, "child", place)
            assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["second"]
            await client.delete(CONFIG_MAPS, "second", place)
            await until(lambda: gone(client, SECRETS, "child", place))

    async def test_owners_that_are_none(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place, space(client) as elsewhere:
            real = await client.create(CONFIG_MAPS, config_map("real"), place)
            namesake = owned_by(real)
            namesake[0]["uid"] = "00000000-0000-0000-0000-000000000000"
            await client.create(SECRETS, secret("of-a-namesake", namesake), place)
            await client.create(SECRETS, secret("of-another-namespace", owned_by(real)), elsewhere)
            await client.create(SECRETS, secret("of-the-real-one", owned_by(real)), place)
            await until(lambda: gone(client, SECRETS, "of-a-namesake", place))
            await until(lambda: gone(client, SECRETS, "of-another-namespace", elsewhere))
            assert await names(client, SECRETS, place) == {"of-the-real-one"}

    async def test_a_cluster_wide_owner(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            role = {"apiVersion": ROLES.api_version, "kind": "ClusterRole", "metadata": {"name": place}, "rules": []}
            owner = await client.create(ROLES, role)
            await client.create(CONFIG_MAPS, config_map("child", owned_by(owner)), place)
            await client.delete(ROLES, place)
            await until(lambda: gone(client, CONFIG_MAPS, "child", place))

    async def test_kinds_that_come_at_run_time(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
            widget = {"apiVersion": WIDGETS.api_version, "kind": "Widget", "metadata": {"name": "w"}}

            async def made() -> Object | None:
                try:
                    return await client.create(WIDGETS, widget, place)
                except NotFound:
                    return None

            owner = await until(made)
            await client.create(CONFIG_MAPS, config_map("child", owned_by(owner, block=True)), place)
            child = {**widget, "metadata": {"name": "v", "ownerReferences": owned_by(owner)}}
            await client.create(WIDGETS, child, place)
            await client.delete(WIDGETS, "w", place, propagation_policy="Foreground")
            await until(lambda: gone(client, WIDGETS, "w", place))
            assert await gone(client, CONFIG_MAPS, "child", place)
            await until(lambda: gone(client, WIDGETS, "v", place))
            await client.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.controllers.example.com")
            await until(lambda: gone(client, CUSTOM_RESOURCE_DEFINITIONS, "widgets.controllers.example.com"))

    async def test_a_circle_goes(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            first = await client.create(CONFIG_MAPS, config_map("first"), place)
            second = await client.create(CONFIG_MAPS, config_map("second", owned_by(first, block=True)), place)
            closed = {"metadata": {"ownerReferences": owned_by(second, block=True)}}
            await client.patch(CONFIG_MAPS, "first", closed, PatchType.MERGE, place)
            for name in ("first", "second"):
                await client.delete(CONFIG_MAPS, name, place, propagation_policy="Foreground")
            await until(lambda: gone(client, CONFIG_MAPS, "first", place))
            await until(lambda: gone(client, CONFIG_MAPS, "second", place))

    async def test_what_happened_while_nobody_looked_is_made_good(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            top = await client.create(CONFIG_MAPS, config_map("top"), place)
            await client.create(SECRETS, secret("background", owned_by(top)), place)
            waiting = await client.create(CONFIG_MAPS, config_map("waiting"), place)
            await client.create(SECRETS, secret("foreground", owned_by(waiting, block=True)), place)
        async with all_closed(), Client.connect(find_access(kubeconfig)) as client:
            await client.delete(CONFIG_MAPS, "top", place)
            await client.delete(CONFIG_MAPS, "waiting", place, propagation_policy="Foreground")
        async with running(kubeconfig) as client:
            await until(lambda: gone(client, SECRETS, "background", place))
            await until(lambda: gone(client, CONFIG_MAPS, "waiting", place))
            assert await names(client, SECRETS, place) == set()

    async def test_a_namespace_goes_with_all_it_holds(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            await client.create(CONFIG_MAPS, config_map("free"), place)
            await client.create(CONFIG_MAPS, config_map("held", finalizers=["example.com/held"]), place)
            await client.delete(NAMESPACES, place)

            async def told() -> Object | None:
                status = (await client.get(NAMESPACES, place))["status"]
                found = {c["type"]: c for c in status.get("conditions", ())}
                return found if found.get("NamespaceFinalizersRemaining", {}).get("status") == "True" else None

            conditions = await until(told)
            assert {kind: c["status"] for kind, c in conditions.items()} == {
                "NamespaceDeletionDiscoveryFailure": "False",
                "NamespaceDeletionGroupVersionParsingFailure": "False",
                "NamespaceDeletionContentFailure": "False",
                "NamespaceContentRemaining": "True",
                "NamespaceFinalizersRemaining": "True",
            }
            assert conditions["NamespaceContentRemaining"]["message"] == (
                "Some resources are remaining: configmaps. has 1 resource instances"
            )
            assert conditions["NamespaceFinalizersRemaining"]["message"] == (
                "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
            )
            with pytest.raises(Forbidden):
                await client.create(CONFIG_MAPS, config_map("late"), place)
            await client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, PatchType.MERGE, place)
            await until(lambda: gone(client, NAMESPACES, place))

    async def test_what_every_namespace_has_comes_back(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            await until(lambda: _exists(client, CONFIG_MAPS, "kube-root-ca.crt", place))
            await client.delete(SERVICE_ACCOUNTS, "default", place)
            await client.patch(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "false"}}, PatchType.MERGE, place)
            await until(lambda: _exists(client, SERVICE_ACCOUNTS, "default", place))

            async def mended() -> bool:
                found = await client.get(CONFIG_MAPS, "kube-root-ca.crt", place)
                return found["data"] == {"ca.crt": "the authority"}

            await until(mended)

    async def test_what_every_cluster_has(self, kubeconfig: Path) -> None:
        async with running(kubeconfig, published=self.published) as client:
            for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
                await until(lambda name=name: _exists(client, SERVICE_ACCOUNTS, "default", name))
            await until(lambda: _exists(client, SERVICES, "kubernetes", "default"))
            await until(lambda: _exists(client, ENDPOINT_SLICES, "kubernetes", "default"))

    async def test_old_events_end(self, kubeconfig: Path) -> None:
        async with running(kubeconfig) as client, space(client) as place:
            event = {
                "metadata": {"name": "told"},
                "involvedObject": {"kind": "Namespace", "name": place, "namespace": place},
                "reason": "Told",
                "message": "once",
                "type": "Normal",
            }
            await client.create(EVENTS, event, place)
            assert await names(client, EVENTS, place) == {"told"}
        async with running(kubeconfig, Later()) as client:
            await until(lambda: gone(client, EVENTS, "told", place))

    async def test_a_refused_request_is_tried_again(self, kubeconfig: Path) -> None:
        """A server that cannot be reached for a while is not the end of the controllers."""
        access = find_access(kubeconfig)
        async with all_closed(), Client.connect(access) as client, Client.connect(access) as theirs:
            send = theirs.transport.request
            refusals = iter(range(5))

            async def unreliable(request: Any) -> Any:
                if request.method != "GET" and next(refusals, None) is not None:
                    raise ApiError(503, "ServiceUnavailable", "not now", {}, None)
                return await send(request)

            theirs.transport.request = unreliable  # pyright: ignore[reportAttributeAccessIssue]
            task = asyncio.create_task(Controllers(theirs, authority="the authority").run())
            try:
                async with space(client) as place:
                    top = await client.create(CONFIG_MAPS, config_map("top"), place)
                    await client.create(SECRETS, secret("child", owned_by(top)), place)
                    await client.delete(CONFIG_MAPS, "top", place)
                    await until(lambda: gone(client, SECRETS, "child", place))
            finally:
                task.cancel()
                await asyncio.wait([task])
