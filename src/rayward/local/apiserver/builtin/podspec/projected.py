"""Files in volumes: keys of config maps and secrets, fields of the pod, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import forbidden, invalid, required
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS
from rayward.local.apiserver.builtin.podspec.fieldrefs import VOLUME_FIELDS, check_field_ref, check_resource_field_ref
from rayward.local.apiserver.builtin.podspec.paths import descending_not_reserved, file_mode

Spec = Mapping[str, Any]


def check_key_to_path(item: Spec, at: str, out: Errors) -> None:
    """One key shown as a file."""
    path = item.get("path") or ""
    if not item.get("key"):
        out.append(required(f"{at}.key"))
    if not path:
        out.append(required(f"{at}.path"))
    descending_not_reserved(path, f"{at}.path", out)
    file_mode(item.get("mode"), f"{at}.mode", out)


def check_downward_file(item: Spec, at: str, out: Errors) -> None:
    """One field of the pod shown as a file."""
    path = item.get("path") or ""
    if not path:
        out.append(required(f"{at}.path"))
    descending_not_reserved(path, f"{at}.path", out)
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        check_field_ref(field, VOLUME_FIELDS, f"{at}.fieldRef", out)
        if resource is not None:
            out.append(invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
    elif resource is not None:
        check_resource_field_ref(resource, f"{at}.resourceFieldRef", out, needs_container=True)
    else:
        out.append(required(at, "one of fieldRef and resourceFieldRef is required"))
    file_mode(item.get("mode"), f"{at}.mode", out)


def check_projected(source: Spec, at: str, out: Errors) -> None:
    """Several sources in one folder; their paths may not meet."""
    file_mode(source.get("defaultMode"), f"{at}.defaultMode", out)
    taken: set[str] = set()
    for index, part in enumerate(source.get("sources") or NO_ITEMS):
        here = f"{at}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if part.get(kind) is not None:
                _check_keys(part[kind], f"{here}.{kind}", at, taken, out)
        if part.get("downwardAPI") is not None:
            for item in part["downwardAPI"].get("items") or NO_ITEMS:
                check_downward_file(item, f"{here}.downwardAPI", out)
                _take(item.get("path") or "", item.get("path") or "", at, taken, out)
        if part.get("serviceAccountToken") is not None:
            _check_token(part["serviceAccountToken"], f"{here}.serviceAccountToken", at, out)
        if len(part) > 1:
            out.append(forbidden(here, "may not specify more than 1 volume type per source"))


def _check_keys(source: Spec, here: str, at: str, taken: set[str], out: Errors) -> None:
    name = source.get("name") or ""
    if not name:
        out.append(required(f"{here}.name"))
    for index, item in enumerate(source.get("items") or NO_ITEMS):
        check_key_to_path(item, f"{here}.items[{index}]", out)
        _take(item.get("path") or "", name, at, taken, out)


def _take(path: str, shown: str, at: str, taken: set[str], out: Errors) -> None:
    if not path:
        return
    if path in taken:
        out.append(invalid(at, shown, "conflicting duplicate paths"))
    taken.add(path)


def _check_token(token: Spec, here: str, at: str, out: Errors) -> None:
    seconds = token.get("expirationSeconds") or 0
    if seconds < 600:
        out.append(invalid(f"{here}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"))
    if seconds > 1 << 32:
        out.append(invalid(f"{here}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"))
    if not token.get("path"):
        out.append(required(f"{at}.path"))
    else:
        descending_not_reserved(token["path"], f"{at}.path", out)
