"""Smaller decisions: probes, names, logs, files, addresses, the proxy's targets, remedies."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.node.capabilities import remedy_for_user
from rayward.local.node.egress.target import Target, Way, of_connect, of_url, variables
from rayward.local.node.endpoint.streams import outcome
from rayward.local.node.ground.logfile import LogFile
from rayward.local.node.logs import reader
from rayward.local.node.logs.reader import Wanted
from rayward.local.node.logs.tail import last_lines
from rayward.local.node.pod.probing import Settings, Tally, count
from rayward.local.node.volumes import atomic, place
from rayward.local.node.volumes.content import File, Sources, VolumeError, files, tokens_wanted
from rayward.local.node.work.etc import hostname, hosts, resolv_conf
from rayward.local.node.work.host import Addresses, Graphics

Object = dict[str, Any]


@pytest.mark.parametrize(
    ("answers", "healthy"),
    [
        ("", None),
        ("n", None),
        ("nn", None),
        ("nnn", False),
        ("y", None),
        ("yy", True),
        ("yyn", True),
        ("yynnn", False),
        ("nnny", False),
        ("nnnyy", True),
        ("nnynn", None),
    ],
)
def test_probes_need_their_number_in_a_row(answers: str, healthy: bool | None) -> None:
    settings = Settings(0, 1, 1, successes=2, failures=3)
    tally = Tally()
    for answer in answers:
        tally = count(tally, answer == "y", settings)
    assert tally.healthy is healthy


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


@pytest.mark.parametrize(
    ("host", "way"),
    [
        ("10.42.3.4", Way.INSIDE),
        ("10.43.0.1", Way.INSIDE),
        ("pypi.example", Way.OUTSIDE),
        ("192.0.2.1", Way.OUTSIDE),
        ("localhost", Way.FORBIDDEN),
        ("127.0.0.5", Way.FORBIDDEN),
        ("::1", Way.FORBIDDEN),
        ("0.0.0.0", Way.FORBIDDEN),
        ("169.254.169.254", Way.FORBIDDEN),
    ],
)
def test_ways_out(host: str, way: Way) -> None:
    assert Target(host, 80).way is way


def test_what_the_proxy_is_asked_for() -> None:
    assert of_connect("example.com:443") == Target("example.com", 443)
    assert of_connect("[2001:db8::1]:443") == Target("2001:db8::1", 443)
    assert [of_connect(text) for text in ("example.com", ":1", "h:0", "h:99999", "h:x")] == [None] * 5
    assert of_url("http://h:81/a?b=c") == (Target("h", 81), "/a?b=c")
    assert [of_url(text) for text in ("/a", "https://h/", "http://[/", "http://h:x/")] == [None] * 4
    assert "10.43.0.0/16" in variables("10.42.0.1", 3128)["no_proxy"]


def test_addresses_are_given_once_and_the_longest_free_first() -> None:
    addresses = Addresses()
    first = [addresses.take("10.42.1.0/24") for _ in range(3)]
    assert first == ["10.42.1.2", "10.42.1.3", "10.42.1.4"]
    addresses.free("10.42.1.3")
    assert addresses.take("10.42.1.0/24") == "10.42.1.5"
    for _ in range(249):
        addresses.take("10.42.1.0/24")
    assert addresses.take("10.42.1.0/24") == "10.42.1.3"
    with pytest.raises(LookupError, match="in use"):
        addresses.take("10.42.1.0/24")


def test_graphics_cards_stay_with_their_container() -> None:
    cards = Graphics()
    asks = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    assert cards.take("n", "p", asks) == (0, 1)
    assert cards.take("n", "p", asks) == (0, 1)
    assert cards.take("n", "q", asks) == (2, 3)
    cards.free("p")
    assert cards.take("n", "r", asks) == (0, 1)
    assert cards.take("n", "r", {"name": "d"}) == ()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, "kernel.apparmor_restrict_unprivileged_userns=0"),
        ({"kernel/unprivileged_userns_clone": "0"}, "kernel.unprivileged_userns_clone=1"),
        ({"user/max_user_namespaces": "0"}, "user.max_user_namespaces="),
        ({}, "seccomp=unconfined"),
    ],
)
def test_remedies(settings: dict[str, str], text: str) -> None:
    assert text in remedy_for_user(lambda name: settings.get(name, ""))


def test_exit_codes_on_the_error_channel() -> None:
    assert outcome(0) == b'{"metadata":{},"status":"Success"}'
    assert b'"message":"7"' in outcome(7)


@given(st.lists(st.binary(max_size=60).map(lambda data: data.replace(b"\r", b"")), max_size=30), st.integers(200, 2000))
def test_a_log_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], largest: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "0.log"
    log = LogFile(path, largest, kept=1000)
    for piece in pieces:
        log.write("stdout", piece)
    log.close()
    whole = b"".join(pieces)
    if whole and not whole.endswith(b"\n"):
        whole += b"\n"
    assert reader.text(path, Wanted()) == whole


def test_only_so_many_files_of_a_log_are_kept(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "0.log", 1000, kept=3)
    for number in range(200):
        log.write("stdout", b"line %d\n" % number)
    log.close()
    assert len(list(tmp_path.iterdir())) == 3
    assert reader.text(tmp_path / "0.log", Wanted(tail=1)) == b"line 199\n"


def test_parts_of_long_lines_are_joined(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "0.log", 10**7, kept=3)
    log.write("stderr", b"x" * 40_000 + b"\nshort\n")
    log.close()
    assert reader.text(tmp_path / "0.log", Wanted(tail=2)) == b"x" * 40_000 + b"\nshort\n"
    assert last_lines(tmp_path / "0.log").endswith("x\nshort\n")
    assert len(last_lines(tmp_path / "0.log")) == 2048


def _sources(**objects: Object) -> Sources:
    def find(_namespace: str, name: str) -> Object | None:
        return objects.get(name)

    return Sources(find, find, {}, {("", 3600): "a-token", ("vault", 600): "v-token"})


def test_projected_volumes() -> None:
    volume = {
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token"}},
                {"serviceAccountToken": {"path": "vault", "audience": "vault", "expirationSeconds": 600}},
                {"configMap": {"name": "ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
            ]
        }
    }
    made = files(POD, volume, _sources(ca={"data": {"ca.crt": "PEM", "other": "x"}}))
    assert {name: file.data for name, file in made.items()} == {
        "token": b"a-token",
        "vault": b"v-token",
        "ca.crt": b"PEM",
        "namespace": b"shop",
    }
    assert tokens_wanted(volume) == [("", 3600), ("vault", 600)]


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        ({"secret": {"secretName": "none"}}, 'secret "none" not found'),
        (
            {"configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}},
            "configmap references non-existent config key: k",
        ),
        (
            {"secret": {"secretName": "m", "items": [{"key": "k", "path": "p"}]}},
            "references non-existent secret key: k",
        ),
        ({"projected": {"sources": [{"clusterTrustBundle": {}}]}}, 'source "clusterTrustBundle" of a projected volume'),
    ],
)
def test_volumes_that_cannot_be_made(volume: Object, message: str) -> None:
    with pytest.raises(VolumeError, match=message):
        files(POD, volume, _sources(m={"data": {}}))


def test_binary_data_of_a_config_map() -> None:
    found = {"data": {}, "binaryData": {"b": base64.b64encode(b"\0\xff").decode()}}
    assert files(POD, {"configMap": {"name": "m"}}, _sources(m=found))["b"].data == b"\0\xff"


def test_files_change_all_at_once(tmp_path: Path) -> None:
    assert atomic.write(tmp_path, {"a": File(b"1"), "deep/b": File(b"2", 0o600)})
    assert (tmp_path / "a").read_bytes() == b"1"
    assert ((tmp_path / "deep/b").stat().st_mode & 0o777) == 0o600
    assert not atomic.write(tmp_path, {"a": File(b"1"), "deep/b": File(b"2", 0o600)})
    held = os.open(tmp_path / "..data", os.O_PATH | os.O_DIRECTORY)
    try:
        assert atomic.write(tmp_path, {"c": File(b"3")})
        assert sorted(entry.name for entry in tmp_path.iterdir() if not entry.name.startswith("..")) == ["c"]
        assert len([entry for entry in tmp_path.iterdir() if entry.name.startswith("..2")]) == 1
    finally:
        os.close(held)


def test_a_part_of_a_volume_stays_inside_it(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "out").symlink_to("/etc")
    container = {"volumeMounts": [{"name": "v", "mountPath": "/m", "subPath": "out"}]}
    with pytest.raises(VolumeError, match="leads out of the volume"):
        place.mounts(container, {"v": tmp_path / "v"}, {})


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"name": "x", "nfs": {}}, 'volumes of kind "nfs" are not supported by this node'),
        ({"name": "x", "hostPath": {"path": "/no/such"}}, "hostPath type check failed: /no/such does not exist"),
        ({"name": "x", "hostPath": {"path": "/etc/hosts", "type": "Directory"}}, "is not a directory"),
        ({"name": "x", "persistentVolumeClaim": {"claimName": "c"}}, 'persistentvolumeclaim "c" not found'),
    ],
)
def test_places_that_cannot_be_had(tmp_path: Path, volume: Object, message: str) -> None:
    with pytest.raises(VolumeError, match=message):
        place.folder_of(volume, tmp_path, None)
