"""Server-side apply: who owns which field of an object, and what follows for the next write.

``track_update`` and ``apply_config`` are for requests; ``updater`` holds the algorithm itself, ``replay`` (one room
up) checks it against recorded answers of Kubernetes' own.
"""

from rayward.kube.machinery.apply.applying import ApplyError, apply_config
from rayward.kube.machinery.apply.conflict import ApplyConflict, Cause
from rayward.kube.machinery.apply.equality import equal_ignoring_managed_times
from rayward.kube.machinery.apply.fieldset import NOTHING, FieldSet, set_of
from rayward.kube.machinery.apply.fromschema import SchemaError, custom_type_of, type_of
from rayward.kube.machinery.apply.managers import manager_of
from rayward.kube.machinery.apply.owners import NOBODY, Owner, Owners, encode, owners_of
from rayward.kube.machinery.apply.scale import SCALE, parent_owners, scale_owners
from rayward.kube.machinery.apply.tracking import track_update
from rayward.kube.machinery.apply.types import Map, Type
from rayward.kube.machinery.apply.write import RESET_ALL_BUT_STATUS, RESET_SPEC, RESET_STATUS

__all__ = [
    "NOBODY",
    "NOTHING",
    "RESET_ALL_BUT_STATUS",
    "RESET_SPEC",
    "RESET_STATUS",
    "SCALE",
    "ApplyConflict",
    "ApplyError",
    "Cause",
    "FieldSet",
    "Map",
    "Owner",
    "Owners",
    "SchemaError",
    "Type",
    "apply_config",
    "custom_type_of",
    "encode",
    "equal_ignoring_managed_times",
    "manager_of",
    "owners_of",
    "parent_owners",
    "scale_owners",
    "set_of",
    "track_update",
    "type_of",
]
