"""What the init of a pod needs to know to start a container."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.node.cgroups import SEEN_AT, Group
from rayward.local.node.container.devices import Granted, card_minors, granted, render_minors
from rayward.local.node.container.environment import ConfigError, Sources, container_variables, service_variables
from rayward.local.node.container.expansion import expand
from rayward.local.node.container.images import Environment, NoImage, entrypoint, find_environment, own_folder
from rayward.local.node.container.packages import shown_folders
from rayward.local.node.folders import PodFolder
from rayward.local.node.pod.facts import Backoff
from rayward.local.node.sandbox.visible import is_system
from rayward.local.node.volumes import place
from rayward.local.node.volumes.content import VolumeError
from rayward.local.node.work.etc import hostname
from rayward.local.node.work.host import Host, NodeInfo, Settings

TOOLS: Final = str(Path(__file__).parent.parent / "tools")
_HOME: Final = "/home/ray"
_OTHER_HOME: Final = "/home/pod"
_RAYS_USER: Final = 1000
"""Whom Ray's images run as, whatever else stands for them here."""
_MESSAGE_PATH: Final = "/dev/termination-log"


class Start(msgspec.Struct, frozen=True):
    """One start of one container."""

    attempt: int
    backoff: Backoff
    sandbox: int
    volumes: Mapping[str, Path]
    graphics: tuple[int, ...] = ()
    group: Group = Group()
    stated: Mapping[str, str] = {}
    """Files that say what its limits are, where the kernel does not keep them."""


def spec_of(host: Host, node: NodeInfo, pod: Object, container: Object, folder: PodFolder, start: Start) -> Object:
    """The start of a container, as the pod's init reads it. Makes the folders that are the run's own.

    Raises:
        NoImage: There is no environment for the image.
        ConfigError: Something that the container names is not there.
    """
    environment = environment_of(host.settings, container)
    home = _OTHER_HOME if environment.folder.startswith(_HOME + "/") else _HOME
    graphics = granted(start.graphics, card_minors(), render_minors())
    variables = _variables(host, node, pod, container, environment, home, graphics)
    security = {**section(pod["spec"], "securityContext"), **section(container, "securityContext")}
    user = _user(pod, container, security)
    command = [expand(part, variables) for part in entries(container, "command")]
    arguments = [expand(part, variables) for part in entries(container, "args")]
    command = [*command, *arguments] if command else entrypoint(container.get("image", ""), arguments)
    runs = folder.container(container["name"])
    own = runs / str(start.attempt)
    data = own_folder(container.get("image", ""))
    for name, mode in (("tmp", 0o1777), ("vartmp", 0o1777), ("home", 0o755), *([("data", 0o1777)] if data else ())):
        (own / name).mkdir(parents=True, exist_ok=True)
        (own / name).chmod(mode)
    message = runs / f"{start.attempt}.message"
    message.touch()
    message.chmod(0o666)
    try:
        mounts = place.mounts(container, entries(pod["spec"], "volumes"), start.volumes, variables)
    except VolumeError as error:
        raise ConfigError(str(error)) from error
    stated = folder.stated / container["name"]
    seen = [(str(stated), SEEN_AT)] if start.stated else start.group.seen
    return {
        "name": container["name"],
        "attempt": start.attempt,
        "backoff": msgspec.to_builtins(start.backoff),
        "sandbox": start.sandbox,
        "folder": str(runs),
        "root": str(own / "root"),
        "log": str(folder.log(container["name"], start.attempt)),
        "logSize": host.settings.log_size,
        "logFiles": host.settings.log_files,
        "command": command,
        "env": variables,
        "cwd": expand(container.get("workingDir") or "", variables) or data or home,
        "stdin": bool(container.get("stdin")),
        "tty": bool(container.get("tty")),
        "user": user,
        "groups": start.group.join,
        "kills": start.group.kills,
        "stated": {"folder": str(stated), "files": start.stated} if start.stated else None,
        "readOnlyRoot": bool(security.get("readOnlyRootFilesystem")),
        "devices": graphics.devices,
        "hidden": [str(host.folders.data), *host.settings.hidden],
        "mounts": [
            *_own_mounts(folder, own, home, environment, host.settings.project),
            *([{"source": str(own / "data"), "target": data}] if data else ()),
            {"source": str(message), "target": container.get("terminationMessagePath") or _MESSAGE_PATH},
            *({"source": source, "target": target, "readOnly": True} for source, target in seen),
            *mounts,
        ],
    }


def _own_mounts(
    folder: PodFolder, own: Path, home: str, environment: Environment, project: Path | None
) -> list[Object]:
    mounts: list[Object] = [
        {"source": str(own / "tmp"), "target": "/tmp"},  # noqa: S108
        {"source": str(own / "vartmp"), "target": "/var/tmp"},  # noqa: S108
        {"source": str(own / "home"), "target": home},
    ]
    mounts += [
        {"source": str(folder.path / "etc" / name), "target": f"/etc/{name}"}
        for name in ("hosts", "hostname", "resolv.conf")
    ]
    for path in (*shown_folders(environment.folder, str(Path.home())), TOOLS):
        if not is_system(path):
            mounts.append({"source": path, "target": path, "readOnly": True})
    if project is not None:
        mounts.append({"source": str(project), "target": str(project)})
    return mounts


def _variables(
    host: Host, node: NodeInfo, pod: Object, container: Object, environment: Environment, home: str, graphics: Granted
) -> dict[str, str]:
    given = {
        "PATH": environment.path(TOOLS),
        "HOME": home,
        "HOSTNAME": hostname(pod),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        **host.settings.variables,
    }
    if graphics.visible:
        given["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, graphics.visible))
    links = pod["spec"].get("enableServiceLinks", True)
    services = service_variables(host.services(), pod["metadata"]["namespace"], links=links)
    sources = Sources(host.config_map, host.secret, node.allocatable)
    return container_variables(pod, container, sources, given, services)


def _user(pod: Object, container: Object, security: Object) -> list[int] | None:
    uid, gid = security.get("runAsUser"), security.get("runAsGroup")
    if security.get("runAsNonRoot") and uid is None:
        uid, gid = _RAYS_USER, _RAYS_USER if gid is None else gid
    if security.get("runAsNonRoot") and uid == 0:
        metadata = pod["metadata"]
        named = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
        where = f'(pod: "{named}", container: {container["name"]})'
        raise ConfigError(f"container's runAsUser breaks non-root policy {where}")
    if uid is None and gid is None:
        return None
    if not uid and not gid:
        return None
    return [uid or 0, gid or 0]


def environment_of(settings: Settings, container: Object) -> Environment:
    """What stands for the image of a container.

    Raises:
        NoImage: Nothing does.
    """
    return find_environment(container.get("image", ""), settings.environments, settings.default_environment)


def image_id(settings: Settings, image: str) -> str:
    """The image ID to show for an image that is in use."""
    try:
        folder = find_environment(image, settings.environments, settings.default_environment).folder
    except NoImage:
        return image
    digest = hashlib.sha256(f"{folder}\0{image}".encode()).hexdigest()
    return f"rayward.local/{image.partition('@')[0]}@sha256:{digest}"
