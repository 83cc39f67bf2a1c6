from __future__ import annotations

import ssl

import pytest

from rayward.net.tls import ClientTls, TlsError, client_context
from tests.net.peer import Identities


def test_a_given_authority_is_the_only_one_trusted(identities: Identities) -> None:
    context = client_context(ClientTls(identities.trust))
    assert len(context.get_ca_certs()) == 1
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    "text", ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"], ids=repr
)
def test_an_authority_that_is_none(text: str) -> None:
    with pytest.raises(TlsError, match="authority"):
        client_context(ClientTls(text))


def test_a_key_of_another_certificate(identities: Identities) -> None:
    with pytest.raises(TlsError, match="client certificate and key"):
        client_context(ClientTls(), identities.client.certificate.decode(), identities.server.key.decode())
