"""Plain scalars mean what they mean to Kubernetes' YAML reader."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.yamlscalar import scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, True) for word in ("y", "Y", "yes", "YES", "true", "True", "on", "ON")),
        *((word, False) for word in ("n", "N", "no", "Off", "FALSE")),
        *((word, None) for word in ("", "~", "null", "NULL")),
        *((word, word) for word in ("yEs", "truE", "none", "a", "-", "+", ".", "=", "<")),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0b101", 5),
        ("-0b11", -3),
        ("0o17", 15),
        ("017", 15),
        ("089", 89),
        ("9223372036854775807", (1 << 63) - 1),
        ("18446744073709551615", (1 << 64) - 1),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5),
        ("1e3", 1000),
        ("1.5e-3", 0.0015),
        ("1e300", 1e300),
        ("12:30", "12:30"),
        ("1:2:3", "1:2:3"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("10.0.0.1", "10.0.0.1"),
        ("1Gi", "1Gi"),
        ("0x", "0x"),
        ("1e999", "1e999"),
        ("-9223372036854775809", -9223372036854775808),
    ],
)
def test_what_a_word_means(text: str, value: Any) -> None:
    found = scalar(text)

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(("text", "shown"), [(".nan", "NaN"), (".inf", "+Inf"), ("-.Inf", "-Inf"), ("+.INF", "+Inf")])
def test_what_json_has_no_word_for(text: str, shown: str) -> None:
    with pytest.raises(ValueError, match="json: unsupported value") as refused:
        scalar(text)
    assert str(refused.value).endswith(shown)
