"""Claims, volumes and their classes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rayward.kinds.labels import PROVISIONER
from rayward.kube.core.objects import Key, KubeObject, Slim
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object

VOLUMES: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CLASSES: Final = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
CLASS: Final = "standard"
PROTECTION: Final = "kubernetes.io/pv-protection"
_PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"

Amounts = dict[str, str | int | float]


class _Resources(Slim, frozen=True, gc=False):
    requests: Amounts | None = None


class _ClaimSpec(Slim, frozen=True, gc=False):
    access_modes: tuple[str, ...] | None = None
    resources: _Resources = _Resources()
    storage_class_name: str | None = None
    selector: Object | None = None
    volume_name: str = ""
    volume_mode: str = "Filesystem"


class _Phase(Slim, frozen=True, gc=False):
    phase: str = ""


class Claim(KubeObject, frozen=True, gc=False):
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

    @property
    def storage(self) -> str | int | float:
        """How much room it asks for."""
        return (self.spec.resources.requests or {}).get("storage", "0")

    @property
    def was_bound(self) -> bool:
        """Whether the volume it names is its own, and not just a wish."""
        return bool(self.spec.volume_name and self.metadata.annotation(BIND_COMPLETED))


class _ClaimRef(Slim, frozen=True, gc=False):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _HostPath(Slim, frozen=True, gc=False):
    path: str = ""


class _VolumeSpec(Slim, frozen=True, gc=False):
    access_modes: tuple[str, ...] | None = None
    capacity: Amounts | None = None
    claim_ref: _ClaimRef | None = None
    host_path: _HostPath = _HostPath()
    persistent_volume_reclaim_policy: str = "Retain"
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"


class Volume(KubeObject, frozen=True, gc=False):
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

    def holds(self, claim: Claim) -> bool:
        """Whether it belongs to a claim, or is kept for one of this name."""
        held = self.spec.claim_ref
        return held is not None and self.claim == claim.key and held.uid in ("", claim.metadata.uid)

    def folder(self, below: Path) -> Path | None:
        """Where its files lie; None if not as the folders for claims do, and so not ours to touch."""
        path = Path(self.spec.host_path.path)
        return path if path.parent.parent == below and ".." not in path.parts else None


class StorageClass(KubeObject, frozen=True, gc=False):
    provisioner: str = ""
    reclaim_policy: str = "Delete"


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


def claim_reference(claim: Claim) -> Object:
    """How a volume says whose it is."""
    metadata = claim.metadata
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
    }


def volume_for(claim: Claim, found: StorageClass, folder: Path) -> Object:
    """The volume of a claim: a folder that no other claim has, before or after, whatever its name."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": claim.volume, "annotations": {_PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "accessModes": list(claim.spec.access_modes or ()),
            "capacity": {"storage": claim.storage},
            "claimRef": claim_reference(claim),
            "hostPath": {
                "path": str(folder / claim.metadata.namespace / claim.volume),
                "type": "DirectoryOrCreate",
            },
            "persistentVolumeReclaimPolicy": found.reclaim_policy,
            "storageClassName": claim.storage_class,
            "volumeMode": "Filesystem",
        },
    }
