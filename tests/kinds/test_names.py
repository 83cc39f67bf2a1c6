from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rayward.kinds import names
from rayward.kube.machinery.names import check_dns1035_label, check_label_value

CLUSTER_NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,51}[a-z0-9])?", fullmatch=True)


def test_what_belongs_to_a_cluster_has_kuberays_names() -> None:
    assert [
        names.head_service("c"),
        names.headless_service("c"),
        names.serve_service("c"),
        names.serve_label("c"),
        names.identifier("c", "head"),
        names.ingress("c"),
        names.auth_secret("c"),
        names.autoscaler_account("c"),
        names.storage_claim("c"),
        names.redis_cleanup_job("c"),
        names.head_network_policy("c"),
        names.worker_network_policy("c", "g"),
        names.pod_prefix("c"),
        names.pod_prefix("c", "Gpu"),
        names.child_cluster("s", "x7k2p"),
        names.replica("g", "x7k2p"),
    ] == [
        "c-head-svc",
        "c-headless",
        "c-serve-svc",
        "c-serve",
        "c-head",
        "c-head-ingress",
        "c",
        "c",
        "c-gcs-pvc",
        "c-redis-cleanup",
        "c-head",
        "c-workers-g",
        "c-head-",
        "c-gpu-worker-",
        "s-x7k2p",
        "g-x7k2p",
    ]


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        pytest.param("a" * 50, "a" * 50, id="50 characters stay"),
        pytest.param("ab" + "c" * 49, "b" + "c" * 49, id="the last 50 of more"),
        pytest.param("x1" + "c" * 49, "r" + "c" * 49, id="no digit in front"),
        pytest.param("x-" + "c" * 49, "r" + "c" * 49, id="no dash in front"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_long_name_keeps_its_end(given_name: str, kept: str) -> None:
    assert names.check_name(given_name) == kept


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        pytest.param("1" * 63, "1" * 63, id="63 characters stay, a digit may lead"),
        pytest.param("a-" + "c" * 62, "r" + "c" * 62, id="no punctuation in front"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_long_label_keeps_its_end(value: str, kept: str) -> None:
    assert names.check_label(value) == kept


@given(cluster=CLUSTER_NAMES, group=st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True))
@example("c", "a-" * 31 + "b")
def test_names_of_a_valid_cluster_fit(cluster: str, group: str) -> None:
    for name in (names.head_service(cluster), names.serve_service(cluster), names.ingress(cluster)):
        assert check_dns1035_label(name) == []
    for prefix in (names.pod_prefix(cluster), names.pod_prefix(cluster, group)):
        assert check_dns1035_label(prefix + "x7k2p") == []
    replica = names.replica(group, "x7k2p")
    assert check_label_value(replica) == []
    assert replica.endswith("-x7k2p")


@given(st.text())
def test_any_text_gets_a_name(text: str) -> None:
    assert len(names.check_name(text)) <= 50
    assert len(names.check_label(text)) <= 63
