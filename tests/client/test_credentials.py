from __future__ import annotations

import os
from pathlib import Path

import pytest

from rayward.kube.client.credentials import Credential, FileCredentials, NoCredentials, StaticCredentials


def test_a_fixed_credential_is_always_fresh_and_has_no_successor() -> None:
    credential = Credential("t")
    credentials = StaticCredentials(credential)
    assert credentials.fresh() == credentials.load() == credential
    assert not credentials.reject(credential)


def test_credentials_do_not_show_their_secrets() -> None:
    assert "geheim" not in repr(Credential("geheim", "geheim", "geheim"))


class TestFiles:
    def test_they_are_read_once(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("one\n")
        credentials = FileCredentials(token_file=token)
        assert credentials.fresh() is None
        loaded = credentials.load()
        assert loaded == Credential("one")
        assert credentials.fresh() is loaded

    def test_a_changed_file_is_read_again(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("one")
        credentials = FileCredentials(token_file=token)
        credentials.load()
        token.write_text("two")
        os.utime(token, ns=(1, 1))
        assert credentials.fresh() is None
        assert credentials.load() == Credential("two")

    def test_a_kubelet_swaps_a_symlink(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "token").write_text(name)
            os.utime(tmp_path / name / "token", ns=(1, 1))
        current = tmp_path / "current"
        current.symlink_to("one")
        credentials = FileCredentials(token_file=current / "token")
        credentials.load()
        current.unlink()
        assert credentials.fresh() == Credential("one"), "what was read is good while the file is being replaced"
        current.symlink_to("two")
        assert credentials.fresh() is None
        assert credentials.load() == Credential("two")

    def test_a_refused_token_is_looked_up_even_if_no_time_seems_to_have_passed(self, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("one")
        os.utime(token, ns=(1, 1))
        credentials = FileCredentials(token_file=token)
        used = credentials.load()
        assert not credentials.reject(used)
        token.write_text("two")
        os.utime(token, ns=(1, 1))
        assert credentials.fresh() == used
        assert credentials.reject(used)
        assert credentials.fresh() == Credential("two")
        assert credentials.reject(used), "somebody else has replaced it meanwhile"

    def test_certificates_rotate_too(self, tmp_path: Path) -> None:
        certificate, key = tmp_path / "crt", tmp_path / "key"
        certificate.write_text("C1")
        key.write_text("K1")
        credentials = FileCredentials(certificate_file=certificate, key_file=key, fixed=Credential("t"))
        assert credentials.load() == Credential("t", "C1", "K1")
        key.write_text("K2")
        os.utime(key, ns=(1, 1))
        assert credentials.fresh() is None

    @pytest.mark.parametrize("content", [None, "", " \n"], ids=["missing", "empty", "blank"])
    def test_no_token_in_the_file(self, tmp_path: Path, content: str | None) -> None:
        token = tmp_path / "token"
        if content is not None:
            token.write_text(content)
        with pytest.raises(NoCredentials, match=str(token)):
            FileCredentials(token_file=token).load()
