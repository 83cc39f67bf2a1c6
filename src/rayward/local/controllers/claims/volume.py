"""Claims, and the volumes made for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rayward.kube.core.objects import Key, KubeObject, Slim
from rayward.kube.core.resource import Resource

VOLUMES: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CLASSES: Final = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
PROVISIONER: Final = "rayward.dev/local"
CLASS: Final = "standard"
PROTECTION: Final = "kubernetes.io/pv-protection"
_PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"

Object = dict[str, Any]


class _Resources(Slim, frozen=True, gc=False):
    requests: dict[str, str | int | float] | None = None


class _ClaimSpec(Slim, frozen=True, gc=False):
    access_modes: tuple[str, ...] | None = None
    resources: _Resources = _Resources()
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = "Filesystem"


class _Phase(Slim, frozen=True, gc=False):
    phase: str = ""


class Claim(KubeObject, frozen=True, gc=False):
    """A claim."""

    spec: _ClaimSpec = _ClaimSpec()
    status: _Phase = _Phase()

    @property
    def volume(self) -> str:
        """The name of the volume that is made for it."""
        return f"pvc-{self.metadata.uid}"

    @property
    def storage_class(self) -> str:
        """Its class: the default one if it names none."""
        named = self.spec.storage_class_name
        return CLASS if named is None else named


class _ClaimRef(Slim, frozen=True, gc=False):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _VolumeSpec(Slim, frozen=True, gc=False):
    claim_ref: _ClaimRef | None = None


class Volume(KubeObject, frozen=True, gc=False):
    """A volume."""

    spec: _VolumeSpec = _VolumeSpec()
    status: _Phase = _Phase()

    @property
    def claim(self) -> Key | None:
        """The claim that holds it."""
        held = self.spec.claim_ref
        return None if held is None else Key(held.namespace, held.name)

    @property
    def ours(self) -> bool:
        """Whether it was made here."""
        return self.metadata.annotation(_PROVISIONED_BY) == PROVISIONER


class StorageClass(KubeObject, frozen=True, gc=False):
    """A storage class."""

    provisioner: str = ""


def folder_of(folder: Path, claim: Key) -> Path:
    """Where a claim's files lie; a node looks there for a claim without a volume too."""
    return folder / claim.namespace / claim.name


def standard_class() -> Object:
    """The class of claims that name none."""
    return {
        "apiVersion": CLASSES.api_version,
        "kind": "StorageClass",
        "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    }


def volume_for(claim: Claim, folder: Path) -> Object:
    """The volume of a claim: a folder."""
    metadata = claim.metadata
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": claim.volume, "annotations": {_PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "accessModes": list(claim.spec.access_modes or ()),
            "capacity": {"storage": (claim.spec.resources.requests or {}).get("storage", "0")},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata.namespace,
                "name": metadata.name,
                "uid": metadata.uid,
            },
            "hostPath": {"path": str(folder_of(folder, claim.key)), "type": "DirectoryOrCreate"},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": claim.storage_class,
            "volumeMode": "Filesystem",
        },
    }
