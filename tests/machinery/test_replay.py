from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rayward.kube.machinery import replay
from rayward.kube.machinery.apply import changes, fieldset, mention, merging, updater

_VECTORS = Path(__file__).with_name("apply") / "data" / "server-side-apply.jsonl.gz"
_CHUNK = 100


@cache
def recorded() -> list[dict[str, Any]]:
    return list(replay.scenarios(_VECTORS))


def test_all_scenarios_are_here() -> None:
    assert len(recorded()) == 1_500
    assert sum(len(scenario["ops"]) for scenario in recorded()) == 7_421


@pytest.mark.parametrize("start", range(0, 1_500, _CHUNK))
def test_scenarios_come_out_as_recorded(start: int) -> None:
    problems = [replay.first_difference(scenario) for scenario in recorded()[start : start + _CHUNK]]
    assert problems == [None] * _CHUNK


class TestCommand:
    def _file(self, folder: Path, scenarios: list[dict[str, Any]], *, packed: bool = False) -> str:
        data = "\n".join(json.dumps(scenario) for scenario in scenarios).encode()
        path = folder / "scenarios"
        path.write_bytes(gzip.compress(data) if packed else data + b"\n\n")
        return str(path)

    @pytest.mark.parametrize("packed", [False, True])
    def test_it_counts(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], packed: bool) -> None:
        assert replay.main([self._file(tmp_path, recorded()[:7], packed=packed)]) == 0
        assert capsys.readouterr().out == "7 passed, 0 failed\n"

    def test_it_explains_the_first_few_failures(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        wrong = [{**scenario, "results": _twisted(scenario["results"])} for scenario in recorded()[:8]]
        assert replay.main([self._file(tmp_path, [*wrong, *recorded()[8:10]])]) == 1
        *explained, closing = capsys.readouterr().out.splitlines()
        assert closing == "2 passed, 8 failed"
        assert len(explained) == 5
        assert all(": operation 1 (" in line and "recorded" in line for line in explained)

    def test_nothing_replayed_is_no_success(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert replay.main([self._file(tmp_path, [])]) == 1
        assert capsys.readouterr().out == "0 passed, 0 failed\n"

    def test_it_needs_a_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert replay.main([]) == 2
        assert "usage" in capsys.readouterr().err


def _twisted(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"live": {"nothing": "like it"}, "managers": {}}, *results[1:]]


def test_a_true_in_place_of_a_one_is_noticed() -> None:
    scenario: dict[str, Any] = {
        "schema": {"map": {"fields": [{"name": "a", "type": {"namedType": "__untyped_deduced_"}}]}},
        "reset": [],
        "ops": [{"op": "apply", "manager": "m", "force": False, "object": {"a": True}}],
        "results": [{"live": {"a": 1}, "managers": {"m": {"applied": True, "set": {"f:a": {}}}}}],
    }
    assert replay.first_difference(scenario)
    scenario["results"][0]["live"] = {"a": True}
    assert replay.first_difference(scenario) is None


@pytest.mark.parametrize("schema", [{}, {"map": {"fields": [{"name": "a", "type": {}}]}}])
def test_a_schema_without_shape_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="without shape"):
        replay.type_of(schema)


def _applied_first(ours: list[str], theirs: list[str]) -> list[tuple[str, int]]:
    return [(step, -1) for step in theirs] + [(step, i) for i, step in enumerate(ours) if step not in theirs]


def _removed_fields_stay(owners: dict[str, Any], changed: changes.Changes, me: str | None) -> dict[str, Any]:
    return updater_yielded(owners, changes.Changes(changed.changed, {}), me)


updater_yielded = updater.yielded

_MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "merged lists begin with the applied items": (merging, "_ordered", _applied_first),
    "nothing is ever pruned": (updater, "covers", lambda _a, _b: True),
    "declared fields on the way are not owned": (updater, "named", lambda fields, _of: fields),
    "declared fields on the way are not there": (updater, "present", mention.mentioned),
    "a claim ends with that to the path above": (updater, "difference", fieldset.exclude),
    "fields that the endpoint resets are owned": (updater, "exclude", lambda fields, _reset: fields),
    "removed fields stay owned": (updater, "yielded", _removed_fields_stay),
    "items that share a key are compared one by one": (
        changes,
        "_by_key",
        lambda items, of: {of.key(item): item for item in items},
    ),
}


@pytest.mark.parametrize("name", _MISTAKES)
def test_a_mistake_in_the_algorithm_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, attribute, mistaken = _MISTAKES[name]
    monkeypatch.setattr(module, attribute, mistaken)
    assert any(replay.first_difference(scenario) for scenario in recorded())
