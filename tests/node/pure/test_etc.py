"""The files of /etc that a pod has of its own."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.node.work.etc import hostname, hosts, resolv_conf

Object = dict[str, Any]


POD: Object = {"metadata": {"name": "web-0", "namespace": "shop", "labels": {}}, "spec": {"containers": []}}


def test_host_files_of_a_pod_with_a_place_in_a_group() -> None:
    pod = {**POD, "spec": {"hostname": "web", "subdomain": "all", "containers": []}}
    assert "10.42.0.3\tweb.all.shop.svc.cluster.local\tweb\n" in hosts(pod, "10.42.0.3")
    assert hostname({**POD, "metadata": {"name": "x" * 80}}) == "x" * 63


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "search shop.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.43.0.10\noptions ndots:5\n"),
        ({"dnsPolicy": "Default"}, "search host.example\nnameserver 9.9.9.9\n"),
        ({"hostNetwork": True}, "search host.example\nnameserver 9.9.9.9\n"),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}}, "nameserver 1.1.1.1\n"),
        (
            {"dnsConfig": {"searches": ["x"], "options": [{"name": "ndots", "value": "2"}]}},
            "search shop.svc.cluster.local svc.cluster.local cluster.local x\nnameserver 10.43.0.10\noptions ndots:2\n",
        ),
    ],
)
def test_where_names_are_asked(spec: Object, expected: str) -> None:
    pod = {**POD, "spec": {"containers": [], **spec}}
    assert resolv_conf(pod, "# a comment\nsearch host.example\nnameserver 9.9.9.9\n") == expected
