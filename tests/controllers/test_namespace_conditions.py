from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rayward.kube.core.resource import CONFIG_MAPS, JOBS
from rayward.local.controllers.namespaces.conditions import Remains, conditions
from rayward.local.controllers.namespaces.controller import without_finalizer

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_INSTANCES = "resource instances"
_FINALIZERS_REMAIN = "Some content in the namespace has finalizers remaining"
_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@pytest.mark.parametrize(
    ("remains", "trouble"),
    [
        pytest.param(Remains(), {}, id="empty"),
        pytest.param(
            Remains({JOBS: 2, CONFIG_MAPS: 1}, {"b": 1, "a": 3}),
            {
                "NamespaceContentRemaining": (
                    "True",
                    "SomeResourcesRemain",
                    f"Some resources are remaining: configmaps. has 1 {_INSTANCES}, jobs.batch has 2 {_INSTANCES}",
                ),
                "NamespaceFinalizersRemaining": (
                    "True",
                    "SomeFinalizersRemain",
                    f"{_FINALIZERS_REMAIN}: a in 3 {_INSTANCES}, b in 1 {_INSTANCES}",
                ),
            },
            id="things remain",
        ),
        pytest.param(
            Remains(failures=("second", "first")),
            {
                "NamespaceDeletionContentFailure": (
                    "True",
                    "ContentDeletionFailed",
                    "Failed to delete all resource types, 2 remaining: first, second",
                )
            },
            id="deletion fails",
        ),
        pytest.param(
            Remains(discovery_failure="no answer"),
            {"NamespaceDeletionDiscoveryFailure": ("True", "DiscoveryFailed", "no answer")},
            id="discovery fails",
        ),
    ],
)
def test_what_a_namespace_tells(remains: Remains, trouble: dict[str, tuple[str, str, str]]) -> None:
    told = {found.type: (found.status, found.reason, found.message) for found in conditions((), remains, _NOW)}
    assert told == {**_FINE, **trouble}
    assert remains.empty is (trouble == {})


def test_times_move_only_with_the_status() -> None:
    first = conditions((), Remains({JOBS: 2}), _NOW)
    fewer = conditions(first, Remains({JOBS: 1}), _NOW + timedelta(seconds=5))
    done = conditions(fewer, Remains(), _NOW + timedelta(seconds=9))
    times = [
        next(c.last_transition_time for c in each if c.type == "NamespaceContentRemaining")
        for each in (first, fewer, done)
    ]
    assert times == ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"]
    assert conditions(done, Remains(), _NOW + timedelta(seconds=20)) == done


def test_only_our_finalizer_is_taken_away() -> None:
    namespace = {"metadata": {"name": "x"}, "spec": {"finalizers": ["kubernetes", "example.com/other"]}}
    assert without_finalizer(namespace)["spec"] == {"finalizers": ["example.com/other"]}
    assert namespace["spec"] == {"finalizers": ["kubernetes", "example.com/other"]}
