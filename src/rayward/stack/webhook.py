"""The operator's flags for the webhook of the quota gate, and its place in the process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

import click

from rayward.kinds.admission import Admission
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError
from rayward.kube.runtime.authority import UnreadableAuthorityError
from rayward.net.errors import NetworkError
from rayward.operator.errors import OperatorError
from rayward.operator.process import Settings
from rayward.quota.gate.serving import AUTHORITY, Webhook, WebhookSettings

_FLAGS: Final = (
    click.option(
        "--webhook-addr",
        default="",
        metavar="[HOST]:PORT",
        help="Serve the webhook that guards quota there, for an API server without ValidatingAdmissionPolicies.",
    ),
    click.option(
        "--webhook-service",
        default="",
        metavar="NS/NAME[:PORT]",
        help="The Service by which the API server reaches the webhook (default: HOST:PORT of --webhook-addr).",
    ),
    click.option(
        "--webhook-always",
        is_flag=True,
        help="Use the webhook even if the API server has ValidatingAdmissionPolicies.",
    ),
)
_EXAMPLE: Final = "rayward operator run --admission=kueue --webhook-addr=:9443 --webhook-service=rayward-system/webhook"
_HTTPS: Final = 443


def flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags that ``webhook_of`` reads."""
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


def webhook_of(address: str, service: str, always: bool, admission: Admission) -> WebhookSettings | None:
    """What the flags say; None where no webhook is asked for.

    Raises:
        OperatorError: The API server would not find it, or there is nothing to guard.
    """
    if address in ("", "0"):
        if service or always:
            what = "--webhook-service and --webhook-always need --webhook-addr"
            raise OperatorError(what, "no address is given", _EXAMPLE)
        return None
    if admission is Admission.NONE:
        raise OperatorError("--webhook-addr needs --admission", "nobody admits, and no gate is to be guarded", _EXAMPLE)
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise OperatorError(f"--webhook-addr={address} is no address", "it is to be [HOST]:PORT", _EXAMPLE)
    host = host.strip("[]")
    if service:
        return WebhookSettings(host, int(port), _service(service), always)
    if not host:
        why = "the API server has to know where the webhook is"
        raise OperatorError("--webhook-addr has no host, and --webhook-service is not given", why, _EXAMPLE)
    return WebhookSettings(host, int(port), None, always)


def _service(text: str) -> tuple[str, str, int]:
    namespace, _, rest = text.partition("/")
    name, _, port = rest.partition(":")
    if not (namespace and name) or not (port or str(_HTTPS)).isdecimal():
        raise OperatorError(f"--webhook-service={text} is no Service", "it is to be NS/NAME[:PORT]", _EXAMPLE)
    return namespace, name, int(port or _HTTPS)


@asynccontextmanager
async def beside(access: Access, settings: Settings, webhook: WebhookSettings | None) -> AsyncGenerator[None]:
    """Serve the webhook as long as the block lasts, in every replica of the operator, whoever leads.

    Raises:
        OperatorError: It cannot be served here.
    """
    if webhook is None:
        yield
        return
    async with Client.connect(access, user_agent="rayward-operator") as client:
        made = await _made(client, settings, webhook)
        async with made.serving():
            yield


async def _made(client: Client, settings: Settings, webhook: WebhookSettings) -> Webhook:
    namespace = settings.lease_namespace or client.namespace
    try:
        return await Webhook.make(client, webhook, namespace)
    except UnreadableAuthorityError as error:
        again = f"kubectl -n {namespace} delete secret {AUTHORITY}, then start again: another one is made"
        raise OperatorError("the webhook has no certificate", str(error), again) from error
    except (ApiError, NetworkError) as error:
        rights = f"rayward operator rbac --admission {settings.queueing.admission} --webhook | kubectl apply -f -"
        raise OperatorError("the webhook cannot be served", str(error), rights) from error
    except OSError as error:
        following = "give --webhook-addr another host or port"
        raise OperatorError("the webhook cannot be served", str(error), following) from error
