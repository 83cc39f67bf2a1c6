"""Query parameters."""

from __future__ import annotations

import pytest

from rayward.local.apiserver.options import (
    APPLY,
    flag,
    list_options,
    manager_of,
    number,
    resource_version,
    write_options,
)
from rayward.local.apiserver.status import ApiError


@pytest.mark.parametrize(
    ("values", "meant"),
    [(None, False), (["false"], False), (["False"], False), (["0"], False), ([""], True), (["1"], True), (["x"], True)],
)
def test_booleans_are_true_unless_they_say_no(values: list[str] | None, meant: bool) -> None:
    assert flag({"watch": values} if values is not None else {}, "watch") is meant


@pytest.mark.parametrize("text", ["abc", "", "1.5", "9223372036854775808", "--1"])
def test_a_bad_number_is_a_bad_request(text: str) -> None:
    with pytest.raises(ApiError, match=r"strconv\.ParseInt: parsing"):
        number({"limit": [text]}, "limit")


@pytest.mark.parametrize(
    ("agent", "manager"),
    [("kubectl/v1.36 (linux)", "kubectl"), ("", "unknown"), ("a" * 200, "a" * 128), ("x\x01y/1", "xy")],
)
def test_the_manager_of_a_nameless_writer_is_its_program(agent: str, manager: str) -> None:
    assert manager_of(agent) == manager


def test_a_write_without_options_warns_of_unknown_fields() -> None:
    options = write_options({}, "tool/1", "CreateOptions")
    assert (options.manager, options.dry_run, options.validation) == ("tool", False, "Warn")


@pytest.mark.parametrize(
    ("query", "kind", "patch_type", "cause"),
    [
        ({"fieldValidation": ["Loud"]}, "CreateOptions", "", 'fieldValidation: Unsupported value: "Loud"'),
        ({"dryRun": ["Some"]}, "UpdateOptions", "", 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ({"fieldManager": ["x" * 129]}, "CreateOptions", "", "fieldManager: Too long: may not be more than 128 bytes"),
        ({"force": ["true"]}, "PatchOptions", "application/merge-patch+json", "force: Forbidden"),
        ({}, "PatchOptions", APPLY, "fieldManager: Required value: is required for apply patch"),
    ],
)
def test_bad_write_options_are_invalid(query: dict[str, list[str]], kind: str, patch_type: str, cause: str) -> None:
    with pytest.raises(ApiError) as caught:
        write_options(query, "", kind, patch_type)
    assert caught.value.code == 422
    assert cause in caught.value.message


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        ({"resourceVersionMatch": ["Exact"]}, "forbidden unless resourceVersion is provided"),
        ({"resourceVersionMatch": ["Exact"], "resourceVersion": ["0"]}, 'forbidden for resourceVersion "0"'),
        ({"resourceVersionMatch": ["Odd"], "resourceVersion": ["1"]}, 'Unsupported value: "Odd"'),
        ({"sendInitialEvents": ["true"]}, "sendInitialEvents is forbidden for list"),
        ({"watch": ["1"], "sendInitialEvents": ["true"]}, "requires setting resourceVersionMatch to NotOlderThan"),
        ({"watch": ["1"], "resourceVersionMatch": ["NotOlderThan"]}, "unless sendInitialEvents is provided"),
    ],
)
def test_list_options_that_contradict_each_other_are_invalid(query: dict[str, list[str]], cause: str) -> None:
    with pytest.raises(ApiError) as caught:
        list_options(query)
    assert caught.value.code == 422
    assert cause in caught.value.message


@pytest.mark.parametrize("text", ["x", "-1", "1.0"])
def test_a_bad_resource_version_is_invalid(text: str) -> None:
    with pytest.raises(ApiError):
        resource_version(text)
