"""Plans that were saved and are applied later, on a server."""

from __future__ import annotations

import pytest

from rayward.changes import writing
from rayward.changes.outcomes import Conflict, Invalid
from rayward.changes.planning import check_base
from rayward.changes.refs import Ref
from rayward.changes.steps import run
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.sdk import Client
from tests.changes.beside import with_another_writer
from tests.kinds.clusters import Object, changed, manifest


def _plan(sdk: Client, field: str, value: object, *, force: bool = False) -> Object:
    return sdk.plan(changed(manifest(), field, value), force_conflicts=force).document()


def test_a_plan_that_takes_fields_takes_them_when_it_is_applied(client: SyncClient, namespace: str) -> None:
    sdk = Client(client, namespace=namespace)
    client.apply(RAY_CLUSTERS, changed(manifest(), "metadata.namespace", namespace), field_manager="kubectl")
    with pytest.raises(Conflict, match="kubectl"):
        _plan(sdk, "spec.rayVersion", "2.61.0")
    done = sdk.apply_plan(_plan(sdk, "spec.rayVersion", "2.61.0", force=True), cause="newer Ray")
    assert ("spec.rayVersion", "kubectl") in [(row.field, row.manager) for row in done.taken]
    assert sdk.get("raycluster/c")["spec"]["rayVersion"] == "2.61.0"
    assert sdk.history("raycluster/c")[-1].cause == "newer Ray"


def test_a_dry_run_of_a_plan_changes_nothing(client: SyncClient, namespace: str) -> None:
    sdk = Client(client, namespace=namespace)
    sdk.apply(manifest())
    before = sdk.get("raycluster/c")
    assert sdk.apply_plan(_plan(sdk, "spec.rayVersion", "2.61.0"), dry_run=True).changed
    assert sdk.get("raycluster/c") == before


def _planned(ref: Ref, document: Object) -> writing.Operation[writing.Written]:
    return writing.apply(
        ref, document["wanted"], force=document["forceConflicts"], expect=lambda live: check_base(document, live)
    )


@pytest.mark.parametrize("force", [False, True])
def test_an_edit_after_the_check_is_not_written_over(client: SyncClient, namespace: str, force: bool) -> None:
    sdk = Client(client, namespace=namespace)
    sdk.apply(manifest())
    ref = sdk.ref("raycluster/c")
    document = _plan(sdk, "spec.rayVersion", "2.61.0", force=force)

    def edit() -> None:
        client.patch(RAY_CLUSTERS, "c", {"spec": {"suspend": True}}, PatchType.MERGE, namespace)

    with pytest.raises(Conflict, match="has changed since the plan was made"):
        run(client, with_another_writer(_planned(ref, document), 2, edit))
    assert sdk.get(ref)["spec"]["rayVersion"] == "2.60.0"


def test_a_status_that_moves_after_the_check_is_no_reason_to_refuse(client: SyncClient, namespace: str) -> None:
    sdk = Client(client, namespace=namespace)
    sdk.apply(manifest())
    document = _plan(sdk, "spec.rayVersion", "2.61.0")

    def report() -> None:
        status = {"status": {"state": "ready"}}
        client.patch(RAY_CLUSTERS, "c", status, PatchType.MERGE, namespace, subresource="status")

    done = run(client, with_another_writer(_planned(sdk.ref("raycluster/c"), document), 2, report))
    assert (done.attempts, done.object["spec"]["rayVersion"]) == (2, "2.61.0")


@pytest.mark.parametrize("force", [False, True])
def test_a_name_that_was_given_after_the_check_is_left_alone(client: SyncClient, namespace: str, force: bool) -> None:
    sdk = Client(client, namespace=namespace)
    ref = sdk.ref("raycluster/c")
    document = _plan(sdk, "spec.rayVersion", "2.61.0", force=force)

    def create() -> None:
        client.apply(RAY_CLUSTERS, changed(manifest(), "metadata.namespace", namespace), field_manager="kubectl")

    with pytest.raises(Conflict):
        run(client, with_another_writer(_planned(ref, document), 2, create))
    assert sdk.get(ref)["spec"]["rayVersion"] == "2.60.0"


def test_a_document_that_is_no_plan_is_refused(client: SyncClient, namespace: str) -> None:
    with pytest.raises(Invalid, match="not a plan"):
        Client(client, namespace=namespace).apply_plan({})
