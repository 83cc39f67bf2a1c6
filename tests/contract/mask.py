"""Takes out of answers what no two servers share: uids, resource versions, times, random names, addresses and tokens.

Values that the case itself sent stay as they are. Uids and the resource versions of objects are numbered in the order
they appear, so that an answer still says which are the same.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC)")
_JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
_ACCESS_VOLUME = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
_YAML_VERSION = re.compile(r'resourceVersion: "\d+"')
_HASH = re.compile(r"\bhash=[0-9A-F]+")
_NUMBER = re.compile(r"\b\d+\b")
_AGE = re.compile(r"^(\d+[ydhms])+$")
_AGO = re.compile(r"\((\d+[ydhms])+ ago\)")
_SERVICE_IP = re.compile(r"^10\.\d+\.\d+\.\d+$")
_NODE_PORT = re.compile(r":(3[0-2]\d{3})/")
_AGE_COLUMNS = {"age", "last seen", "first seen"}
_GENERATE_NAME = re.compile(r'"generateName": "([^"]+)"')
_SUFFIX, _LONGEST_GENERATED = 5, 63
_RECENT = timedelta(hours=30)
_QUOTED_OBJECT = re.compile(r'(patch: |^)Invalid value: "(\{.*\}|map\[.*\])": ', re.DOTALL)
_QUOTED_VERSIONS = re.compile(r'Invalid value: \[\{.*"AdditionalPrinterColumns":.*\}\]: (?=[a-z])')
_QUOTED_POD = re.compile(r'Invalid value: \{.*"InitContainers":.*\}: (?=[a-z])')
_COMPILER = re.compile(r"compilation failed: ERROR:.*?(?=, spec\.|\]$|$)", re.DOTALL)
_QUOTED_DIFFERENCE = re.compile(r"\n@@ .*", re.DOTALL)
_CURRENT_VERSION = re.compile(r"(current: |\()\d+\b")


class Mask:
    """The masks of one run of one case, which remember what they have numbered."""

    def __init__(self, said: str) -> None:
        self._said = said
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._columns: list[str] = []  # of the last table: a watch names them once
        self._addresses: set[str] = set()
        self._generated: dict[str, str] = {}
        self._prefixes = sorted(set(_GENERATE_NAME.findall(said)), key=len, reverse=True)
        self._now = datetime.now(UTC)

    def body(self, value: Any) -> Any:
        """The answer's body, masked."""
        if isinstance(value, dict) and isinstance(value.get("details"), dict):
            self._notice_generated(value["details"])
        if isinstance(value, dict) and isinstance(value.get("object"), dict):
            return {"type": value.get("type"), "object": self.body(value["object"])}
        if isinstance(value, dict) and "frame" in value:
            return {**value, "content": self.body(value["content"])}
        if isinstance(value, dict) and value.get("kind") == "Table":
            value = self._table(value)
        return self._value(value, "")

    def text(self, text: str) -> str:
        """A string, masked."""
        for raw, name in self._generated.items():
            text = text.replace(raw, name)
        text = _UUID.sub(lambda m: self._number(self._uids, m[0], "uid"), text)
        text = _TIME.sub(self._time, text)
        text = _ACCESS_VOLUME.sub("kube-api-access-<random>", text)
        text = _HASH.sub("hash=<hash>", text)
        text = _YAML_VERSION.sub('resourceVersion: "<rv>"', text)
        return _JWT.sub("<jwt>", text)

    def _value(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            if key == "managedFields":
                value = _ordered(value)
            return [self._value(item, key) for item in value]
        if isinstance(value, str):
            return self._string(value, key)
        if key in ("nodePort", "healthCheckNodePort") and value and str(value) not in self._said:
            return "<port>"
        return value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        self._notice_generated(value)
        masked: dict[str, Any] = {}
        for key in sorted(value):
            if key == "resourceVersion" and isinstance(value[key], str) and value[key] not in ("", "0"):
                masked[key] = self._number(self._versions, value[key], "rv") if "uid" in value else "<rv>"
            else:
                masked[self.text(key)] = self._value(value[key], key)
        return masked

    def _notice_generated(self, value: dict[str, Any]) -> None:
        name = value.get("name")
        if not isinstance(name, str) or name in self._generated or f'"{name}"' in self._said:
            return
        for prefix in self._prefixes:
            # A long prefix is cut, so that the name still fits.
            kept = name[:-_SUFFIX]
            if kept and prefix.startswith(kept) and (kept == prefix or len(name) == _LONGEST_GENERATED):
                cut = "" if kept == prefix else f"{len(kept)} kept, "
                self._generated[name] = f"{prefix}<{cut}{_SUFFIX} random, {len(self._generated) + 1}>"
                return

    def _string(self, value: str, key: str) -> str:
        if key == "continue" and value:
            return "<continue>"
        if key == "serverAddress":
            return "<address>"
        if key == "storageVersionHash" and "{ns}.example.com" in self._said:
            return "<hash>"
        if key in ("clusterIP", "clusterIPs") and _SERVICE_IP.match(value) and value not in self._said:
            self._addresses.add(value)
            return "<ip>"
        if key == "message":
            value = without_quotations(value)
            for address in self._addresses:
                value = value.replace(address, "<ip>")
            if "resource version" in value.lower():
                # first, since the current version may happen to be that of an object
                value = _CURRENT_VERSION.sub(r"\1<rv>", value)
            value = _NUMBER.sub(lambda m: self._versions.get(m[0], m[0]), value)
        return self.text(value)

    def _table(self, table: dict[str, Any]) -> dict[str, Any]:
        columns = table.get("columnDefinitions") or []
        if columns:
            self._columns = [column["name"] for column in columns]
        described = [
            {**column, "description": column.get("description", "") if self._is_said(column) else "<description>"}
            for column in columns
        ]
        return {**table, "columnDefinitions": described, "rows": [self._row(row) for row in table.get("rows") or []]}

    def _is_said(self, column: dict[str, Any]) -> bool:
        return bool(column.get("description")) and column["description"] in self._said

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        cells = [self._cell(column, cell) for column, cell in zip(self._columns, row["cells"], strict=False)]
        return {**row, "cells": cells}

    def _cell(self, column: str, cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        if column.lower() in _AGE_COLUMNS and _AGE.match(cell):
            return "<age>"
        if column == "Cluster-IP" and _SERVICE_IP.match(cell) and cell not in self._said:
            return "<ip>"
        if column == "Port(s)":
            return _NODE_PORT.sub(lambda m: m[0] if m[1] in self._said else ":<port>/", cell)
        return _AGO.sub("(<age> ago)", cell)

    def _time(self, match: re.Match[str]) -> str:
        text = match[0]
        moment = datetime.fromisoformat(text[:19]).replace(tzinfo=UTC)
        if abs(moment - self._now) > _RECENT:
            return text
        return f"<time with {len(match[1]) - 1} digits>" if match[1] else "<time>"

    def _number(self, names: dict[str, str], raw: str, what: str) -> str:
        if what == "uid" and raw in self._said:
            return raw
        return names.setdefault(raw, f"<{what} {len(names) + 1}>")


def without_quotations(message: str) -> str:
    """A message without the objects it quotes in full in Go's own notation, and without a compiler's own words."""
    message = _QUOTED_OBJECT.sub(r'\1Invalid value: "<object>": ', message)
    message = _QUOTED_VERSIONS.sub("Invalid value: <versions>: ", message)
    message = _QUOTED_POD.sub("Invalid value: <object>: ", message)
    message = _COMPILER.sub("compilation failed: <words of the compiler>", message)
    return _QUOTED_DIFFERENCE.sub("\n<difference>", message)


def _ordered(entries: list[Any]) -> list[Any]:
    # The server sorts by time before manager, to the second: which second a step fell into must not matter.
    def order(entry: dict[str, Any], *, by_time: bool) -> tuple[str, ...]:
        time = entry.get("time", "") if by_time else ""
        names = ("manager", "apiVersion", "subresource")
        return (entry.get("operation", ""), time, *(entry.get(name, "") for name in names))

    if entries != sorted(entries, key=lambda entry: order(entry, by_time=True)):
        return ["<out of order>", *entries]
    return sorted(entries, key=lambda entry: order(entry, by_time=False))
