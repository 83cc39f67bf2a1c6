"""The real server that the answers are recorded from."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from tests.contract.server import Server
from tests.kube.real.cluster import RealControlPlane


@contextlib.contextmanager
def real_server() -> Generator[Server]:
    """A fresh kube-apiserver; of the controllers only the one that lets Pods in by making service accounts."""
    alone = ["--controllers=serviceaccount-controller"]
    with RealControlPlane(controller_manager=True, controller_manager_args=alone) as plane:
        yield Server(plane.url, plane.token, plane.ca_file.read_text())
