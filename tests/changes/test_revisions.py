from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.changes import history, writing
from rayward.changes.intents import Scale, SetField, SetImage
from rayward.changes.outcomes import Conflict, NotFound
from rayward.changes.pruning import PRUNED, with_pruned
from rayward.changes.refs import Ref
from rayward.changes.revisions import KEPT, Revision, read_revisions, surplus, undo_of, with_outcomes
from rayward.changes.steps import run
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.sdk import Client
from tests.kinds.clusters import Object, changed, manifest

REF = Ref("RayCluster", "c", "default")


def _live(spec: Object, generation: int) -> Object:
    return {"metadata": {"name": "c", "uid": "u", "generation": generation}, "spec": spec}


def _spec(**changes: object) -> Object:
    body = manifest()
    for name, value in changes.items():
        path = "spec.workerGroupSpecs.0.replicas" if name == "replicas" else f"spec.{name}"
        body = changed(body, path, value)
    return body["spec"]


def _stored(generation: int) -> Object:
    return {"metadata": {"name": f"u-{generation}"}, "revision": generation, "data": {"spec": {"n": generation}}}


def test_generations_that_nobody_saw_are_a_gap() -> None:
    found = read_revisions([_stored(7), _stored(2), _stored(3)])
    assert [(one.revision, one.until, one.is_gap) for one in found] == [
        (1, 1, True),
        (2, 0, False),
        (3, 0, False),
        (4, 6, True),
        (7, 0, False),
    ]


def _with_pruned(item: Object, ranges: str) -> Object:
    return changed(item, "metadata.annotations", {PRUNED: ranges})


def test_generations_that_were_pruned_are_told_from_those_that_nobody_saw() -> None:
    found = read_revisions([_stored(5), _with_pruned(_stored(9), "1-2,4,6-7"), _with_pruned(_stored(12), "1-2")])
    assert [(one.revision, one.until, one.pruned) for one in found if one.is_gap] == [
        (1, 2, True),
        (3, 3, False),
        (4, 4, True),
        (6, 7, True),
        (8, 8, False),
        (10, 11, False),
    ]


@given(st.sets(st.integers(1, 40)), st.lists(st.sets(st.integers(1, 40)), max_size=3))
def test_what_is_pruned_now_is_joined_to_what_was_before(before: set[int], then: list[set[int]]) -> None:
    item = _with_pruned(_stored(50), with_pruned([], [f"u-u-{number}" for number in before]))
    for numbers in then:
        item = _with_pruned(item, with_pruned([item], [f"u-u-{number}" for number in numbers]))
    missing = [one for one in read_revisions([item]) if one.pruned]
    assert {number for one in missing for number in range(one.revision, one.until + 1)} == before.union(*then)


@pytest.mark.parametrize("text", ["", "x", "7-3", ",,", "0", "9" * 40])
def test_a_note_that_makes_no_sense_hides_no_revision(text: str) -> None:
    found = read_revisions([_stored(2), _with_pruned(_stored(5), text)])
    assert [one.revision for one in found if not one.is_gap] == [2, 5]
    assert {number for one in found for number in range(one.revision, max(one.until, one.revision) + 1)} == set(
        range(1, 6)
    )


_ONE, _TWO = ({"rayVersion": version} for version in ("2.60.0", "2.61.0"))


@pytest.mark.parametrize(
    ("revisions", "outcomes"),
    [
        pytest.param([Revision(1, _ONE), Revision(2, _TWO)], ["Superseded", ""], id="the-next-came"),
        pytest.param(
            [Revision(1, _ONE, outcome="Ready"), Revision(2, _TWO), Revision(3, _ONE)],
            ["Ready", "RolledBack", ""],
            id="by-hand",
        ),
        pytest.param(
            [Revision(1, _ONE, outcome="Ready"), Revision(2, _TWO), Revision(3, {}, cause="undo to revision 1")],
            ["Ready", "RolledBack", ""],
            id="undo-that-keeps-a-size",
        ),
        pytest.param([Revision(1, _ONE), Revision(2, until=3), Revision(4, _TWO)], ["Superseded", "", ""], id="a-gap"),
        pytest.param(
            [Revision(1, _ONE), Revision(2, _TWO, outcome="DEPLOY_FAILED", result="Failed"), Revision(3, _ONE)],
            ["Superseded", "DEPLOY_FAILED", ""],
            id="what-was-seen-stays",
        ),
        pytest.param([], [], id="none"),
    ],
)
def test_a_generation_that_did_not_end_has_an_outcome(revisions: list[Revision], outcomes: list[str]) -> None:
    found = with_outcomes(revisions)
    assert [one.outcome for one in found] == outcomes
    assert [one.result for one in found] == [one.result for one in revisions], "none of these was tried to its end"


def test_the_last_generation_of_an_object_that_was_recreated_is_superseded() -> None:
    assert [one.outcome for one in read_revisions([_stored(1), _stored(2)])] == ["Superseded", ""]
    assert [one.outcome for one in read_revisions([_stored(1)], replaced=True)] == ["Superseded"]


def test_the_oldest_go_first() -> None:
    assert surplus([_stored(number) for number in (5, 1, 3)], kept=2) == ("u-1",)
    assert surplus([_stored(1)], kept=2) == ()


def test_undo_goes_back_to_the_last_that_differs() -> None:
    revisions = [Revision(1, _spec()), Revision(2, _spec(rayVersion="2.61.0")), Revision(3, _spec(rayVersion="2.61.0"))]
    undo = undo_of(REF, _live(_spec(rayVersion="2.61.0"), 3), revisions)
    assert (undo.to.revision, undo.spec, undo.kept) == (1, _spec(), ())


def test_undo_passes_over_what_failed_unless_it_is_named() -> None:
    revisions = [
        Revision(1, _spec()),
        Revision(2, _spec(rayVersion="2.61.0"), outcome="ImagePullBackOff", result="Failed"),
        Revision(3, _spec(rayVersion="2.62.0"), outcome="TemplateChanged", result="Failed"),
    ]
    live = _live(_spec(rayVersion="2.63.0"), 4)
    assert undo_of(REF, live, revisions).to.revision == 3, "a strategy held it back; it was not tried"
    undo = undo_of(REF, live, revisions[:2])
    assert (undo.to.revision, undo.passed) == (1, (2,))
    assert undo_of(REF, live, revisions, 2).to.revision == 2
    with pytest.raises(NotFound, match="each revision that differs failed") as caught:
        undo_of(REF, live, revisions[1:2])
    assert "--to-revision 2" in caught.value.following
    assert undo_of(Ref("RayJob", "j", "default"), live, revisions[1:2]).to.revision == 2, "its program failed"


def test_a_newer_size_is_kept_unless_it_is_all_that_changed() -> None:
    revisions = [Revision(1, _spec()), Revision(2, _spec(rayVersion="2.61.0"))]
    undo = undo_of(REF, _live(_spec(rayVersion="2.61.0", replicas=3), 3), revisions, 1)
    assert (undo.spec, undo.kept) == (_spec(replicas=3), ("small.replicas=3",))
    sized = undo_of(REF, _live(_spec(replicas=3), 2), [Revision(1, _spec())])
    assert (sized.spec, sized.kept) == (_spec(), ())


def test_nothing_to_go_back_to() -> None:
    with pytest.raises(NotFound, match="nothing to go back to"):
        undo_of(REF, _live(_spec(), 1), [Revision(1, _spec())])
    with pytest.raises(NotFound, match="no revision 9"):
        undo_of(REF, _live(_spec(), 1), [Revision(1, _spec())], 9)


_specs = st.builds(
    _spec, rayVersion=st.sampled_from(["1", "2"]), replicas=st.integers(0, 3), suspend=st.sampled_from([True, False])
)


@given(_specs, _specs)
def test_undo_returns_to_the_spec_it_names_but_for_newer_sizes(first: Object, second: Object) -> None:
    undo = undo_of(REF, _live(second, 2), [Revision(1, first)], 1)
    if undo.kept:
        assert undo.spec == changed({"spec": first}, "spec.workerGroupSpecs", second["workerGroupSpecs"])["spec"]
    else:
        assert undo.spec == first


def test_history_has_every_writer_and_undo_can_be_undone(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    made = run(client, writing.apply(ref, manifest()))
    run(client, history.record(ref, made.object, cause="first", user="ann"))
    other = {"spec": {"rayVersion": "2.61.0"}}
    client.patch(RAY_CLUSTERS, "c", other, PatchType.MERGE, namespace, field_manager="kubectl-patch")
    found = run(client, history.history(ref))
    assert [(one.revision, one.manager, one.cause, one.user) for one in found] == [
        (1, "rayward", "first", "ann"),
        (2, "kubectl-patch", "", ""),
    ]
    run(client, writing.change(ref, [Scale("small", 3)]))
    undo, done = run(client, history.undo(ref, user="bob"))
    assert undo.to.revision == 2, "the size is all that changed"
    assert done.object["spec"]["workerGroupSpecs"][0]["replicas"] == 1
    undo, done = run(client, history.undo(ref))
    assert done.object["spec"]["workerGroupSpecs"][0]["replicas"] == 3
    last = run(client, history.history(ref))[-1]
    assert last.cause == f"undo to revision {undo.to.revision}"
    text = run(client, history.compare_revisions(ref, 1, 2))
    assert "-  rayVersion: 2.60.0\n+  rayVersion: 2.61.0\n" in text
    with pytest.raises(NotFound):
        run(client, history.compare_revisions(ref, 99))


def test_history_is_pruned(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    run(client, writing.apply(ref, manifest()))
    for number in range(25):
        run(client, history.history(ref))
        run(client, writing.change(ref, [SetImage(f"x:{number}", "small")]))
    found = run(client, history.history(ref))
    assert [one.revision for one in found if not one.is_gap] == list(range(7, 27))


def test_what_gitops_applies_is_reverted_there(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    run(client, writing.apply(ref, manifest(), manager="argocd-controller"))
    run(client, history.history(ref))
    newer = changed(manifest(), "spec.rayVersion", "2.61.0")
    run(client, writing.apply(ref, newer, manager="argocd-controller"))
    with pytest.raises(Conflict, match="argocd-controller") as caught:
        run(client, history.undo(ref))
    assert "spec.rayVersion" in caught.value.why
    assert "--override-gitops" in caught.value.following
    _, done = run(client, history.undo(ref, override_gitops=True))
    assert done.object["spec"]["rayVersion"] == "2.60.0"


def test_a_dry_run_undoes_nothing(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    run(client, writing.apply(ref, manifest()))
    run(client, history.history(ref))
    run(client, writing.change(ref, [SetField("rayVersion", "2.61.0")]))
    run(client, history.undo(ref, dry_run=True))
    assert run(client, writing.read(ref))["spec"]["rayVersion"] == "2.61.0"


def test_a_history_says_which_generations_made_room_for_newer_ones(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    sdk = Client(client, namespace=namespace)
    sdk.apply(manifest())
    client.patch(RAY_CLUSTERS, "c", {"spec": {"rayVersion": "2.59.0"}}, PatchType.MERGE, namespace)
    client.patch(RAY_CLUSTERS, "c", {"spec": {"rayVersion": "2.58.0"}}, PatchType.MERGE, namespace)
    for number in range(KEPT + 1):
        sdk.set(ref, SetField("rayVersion", f"2.{number}.0"))
    found = sdk.history(ref)
    assert len([one for one in found if not one.is_gap]) == KEPT
    last = found[-1].revision
    # 1 and 3 were recorded, and pruned; 2 was a colleague's that nobody saw
    assert [(one.revision, one.until, one.pruned) for one in found if one.is_gap] == [
        (1, 1, True),
        (2, 2, False),
        (3, last - KEPT, True),
    ]
    assert all("pruned" in one.document() for one in found)
