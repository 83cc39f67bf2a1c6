"""The recordings still are what the real components say."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from tools import record_inner

from tests.apiserver.builtin import record
from tests.apiserver.builtin.judge import in_any_order
from tests.apiserver.builtin.judgements import lines


@pytest.mark.kube
def test_a_real_server_judges_as_recorded() -> None:
    for path, fresh in record.take().items():
        assert [_without_order(line) for line in fresh] == [_without_order(line) for line in lines(path)], path.name


def _without_order(line: Any) -> Any:
    """Where Go walks a map the order of errors is chance, and may look steady for as often as a server is asked."""
    if "causes" in line.get("answer", {}):
        line = {**line, "answer": {**in_any_order(line["answer"]), "unordered": True}}
    if "changes" in line:
        line = {**line, "changes": [_without_order(change) for change in line["changes"]]}
    return line


@pytest.mark.kube
def test_the_inner_structure_is_as_recorded() -> None:
    assert json.loads(record_inner.printed()) == json.loads(gzip.decompress(record_inner.FILE.read_bytes()))
