"""Images as Python environments of this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

EVERY_IMAGE: Final = "*"
_NAME: Final = re.compile(
    r"^(?:[\w.-]+(?::\d+)?/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
    r"(?::[\w][\w.-]{0,127})?(?:@[A-Za-z0-9]+:[0-9a-fA-F]{32,})?$"
)
_SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class NoImage(Exception):  # noqa: N818
    """There is no environment for an image; ``reason`` and the text are what a kubelet would show."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Environment(msgspec.Struct, frozen=True):
    """A Python environment that stands for an image."""

    folder: str

    def path(self, *more: str) -> str:
        """Where programs are looked for."""
        return ":".join((f"{self.folder}/bin", _SYSTEM_PATH, *more))

    def digest(self, image: str) -> str:
        """The image ID to show."""
        return f"local://{self.folder}#{image}"


def find_environment(image: str, environments: Mapping[str, str]) -> Environment:
    """The environment of an image: of its full name, its name without a tag, or of every image.

    Raises:
        NoImage: There is none, with the mapping to add.
    """
    if not _NAME.match(image):
        raise NoImage(
            "InvalidImageName",
            f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": '
            "invalid reference format",
        )
    for name in (image, *_shorter(image), EVERY_IMAGE):
        folder = environments.get(name)
        if folder is None:
            continue
        if not Path(folder, "bin").is_dir():
            raise NoImage(
                "ErrImagePull",
                f'image "{image}" is mapped to {folder}, which is no Python environment: it has no bin folder',
            )
        return Environment(folder)
    bare = _shorter(image)[0]
    raise NoImage(
        "ErrImagePull",
        f'no Python environment is known for image "{image}": add --image {bare}=PATH_OF_ENVIRONMENT and start again',
    )


def _shorter(image: str) -> list[str]:
    bare = image.partition("@")[0]
    head, _, tail = bare.rpartition("/")
    bare = f"{head}/{tail.partition(':')[0]}".lstrip("/")
    prefixes = ("docker.io/library/", "docker.io/", "index.docker.io/")
    return [bare, *(bare.removeprefix(prefix) for prefix in prefixes if bare.startswith(prefix))]
