"""What is suspicious about the images of a cluster: names that no registry can have, near misses, another Ray."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

from rayward.kinds import rayversion
from rayward.kinds.raycluster import RayClusterSpec
from rayward.kinds.validation import template
from rayward.kinds.validation.problem import Problem
from rayward.kube.machinery.jsonvalue import Object

_ray_image: Final = re.compile(r"(?:^|/)rayproject/ray(?:-ml|-llm)?:(\d+\.\d+\.\d+)").search
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])"
_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE: Final = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?(?:@{_DIGEST})?",
    re.ASCII,
)
"""The grammar of references that container registries share."""
_LONGEST: Final = 1024
_OWNER: Final = "rayproject"
_IMAGES: Final = ("ray", "ray-ml", "ray-llm")


def image_warnings(spec: RayClusterSpec, at: str) -> Iterator[Problem]:
    """Images that cannot be pulled, and those of Ray whose tag is another version than ``rayVersion``.

    By that version commands and checks are chosen.
    """
    groups = [(f"{at}.headGroupSpec", spec.head_group_spec.template)]
    groups += [
        (f"{at}.workerGroupSpecs[{index}]", group.template) for index, group in enumerate(spec.worker_group_specs or ())
    ]
    for place, pod in groups:
        yield from _names(pod, f"{place}.template.spec")
    if spec.ray_version and rayversion.parse(spec.ray_version) is None:
        message = f"{spec.ray_version[:64]!r} is not a version of Ray: write the one in the image, such as 2.60.0"
        yield Problem(f"{at}.rayVersion", "Invalid", message)
        return
    for place, pod in groups:
        found = image_version(pod)
        if found and spec.ray_version and rayversion.parse(found) != rayversion.parse(spec.ray_version):
            message = f"the image has Ray {found} and rayVersion is {spec.ray_version}: write the same in both"
            yield Problem(f"{place}.template.spec.containers[0].image", "Invalid", message)


def image_version(pod: Object) -> str:
    """The version in the tag of an image of Ray's own; empty where the tag says none."""
    containers = template.containers(pod)
    image: Any = containers[0].get("image") if containers else None
    found = _ray_image(image) if isinstance(image, str) else None
    return found[1] if found is not None else ""


def _names(pod: Object, at: str) -> Iterator[Problem]:
    for path, image in template.images(pod):
        if image and (message := _mistake(image)):
            yield Problem(f"{at}.{path}", "Invalid", message)


def _mistake(image: str) -> str:
    if len(image) > _LONGEST or not _REFERENCE.fullmatch(image):
        lower = "; names are in lower case" if _REFERENCE.fullmatch(image[:_LONGEST].lower()) else ""
        return f"{image[:64]!r} is not the name of an image: write REPOSITORY:TAG, such as rayproject/ray:2.60.0{lower}"
    owner, _, name = image.partition("@")[0].partition(":")[0].removeprefix("docker.io/").partition("/")
    meant = _meant(owner, name)
    return f"{owner}/{name} is close to {meant}: did you mean that?" if meant else ""


def _meant(owner: str, name: str) -> str:
    """The image of the Ray project that one letter or two are missing of; other owners have names like it."""
    nearly = owner != _OWNER and bool(get_close_matches(owner, [_OWNER], 1, 0.9))
    if not nearly and (owner != _OWNER or name.startswith("ray")):
        return ""
    near = get_close_matches(name, _IMAGES, 1, 0.6)
    return f"{_OWNER}/{near[0]}" if near else ""
