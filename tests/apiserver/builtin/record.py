"""Asks a real kube-apiserver to judge the recorded objects again: ``python -m tests.apiserver.builtin.record``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.apiserver.builtin.judge import Judge
from tests.apiserver.builtin.judgements import files, lines
from tests.contract.server import Server
from tests.kube.real.cluster import RealControlPlane

Object = dict[str, Any]

# Where Go walks a map, errors come in any order; asked again and again, a server shows it.
_ATTEMPTS = 8


def judged(judge: Judge, name: str, line: Object) -> Object:
    """A line of a recording with fresh answers."""
    if "changes" not in line:
        return {**line, "answer": judge.created(name, line["given"])}
    answers = judge.changed(name, line, line["changes"])
    changes = [{**change, "answer": answer} for change, answer in zip(line["changes"], answers, strict=True)]
    return {**line, "changes": changes}


def take() -> dict[Path, list[Object]]:
    """Every recording, fresh."""
    alone = ["--controllers=serviceaccount-controller"]
    with RealControlPlane(controller_manager=True, controller_manager_args=alone) as plane:
        connection = Server(plane.url, plane.token, plane.ca_file.read_text()).connect()
        judge = Judge(connection, _ATTEMPTS)
        try:
            judge.ready()
            return {path: [judged(judge, path.stem, line) for line in lines(path)] for path in files()}
        finally:
            connection.close()


def write(path: Path, objects: list[Object]) -> None:
    """One line per object, so that a change shows."""
    path.write_text("".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in objects))


if __name__ == "__main__":
    for file, content in take().items():
        write(file, content)
        print(f"{file.name}: {len(content)} objects")
