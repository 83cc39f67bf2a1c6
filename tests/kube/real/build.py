"""Builds the pinned real components with Go, once per machine, into a cache folder outside the clone."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
KUBERNETES_VERSION: Final = "v1.36.3"
_MAJOR, _MINOR, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
_VERSION_FLAGS: Final = " ".join(
    f"-X k8s.io/component-base/version.{name}={value}"
    for name, value in (("gitVersion", KUBERNETES_VERSION), ("gitMajor", _MAJOR), ("gitMinor", _MINOR))
)
_KUBERAY_MODULE: Final = "github.com/ray-project/kuberay/ray-operator"
_KUEUE_MODULE: Final = "sigs.k8s.io/kueue"
_HELM_MODULE: Final = "helm.sh/helm/v3"
_CRDS: Final = "kuberay-crds"
_UNREACHABLE: Final = ("dial tcp", "no such host", "connection refused", "i/o timeout", "proxyconnect", "unreachable")


class BuildError(Exception):
    """The real components cannot be had on this machine; the text is one line that says why."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One binary: built from ``package`` of the Go module in ``module``."""

    name: str
    package: str
    module: str = "."
    ldflags: str = ""


_PARTS: Final = (
    _Part("etcd", "go.etcd.io/etcd/server/v3"),
    _Part("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", ldflags=_VERSION_FLAGS),
    _Part("kubectl", "k8s.io/kubernetes/cmd/kubectl", ldflags=_VERSION_FLAGS),
    _Part("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", ldflags=_VERSION_FLAGS),
    _Part("kuberay-operator", _KUBERAY_MODULE, module="kuberay"),
)


def folder() -> Path:
    """Where the binaries of exactly these pins belong, built or not."""
    base = os.environ.get("RAYWARD_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "rayward" / "real" / _fingerprint()


def build(progress: Callable[[str], None] | None = None) -> Path:
    """The folder with every binary and KubeRay's CRDs, building what is missing.

    Raises:
        BuildError: Go is missing, its module proxy cannot be reached, or a part does not compile.
    """
    target = folder()
    if _missing(target):
        with _locked(target):
            if missing := _missing(target):
                _build(target, missing, progress or _to_stderr)
    return target


def build_kueue(progress: Callable[[str], None] | None = None) -> Path:
    """The folder with Kueue's ``manager`` and its ``config``, in a cache of its own: few tests need it.

    Raises:
        BuildError: as for ``build``.
    """
    return _alone("kueue", HERE / "kueue", _KUEUE_MODULE, {"manager": "cmd/kueue"}, progress, "config")


def build_kueue_bench(module: Path, progress: Callable[[str], None] | None = None) -> Path:
    """The folder with Kueue's own benchmark: ``runner``, ``minimalkueue``, their configurations and its ``config``.

    Raises:
        BuildError: as for ``build``.
    """
    scheduler = "test/performance/scheduler"
    parts = {name: f"{scheduler}/{name}" for name in ("runner", "minimalkueue")}
    return _alone("kueue-bench", module, _KUEUE_MODULE, parts, progress, "config", f"{scheduler}/configs")


def build_helm(progress: Callable[[str], None] | None = None) -> Path:
    """The helm binary, in a cache of its own.

    Raises:
        BuildError: as for ``build``.
    """
    return _alone("helm", HERE / "helm", _HELM_MODULE, {"helm": "cmd/helm"}, progress) / "helm"


def _alone(
    name: str,
    module: Path,
    origin: str,
    parts: Mapping[str, str],
    progress: Callable[[str], None] | None,
    *folders: str,
) -> Path:
    """Binaries by their package in ``origin``, as the Go module in ``module`` pins it, and folders of its source."""
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()}".encode())
    for each in ("go.mod", "go.sum"):
        digest.update((module / each).read_bytes())
    target = folder().parent / f"{name}-{digest.hexdigest()[:16]}"
    if all((target / part).exists() for part in parts):
        return target
    if not shutil.which("go"):
        raise BuildError(f"{name} needs Go 1.26 or newer, and there is no `go` on PATH")
    with _locked(target), tempfile.TemporaryDirectory(dir=target, prefix=".building-") as scratch:
        source = _source_of(name, str(module), origin)
        for each in folders:
            made = target / Path(each).name
            shutil.copytree(Path(source, each), made, copy_function=shutil.copyfile, dirs_exist_ok=True)
        for part, package in parts.items():
            if not (target / part).exists():
                (progress or _to_stderr)(f"building {name}: {part} (minutes the first time) ...")
                binary = Path(scratch) / part
                _go(name, str(module), "build", "-buildvcs=false", "-o", str(binary), f"{origin}/{package}")
                binary.replace(target / part)
    return target


def build_rewrite() -> Path:
    """The program that reads Ray objects with KubeRay's typed client and writes them back.

    Raises:
        BuildError: as for ``build``.
    """
    source = (HERE / "kuberay" / "rewrite" / "main.go").read_bytes()
    target = folder() / f"rewrite-{hashlib.sha256(source).hexdigest()[:16]}"
    if not target.exists():
        if not shutil.which("go"):
            raise BuildError("KubeRay's typed client needs Go 1.26 or newer, and there is no `go` on PATH")
        with _locked(folder()), tempfile.TemporaryDirectory(dir=folder(), prefix=".building-") as scratch:
            made = Path(scratch) / "rewrite"
            _go("rewrite", "kuberay", "build", "-buildvcs=false", "-o", str(made), "./rewrite")
            made.replace(target)
    return target


def _missing(target: Path) -> list[str]:
    return [name for name in (*(part.name for part in _PARTS), _CRDS) if not (target / name).exists()]


def _build(target: Path, missing: list[str], progress: Callable[[str], None]) -> None:
    if not shutil.which("go"):
        raise BuildError("the real Kubernetes components need Go 1.26 or newer, and there is no `go` on PATH")
    with tempfile.TemporaryDirectory(dir=target, prefix=".building-") as scratch:
        for number, part in enumerate(_PARTS, 1):
            if part.name not in missing:
                continue
            progress(f"[{number}/{len(_PARTS)}] building {part.name} (minutes the first time) ...")
            started = time.monotonic()
            made = Path(scratch) / part.name
            _go(
                part.name,
                part.module,
                "build",
                "-buildvcs=false",
                "-ldflags",
                part.ldflags,
                "-o",
                str(made),
                part.package,
            )
            made.replace(target / part.name)
            progress(f"[{number}/{len(_PARTS)}] built {part.name} in {time.monotonic() - started:.0f} s")
        if _CRDS in missing:
            source = _source_of(_CRDS, "kuberay", _KUBERAY_MODULE)
            made = Path(scratch) / _CRDS
            made.mkdir()
            for manifest in sorted(Path(source, "config/crd/bases").glob("*.yaml")):
                (made / manifest.name).write_bytes(manifest.read_bytes())
            made.replace(target / _CRDS)


def _source_of(what: str, module: str, origin: str) -> str:
    """Where Go keeps the source of the module ``origin``; a machine that never built it has to fetch it first."""
    _go(what, module, "mod", "download", origin)
    return _go(what, module, "list", "-m", "-f", "{{.Dir}}", origin).strip()


def _go(what: str, module: str, *arguments: str) -> str:
    done = subprocess.run(
        ["go", *arguments],
        cwd=HERE / module,
        env={**os.environ, "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    for line in lines:
        if any(sign in line for sign in _UNREACHABLE):
            raise BuildError(f"cannot build {what}: the Go module proxy cannot be reached ({line})")
    raise BuildError(f"cannot build {what}: {lines[-1] if lines else f'go exited with {done.returncode}'}")


@contextmanager
def _locked(target: Path) -> Generator[None]:
    target.mkdir(parents=True, exist_ok=True)
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fingerprint() -> str:
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} {_PARTS!r}".encode())
    for module in ("", "kuberay"):
        for name in ("go.mod", "go.sum"):
            digest.update((HERE / module / name).read_bytes())
    return digest.hexdigest()[:16]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        print(build())
        # Of these, too, no test should have to wait for the compiler: on a new machine that is minutes.
        for each in (build_rewrite, build_kueue, build_helm):
            print(each())
    except BuildError as error:
        sys.exit(f"error: {error}")
