"""An authority for certificates of our own, kept in a Secret: every replica, and the next one, signs with the same."""

from __future__ import annotations

import base64
import binascii

from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, NotFound
from rayward.kube.core.resource import SECRETS
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.net.certificates import Pair, make_authority


class UnreadableAuthorityError(Exception):
    """The Secret is there, and somebody changed it."""


async def authority_of(client: Client, namespace: str, name: str) -> Pair:
    """The authority in a Secret; made if there is none.

    Raises:
        UnreadableAuthorityError: The Secret has none.
    """
    try:
        found = await client.get(SECRETS, name, namespace)
    except NotFound:
        try:
            found = await client.create(SECRETS, _secret(make_authority(name), name, namespace), namespace)
        except AlreadyExists:
            # another replica was first
            found = await client.get(SECRETS, name, namespace)
    data = section(found, "data")
    try:
        return Pair(base64.b64decode(data["ca.crt"], validate=True), base64.b64decode(data["ca.key"], validate=True))
    except (KeyError, binascii.Error) as error:
        raise UnreadableAuthorityError(f"Secret {namespace}/{name} has no ca.crt and ca.key") from error


def _secret(authority: Pair, name: str, namespace: str) -> Object:
    data = {"ca.crt": authority.certificate, "ca.key": authority.key}
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "data": {file: base64.b64encode(content).decode() for file, content in data.items()},
    }
