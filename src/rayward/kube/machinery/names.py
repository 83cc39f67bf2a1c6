"""What a name, key or label value must look like, in Kubernetes' own words.

Every ``check_x`` answers with the list of complaints, empty when the value is fine. Lengths count UTF-8 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

NameCheck = Callable[[str, bool], list[str]]
"""A rule for object names; the flag says that the name is a prefix to which something will be appended."""

ANNOTATIONS_MAX_BYTES: Final = 256 * 1024

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD: Final = rf"\*\.{_SUBDOMAIN}"
_KEY_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_KEY_NAME})?"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_HEADER_NAME: Final = "[-A-Za-z0-9]+"
_PERCENT: Final = "[0-9]+%"

# Shapes with their length limit built in: one match settles the usual, valid case.
_valid_label: Final = re.compile(f"(?=.{{1,63}}$){_LABEL}").fullmatch
_valid_subdomain: Final = re.compile(f"(?=.{{1,253}}$){_SUBDOMAIN}").fullmatch
_valid_label_1035: Final = re.compile(f"(?=.{{1,63}}$){_LABEL_1035}").fullmatch
_valid_qualified: Final = re.compile(f"(?:(?=[^/]{{1,253}}/){_SUBDOMAIN}/)?(?=[^/]{{1,63}}$){_KEY_NAME}").fullmatch
_valid_label_value: Final = re.compile(f"(?=.{{0,63}}$){_LABEL_VALUE}").fullmatch
_valid_wildcard: Final = re.compile(f"(?=.{{1,253}}$){_WILDCARD}").fullmatch
_valid_config_key: Final = re.compile(rf"(?!\.\.|\.$)(?=.{{1,253}}$){_CONFIG_KEY}").fullmatch
_valid_printable: Final = re.compile(r"[ -<>-~]+").fullmatch

_like_label: Final = re.compile(_LABEL).fullmatch
_like_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_like_label_1035: Final = re.compile(_LABEL_1035).fullmatch
_like_wildcard: Final = re.compile(_WILDCARD).fullmatch
_like_key_name: Final = re.compile(_KEY_NAME).fullmatch
_like_label_value: Final = re.compile(_LABEL_VALUE).fullmatch
_like_config_key: Final = re.compile(_CONFIG_KEY).fullmatch
_like_header_name: Final = re.compile(_HEADER_NAME).fullmatch
_like_percent: Final = re.compile(_PERCENT).fullmatch
_like_port_name: Final = re.compile("[-a-z0-9]+").fullmatch
_has_letter: Final = re.compile("[a-z]").search


def _shape(message: str, pattern: str, *examples: str) -> str:
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    # The doubled blank before "or" is how Kubernetes writes it.
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


_BAD_LABEL: Final = _shape(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_BAD_SUBDOMAIN: Final = _shape(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_BAD_LABEL_1035: Final = _shape(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_BAD_WILDCARD: Final = _shape(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
    "which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    _WILDCARD,
    "*.example.com",
)
_BAD_KEY_NAME: Final = _shape(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _KEY_NAME,
    "MyName",
    "my.name",
    "123-abc",
)
_BAD_KEY_PARTS: Final = (
    f"a valid label key {_BAD_KEY_NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_BAD_LABEL_VALUE: Final = _shape(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_BAD_PRINTABLE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_BAD_CONFIG_KEY: Final = _shape(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_BAD_HEADER_NAME: Final = _shape(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER_NAME, "X-Header-Name"
)
_BAD_PERCENT: Final = _shape(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)


def _too_long(value: str, limit: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(value.encode()) > limit else []


def check_dns1123_label(value: str) -> list[str]:
    """A lower-case label as RFC 1123 has it, at most 63 bytes."""
    if _valid_label(value):
        return []
    problems = _too_long(value, 63)
    if not _like_label(value):
        problems.append("must not contain dots" if _like_subdomain(value) else _BAD_LABEL)
    return problems


def check_dns1123_subdomain(value: str) -> list[str]:
    """Lower-case labels joined by dots, at most 253 bytes."""
    return [] if _valid_subdomain(value) else _subdomain_problems(value, "characters")


def _subdomain_problems(value: str, unit: str) -> list[str]:
    return _too_long(value, 253, unit) + ([] if _like_subdomain(value) else [_BAD_SUBDOMAIN])


def check_dns1035_label(value: str) -> list[str]:
    """A lower-case label that starts with a letter, at most 63 bytes."""
    if _valid_label_1035(value):
        return []
    return _too_long(value, 63) + ([] if _like_label_1035(value) else [_BAD_LABEL_1035])


def check_wildcard_dns1123_subdomain(value: str) -> list[str]:
    """A subdomain behind ``*.``."""
    if _valid_wildcard(value):
        return []
    return _too_long(value, 253) + ([] if _like_wildcard(value) else [_BAD_WILDCARD])


def check_qualified_name(value: str) -> list[str]:
    """A label key, annotation key or finalizer: a name, with an optional subdomain and ``/`` before it."""
    if len(value) <= _QUALIFIED_MAX and _is_qualified(value):
        return []
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [_BAD_KEY_PARTS]
    problems: list[str] = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash and not _valid_subdomain(prefix):
        problems += [f"prefix part {problem}" for problem in _subdomain_problems(prefix, "bytes")]
    if not name:
        problems.append("name part must be non-empty")
    else:
        problems += [f"name part {problem}" for problem in _too_long(name, 63, "bytes")]
    if not _like_key_name(name):
        problems.append(f"name part {_BAD_KEY_NAME}")
    return problems


# The same few keys come with every object. Longer texts are never valid, so they never fill the cache.
_QUALIFIED_MAX: Final = 253 + 1 + 63


@lru_cache(maxsize=4096)
def _is_qualified(value: str) -> bool:
    return _valid_qualified(value) is not None


def check_label_value(value: str) -> list[str]:
    """The value of a label, at most 63 bytes, possibly empty."""
    if _valid_label_value(value):
        return []
    return _too_long(value, 63, "bytes") + ([] if _like_label_value(value) else [_BAD_LABEL_VALUE])


def check_env_var_name(value: str) -> list[str]:
    """The name of an environment variable, as Kubernetes allows it since 1.34: printable ASCII without ``=``."""
    if _valid_printable(value):
        return []
    return [_BAD_PRINTABLE] if value else ["environment variable name must be non-empty"]


def check_config_map_key(value: str) -> list[str]:
    """A key of a ConfigMap or Secret: fit to be a file name."""
    if _valid_config_key(value):
        return []
    shape = [] if _like_config_key(value) else [_BAD_CONFIG_KEY]
    return _too_long(value, 253) + shape + _parent_folder_problems(value)


def _parent_folder_problems(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def check_port_name(value: str) -> list[str]:
    """The name of a port, an IANA service name of at most 15 characters."""
    problems = _too_long(value, 15)
    if not _like_port_name(value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def check_port_number(value: int) -> list[str]:
    """A port from 1 to 65535."""
    return [] if 1 <= value <= 65535 else ["must be between 1 and 65535, inclusive"]


def check_path_segment(value: str) -> list[str]:
    """A name that can stand alone between two slashes of a URL."""
    return [f"may not be '{value}'"] if value in (".", "..") else check_path_segment_prefix(value)


def check_path_segment_prefix(value: str) -> list[str]:
    """The beginning of a name that will stand between two slashes of a URL."""
    return [f"may not contain '{bad}'" for bad in "/%" if bad in value]


def check_http_header_name(value: str) -> list[str]:
    """The name of an HTTP header."""
    return [] if _like_header_name(value) else [_BAD_HEADER_NAME]


def check_percent(value: str) -> list[str]:
    """A whole number of percent, such as ``25%``."""
    return [] if _like_percent(value) else [_BAD_PERCENT]


def annotations_too_large(annotations: Mapping[str, str]) -> bool:
    """Whether keys and values together pass 256 KiB."""
    characters = sum(map(len, annotations)) + sum(map(len, annotations.values()))
    if characters * 4 <= ANNOTATIONS_MAX_BYTES:
        return False
    return sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > ANNOTATIONS_MAX_BYTES


def subdomain_name(name: str, prefix: bool) -> list[str]:
    """The name rule of most kinds."""
    return check_dns1123_subdomain(_without_dash(name) if prefix else name)


def label_name(name: str, prefix: bool) -> list[str]:
    """The name rule of namespaces and other kinds that become one DNS label."""
    return check_dns1123_label(_without_dash(name) if prefix else name)


def label_1035_name(name: str, prefix: bool) -> list[str]:
    """The name rule of kinds that become a DNS label which starts with a letter."""
    return check_dns1035_label(_without_dash(name) if prefix else name)


def path_segment_name(name: str, prefix: bool) -> list[str]:
    """The name rule every kind must meet, whatever its own."""
    return check_path_segment_prefix(name) if prefix else check_path_segment(name)


def _without_dash(prefix: str) -> str:
    if len(prefix) < 2 or not prefix.endswith("-"):
        return prefix
    # A trailing dash is fine in a prefix. Kubernetes also drops the byte before it; the answers must agree.
    kept = prefix[:-2] if prefix[-2].isascii() else prefix[:-1]
    return f"{kept}a"
