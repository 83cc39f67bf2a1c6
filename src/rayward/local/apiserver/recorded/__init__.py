"""What a real kube-apiserver was seen to do, as data: recorded by ``python -m tests.kube.record``, never edited.

Each accessor reads its recording on first use and keeps it. What they return is shared: never change it.
"""

from rayward.local.apiserver.recorded.specification import (
    columns,
    defaults,
    policy,
    protobuf,
    resources,
    schema,
    schemas,
    type_name,
    wire,
)

__all__ = ["columns", "defaults", "policy", "protobuf", "resources", "schema", "schemas", "type_name", "wire"]
