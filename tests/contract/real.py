"""The real server that the answers are recorded from."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from tests.contract.server import Server
from tests.kube.real.cluster import RealControlPlane


@contextlib.contextmanager
def real_server() -> Generator[Server]:
    """A fresh kube-apiserver; of the controllers only those of service accounts, which let Pods in, and of quotas."""
    alone = ["--controllers=serviceaccount-controller,resourcequota-controller"]
    with RealControlPlane(controller_manager=True, controller_manager_args=alone) as plane:
        yield Server(plane.url, plane.token, plane.ca_file.read_text())
