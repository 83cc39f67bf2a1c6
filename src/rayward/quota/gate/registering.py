"""Tells the API server of the webhook, for as long as it needs one: where it has no ValidatingAdmissionPolicies."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.request import Request
from rayward.kube.core.resource import (
    SELF_SUBJECT_REVIEWS,
    VALIDATING_ADMISSION_POLICIES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import NetworkError
from rayward.quota.gate.apply import MANAGER
from rayward.quota.gate.policy import NAME
from rayward.quota.gate.webhook import configuration, keeps_conditions

_CHECK_SECONDS: Final = 60.0
"""A server gets policies by an upgrade, and a configuration may be deleted by hand."""
_RETRY_SECONDS: Final = 5.0

_log = logging.getLogger(__name__)


async def own_name(client: Client) -> str:
    """The user that the process is to the API server."""
    body: Object = {"apiVersion": SELF_SUBJECT_REVIEWS.api_version, "kind": SELF_SUBJECT_REVIEWS.kind}
    found = await client.create(SELF_SUBJECT_REVIEWS, body)
    return str(section(section(found, "status"), "userInfo").get("username", ""))


async def has_policies(client: Client) -> bool:
    """Whether the API server has ValidatingAdmissionPolicies; everybody may find that out."""
    policies = VALIDATING_ADMISSION_POLICIES
    request = Request("GET", f"/apis/{policies.api_version}", accept="application/json")
    found: Object = msgspec.json.decode((await client.answer(request)).body)
    return any(one.get("name") == policies.plural for one in entries(found, "resources"))


async def keep_registered(client: Client, account: str, reached: Object, authority: bytes, *, always: bool) -> None:
    """Until cancelled.

    Args:
        client: Of the API server.
        account: The user that gate and operator act as.
        reached: Where the webhook is, as a ``clientConfig``.
        authority: PEM of who signed its certificate.
        always: Whether the webhook is wanted beside policies, too.
    """
    while True:
        seconds = _CHECK_SECONDS
        try:
            if always or not await has_policies(client):
                await _register(client, account, reached, authority)
            else:
                await _remove(client)
        except (ApiError, NetworkError, msgspec.DecodeError) as error:
            seconds = _RETRY_SECONDS
            _log.warning("ValidatingWebhookConfiguration %s is not up to date: %s", NAME, error)
        await asyncio.sleep(seconds)


async def _register(client: Client, account: str, reached: Object, authority: bytes) -> None:
    for conditional in (True, False):
        made = configuration([account], reached, authority, conditional=conditional)
        kept = await client.apply(VALIDATING_WEBHOOK_CONFIGURATIONS, made, field_manager=MANAGER, force=True)
        if keeps_conditions(kept):
            return


async def _remove(client: Client) -> None:
    try:
        await client.answer(verbs.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, NAME))
    except NotFound:
        return
