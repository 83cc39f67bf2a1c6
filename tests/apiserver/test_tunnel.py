"""A caller's options in the kubelet's words."""

from __future__ import annotations

import pytest

from rayward.local.apiserver.app import carries_sockets
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
    ("target", "carried"),
    [
        (b"/api/v1/namespaces/n/pods/p/proxy/socket?x=y", True),
        (b"/api/v1/namespaces/n/services/s:80/proxy", True),
        (b"/api/v1/nodes/n/proxy/exec/n/p/c", True),
        (b"/api/v1/namespaces/n/pods/proxy/exec", False),
        (b"/api/v1/namespaces/n/pods/p/exec?command=/proxy", False),
        (b"/proxy", False),
    ],
)
def test_which_websockets_are_for_somebody_behind_the_server(target: bytes, carried: bool) -> None:
    assert carries_sockets(target) is carried
