from __future__ import annotations

import ast
import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from rayward import AsyncClient, Client
from rayward.changes import outcomes
from rayward.changes.intents import SetImage
from rayward.changes.outcomes import ChangeError
from rayward.kube.client.access import Access
from tests.kinds.clusters import changed, manifest

ROOT = Path(__file__).parent.parent.parent


def test_the_blocking_twin_is_written_from_the_asynchronous_one() -> None:
    spec = importlib.util.spec_from_file_location("twins", ROOT / "tools" / "twins.py")
    assert spec is not None
    assert spec.loader is not None
    twins = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twins)
    written = {path.name: ast.dump(ast.parse(text)) for path, text in twins.twins().items()}
    found = {path.name: ast.dump(ast.parse(path.read_text())) for path in twins.TWIN.glob("*.py")}
    assert "writes.py" in written
    assert found == written, "run: python tools/twins.py"


def test_importing_rayward_loads_nothing() -> None:
    script = (
        "import sys, rayward; print([name for name in ('msgspec', 'yaml', 'asyncio', 'ray') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_both_clients_do_the_same(access: Access, namespace: str) -> None:
    with Client.connect(access, namespace=namespace) as client:
        made = client.apply(manifest())
        assert made.before is None
        assert client.scale("raycluster/c", "small", 2).object["spec"]["workerGroupSpecs"][0]["replicas"] == 2

    async def again() -> None:
        async with AsyncClient.connect(access, namespace=namespace) as client:
            done = await client.set("cluster/c", SetImage("x:1", "small"))
            container = done.object["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
            assert container["image"] == "x:1"
            assert (await client.suspend("cluster/c")).object["spec"]["suspend"] is True
            with pytest.raises(outcomes.NotFound):
                await client.get("cluster/nobody")

    asyncio.run(again())


def test_each_outcome_has_its_exception(access: Access, namespace: str) -> None:
    with Client.connect(access, namespace=namespace) as client:
        with pytest.raises(outcomes.NotFound) as missing:
            client.get("raycluster/nobody")
        assert missing.value.code == 4
        with pytest.raises(outcomes.UsageError):
            client.get("nobody")
        with pytest.raises(outcomes.Invalid) as invalid:
            client.apply(changed(manifest(), "spec.workerGroupSpecs.0.minReplicas", 9))
        assert "minReplicas" in invalid.value.field
        client.apply(manifest())
        with pytest.raises(outcomes.NotFound, match="large"):
            client.scale("raycluster/c", "large", 2)


def test_a_server_that_is_not_there() -> None:
    nowhere = Access(server="https://127.0.0.1:1")
    with Client.connect(nowhere) as client, pytest.raises(outcomes.Unavailable) as caught:
        client.get("raycluster/x")
    assert caught.value.code == 10


def test_codes_are_those_of_the_command_line() -> None:
    found = {kind.__name__: kind.code for kind in _all(ChangeError)}
    assert found == {
        "UsageError": 2,
        "Invalid": 3,
        "NotFound": 4,
        "Conflict": 5,
        "Forbidden": 6,
        "QuotaBlocked": 7,
        "RolloutFailed": 8,
        "JobFailed": 8,
        "RolledBack": 9,
        "Unavailable": 10,
        "WaitTimeout": 124,
    }


def _all(kind: type[ChangeError]) -> list[type[ChangeError]]:
    return [found for sub in kind.__subclasses__() for found in (sub, *_all(sub))]


def test_the_page_of_the_client_is_written_from_its_docstrings() -> None:
    spec = importlib.util.spec_from_file_location("sdk_page", ROOT / "tools" / "sdk_page.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.page() == made.PAGE.read_text(), "run: python tools/sdk_page.py"
