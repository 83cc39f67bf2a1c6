"""The data folder of a node: what must survive its process lies here."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec

from rayward.local.node.sandbox.logfile import write_whole


class Record(msgspec.Struct, frozen=True):
    """What a node must remember of a pod that the API does not say."""

    uid: str
    namespace: str
    name: str
    node: str
    address: str = ""
    begun: float = 0.0
    sandbox: int = 0
    """How many sandboxes the pod has had."""
    spec: dict[str, Any] = {}
    """The pod's own spec, for the day that the API no longer has it."""


_RECORDS = msgspec.json.Decoder(Record)


class PodFolder:
    """The folder of one pod."""

    def __init__(self, pods: Path, uid: str) -> None:
        self.path = pods / uid
        self.uid = uid

    def container(self, name: str) -> Path:
        """Where the runs of a container are recorded."""
        return self.path / "containers" / name

    def containers(self) -> list[Path]:
        """The folders of all containers that ever ran."""
        place = self.path / "containers"
        return list(place.iterdir()) if place.is_dir() else []

    def volume(self, name: str) -> Path:
        """Where a volume of the pod's own lies."""
        return self.path / "volumes" / name

    @property
    def stated(self) -> Path:
        """Where, inside the pod's namespaces, its containers' limits are stated."""
        return self.path / "stated"

    def log(self, container: str, attempt: int) -> Path:
        """The log of one run."""
        return self.path / "logs" / container / f"{attempt}.log"

    def read(self) -> Record | None:
        try:
            return _RECORDS.decode((self.path / "pod.json").read_bytes())
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def write(self, record: Record) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / "pod.json", msgspec.json.encode(record))

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self.path.exists():
            # A container may have closed its folders even to their owner.
            for folder, names, _ in os.walk(self.path):
                for name in names:
                    with contextlib.suppress(OSError):
                        _open_folder(Path(folder, name))
            shutil.rmtree(self.path, ignore_errors=True)


def _open_folder(path: Path) -> None:
    if not path.is_symlink():
        path.chmod(0o700)


class Folders:
    """The folders of all pods."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.pods = data / "pods"
        for folder in (self.data, self.pods):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def pod(self, uid: str) -> PodFolder:
        """The folder of one pod."""
        return PodFolder(self.pods, uid)

    def all(self) -> list[PodFolder]:
        """Every pod that left something here."""
        return [PodFolder(self.pods, entry.name) for entry in self.pods.iterdir() if entry.is_dir()]
