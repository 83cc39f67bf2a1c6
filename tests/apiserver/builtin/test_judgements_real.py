"""The recordings still are what the real components say."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.apiserver.builtin import record, record_inner
from tests.apiserver.builtin.judgements import lines


@pytest.mark.kube
def test_a_real_server_judges_as_recorded() -> None:
    for path, fresh in record.take().items():
        assert fresh == lines(path), path.name


@pytest.mark.kube
def test_the_inner_structure_is_as_recorded() -> None:
    assert json.loads(record_inner.printed()) == json.loads(gzip.decompress(record_inner.FILE.read_bytes()))
