"""How much secrets and config maps may hold."""

from __future__ import annotations

import pytest

from rayward.local.apiserver.builtin.scalars import encode_base64
from tests.apiserver.builtin.judge import Judge

_MEBIBYTE = 1 << 20
_SECRET = [["data", f"Too long: may not be more than {_MEBIBYTE} bytes", "FieldValueTooLong"]]
_CONFIG = [["[]", f"Too long: may not be more than {_MEBIBYTE} bytes", "FieldValueTooLong"]]


@pytest.mark.parametrize("field", ["data", "stringData"])
@pytest.mark.parametrize(("size", "causes"), [(_MEBIBYTE, None), (_MEBIBYTE + 1, _SECRET)], ids=["full", "too much"])
def test_a_secret_holds_a_mebibyte(judge: Judge, field: str, size: int, causes: list[list[str]] | None) -> None:
    content = "x" * size if field == "stringData" else encode_base64(b"x" * size)
    answer = judge.created("secrets", {"metadata": {"name": "s"}, field: {"a": content}})
    assert answer.get("causes") == causes


@pytest.mark.parametrize(("size", "causes"), [(_MEBIBYTE, None), (_MEBIBYTE + 1, _CONFIG)], ids=["full", "too much"])
def test_a_config_map_holds_a_mebibyte_in_all(judge: Judge, size: int, causes: list[list[str]] | None) -> None:
    half = size // 2
    binary = encode_base64(b"x" * (size - half))
    given = {"metadata": {"name": "s"}, "data": {"a": "x" * half}, "binaryData": {"b": binary}}
    assert judge.created("configmaps", given).get("causes") == causes
