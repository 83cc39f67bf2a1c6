"""A reflector lists, watches and lists again: what it asks of a server, and what it tells of the answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rayward.kube.client.credentials import NoCredentials
from rayward.kube.core.objects import Key
from rayward.kube.runtime.reflectorstate import Step
from tests.client.recording import answer_json
from tests.runtime.followed import Followed, simulated
from tests.runtime.simulated import ConnectFailed, ConnectionLost, Simulated, status

pytestmark = pytest.mark.usefixtures("quiet_reflector")


@simulated
async def test_it_lists_in_pages_and_then_watches(server: Simulated) -> None:
    for number in range(1200):
        server.create(f"pod-{number:04}")
    followed = Followed(server)
    await followed.reflector.wait_synced()
    assert followed.held == followed.wanted
    assert server.lists == 3
    server.update("pod-0000", x=1)
    server.delete("pod-0001")
    server.create("new")
    await followed.settle()
    assert followed.held == followed.wanted
    assert followed.told[-3:] == [("MODIFIED", "pod-0000", 1202), ("DELETED", "pod-0001", 1203), ("ADDED", "new", 1204)]
    assert server.lists == 3
    await followed.stop()


@simulated
async def test_a_watch_asks_for_bookmarks_and_ends_after_some_minutes(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle()
    assert server.requests == [
        "GET /api/v1/pods?limit=500",
        "GET /api/v1/pods?resourceVersion=1&timeoutSeconds=450&allowWatchBookmarks=true&watch=true",
    ]
    await followed.stop()


@simulated
async def test_a_watch_goes_on_where_the_last_one_ended(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle()
    server.create("a")
    await followed.settle()
    server.end_watches()
    server.create("b")
    await followed.settle()
    assert followed.told == [("ADDED", "a", 2), ("ADDED", "b", 3)]
    assert "resourceVersion=2" in server.requests[-1]
    assert server.lists == 1
    await followed.stop()


@simulated
async def test_bookmarks_keep_an_idle_watch_from_expiring(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle()
    for _ in range(5):
        server.touch_elsewhere()
    server.bookmark()
    await followed.settle()
    server.compact()
    server.end_watches()
    await followed.settle()
    assert "resourceVersion=6" in server.requests[-1]
    assert server.lists == 1
    assert followed.cache.version == 6
    await followed.stop()


@simulated
async def test_silence_leads_to_a_new_connection_at_the_same_place(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle(71)
    assert [request.startswith("GET /api/v1/pods?resourceVersion=1") for request in server.requests[1:]] == [True, True]
    age = followed.reflector.last_sync_age
    assert age is not None
    assert age > 70
    await followed.stop()


@simulated
async def test_a_version_that_is_gone_leads_to_a_list_and_what_is_missing_is_deleted(server: Simulated) -> None:
    for name in ("kept", "gone", "replaced"):
        server.create(name)
    followed = Followed(server)
    await followed.settle()
    server.break_watches(ConnectionLost("cut"))
    server.delete("gone")
    server.delete("replaced")
    server.create("replaced")
    server.create("new")
    server.compact()
    await followed.settle(5)
    assert followed.held == followed.wanted
    assert followed.told[3:] == [
        ("ADDED", "new", 8),
        ("DELETED", "replaced", 4),
        ("ADDED", "replaced", 7),
        ("DELETED", "gone", 3),
    ]
    assert server.lists == 2
    await followed.stop()


@simulated
async def test_a_server_restored_from_a_backup_is_listed_again(server: Simulated) -> None:
    server.create("a")
    server.create("b")
    followed = Followed(server)
    await followed.settle()
    server.break_watches(ConnectionLost("restart"))
    server.__init__()
    server.create("c")
    await followed.settle(5)
    assert followed.held == followed.wanted == {"c": "2"}
    await followed.stop()


@simulated
async def test_pages_that_expire_are_read_in_one_go(server: Simulated) -> None:
    for number in range(600):
        server.create(f"pod-{number:04}")
    followed = Followed(server)
    await asyncio.sleep(0.0015)
    server.delete("pod-0000")
    server.compact()
    await followed.settle()
    assert followed.held == followed.wanted
    assert "limit=0" in server.requests[2]
    await followed.stop()


@simulated
async def test_failures_are_met_with_growing_patience_until_something_works(server: Simulated) -> None:
    unavailable = answer_json(503, status(503, "ServiceUnavailable"))
    server.refuse_next.extend([ConnectFailed("x"), unavailable, ConnectFailed("x"), unavailable, ConnectFailed("x")])
    followed = Followed(server)
    await followed.settle(0.8 + 1.6 + 3.2 + 6.4 + 12.7)
    assert not followed.cache.synced
    assert isinstance(followed.reflector.last_error, ConnectFailed)
    await followed.settle(1)
    assert followed.cache.synced
    await followed.stop()


@simulated
async def test_credentials_that_are_gone_for_a_while(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle()
    server.refuse_next.extend([NoCredentials("cannot read the token")] * 3)
    server.break_watches(ConnectionLost("x"))
    server.create("a")
    await followed.settle(30)
    assert followed.held == followed.wanted
    await followed.stop()


@simulated
async def test_patience_has_an_end_but_trying_has_not(server: Simulated) -> None:
    server.refuse_next.extend([ConnectFailed("x")] * 100)
    followed = Followed(server)
    await followed.settle(10_000)
    assert followed.cache.synced
    await followed.stop()


@simulated
async def test_a_server_that_can_be_listed_but_not_watched_is_not_listed_for_ever(server: Simulated) -> None:
    followed = Followed(server)
    begin = server._begin

    def forbidden(watch: Any, query: Any) -> None:
        watch.refuse(403, status(403, "Forbidden"))

    server._begin = forbidden
    await followed.settle(100)
    assert server.lists <= 8
    server._begin = begin
    await followed.settle(100)
    server.create("a")
    await followed.settle()
    assert followed.held == followed.wanted
    await followed.stop()


@simulated
async def test_an_object_of_another_shape_stays_as_last_understood(server: Simulated) -> None:
    server.create("odd", nodeName="n1")
    server.create("good")
    followed = Followed(server)
    await followed.settle()
    server.update("odd", nodeName=5)
    server.update("good", nodeName="n2")
    await followed.settle()
    odd, good = followed.cache.get(Key("a", "odd")), followed.cache.get(Key("a", "good"))
    assert odd is not None
    assert good is not None
    assert (odd.spec.node_name, good.spec.node_name) == ("n1", "n2")
    assert followed.reflector.unreadable.keys() == {Key("a", "odd")}
    server.expire_watches()
    await followed.settle(5)
    assert followed.cache.get(Key("a", "odd")) == odd
    assert followed.reflector.unreadable.keys() == {Key("a", "odd")}
    server.update("odd", nodeName="n3")
    await followed.settle()
    assert followed.held == followed.wanted
    assert followed.reflector.unreadable == {}
    server.update("odd", nodeName=5)
    server.delete("odd")
    await followed.settle()
    assert followed.held == followed.wanted
    await followed.stop()


@simulated
async def test_a_streamed_list_and_its_watch_are_one_request(server: Simulated) -> None:
    for name in "abc":
        server.create(name)
    followed = Followed(server, watch_list=True)
    await followed.settle()
    assert followed.held == followed.wanted
    server.delete("a")
    await followed.settle()
    assert followed.held == followed.wanted
    assert len(server.requests) == 1
    server.break_watches(ConnectionLost("x"))
    server.create("d")
    await followed.settle(5)
    assert followed.held == followed.wanted
    assert "resourceVersion=5" in server.requests[1]
    assert "sendInitialEvents" not in server.requests[1]
    server.delete("b")
    server.expire_watches()
    await followed.settle(5)
    assert followed.held == followed.wanted
    assert "sendInitialEvents" in server.requests[-1]
    await followed.stop()


@simulated
async def test_what_changes_while_a_list_is_streamed_is_as_it_is_at_the_end(server: Simulated) -> None:
    for name in ("gone", "kept"):
        server.create(name, nodeName="n1")
    for name in ("mended", "odd", "odd-gone"):
        server.create(name, nodeName=5)

    def change() -> None:
        server.delete("gone")
        server.delete("odd-gone")
        server.update("mended", nodeName="n3")
        server.create("new")

    server.while_streaming = change
    followed = Followed(server, watch_list=True)
    await followed.settle()
    wanted = followed.wanted
    del wanted["odd"]
    assert followed.held == wanted
    assert followed.reflector.unreadable.keys() == {Key("a", "odd")}
    await followed.stop()


@simulated
async def test_a_server_that_cannot_stream_a_list_is_listed_in_pages(server: Simulated) -> None:
    server.can_stream = False
    server.create("a")
    followed = Followed(server, watch_list=True)
    await followed.settle(5)
    assert followed.held == followed.wanted
    assert followed.reflector.state.listing is Step.LIST
    await followed.stop()


@simulated
async def test_an_error_is_over_once_the_next_watch_is_open(server: Simulated) -> None:
    """Whoever asks whether a server can be relied upon would wait until that watch ends, minutes later."""
    followed = Followed(server)
    await followed.settle()
    server.break_watches(ConnectionLost("x"))
    await followed.settle(30)
    assert followed.reflector.last_error is None
    assert not followed.task.done()
    await followed.stop()
