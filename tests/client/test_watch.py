from __future__ import annotations

from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.client.errors import Expired
from rayward.kube.client.watch import (
    INITIAL_EVENTS_END,
    Bookmark,
    Change,
    ChangeType,
    LineSplitter,
    Unreadable,
    WatchDecoder,
    WatchFailed,
)
from rayward.kube.core.pod import Pod
from rayward.net.errors import ProtocolError


def line(kind: str, body: dict[str, Any]) -> bytes:
    return orjson.dumps({"type": kind, "object": body}) + b"\n"


def pod(name: str, version: int | str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "a", "uid": name, "resourceVersion": str(version)}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, **more}


def bookmark(version: int, **annotations: str) -> bytes:
    return line("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version), "annotations": annotations}})


EXPIRED = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})


def test_changes_carry_the_slim_object_and_the_whole_one() -> None:
    body = pod("p", 7, spec={"nodeName": "n", "unknown": [1]}, status={"phase": "Running"})
    (event,) = WatchDecoder(Pod, "6").feed(line("ADDED", body))
    assert isinstance(event, Change)
    assert event.type is ChangeType.ADDED
    assert (event.object.metadata.name, event.object.spec.node_name, event.object.status.phase) == ("p", "n", "Running")
    assert event.whole() == orjson.loads(bytes(event.raw)) == body


def test_the_types_of_events() -> None:
    stream = b"".join(
        [
            line("ADDED", pod("p", 7)),
            line("MODIFIED", pod("p", 8)),
            line("DELETED", pod("p", 9)),
            bookmark(10),
            bookmark(11, **{INITIAL_EVENTS_END: "true"}),
            line("OFTHEFUTURE", pod("p", 12)),
            EXPIRED,
        ]
    )
    events = WatchDecoder(Pod, "6").feed(stream)
    assert [event.type for event in events if isinstance(event, Change)] == ["ADDED", "MODIFIED", "DELETED"]
    assert [event for event in events if isinstance(event, Bookmark)] == [Bookmark("10", False), Bookmark("11", True)]
    failed = events[-1]
    assert isinstance(failed, WatchFailed)
    assert isinstance(failed.error, Expired)
    assert len(events) == 6


@pytest.mark.parametrize(
    ("start", "lines", "version"),
    [
        pytest.param("5", [line("ADDED", pod("p", 7))], "7", id="an addition moves a watch that began somewhere"),
        pytest.param("5", [bookmark(9)], "9", id="a bookmark moves"),
        pytest.param("5", [line("DELETED", pod("p", 7))], "7", id="a deletion moves"),
        pytest.param("5", [EXPIRED], "5", id="an error does not"),
        pytest.param("", [line("ADDED", pod("p", 7))], "", id="initial additions are in no order"),
        pytest.param("0", [line("ADDED", pod("p", 7))], "0", id="initial additions of any version too"),
        pytest.param("", [line("ADDED", pod("p", 7)), bookmark(6)], "6", id="until a bookmark"),
        pytest.param("", [line("ADDED", pod("p", 9)), line("MODIFIED", pod("p", 10))], "10", id="or any other change"),
        pytest.param(
            "",
            [line("ADDED", pod("p", 9)), bookmark(9), line("ADDED", pod("q", 11))],
            "11",
            id="after which additions move",
        ),
    ],
)
def test_where_to_go_on_from(start: str, lines: list[bytes], version: str) -> None:
    state = WatchDecoder(Pod, start)
    state.feed(b"".join(lines))
    assert state.resource_version == version


def test_an_object_of_another_shape_does_not_hold_up_the_rest() -> None:
    state = WatchDecoder(Pod, "5")
    events = state.feed(line("MODIFIED", pod("odd", 6, spec={"nodeName": 5})) + line("ADDED", pod("good", 7)))
    odd, good = events
    assert isinstance(odd, Unreadable)
    assert (odd.type, odd.metadata.name) == ("MODIFIED", "odd")
    assert "nodeName" in odd.problem
    assert isinstance(good, Change)
    assert state.resource_version == "7"


@pytest.mark.parametrize("data", [b"nonsense\n", b"[]\n", b'{"type": 1}\n', b"\xff\n", b'{"type":"ADDED"}\n'], ids=repr)
def test_what_is_no_watch_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="not an event"):
        WatchDecoder(Pod).feed(data)


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    lines = LineSplitter(limit=10)
    assert lines.feed(b"123456789\n1234567890") == [b"123456789"]
    with pytest.raises(ProtocolError, match="longer than 10 bytes"):
        lines.feed(b"1")


@given(
    lines=st.lists(st.binary(max_size=20).filter(lambda text: b"\n" not in text), max_size=20),
    cuts=st.lists(st.integers(0, 400), max_size=20),
)
def test_lines_do_not_depend_on_how_the_bytes_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    splitter = LineSplitter()
    found = [line for start, end in pairwise(places) for line in splitter.feed(whole[start:end])]
    assert found == [line for line in lines if line]
