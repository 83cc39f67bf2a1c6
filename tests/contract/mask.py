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
_NUMBER = re.compile(r"\b\d+\b")
_AGE = re.compile(r"^(\d+[ydhms])+$")
_AGO = re.compile(r"\((\d+[ydhms])+ ago\)")
_SERVICE_IP = re.compile(r"^10\.\d+\.\d+\.\d+$")
_NODE_PORT = re.compile(r":(3[0-2]\d{3})/")
_AGE_COLUMNS = {"Age", "Last Seen", "First Seen", "Duration"}
_RECENT = timedelta(hours=30)
_CURRENT_VERSION = re.compile(r"(current: |\()\d+\b")


class Mask:
    """The masks of one run of one case, which remember what they have numbered."""

    def __init__(self, said: str) -> None:
        self._said = said
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._generated: dict[str, str] = {}
        self._now = datetime.now(UTC)

    def body(self, value: Any) -> Any:
        """The answer's body, masked."""
        if isinstance(value, dict) and value.get("kind") == "Table":
            value = {**value, "rows": [self._row(value["columnDefinitions"], row) for row in value.get("rows") or []]}
        return self._value(value, "")

    def text(self, text: str) -> str:
        """A string, masked."""
        for raw, name in self._generated.items():
            text = text.replace(raw, name)
        text = _UUID.sub(lambda m: self._number(self._uids, m[0], "uid"), text)
        text = _TIME.sub(self._time, text)
        text = _ACCESS_VOLUME.sub("kube-api-access-<random>", text)
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
            if key == "resourceVersion" and value[key] and "uid" in value:
                masked[key] = self._number(self._versions, value[key], "rv")
            elif key == "resourceVersion" and value[key] and value[key] != "0":
                masked[key] = "<rv>"
            else:
                masked[key] = self._value(value[key], key)
        return masked

    def _notice_generated(self, value: dict[str, Any]) -> None:
        prefix, name = value.get("generateName"), value.get("name")
        if prefix and name and name not in self._generated and name.startswith(prefix) and name not in self._said:
            length = len(name) - len(prefix)
            self._generated[name] = f"{prefix}<{length} random, {len(self._generated) + 1}>"

    def _string(self, value: str, key: str) -> str:
        if key == "continue" and value:
            return "<continue>"
        if key in ("clusterIP", "clusterIPs") and _SERVICE_IP.match(value) and value not in self._said:
            return "<ip>"
        if key == "message":
            value = _NUMBER.sub(lambda m: self._versions.get(m[0], m[0]), value)
            if "resource version" in value.lower():
                value = _CURRENT_VERSION.sub(r"\1<rv>", value)
        return self.text(value)

    def _row(self, columns: list[dict[str, Any]], row: dict[str, Any]) -> dict[str, Any]:
        cells = [self._cell(column["name"], cell) for column, cell in zip(columns, row["cells"], strict=False)]
        return {**row, "cells": cells}

    def _cell(self, column: str, cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        if column in _AGE_COLUMNS and _AGE.match(cell):
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


def _ordered(entries: list[Any]) -> list[Any]:
    # The server sorts by time before manager, to the second: which second a step fell into must not matter.
    def order(entry: dict[str, Any], *, by_time: bool) -> tuple[str, ...]:
        time = entry.get("time", "") if by_time else ""
        names = ("manager", "apiVersion", "subresource")
        return (entry.get("operation", ""), time, *(entry.get(name, "") for name in names))

    if entries != sorted(entries, key=lambda entry: order(entry, by_time=True)):
        return ["<out of order>", *entries]
    return sorted(entries, key=lambda entry: order(entry, by_time=False))
