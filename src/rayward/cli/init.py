"""``rayward init``."""

from __future__ import annotations

import re
from pathlib import Path

import click

from rayward.cli.failure import Code, CommandError
from rayward.cli.output import answer, answer_json, output_option

_APP = """import os

from ray import serve
from starlette.requests import Request


@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class App:
    async def __call__(self, request: Request) -> str:
        return f"hello from release {os.environ.get('RELEASE', '1')}\\n"


app = App.bind()
"""
_SERVICE = """apiVersion: ray.io/v1
kind: RayService
metadata:
  name: NAME
spec:
  serveConfigV2: |
    applications:
      - name: NAME
        route_prefix: /
        import_path: app:app
  rayClusterConfig:
    rayVersion: "2.60.0"
    headGroupSpec:
      rayStartParams: {num-cpus: "1"}
      template:
        spec:
          containers:
            - name: ray-head
              image: rayproject/ray:2.60.0
              env:
                - {name: PYTHONPATH, value: /code}
                - {name: RELEASE, value: "1"}
              resources: {requests: {cpu: "1", memory: 2Gi}, limits: {cpu: "1", memory: 2Gi}}
              ports:
                - {name: gcs-server, containerPort: 6379}
                - {name: dashboard, containerPort: 8265}
                - {name: serve, containerPort: 8000}
              volumeMounts: [{name: code, mountPath: /code}]
          volumes:
            - name: code
              configMap: {name: NAME-code}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: NAME-code
data:
  app.py: |
CODE
"""
_README = """# NAME

    rayward up
    rayward lint service.yaml
    rayward plan -f service.yaml
    rayward apply -f service.yaml --wait
    rayward get rayservices        # where it answers

Then change RELEASE in service.yaml, and:

    rayward plan -f service.yaml
    rayward apply -f service.yaml --wait
    rayward history rayservice/NAME
    rayward undo rayservice/NAME --wait
    rayward timeline rayservice/NAME

The code of the application is in app.py and, as pods see it, in the ConfigMap of service.yaml.
"""
_is_name = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?").fullmatch


@click.command("init")
@click.argument("name")
@output_option
def command(name: str, form: str) -> int:
    """Create a folder with a small Ray Serve application and its manifest. Existing files are not overwritten.

    \b
    Examples:
      rayward init hello && cd hello && rayward up && rayward apply -f service.yaml --wait
    """  # noqa: D301
    if not _is_name(name):
        why = "it becomes the name of a RayService: lower case letters, digits and dashes, at most 40"
        raise CommandError(Code.USAGE, f"{name!r} is not a valid name", why, "rayward init hello")
    folder = Path(name)
    texts = files(name)
    there = [file for file in texts if (folder / file).exists()]
    if there:
        why = f"{folder} has {', '.join(there)}"
        raise CommandError(Code.CONFLICT, f"{folder} is in use", why, "rayward init OTHER-NAME")
    folder.mkdir(exist_ok=True)
    for file, text in texts.items():
        (folder / file).write_text(text)
    if form == "json":
        made = [str(folder / file) for file in texts]
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "Init", "files": made})
    else:
        answer(f"created {folder}/ with {', '.join(texts)}; next: cd {folder} && rayward up && cat README.md")
    return 0


def files(name: str) -> dict[str, str]:
    """The texts of the project, by file."""
    code = "\n".join(f"    {line}" if line else "" for line in _APP.splitlines())
    service = _SERVICE.replace("CODE\n", f"{code}\n").replace("NAME", name)
    return {"app.py": _APP, "service.yaml": service, "README.md": _README.replace("NAME", name)}
