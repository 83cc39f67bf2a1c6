"""AppArmor profiles that were given as annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.empty import NOTHING
from rayward.local.apiserver.builtin.podspec.paths import containers_of
from rayward.local.apiserver.builtin.podspec.security import APPARMOR_ANNOTATION


def profile_of(annotation: str) -> Object | None:
    """The profile that an annotation means; None if it means none."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = annotation.removeprefix("localhost/")
    if name == annotation or not name or name.strip() != name:
        return None
    return {"type": "Localhost", "localhostProfile": name}


def apply_annotations(annotations: Mapping[str, str], spec: Object) -> None:
    """Write the profiles of annotations into the fields that replaced them."""
    if not any(key.startswith(APPARMOR_ANNOTATION) for key in annotations):
        return
    if (spec.get("os") or NOTHING).get("name") == "windows":
        return
    pod_profile = (spec.get("securityContext") or NOTHING).get("appArmorProfile")
    for _, container in containers_of(spec, ""):
        annotation = annotations.get(f"{APPARMOR_ANNOTATION}{container.get('name') or ''}")
        context: Mapping[str, Any] = container.get("securityContext") or NOTHING
        if annotation is None or context.get("appArmorProfile") is not None:
            continue
        profile = profile_of(annotation)
        if profile is not None and profile != pod_profile:
            _set(container, profile)


def _set(container: Any, profile: Object) -> None:
    container.setdefault("securityContext", {})["appArmorProfile"] = profile


def deprecated_annotations(annotations: Mapping[str, str], spec: Mapping[str, Any]) -> list[str]:
    """Annotations of a new pod that took, or could not take, the place of a field."""
    pod_profile = (spec.get("securityContext") or NOTHING).get("appArmorProfile")
    found: list[str] = []
    for _, container in containers_of(spec, ""):
        key = f"{APPARMOR_ANNOTATION}{container.get('name') or ''}"
        if key not in annotations:
            continue
        profile = profile_of(annotations[key])
        own = (container.get("securityContext") or NOTHING).get("appArmorProfile")
        # The profile was copied into the field before, so a field that says the same stems from the annotation.
        if profile is None or (profile != pod_profile and own == profile):
            found.append(
                f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
            )
    return found
