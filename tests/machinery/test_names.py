"""Names are checked with Kubernetes' rules and words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery import names

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
KEY_NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
ENV = "a valid environment variable name must consist only of printable ASCII characters other than '='"
CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
PORT_CHARS = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
PORT_LETTER = "must contain at least one letter (a-z)"


@pytest.mark.parametrize(
    ("check", "value", "problems"),
    [
        (names.check_dns1123_label, "a-1", []),
        (names.check_dns1123_label, "a" * 63, []),
        (names.check_dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.check_dns1123_label, "a.b", ["must not contain dots"]),
        (names.check_dns1123_label, "", [LABEL]),
        (names.check_dns1123_label, "A", [LABEL]),
        (names.check_dns1123_label, "a\n", [LABEL]),
        (names.check_dns1123_label, "é" * 40, ["must be no more than 63 characters", LABEL]),
        (names.check_dns1123_subdomain, "a.b-c.1", []),
        (names.check_dns1123_subdomain, "a..b", [SUBDOMAIN]),
        (names.check_dns1123_subdomain, "x" * 254, ["must be no more than 253 characters"]),
        (names.check_dns1035_label, "a1", []),
        (names.check_dns1035_label, "1a", [LABEL_1035]),
        (names.check_qualified_name, "example.com/My_name.1", []),
        (names.check_qualified_name, "name", []),
        (names.check_qualified_name, "/name", ["prefix part must be non-empty"]),
        (names.check_qualified_name, "a.b/", ["name part must be non-empty", f"name part {KEY_NAME}"]),
        (names.check_qualified_name, "Example.com/a", [f"prefix part {SUBDOMAIN}"]),
        (names.check_qualified_name, "a" * 64, ["name part must be no more than 63 bytes"]),
        (names.check_qualified_name, "a" * 254 + "/b", ["prefix part must be no more than 253 bytes"]),
        (
            names.check_qualified_name,
            "a/b/c",
            [f"a valid label key {KEY_NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"],
        ),
        (names.check_label_value, "", []),
        (names.check_label_value, "A_b.c-1", []),
        (names.check_label_value, "-a", [LABEL_VALUE]),
        (names.check_label_value, "a" * 64, ["must be no more than 63 bytes"]),
        (names.check_env_var_name, "1 weird.name-of{ours}", []),
        (names.check_env_var_name, "A=B", [ENV]),
        (names.check_env_var_name, "é", [ENV]),
        (names.check_env_var_name, "", ["environment variable name must be non-empty"]),
        (names.check_config_map_key, "key.name", []),
        (names.check_config_map_key, "a/b", [CONFIG_KEY]),
        (names.check_config_map_key, "", [CONFIG_KEY]),
        (names.check_config_map_key, "..", ["must not be '..'"]),
        (names.check_config_map_key, "..a", ["must not start with '..'"]),
        (names.check_config_map_key, "k" * 254, ["must be no more than 253 characters"]),
        (names.check_port_name, "http-8080", []),
        (names.check_port_name, "", [PORT_CHARS, PORT_LETTER]),
        (names.check_port_name, "80", [PORT_LETTER]),
        (
            names.check_port_name,
            "-a--b",
            ["must not contain consecutive hyphens", "must not begin or end with a hyphen"],
        ),
        (names.check_port_name, "a" * 16, ["must be no more than 15 characters"]),
        (names.check_path_segment, "a:b", []),
        (names.check_path_segment, "..", ["may not be '..'"]),
        (names.check_path_segment, "a/b%", ["may not contain '/'", "may not contain '%'"]),
        (names.check_path_segment_prefix, ".", []),
        (names.check_wildcard_dns1123_subdomain, "*.example.com", []),
        (names.check_http_header_name, "X-Header-Name", []),
        (names.check_percent, "25%", []),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", "")[6:],
)
def test_a_value_gets_these_complaints(check: Callable[[str], list[str]], value: str, problems: list[str]):
    assert check(value) == problems


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (names.check_wildcard_dns1123_subdomain, "a wildcard DNS-1123 subdomain must start with '*.'"),
        (names.check_http_header_name, "a valid HTTP header must consist of alphanumeric characters or '-'"),
        (names.check_percent, "a valid percent string must be a numeric string followed by an ending '%'"),
    ],
    ids=["wildcard", "header", "percent"],
)
def test_other_shapes_are_explained(check: Callable[[str], list[str]], problem: str):
    (text,) = check("a b")
    assert text.startswith(problem)


@pytest.mark.parametrize(("number", "fine"), [(0, False), (1, True), (65535, True), (65536, False)])
def test_ports_are_sixteen_bits(number: int, fine: bool):
    assert names.check_port_number(number) == ([] if fine else ["must be between 1 and 65535, inclusive"])


@pytest.mark.parametrize(
    ("rule", "name", "as_prefix", "as_name"),
    [
        (names.subdomain_name, "a.b-", True, False),
        (names.label_name, "ab-", True, False),
        (names.label_name, "a.b", False, False),
        (names.label_1035_name, "a-", True, False),
        (names.label_1035_name, "1a", False, False),
        (names.path_segment_name, "..", True, False),
        (names.subdomain_name, "-", False, False),
        (names.label_name, "漢-", False, False),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_name_rule_is_laxer_for_a_prefix(rule: names.NameCheck, name: str, as_prefix: bool, as_name: bool):
    assert (rule(name, True) == [], rule(name, False) == []) == (as_prefix, as_name)


@pytest.mark.parametrize(
    ("annotations", "too_large"),
    [
        ({"k": "v" * (256 * 1024 - 1)}, False),
        ({"k": "v" * 256 * 1024}, True),
        ({"k": "é" * 128 * 1024}, True),
        ({str(n): "x" * 1000 for n in range(300)}, True),
        ({}, False),
    ],
    ids=["just fits", "one byte over", "counted in bytes", "many small ones", "none"],
)
def test_annotations_share_one_limit(annotations: dict[str, str], too_large: bool):
    assert names.annotations_too_large(annotations) is too_large


@given(st.text(alphabet="abAB01-_./ é", max_size=70))
def test_a_subdomain_is_labels_joined_by_dots(text: str):
    parts_fine = all(names.check_dns1123_label(part) == [] or len(part) > 63 for part in text.split("."))
    assert (names.check_dns1123_subdomain(text) == []) is parts_fine
