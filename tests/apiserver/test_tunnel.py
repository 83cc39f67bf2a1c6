"""A caller's options in the kubelet's words."""

from __future__ import annotations

import pytest

from rayward.local.apiserver.app import answers_plainly
from rayward.local.apiserver.tunnel import kubelet_query


@pytest.mark.parametrize(
    ("subresource", "query", "seen"),
    [
        (
            "exec",
            {"command": ["sh", "-c", "a b"], "stdin": ["true"], "tty": ["1"], "container": ["c"]},
            [("input", "1"), ("tty", "1"), ("command", "sh"), ("command", "-c"), ("command", "a b")],
        ),
        ("exec", {"stdout": ["true"], "stderr": ["false"]}, [("output", "1")]),
        ("attach", {"stdout": ["true"], "stderr": ["true"], "command": ["x"]}, [("output", "1"), ("error", "1")]),
        ("portforward", {"ports": ["80,81", "82"]}, [("port", "80,81,82")]),
        ("portforward", {}, []),
    ],
)
def test_options(subresource: str, query: dict[str, list[str]], seen: list[tuple[str, str]]) -> None:
    assert kubelet_query(subresource, query) == seen


@pytest.mark.parametrize(
    ("target", "plainly"),
    [
        (b"/api/v1/namespaces/n/pods/p/proxy/socket?x=y", True),
        (b"/api/v1/namespaces/n/services/s:80/proxy", True),
        (b"/api/v1/nodes/n/proxy/exec/n/p/c", True),
        (b"/api/v1/namespaces/n/pods/proxy/exec", False),
        (b"/api/v1/namespaces/n/pods/p/exec?command=/proxy", False),
        (b"/proxy", True),
        (b"/version", True),
        (b"/api/v1/namespaces/n/pods", True),
        (b"/api/v1/namespaces/n/pods?watch=false", True),
        (b"/api/v1/namespaces/n/pods?watch=true", False),
        (b"/api/v1/namespaces/n/pods?watch=1&labelSelector=a", False),
        (b"/api/v1/watch/namespaces/n/pods", False),
        (b"/api/v1/watch/namespaces/n/pods/p/exec", True),
    ],
)
def test_a_request_for_a_websocket_is_answered_plainly_where_there_is_no_stream(target: bytes, plainly: bool) -> None:
    assert answers_plainly(target) is plainly
