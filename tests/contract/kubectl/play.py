"""Plays a session with kubectl on a server."""

from __future__ import annotations

import json
import secrets
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from tests.contract.kubectl.normalise import Normaliser
from tests.contract.kubectl.session import Command, Session

Output = dict[str, Any]

_PATIENCE = 180.0
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def play(session: Session, kubectl: Path, kubeconfig: Path) -> list[Output]:
    """What kubectl printed for each command, masked."""
    namespace = "k" + "".join(secrets.choice(_ALPHABET) for _ in range(7))
    home = Path(tempfile.mkdtemp(prefix="rayward-kubectl-"))
    player = _Player(session, kubectl, home, namespace)
    try:
        player.prepare(kubeconfig)
        return [player.output(command) for command in session.commands]
    finally:
        player.clean()
        shutil.rmtree(home, ignore_errors=True)


class _Player:
    def __init__(self, session: Session, kubectl: Path, home: Path, namespace: str) -> None:
        self._session = session
        self._kubectl = kubectl
        self._home = home
        self._variables = {"ns": namespace}
        said = json.dumps([[c.line, c.stdin] for c in session.commands]) + json.dumps(dict(session.files))
        self._normaliser = Normaliser(namespace, said)

    def prepare(self, kubeconfig: Path) -> None:
        """Makes the namespace and a kubeconfig that points into it."""
        config = yaml.safe_load(kubeconfig.read_text())
        for context in config["contexts"]:
            context["context"]["namespace"] = self._variables["ns"]
        path = self._home / "kubeconfig"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config))
        for name, content in self._session.files.items():
            file = self._home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._fill(content))
            if name.endswith(".sh"):
                file.chmod(0o700)
        self._run(Command("create namespace {ns}"))
        self._run(Command("get serviceaccount default").eventually())

    def clean(self) -> None:
        """Deletes the namespace without waiting."""
        self._run(Command("delete namespace {ns} --wait=false"))

    def output(self, command: Command) -> Output:
        """What a command printed."""
        done = self._watch(command) if command.lines else self._run(command)
        if command.keep:
            self._variables[command.keep] = done.stdout.strip()
        return {
            "exit": "ended" if command.lines else done.returncode,
            "stdout": self._normaliser.lines(done.stdout, command.shown),
            "stderr": self._normaliser.lines(done.stderr, "nothing" if command.shown == "stdout" else "all"),
        }

    def _run(self, command: Command) -> subprocess.CompletedProcess[str]:
        deadline = time.monotonic() + command.patience
        while True:
            done = self._try(command)
            if done.returncode == 0 or time.monotonic() > deadline:
                return done
            time.sleep(0.1)

    def _try(self, command: Command) -> subprocess.CompletedProcess[str]:
        arguments = self._arguments(command.line)
        try:
            return subprocess.run(
                arguments,
                input=self._fill(command.stdin),
                capture_output=True,
                text=True,
                check=False,
                cwd=self._home,
                env=self._environment(command.env),
                timeout=_PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(arguments, -1, "", f"no end after {_PATIENCE:.0f} seconds")

    def _watch(self, command: Command) -> subprocess.CompletedProcess[str]:
        process = subprocess.Popen(
            self._arguments(command.line),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self._home,
            env=self._environment(command.env),
        )
        # A watch that stays silent is ended, so that it shows as missing lines instead of hanging.
        guard = threading.Timer(_PATIENCE / 3, process.terminate)
        guard.start()
        try:
            lines: list[str] = []
            assert process.stdout
            for line in process.stdout:
                lines.append(line)
                if len(lines) == 1:
                    for other in command.during:
                        self._run(replace(command, line=other, lines=0, during=()))
                if len(lines) == command.lines:
                    break
        finally:
            guard.cancel()
            process.terminate()
            _, errors = process.communicate()
        return subprocess.CompletedProcess(command.line, 0, "".join(lines), errors)

    def _arguments(self, line: str) -> list[str]:
        return [str(self._kubectl), *(self._fill(word) for word in shlex.split(line))]

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            "HOME": str(self._home),
            "KUBECONFIG": str(self._home / "kubeconfig"),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TZ": "UTC",
            **more,
        }

    def _fill(self, text: str) -> str:
        for name, value in self._variables.items():
            text = text.replace("{" + name + "}", value)
        return text
