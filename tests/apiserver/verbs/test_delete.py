"""What a delete makes of an object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rayward.local.apiserver.verbs.delete import DeleteOptions, deleted
from tests.apiserver.inprocess import serving

_NOW = 1_700_000_000.0
_MOMENT = "2023-11-14T22:13:20Z"


def _options(**given: Any) -> DeleteOptions:
    known: dict[str, Any] = {
        "grace": None,
        "policy": "",
        "uid": None,
        "resource_version": None,
        "dry_run": False,
        "orphan": None,
    }
    return DeleteOptions(**{**known, **given})


def _object(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "uid": "u", **metadata}}


def _thirty(_obj: dict[str, Any], asked: int | None) -> int:
    return 30 if asked is None else asked


@pytest.mark.parametrize(
    ("finalizers", "policy", "after"),
    [
        ([], "", []),
        (["x"], "", ["x"]),
        ([], "Foreground", ["foregroundDeletion"]),
        ([], "Orphan", ["orphan"]),
        (["orphan"], "Background", []),
        (["foregroundDeletion", "x"], "Orphan", ["x", "orphan"]),
        (["orphan"], "", ["orphan"]),
    ],
)
def test_the_policy_decides_the_finalizers(finalizers: list[str], policy: str, after: list[str]) -> None:
    obj = deleted(None, _object(finalizers=finalizers), _options(policy=policy), _NOW)
    assert (obj["metadata"].get("finalizers") or []) == after


def test_an_object_with_finalizers_is_marked_and_its_generation_rises() -> None:
    metadata = deleted(None, _object(finalizers=["x"], generation=3), _options(), _NOW)["metadata"]
    assert metadata["deletionTimestamp"] == _MOMENT
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["generation"] == 4


def test_a_second_delete_changes_nothing() -> None:
    marked = deleted(None, _object(finalizers=["x"], generation=3), _options(), _NOW)
    assert deleted(None, marked, _options(), _NOW + 9) is marked


def test_grace_lies_in_the_future() -> None:
    metadata = deleted(_thirty, _object(), _options(), _NOW)["metadata"]
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == ("2023-11-14T22:13:50Z", 30)


def test_grace_can_only_become_shorter() -> None:
    waiting = deleted(_thirty, _object(), _options(), _NOW)
    assert deleted(_thirty, waiting, _options(grace=60), _NOW) is waiting
    assert deleted(_thirty, waiting, _options(), _NOW) is waiting
    shorter = deleted(_thirty, waiting, _options(grace=5), _NOW)["metadata"]
    assert (shorter["deletionTimestamp"], shorter["deletionGracePeriodSeconds"]) == ("2023-11-14T22:13:25Z", 5)


def test_grace_that_is_over_ends_now() -> None:
    waiting = deleted(_thirty, _object(), _options(), _NOW)
    late = deleted(_thirty, waiting, _options(grace=5), _NOW + 10)["metadata"]
    assert (late["deletionTimestamp"], late["deletionGracePeriodSeconds"]) == ("2023-11-14T22:13:30Z", 1)


def test_the_object_given_is_never_changed() -> None:
    obj = _object(finalizers=["x"])
    deleted(_thirty, obj, _options(policy="Foreground"), _NOW)
    assert obj == _object(finalizers=["x"])


_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("query", "body", "code"),
    [
        ("uid=wrong", None, 409),
        ("uid=wrong&uid={uid}", None, 409),
        ("resourceVersion=1", None, 409),
        ("uid={uid}&resourceVersion=1", None, 409),
        ("uid={uid}&resourceVersion={version}", None, 200),
        ("uid=&resourceVersion=", None, 200),
        ("uid=wrong", {"kind": "DeleteOptions", "apiVersion": "v1"}, 200),
    ],
)
@pytest.mark.parametrize("path", [f"{_MAPS}/a?", f"{_MAPS}?"], ids=["one", "collection"])
async def test_the_query_can_say_which_object_is_meant(
    tmp_path: Path, path: str, query: str, body: Any, code: int
) -> None:
    async with serving(tmp_path) as api:
        metadata = (await api.call("POST", _MAPS, {"metadata": {"name": "a"}})).body["metadata"]
        asked = query.format(uid=metadata["uid"], version=metadata["resourceVersion"])
        answer = await api.call("DELETE", path + asked, body)
        assert answer.code == code
        assert (await api.call("GET", f"{_MAPS}/a")).code == (200 if code == 409 else 404)


@pytest.mark.anyio
async def test_the_refusal_says_what_does_not_match(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        uid = (await api.call("POST", _MAPS, {"metadata": {"name": "a"}})).body["metadata"]["uid"]
        answer = await api.call("DELETE", f"{_MAPS}/a?uid=wrong")
        assert answer.body["message"] == (
            'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (wrong) does not match the '
            f"UID in record ({uid}). The object might have been deleted and then recreated"
        )
