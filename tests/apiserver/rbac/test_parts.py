"""The rights of the stack's own parts, in a data folder of an older version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.inprocess import serving

pytestmark = pytest.mark.anyio

_BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


def _binding(name: str, **annotations: str) -> dict[str, Any]:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "rayward:node"}
    return {"metadata": {"name": name, "annotations": annotations}, "roleRef": role, "subjects": [subject]}


async def test_a_part_loses_the_roles_that_it_no_longer_needs(tmp_path: Path) -> None:
    made_by_us = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    async with serving(tmp_path) as api:
        for binding in (_binding("rayward:node:node", **made_by_us), _binding("rayward:node:mine"), _binding("mine")):
            assert (await api.call("POST", _BINDINGS, binding)).code == 201
    async with serving(tmp_path) as api:
        names = [each["metadata"]["name"] for each in (await api.call("GET", _BINDINGS)).body["items"]]
        assert "rayward:node:node" not in names
        assert {"rayward:node", "rayward:node:mine", "mine", "rayward:traffic:node-proxier"} <= set(names)
