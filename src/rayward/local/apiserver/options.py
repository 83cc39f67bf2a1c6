"""Query parameters as Kubernetes reads them: typed, with its defaults and its refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, Reason, forbidden, invalid, not_supported, required, too_long
from rayward.kube.machinery.selectors import SelectorError, fields, labels
from rayward.local.apiserver import status

Query = Mapping[str, Sequence[str]]

APPLY = "application/apply-patch+yaml"
_MANAGER_LIMIT = 128
_MAX_INT64 = (1 << 63) - 1
_MOST_DIGITS = 1_000


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a create, update or patch is to be done."""

    manager: str
    dry_run: bool
    validation: str
    """Strict, Warn or Ignore: what happens with unknown and doubled fields."""
    force: bool = False
    stated: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the caller said of them, for webhooks to see."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which objects to list or watch, and from when."""

    label_selector: str
    field_selector: str
    limit: int
    continuation: str
    resource_version: str
    match: str
    watch: bool
    bookmarks: bool
    initial_events: bool | None
    timeout: int | None


def text(query: Query, name: str) -> str:
    """The first value of a parameter, or empty."""
    values = query.get(name)
    return values[0] if values else ""


def flag(query: Query, name: str) -> bool:
    """Any value but ``0`` and ``false`` means yes, as Kubernetes reads booleans."""
    values = query.get(name)
    return bool(values) and values[0] != "0" and values[0].lower() != "false"


def number(query: Query, name: str) -> int | None:
    """An int64 parameter; refuses what Go's ParseInt refuses."""
    values = query.get(name)
    if not values:
        return None
    raw = values[0]
    digits = raw[1:] if raw[:1] in "+-" else raw
    if not (digits.isascii() and digits.isdigit()):
        raise status.bad_request(f'strconv.ParseInt: parsing "{raw}": invalid syntax')
    if len(raw) > _MOST_DIGITS or abs(int(raw)) > _MAX_INT64:
        raise status.bad_request(f'strconv.ParseInt: parsing "{raw}": value out of range')
    return int(raw)


def write_options(query: Query, agent: str, kind: str, patch_type: str = "") -> WriteOptions:
    """The options of a write; ``kind`` is CreateOptions, UpdateOptions or PatchOptions."""
    if not query:
        if patch_type == APPLY:
            raise status.invalid("meta.k8s.io", kind, "", [_manager_required()])
        return WriteOptions(manager_of(agent), dry_run=False, validation="Warn")
    errors: list[FieldError] = []
    manager = text(query, "fieldManager")
    if kind == "PatchOptions":
        if patch_type == APPLY:
            if not manager:
                errors.append(_manager_required())
        elif "force" in query:
            errors.append(forbidden("force", "may not be specified for non-apply patch"))
    errors.extend(_check_manager(manager))
    errors.extend(check_dry_run(query.get("dryRun", ())))
    validation = text(query, "fieldValidation")
    if validation not in {"", "Ignore", "Warn", "Strict"}:
        errors.append(not_supported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
    if errors:
        raise status.invalid("meta.k8s.io", kind, "", errors)
    stated = {"dryRun": list(query.get("dryRun", ())), "fieldManager": manager, "fieldValidation": validation}
    return WriteOptions(
        manager or manager_of(agent),
        bool(query.get("dryRun")),
        validation or "Warn",
        force=flag(query, "force"),
        stated={name: value for name, value in stated.items() if value},
    )


def manager_of(agent: str) -> str:
    """The field manager of a writer that names none: its User-Agent up to the first slash."""
    name = agent.partition("/")[0]
    return "".join(c for c in name if c.isprintable())[:_MANAGER_LIMIT] or "unknown"


def _manager_required() -> FieldError:
    return required("fieldManager", "is required for apply patch")


def _check_manager(manager: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(manager.encode()) > _MANAGER_LIMIT:
        errors.append(too_long("fieldManager", _MANAGER_LIMIT))
    position = 0
    for char in manager:
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            errors.append(invalid("fieldManager", manager, detail))
        position += len(char.encode())
    return errors


def check_dry_run(values: Sequence[str]) -> list[FieldError]:
    """Only ``All`` is a dry run that the server knows."""
    if all(value == "All" for value in values):
        return []
    return [FieldError(Reason.NOT_SUPPORTED, "dryRun", list(values), 'supported values: "All"')]


def list_options(query: Query) -> ListOptions:
    """The options of a list or watch, checked against each other."""
    initial = flag(query, "sendInitialEvents") if "sendInitialEvents" in query else None
    timeout = number(query, "timeoutSeconds")
    options = ListOptions(
        label_selector=text(query, "labelSelector"),
        field_selector=text(query, "fieldSelector"),
        limit=number(query, "limit") or 0,
        continuation=text(query, "continue"),
        resource_version=text(query, "resourceVersion"),
        match=text(query, "resourceVersionMatch"),
        watch=flag(query, "watch"),
        bookmarks=flag(query, "allowWatchBookmarks"),
        initial_events=initial,
        timeout=timeout,
    )
    errors = _check_watch(options) if options.watch else _check_list(options)
    if errors:
        _check_selectors(options)
        raise status.invalid("meta.k8s.io", "ListOptions", "", errors)
    return options


def _check_selectors(options: ListOptions) -> None:
    """A selector that cannot be read is told of first."""
    try:
        labels.parse(options.label_selector)
        fields.parse(options.field_selector)
    except SelectorError as error:
        raise status.bad_request(str(error)) from None


def _check_list(options: ListOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if options.match:
        path = "resourceVersionMatch"
        if not options.resource_version:
            errors.append(forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continuation:
            errors.append(forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
        if options.match not in {"Exact", "NotOlderThan"}:
            errors.append(not_supported(path, options.match, ["Exact", "NotOlderThan", ""]))
        if options.match == "Exact" and options.resource_version == "0":
            errors.append(forbidden(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.initial_events is not None:
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _check_watch(options: ListOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    path = "resourceVersionMatch"
    if options.initial_events is not None and options.match != "NotOlderThan":
        errors.append(forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if options.match:
        if options.initial_events is None:
            text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errors.append(forbidden(path, text))
        if options.match != "NotOlderThan":
            errors.append(not_supported(path, options.match, ["NotOlderThan"]))
    # who asks for no version gets the present state first, and a match by default
    legacy = options.initial_events is None and options.resource_version in {"", "0"}
    if options.continuation and (options.match or legacy):
        errors.append(forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    return errors


def resource_version(value: str, prefix: str = "") -> int:
    """A resource version from the query; empty and ``0`` are 0."""
    if not value:
        return 0
    if not (value.isascii() and value.isdigit()) or len(value) > _MOST_DIGITS or int(value) > 2 * _MAX_INT64 + 1:
        error = invalid("resourceVersion", value, f'strconv.ParseUint: parsing "{value}": invalid syntax')
        raise status.bad_request(f"{prefix}{error}")
    return int(value)
