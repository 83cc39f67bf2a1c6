"""Which of the machine's own files every container sees: its programs, libraries and public settings.

A list of what may be shown, never of what may not: a home folder, a data folder or a disk that nobody thought of
stays out of sight. What else a container sees is mounted: its environment, its volumes, the project folder.
"""

from __future__ import annotations

from typing import Final

SYSTEM: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/sys",
    "/nix/store",
    "/gnu/store",
    # Where the makers of accelerators put their libraries.
    "/opt/cuda",
    "/opt/nvidia",
    "/opt/rocm",
)

SETTINGS: Final = (
    # Who is who; the file with the passwords is another.
    "passwd",
    "group",
    "nsswitch.conf",
    "shells",
    "login.defs",
    # How libraries are found.
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    # Whom to trust; private keys lie beside some of these.
    "ssl/certs",
    "ssl/cert.pem",
    "ssl/ca-bundle.pem",
    "ssl/openssl.cnf",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "pki/tls/cert.pem",
    "pki/tls/openssl.cnf",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    # Names and numbers of the network.
    "protocols",
    "services",
    "networks",
    "rpc",
    "ethertypes",
    "host.conf",
    "gai.conf",
    # Which system this is, where and in which language.
    "os-release",
    "lsb-release",
    "debian_version",
    "redhat-release",
    "fedora-release",
    "system-release",
    "alpine-release",
    "arch-release",
    "issue",
    "localtime",
    "timezone",
    "adjtime",
    "locale.alias",
    "locale.conf",
    # What programs and shells of every user start with.
    "profile",
    "profile.d",
    "bash.bashrc",
    "bashrc",
    "inputrc",
    "terminfo",
    "mime.types",
    "magic",
    "fonts",
    "python3",
    "perl",
    "OpenCL",
    "vulkan",
    "glvnd",
)
"""Names below /etc."""

EMPTY: Final = ("home", "media", "mnt", "opt", "root", "srv", "var/cache", "var/lib", "var/log", "var/spool", "var/tmp")
"""Folders that programs expect, without the machine's own files."""

HIDDEN_OF_SYS: Final = (
    "firmware",
    "fs/bpf",
    "fs/pstore",
    "kernel/config",
    "kernel/debug",
    "kernel/security",
    "kernel/tracing",
    "devices/virtual/powercap",
)
"""What is the kernel's own business, below /sys."""


def is_system(path: str) -> bool:
    """Whether every container sees ``path`` already."""
    return any(path == shown or path.startswith(f"{shown}/") for shown in SYSTEM)
