"""As whom the parts of a stack talk to its server, and that they have their rights and no more."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rayward.kinds.admission import Admission, Queueing
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import Forbidden
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CLUSTER_ROLES, NODES, PODS, SECRETS, Resource
from rayward.operator import rbac
from rayward.operator.ray.reach import NoReach
from rayward.stack import kinds
from rayward.stack.composition import composed
from rayward.stack.folder import Folder
from rayward.stack.part import MACHINE_QUEUE, parts
from tests.contract.target import embedded_server

_RULES = Resource("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False)
_WHO = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
_PARTS = ("controllers", "node", "traffic", "monitoring")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Generator[Folder]:
    root = tmp_path_factory.mktemp("stack")
    with embedded_server(root):
        yield Folder(root)


def _client(kubeconfig: Path) -> SyncClient:
    return SyncClient.connect(find_access(kubeconfig))


def test_each_part_has_a_kubeconfig_of_its_own(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for part in parts(folder, port=0, node=(), operator=True):
        if part.name == "apiserver":
            continue
        given = [word for flag, word in zip(part.command, part.command[1:], strict=False) if flag == "--kubeconfig"]
        assert given[-1] == str(
            folder.kubeconfig_of(part.name.removesuffix("-2"))
        )  # two processes of one part share its rights


@pytest.mark.parametrize("part", _PARTS)
def test_a_part_is_itself_and_not_the_administrator(folder: Folder, part: str) -> None:
    with _client(folder.kubeconfig_of(part)) as client:
        info = client.create(_WHO, {})["status"]["userInfo"]
        assert (info["username"], info["groups"]) == (f"rayward:{part}", ["system:authenticated"])
        with pytest.raises(Forbidden):
            client.create(CLUSTER_ROLES, {"metadata": {"name": "mine"}, "rules": []})


def test_the_traffic_sees_no_secrets_and_no_pods(folder: Folder) -> None:
    with _client(folder.kubeconfig_of("traffic")) as client:
        client.list(NODES)
        for resource in (SECRETS, PODS):
            with pytest.raises(Forbidden):
                client.list(resource)


def test_who_scrapes_reads_no_objects(folder: Folder) -> None:
    with _client(folder.kubeconfig_of("monitoring")) as client:
        for resource in (SECRETS, NODES, PODS):
            with pytest.raises(Forbidden):
                client.list(resource)


def _rights(rules: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_operator_has_the_rights_that_are_printed_and_what_everybody_has(folder: Folder) -> None:
    with _client(folder.kubeconfig) as client:
        token = kinds.authorize(client)
    own = folder.kubeconfig_of("operator")
    kinds.write_kubeconfig(folder.kubeconfig, token, own)
    assert own.stat().st_mode & 0o077 == 0
    with _client(own) as client:
        status = client.create(_RULES, {"spec": {"namespace": "default"}})["status"]
    reviews = {
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
    }
    everybody = {*reviews, ("authentication.k8s.io", "selfsubjectreviews")}
    held = _rights(status["resourceRules"])
    registered = composed(Queueing(Admission.EMBEDDED), MACHINE_QUEUE)(NoReach())
    assert {right for right in held if right[:2] not in everybody} == _rights(rbac.rules(registered))


def test_an_older_data_folder_gets_identities_and_default_roles(tmp_path: Path) -> None:
    with embedded_server(tmp_path), _client(tmp_path / "kubeconfig") as client:
        client.delete(CLUSTER_ROLES, "system:discovery")
        client.delete(CLUSTER_ROLES, "rayward:node")
    for name in _PARTS:
        Folder(tmp_path).kubeconfig_of(name).unlink()
        (tmp_path / "pki" / f"{name}.token").unlink()
    (tmp_path / "kubeconfig").unlink()

    with embedded_server(tmp_path), _client(Folder(tmp_path).kubeconfig_of("node")) as client:
        client.list(PODS)
        assert client.create(_WHO, {})["status"]["userInfo"]["username"] == "rayward:node"
        with _client(tmp_path / "kubeconfig") as administrator:
            assert administrator.get(CLUSTER_ROLES, "system:discovery")["rules"]
            assert administrator.get(CLUSTER_ROLES, "rayward:node")["rules"]
