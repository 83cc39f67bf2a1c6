"""Kubeconfig files, read and merged."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import yaml

from rayward.kube.client.credentials import ConfigError
from rayward.kube.client.values import as_dict, as_list, as_str

Entry = dict[str, Any]

_MAX_FILE: Final = 16 * 1024 * 1024
_PATHS: Final = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}
_LOADER: Final = cast("type[yaml.SafeLoader]", getattr(yaml, "CSafeLoader", yaml.SafeLoader))


class Kubeconfig(msgspec.Struct, frozen=True):
    """Merged files; file names inside are absolute."""

    clusters: Mapping[str, Entry] = {}
    users: Mapping[str, Entry] = {}
    contexts: Mapping[str, Entry] = {}
    current_context: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing is in it."""
        return not (self.clusters or self.users or self.contexts or self.current_context)


def kubeconfig_files(environ: Mapping[str, str], home: Path) -> list[Path]:
    """The files to merge: what KUBECONFIG lists, else the one in the home folder."""
    listed = environ.get("KUBECONFIG", "")
    if not listed:
        return [home / ".kube" / "config"]
    return list(dict.fromkeys(Path(name) for name in listed.split(os.pathsep) if name))


def load(files: Sequence[Path]) -> Kubeconfig:
    """Read and merge; files that are not there are skipped, and the first to name something wins.

    Raises:
        ConfigError: A file cannot be read or is no kubeconfig.
    """
    return merge([parse(text, file) for file in files if (text := _read(file)) is not None])


def parse(text: str, file: Path) -> Kubeconfig:
    """One kubeconfig; ``file`` is where relative names start from.

    Raises:
        ConfigError: It is no kubeconfig.
    """
    try:
        document: Any = yaml.load(text, _LOADER)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: not YAML: {error}") from error
    if document is None:
        return Kubeconfig()
    if not isinstance(document, dict):
        raise ConfigError(f"{file}: not a kubeconfig")
    content = as_dict(document)
    return Kubeconfig(
        clusters=_named(content, "clusters", "cluster", file),
        users=_named(content, "users", "user", file),
        contexts=_named(content, "contexts", "context", file),
        current_context=str(content.get("current-context") or ""),
    )


def merge(configs: Sequence[Kubeconfig]) -> Kubeconfig:
    """The first to set a name or the current context wins; entries are never mixed."""
    clusters: dict[str, Entry] = {}
    users: dict[str, Entry] = {}
    contexts: dict[str, Entry] = {}
    current = ""
    for config in configs:
        clusters = {**config.clusters, **clusters}
        users = {**config.users, **users}
        contexts = {**config.contexts, **contexts}
        current = current or config.current_context
    return Kubeconfig(clusters, users, contexts, current)


def _read(file: Path) -> str | None:
    try:
        if file.stat().st_size > _MAX_FILE:
            raise ConfigError(f"{file}: larger than {_MAX_FILE} bytes")
        return file.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {file}: {error}") from error


def _named(content: Entry, plural: str, singular: str, file: Path) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    listed: Any = content.get(plural) or []
    if not isinstance(listed, list):
        raise ConfigError(f"{file}: {plural} is no list")
    for item in map(as_dict, as_list(listed)):
        name = as_str(item.get("name"))
        if not name:
            raise ConfigError(f"{file}: an entry of {plural} has no name")
        if not isinstance(item.get(singular) or {}, dict):
            raise ConfigError(f"{file}: {singular} {name!r} is no mapping")
        found.setdefault(name, _absolute(as_dict(item.get(singular)), plural, file.absolute().parent))
    return found


def _absolute(entry: Entry, plural: str, folder: Path) -> Entry:
    for name in _PATHS.get(plural, ()):
        if entry.get(name):
            entry[name] = str(folder / str(entry[name]))
    plugin = as_dict(entry.get("exec"))
    if os.sep in as_str(plugin.get("command")):
        plugin["command"] = str(folder / str(plugin["command"]))
    return entry
