"""Evictions: a delete that asks the pod's disruption budget first."""

from __future__ import annotations

from functools import partial

import orjson

from rayward.kube.machinery.apply import Owners
from rayward.kube.machinery.jsonvalue import entries, section
from rayward.local.apiserver import status
from rayward.local.apiserver.admission import admitted
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.disruption import may_evict
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import Live, encode, stamp
from rayward.local.apiserver.options import WriteOptions, write_options
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.respond import shown_object
from rayward.local.apiserver.verbs.create import posted_part
from rayward.local.apiserver.verbs.delete import check_preconditions, delete
from rayward.local.apiserver.verbs.incoming import body_of
from rayward.local.apiserver.verbs.update import modify
from rayward.local.store import Conflict

_BUDGETS = "/poddisruptionbudgets.policy/"


async def evict(core: Core, request: Request) -> Response:
    created = write_options(request.query, request.agent, "CreateOptions")
    attributes = posted_part(request, body_of(request, "policy", "Eviction"), created)
    given = await core.admission.mutate(core, attributes, request.warnings)
    name = section(given, "metadata").get("name")
    if name and name != request.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    options = section(given, "deleteOptions")
    dry_run = options.get("dryRun") or list(request.query.get("dryRun", ()))
    wanted = section(options, "preconditions")
    await core.admission.validate(core, attributes.with_object(given), request.warnings)
    await _ask_budget(core, request, dry_run=bool(dry_run))
    if not dry_run:
        marked = await _mark(admitted(core), request, created, wanted)
        if wanted.get("resourceVersion"):
            # the mark is ours: it may not stand in the way of the delete
            options = {**options, "preconditions": {**wanted, "resourceVersion": marked}}
    inner = Request(
        request.info,
        request.resource,
        {},
        {**request.headers, b"content-type": b"application/json"},
        orjson.dumps({"kind": "DeleteOptions", "apiVersion": "v1", **options, "dryRun": dry_run}),
        request.user,
        request.warnings,
    )
    await delete(admitted(core), inner)
    answer: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return shown_object(request, 201, answer)


async def _ask_budget(core: Core, request: Request, *, dry_run: bool) -> None:
    """Refuse what a budget does not allow, and let the budget pay. One that nobody keeps count of allows everything."""
    store, resource = core.objects.store, core.registry.find("policy", "v1", "poddisruptionbudgets")
    assert resource is not None
    while True:
        live = core.objects.newest(request.resource, request.namespace, request.name)
        if live is None:
            raise status.not_found(request.resource, request.name)
        records = [store.newest(key) for key in store.keys(f"{_BUDGETS}{request.namespace}/")]
        budgets = {record.key: orjson.loads(record.value) for record in records if record is not None}
        counted = [budget for budget in budgets.values() if section(budget, "status").get("observedGeneration")]
        verdict = may_evict(live.value, counted, stamp(core.clock()))
        if verdict.code != 200:
            raise _refusal(verdict.code, verdict.message, verdict.cause)
        paying = verdict.budget
        if paying is None or dry_run:
            return
        key = resource.key(request.namespace, paying["metadata"]["name"])
        expected = int(budgets[key]["metadata"]["resourceVersion"])
        try:
            await store.put(key, partial(encode, resource, paying), expect=expected)
        except Conflict:
            continue
        return


def _refusal(code: int, message: str, cause: str) -> status.ApiError:
    if code != 429:
        return status.ApiError(code if code < 500 else 409, "Forbidden" if code == 403 else "Conflict", message)
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": cause}]} if cause else {}
    return status.ApiError(429, "TooManyRequests", message, details)


async def _mark(core: Core, request: Request, options: WriteOptions, wanted: Object) -> str:
    """Say in the pod's status why it goes, if it is the wanted one; returns its version then."""

    def change(live: Live | None) -> tuple[Object, Owners]:
        if live is None:
            raise status.not_found(request.resource, request.name)
        check_preconditions(request, live.value, wanted.get("uid"), wanted.get("resourceVersion"))
        obj = orjson.loads(orjson.dumps(live.value))
        conditions: list[Object] = entries(section(obj, "status"), "conditions")
        evicted = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastProbeTime": None,
            "lastTransitionTime": stamp(core.clock()),
        }
        kept = [c for c in conditions if c["type"] != "DisruptionTarget"]
        obj.setdefault("status", {})["conditions"] = [*kept, evicted]
        return obj, core.objects.owners(live)

    changed = await modify(core, request, change, options)
    return orjson.loads(changed.value)["metadata"]["resourceVersion"]
