"""Images as Python environments of this machine, and as its redis-server."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

EVERY_IMAGE: Final = "*"
_REDIS: Final = "redis"
_REDIS_SERVER: Final = "redis-server"
_REDIS_DATA: Final = "/data"
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
    mapped: bool = True
    """Whether somebody said that it stands for the image."""

    def path(self, *more: str) -> str:
        """Where programs are looked for."""
        return ":".join((f"{self.folder}/bin", _SYSTEM_PATH, *more))

    def digest(self, image: str) -> str:
        """The image ID to show."""
        return f"local://{self.folder}#{image}"


def find_environment(image: str, environments: Mapping[str, str], default: str = "") -> Environment:
    """The environment of an image: of its full name, its name without a tag, or of every image.

    ``redis`` is this machine's redis-server; any other image that nobody mapped runs in ``default``, if there is one.

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
                f'image "{image}" is mapped to {folder}, which is not a Python environment: it has no bin folder',
            )
        return Environment(folder)
    bare = _shorter(image)[0]
    if is_redis(image):
        return _redis(image)
    if default:
        return Environment(default, mapped=False)
    raise NoImage(
        "ErrImagePull",
        f'no Python environment is known for image "{image}": add --image {bare}=PATH_OF_ENVIRONMENT and start again',
    )


def is_redis(image: str) -> bool:
    """Whether an image is the official one of Redis."""
    return _REDIS in _shorter(image)


def own_folder(image: str) -> str:
    """The folder that an image has for its data and starts in; empty for most."""
    return _REDIS_DATA if is_redis(image) else ""


def _redis(image: str) -> Environment:
    program = shutil.which(_REDIS_SERVER)
    if program is None:
        raise NoImage(
            "ErrImagePull",
            f'image "{image}" stands for this machine\'s redis-server, which is not installed: install it, '
            "or add --image redis=FOLDER with a bin/redis-server in it and start again",
        )
    return Environment(str(Path(program).parents[1]))


def entrypoint(image: str, arguments: Sequence[str]) -> list[str]:
    """What an image runs with these arguments when no command is given."""
    if not is_redis(image):
        # What a Python image runs when it is told nothing.
        return list(arguments) or ["python3"]
    if not arguments or arguments[0].startswith("-") or arguments[0].endswith(".conf"):
        return [_REDIS_SERVER, *arguments]
    return list(arguments)


def _shorter(image: str) -> list[str]:
    bare = image.partition("@")[0]
    head, _, tail = bare.rpartition("/")
    bare = f"{head}/{tail.partition(':')[0]}".lstrip("/")
    prefixes = ("docker.io/library/", "docker.io/", "index.docker.io/")
    return [bare, *(bare.removeprefix(prefix) for prefix in prefixes if bare.startswith(prefix))]
