"""Addresses and networks in old and new forms."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.fielderror import FieldError
from rayward.local.apiserver.builtin import address

_OLD = "must not have leading 0s"
_MAPPED = "must not be an IPv4-mapped IPv6 address"


@given(st.ip_addresses())
def test_every_address_is_read(value: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert address.parse(str(value)) == value
    out: list[FieldError] = []
    address.legacy_ip(str(value), "ip", out)
    mapped = isinstance(value, ipaddress.IPv6Address) and value.ipv4_mapped is not None
    assert [error.detail for error in out] == ([_MAPPED] if mapped else [])


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ("10.0.0.1", None),
        ("fd00::1", None),
        ("010.0.0.1", _OLD),
        ("::ffff:1.2.3.4", _MAPPED),
        ("fe80::1%eth0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("1.2.3", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ],
)
def test_an_address_in_an_old_field(value: str, detail: str | None) -> None:
    out: list[FieldError] = []
    address.legacy_ip(value, "ip", out)
    assert [error.detail for error in out] == ([detail] if detail else [])
    again: list[FieldError] = []
    address.legacy_ip(value, "ip", again, known=[value])
    assert again == []


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ("10.0.0.0/8", None),
        ("fd00::/64", None),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("::ffff:1.2.3.0/120", "must not have an IPv4-mapped IPv6 address"),
        ("10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
    ],
)
def test_a_network_in_an_old_field(value: str, detail: str | None) -> None:
    out: list[FieldError] = []
    address.legacy_cidr(value, "cidr", out)
    assert [error.detail for error in out] == ([detail] if detail else [])


@pytest.mark.parametrize(
    ("value", "details"),
    [
        ("10.0.0.1", []),
        ("x", ["must be a valid IP address"]),
        ("0.0.0.0", ["may not be unspecified (0.0.0.0)"]),
        ("::ffff:127.0.0.1", ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]),
        ("169.254.1.1", ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]),
        ("224.0.0.1", ["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"]),
        ("ff02::1", ["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"]),
        ("224.0.1.1", []),
    ],
)
def test_where_traffic_can_be_sent(value: str, details: list[str]) -> None:
    out: list[FieldError] = []
    address.endpoint_ip(value, "ip", out)
    assert [error.detail for error in out] == details


@pytest.mark.parametrize(
    ("value", "warning"),
    [
        ("10.0.0.1", None),
        ("fd00::1", None),
        ("010.0.0.1", 'ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"'),
        ("::ffff:1.2.3.4", 'ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"'),
        ("fd00:0::1", 'ip: IPv6 address "fd00:0::1" should be in RFC 5952 canonical format ("fd00::1")'),
    ],
)
def test_doubts_about_an_address(value: str, warning: str | None) -> None:
    assert address.ip_warnings(value, "ip") == ([warning] if warning else [])


@pytest.mark.parametrize(
    ("value", "warning"),
    [
        ("10.0.0.0/8", None),
        ("x", None),
        (
            "10.0.0.1/8",
            'at: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
        ),
        ("010.0.0.0/8", 'at: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8"'),
        ("fd00:0::/64", 'at: IPv6 CIDR value "fd00:0::/64" should be in RFC 5952 canonical format ("fd00::/64")'),
    ],
)
def test_doubts_about_a_network(value: str, warning: str | None) -> None:
    assert address.cidr_warnings(value, "at") == ([warning] if warning else [])


@pytest.mark.parametrize(
    ("values", "dual"), [(["10.0.0.1"], False), (["10.0.0.1", "fd00::1"], True), (["fd00::1", "fd00::2"], False)]
)
def test_both_families(values: list[str], dual: bool) -> None:
    assert address.is_dual_stack(values) is dual
