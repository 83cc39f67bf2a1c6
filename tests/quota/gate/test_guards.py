"""What nobody but the gate may do: one table of cases, through the webhook's function and through API servers.

On the servers the admission policy decides, or the webhook, which the API server reaches over TLS.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds import labels
from rayward.kinds.kueue import names
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import SECRETS, VALIDATING_WEBHOOK_CONFIGURATIONS, Resource
from rayward.kube.runtime.authority import UnreadableAuthorityError, authority_of
from rayward.quota.gate.policy import NAME, is_gate
from rayward.quota.gate.registering import has_policies
from rayward.quota.gate.serving import AUTHORITY
from rayward.quota.gate.webhook import answer, configuration, keeps_conditions
from tests.kinds.clusters import job_manifest, manifest
from tests.kube.real.cluster import RealControlPlane
from tests.operator.service.servers import embedded
from tests.operator.stage import Stage, fresh_name
from tests.quota.gate.guarding import (
    OPERATOR,
    as_operator,
    guard_by_policy,
    unregister,
    until_guarded,
    webhook,
)
from tests.quota.gate.stage import queued_service

pytestmark = pytest.mark.anyio

_Q: Final = (labels.QUEUE_NAME, "q")
_OTHER: Final = (labels.QUEUE_NAME, "other")
_KUEUES: Final = (names.QUEUE_NAME, "q")
_GRANT: Final = (labels.ADMITTED, "{}")
_FORGED: Final = (labels.ADMITTED, '{"uid":"u"}')
_MARK: Final = (labels.SUSPENDED_BY, "gate")
_PARTS: Final = {
    labels.ADMITTED: "annotations",
    labels.SUSPENDED_BY: "annotations",
    labels.QUEUE_NAME: "labels",
    names.QUEUE_NAME: "labels",
}


@dataclass(frozen=True)
class Case:
    """An edit: what of the guarded metadata was there, and what is there after."""

    what: str
    resource: Resource
    before: tuple[tuple[str, str], ...]
    after: tuple[tuple[str, str], ...]
    refused: str = ""
    """A part of the message; empty where the edit is nobody's business."""

    def change(self) -> dict[str, Any]:
        made: dict[str, Any] = {"annotations": {}, "labels": {}}
        for key in dict(self.before).keys() - dict(self.after).keys():
            made[_PARTS[key]][key] = None
        for key, value in self.after:
            made[_PARTS[key]][key] = value
        return {"metadata": made}


_GATE_ONLY: Final = "is written by the quota gate only"
_REMOVED: Final = "cannot be removed"
CASES: Final = (
    Case("a grant is forged", RAY_CLUSTERS, (_Q,), (_Q, _FORGED), _GATE_ONLY),
    Case("a grant is changed", RAY_CLUSTERS, (_Q, _GRANT), (_Q, _FORGED), _GATE_ONLY),
    Case("a grant is forged in no queue", RAY_CLUSTERS, (), (_FORGED,), _GATE_ONLY),
    Case("a grant is removed", RAY_CLUSTERS, (_Q, _GRANT), (_Q,)),
    Case("a grant is left as it is", RAY_CLUSTERS, (_Q, _GRANT), (_Q, _GRANT)),
    Case("a cluster is put in a queue", RAY_CLUSTERS, (), (_Q,)),
    Case("a cluster changes its queue", RAY_CLUSTERS, (_Q,), (_OTHER,), "cannot be changed"),
    Case("a cluster leaves its queue", RAY_CLUSTERS, (_Q,), (), "cannot be changed"),
    Case("a cluster leaves Kueue's queue", RAY_CLUSTERS, (_KUEUES,), (), _REMOVED),
    Case("a cluster goes from Kueue's queue to ours", RAY_CLUSTERS, (_KUEUES,), (_Q,)),
    Case("a cluster without a queue is edited", RAY_CLUSTERS, (), ()),
    Case("a mark is forged", RAY_JOBS, (_Q,), (_Q, _MARK), _GATE_ONLY),
    Case("a mark is removed", RAY_JOBS, (_Q, _MARK), (_Q,)),
    Case("a job may have a grant's annotation, which says nothing", RAY_JOBS, (_Q,), (_Q, _GRANT)),
    Case("a job changes its queue", RAY_JOBS, (_Q,), (_OTHER,)),
    Case("a job leaves its queue", RAY_JOBS, (_Q,), (), _REMOVED),
    Case("a service changes its queue", RAY_SERVICES, (_Q,), (_OTHER,)),
    Case("a service goes to Kueue", RAY_SERVICES, (_Q,), (_KUEUES,)),
    Case("a service leaves its queue", RAY_SERVICES, (_Q,), (), _REMOVED),
    Case("a service leaves one of two queues", RAY_SERVICES, (_Q, _KUEUES), (_KUEUES,)),
    Case("a service's label is emptied", RAY_SERVICES, (_Q,), ((labels.QUEUE_NAME, ""),), _REMOVED),
    Case("a service may have a mark, which says nothing", RAY_SERVICES, (_Q,), (_Q, _MARK)),
)


def _metadata(values: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in values:
        made.setdefault(_PARTS[key], {})[key] = value
    return {"metadata": made}


def _review(case: Case, user: str, operation: str = "UPDATE") -> dict[str, Any]:
    request = {
        "uid": "7",
        "operation": operation,
        "userInfo": {"username": user},
        "resource": {"group": case.resource.group, "version": "v1", "resource": case.resource.plural},
        "oldObject": _metadata(case.before),
        "object": _metadata(case.after),
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_the_webhook_answers_what_the_rules_say(case: Case) -> None:
    review = _review(case, "alice")
    answered = answer(review, [OPERATOR])
    assert (answered["apiVersion"], answered["kind"]) == (review["apiVersion"], review["kind"])
    response = answered["response"]
    assert (response["uid"], response["allowed"]) == ("7", not case.refused)
    if case.refused:
        assert response["status"]["code"] == 403
        assert case.refused in response["status"]["message"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_the_gate_and_whoever_creates_are_never_refused(case: Case) -> None:
    assert answer(_review(case, OPERATOR), [OPERATOR])["response"]["allowed"]
    created = _review(case, "alice", "CREATE")
    created["request"]["oldObject"] = None
    assert answer(created, [OPERATOR])["response"]["allowed"]


def test_where_match_conditions_are_not_known_nothing_is_refused_while_nobody_answers() -> None:
    known = configuration([OPERATOR], {"url": "https://h:1/gate"}, b"pem")
    unknown = configuration([OPERATOR], {"url": "https://h:1/gate"}, b"pem", conditional=False)
    assert keeps_conditions(known)
    assert not keeps_conditions(unknown)
    assert {one["failurePolicy"] for one in known["webhooks"]} == {"Fail"}
    assert {one["failurePolicy"] for one in unknown["webhooks"]} == {"Ignore"}


def test_a_user_whose_name_has_quotes_is_known_by_it() -> None:
    assert is_gate(["o'neil\\"]) == "request.userInfo.username in ['o\\'neil\\\\']"


# on servers

_kube = pytest.mark.kube
_POLICY_KINDS: Final = ("policies", "policybindings")
_WITHOUT_POLICIES: Final = (
    "--disable-admission-plugins=ValidatingAdmissionPolicy",
    *(f"--runtime-config=admissionregistration.k8s.io/v1/validatingadmission{kind}=false" for kind in _POLICY_KINDS),
)


@pytest.fixture(scope="module")
def here() -> Iterator[Path]:
    with embedded() as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="module")
def without_policies() -> Iterator[Path]:
    with RealControlPlane(apiserver_args=_WITHOUT_POLICIES) as plane:
        yield plane.kubeconfig


@pytest.fixture(
    params=[
        pytest.param(("here", "policy"), id="policy-on-embedded"),
        pytest.param(("here", "webhook"), id="webhook-on-embedded"),
        pytest.param(("real_kubeconfig", "policy"), id="policy-on-real", marks=_kube),
        pytest.param(("without_policies", "webhook"), id="webhook-on-real", marks=_kube),
    ]
)
async def guarded(request: pytest.FixtureRequest) -> AsyncGenerator[Stage]:
    """A namespace whose rules are told by the one or the other."""
    server, by = request.param
    async with Stage.on(find_access(request.getfixturevalue(server))) as ray, AsyncExitStack() as stack:
        if by == "policy":
            await guard_by_policy(ray)
        else:
            stack.push_async_callback(unregister, ray)
            # where the server has policies, the webhook has to be asked for
            await stack.enter_async_context(webhook(ray, always=server == "here"))
        await until_guarded(ray, await _create(ray, CASES[0]))
        yield ray


@pytest.fixture(params=[pytest.param("here"), pytest.param("without_policies", marks=_kube)])
async def ray(request: pytest.FixtureRequest) -> AsyncGenerator[Stage]:
    async with Stage.on(find_access(request.getfixturevalue(request.param))) as made:
        yield made
        await unregister(made)


async def _create(ray: Stage, case: Case) -> str:
    name = fresh_name()
    body = {RAY_CLUSTERS: manifest, RAY_JOBS: job_manifest, RAY_SERVICES: _service}[case.resource](name)
    body["metadata"] = {"name": name, "namespace": ray.namespace, **_metadata(case.before)["metadata"]}
    await ray.client.create(case.resource, body, ray.namespace)
    return name


def _service(name: str) -> dict[str, Any]:
    return queued_service() | {"metadata": {"name": name}}


async def _edit(ray: Stage, case: Case, name: str, client: Client | None = None) -> str:
    """Why it was refused; empty if it was not."""
    try:
        await (client or ray.client).patch(case.resource, name, case.change(), PatchType.MERGE, ray.namespace)
    except ApiError as error:
        return error.message
    return ""


async def test_servers_say_what_the_rules_say(guarded: Stage) -> None:
    async with as_operator(guarded) as operator:
        for case in CASES:
            name = await _create(guarded, case)
            refusal = await _edit(guarded, case, name)
            assert (case.refused in refusal) if case.refused else not refusal, (case.what, refusal)
            assert not await _edit(guarded, case, name, operator), case.what


async def test_while_the_webhook_is_down_only_what_breaks_a_rule_is_refused(ray: Stage) -> None:
    """It cannot be told why then; but nobody else is held up, and neither is the gate."""
    policies = await has_policies(ray.client)
    async with webhook(ray, always=policies):
        await until_guarded(ray, await _create(ray, CASES[0]))
    async with as_operator(ray) as operator:
        for case in CASES:
            name = await _create(ray, case)
            refusal = await _edit(ray, case, name)
            assert ("failed calling webhook" in refusal) if case.refused else not refusal, (case.what, refusal)
            assert not await _edit(ray, case, name, operator), case.what


@pytest.mark.parametrize("ray", ["here"], indirect=True)
async def test_the_webhook_is_taken_back_where_the_server_has_policies(ray: Stage) -> None:
    async with webhook(ray, always=True):
        await until_guarded(ray, await _create(ray, CASES[0]))

    async def gone() -> bool:
        try:
            await ray.client.get(VALIDATING_WEBHOOK_CONFIGURATIONS, NAME)
        except NotFound:
            return True
        return False

    async with webhook(ray, always=False):
        await ray.eventually(gone)


@pytest.mark.parametrize("ray", ["here"], indirect=True)
async def test_all_replicas_have_one_authority_and_a_damaged_one_is_told(ray: Stage) -> None:
    found = await asyncio.gather(*(authority_of(ray.client, ray.namespace, AUTHORITY) for _ in range(5)))
    assert len(set(found)) == 1
    await ray.client.patch(SECRETS, AUTHORITY, {"data": {"ca.key": None}}, PatchType.MERGE, ray.namespace)
    with pytest.raises(UnreadableAuthorityError, match=f"Secret {ray.namespace}/{AUTHORITY}"):
        await authority_of(ray.client, ray.namespace, AUTHORITY)
