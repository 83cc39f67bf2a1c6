"""Who we are to an API server: given once, or read again when files change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import msgspec

from rayward.net.errors import NetworkError


class ConfigError(Exception):
    """The kubeconfig, a file it names or its plugin cannot be used; the text says what to mend."""


class NoCredentials(ConfigError, NetworkError):  # noqa: N818 - it names what is missing
    """A request could not be sent for want of credentials; those of a loop may come back, as a rotated file does."""

    sent = False


class Credential(msgspec.Struct, frozen=True):
    """What a request shows: a bearer token, a client certificate, both or nothing."""

    token: str | None = None
    certificate: str | None = None
    """PEM."""
    key: str | None = None
    """PEM."""

    def __repr__(self) -> str:
        return f"Credential(token={self.token is not None}, certificate={self.certificate is not None})"


NOBODY = Credential()


class Credentials(Protocol):
    """A source of credentials."""

    def fresh(self) -> Credential | None:
        """The credential to use now, without blocking; None when it must be loaded."""
        ...

    def load(self) -> Credential:
        """Get a new credential; may block for long.

        Raises:
            NoCredentials: None is to be had.
        """
        ...

    def reject(self, used: Credential) -> bool:
        """The server answered 401 to ``used``; whether loading again may give another."""
        ...


class StaticCredentials:
    """A credential that never changes."""

    def __init__(self, credential: Credential = NOBODY) -> None:
        self._credential = credential

    def fresh(self) -> Credential:
        """The one there is."""
        return self._credential

    def load(self) -> Credential:
        """The one there is."""
        return self._credential

    def reject(self, used: Credential) -> bool:
        """There is no other."""
        return False


ANONYMOUS = StaticCredentials()


class FileCredentials:
    """A credential in files that somebody else rotates: read again when a file changes or the server says 401."""

    def __init__(
        self,
        *,
        token_file: Path | None = None,
        certificate_file: Path | None = None,
        key_file: Path | None = None,
        fixed: Credential = NOBODY,
    ) -> None:
        self._token_file = token_file
        self._certificate_file = certificate_file
        self._key_file = key_file
        self._fixed = fixed
        self._files = [file for file in (token_file, certificate_file, key_file) if file is not None]
        self._read: tuple[tuple[tuple[int, int], ...] | None, Credential] | None = None

    def fresh(self) -> Credential | None:
        """The credential last read, unless a file changed since."""
        if self._read is None:
            return None
        seen, credential = self._read
        now = self._stamps()
        # A file that is gone for a moment is being replaced: what was read from it is still good.
        return credential if now is None or now == seen else None

    def load(self) -> Credential:
        stamps = self._stamps()
        credential = Credential(
            token=_text(self._token_file) or self._fixed.token,
            certificate=_text(self._certificate_file) or self._fixed.certificate,
            key=_text(self._key_file) or self._fixed.key,
        )
        self._read = (stamps, credential)
        return credential

    def reject(self, used: Credential) -> bool:
        """Another one may be in the files by now, even within the resolution of their times."""
        if self._read is None or self._read[1] != used:
            return True
        return self.load() != used

    def _stamps(self) -> tuple[tuple[int, int], ...] | None:
        try:
            return tuple((found.st_mtime_ns, found.st_ino) for found in map(os.stat, self._files))
        except OSError:
            return None


def _text(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NoCredentials(f"cannot read {file}: {error}") from error
    if not text:
        raise NoCredentials(f"{file} is empty")
    return text
