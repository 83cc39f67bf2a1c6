"""Calling webhooks: mutating ones one after another, validating ones at once, each within its time."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from rayward.kube.machinery.jsonvalue import is_object
from rayward.kube.machinery.patch import PatchError, json_patch
from rayward.local.apiserver import status
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Behaviour, DecodeError, Object
from rayward.local.apiserver.builtin import behaviour_of_kind
from rayward.local.apiserver.evaluation import CONDITIONS_BUDGET, FailedError, Stage, conditions_hold
from rayward.local.apiserver.rbac import expressions
from rayward.local.apiserver.rbac.authorizer import Authorizer
from rayward.local.apiserver.registry import Registry
from rayward.local.apiserver.webhooks import review
from rayward.local.apiserver.webhooks.caller import Caller, RefusedError
from rayward.local.apiserver.webhooks.hook import Hook, hooks_of
from rayward.local.store import Event, Store
from rayward.net.errors import NetworkError
from rayward.net.tls import TlsError

if TYPE_CHECKING:
    from rayward.local.apiserver.crd.conversion import Conversions

_log = logging.getLogger(__name__)
_MUTATING = "/mutatingwebhookconfigurations.admissionregistration.k8s.io/"
_VALIDATING = "/validatingwebhookconfigurations.admissionregistration.k8s.io/"


class HttpWebhooks:
    """All configured webhooks, kept in step with the stored configurations."""

    def __init__(self, store: Store, caller: Caller, conversions: Conversions, authorizer: Authorizer) -> None:
        self._store = store
        self._caller = caller
        self._conversions = conversions
        self._authorizer = authorizer
        self._mutating: list[Hook] = []
        self._validating: list[Hook] = []
        self.reload()

    def on_commit(self, events: Sequence[Event]) -> None:
        """Follow changes of the configurations."""
        if any(event.key.startswith((_MUTATING, _VALIDATING)) for event in events):
            self.reload()

    def reload(self) -> None:
        """Read all configurations anew."""
        self._mutating = self._load(_MUTATING)
        self._validating = self._load(_VALIDATING)
        self._caller.forget()

    def _load(self, prefix: str) -> list[Hook]:
        found: list[Hook] = []
        for key in self._store.keys(prefix):
            record = self._store.get(key)
            if record is not None:
                found.extend(hooks_of(orjson.loads(record.value)))
        return found

    def concern(self, served: Registry, attributes: Attributes) -> bool:
        """Whether any webhook wants to see this request."""
        return any(
            hook.sees(attributes, served, self._namespace_labels) is not None
            for hooks in (self._mutating, self._validating)
            for hook in hooks
        )

    def _namespace_labels(self, namespace: str) -> Mapping[str, str]:
        record = self._store.newest(f"/namespaces/{namespace}")
        return (orjson.loads(record.value)["metadata"].get("labels") or {}) if record is not None else {}

    async def mutate(self, served: Registry, attributes: Attributes, warnings: list[str]) -> Object | None:
        """Let webhooks change the object, one after another; those that ask for it see later changes once more."""
        obj = attributes.obj
        last_change = -1
        for position, hook in enumerate(self._mutating):
            changed = await self._changed_by(hook, served, attributes.with_object(obj), warnings)
            if changed is not None:
                obj, last_change = changed, position
        for position, hook in enumerate(self._mutating):
            if hook.reinvoked and position < last_change:
                obj = await self._changed_by(hook, served, attributes.with_object(obj), warnings) or obj
        return obj

    async def _changed_by(
        self, hook: Hook, served: Registry, attributes: Attributes, warnings: list[str]
    ) -> Object | None:
        seen = hook.sees(attributes, served, self._namespace_labels)
        if seen is None:
            return None
        seen = await self._as_known(seen)
        verdict = await self._ask(hook, seen, warnings, mutating=True)
        if verdict is None or not verdict.patch:
            return None
        if seen.obj is None:
            text = "attempted to modify the object, which is not supported for this operation"
            raise status.internal(f'admission webhook "{hook.name}" {text}')
        if seen.requested is not None and seen.resource.conversion is not None:
            known = _patched(seen, seen.obj, verdict.patch)
            return (await self._conversions.convert(attributes.resource, [known]))[0]
        return _patched(attributes, seen.obj, verdict.patch)

    async def validate(self, served: Registry, attributes: Attributes, warnings: list[str]) -> None:
        """Ask all validating webhooks at once; the first refusal counts."""
        views = [(hook, hook.sees(attributes, served, self._namespace_labels)) for hook in self._validating]
        asked = [
            self._ask(hook, await self._as_known(seen), warnings, mutating=False)
            for hook, seen in views
            if seen is not None
        ]
        if not asked:
            return
        for outcome in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _ask(
        self, hook: Hook, attributes: Attributes, warnings: list[str], *, mutating: bool
    ) -> review.Verdict | None:
        """The webhook's verdict; None if it failed and may be passed over."""
        uid = str(uuid.uuid4())
        request = review.request_of(attributes, uid)
        if not self._condition_holds(hook, attributes, request):
            return None
        if attributes.dry_run and not hook.dry_run_safe:
            raise status.bad_request(f'admission webhook "{hook.name}" does not support dry run')
        try:
            verdict = await self._call(hook, request, uid, mutating=mutating)
        except (NetworkError, TlsError, RefusedError, review.InvalidAnswerError, TimeoutError) as error:
            if not hook.fails_closed:
                _log.warning("webhook %s failed and is passed over: %s", hook.name, error)
                return None
            raise status.internal(f'failed calling webhook "{hook.name}": {_cause(hook, error)}') from None
        warnings.extend(verdict.warnings)
        if not verdict.allowed:
            raise review.denial(hook.name, verdict.result)
        return verdict

    def _condition_holds(self, hook: Hook, attributes: Attributes, request: Object) -> bool:
        if not hook.conditions:
            return True
        variables = {"object": attributes.obj, "oldObject": attributes.old, "request": request}
        variables |= expressions.variables(self._authorizer, attributes)
        try:
            return conditions_hold(Stage(variables, CONDITIONS_BUDGET), hook.conditions)
        except FailedError as error:
            if not hook.fails_closed:
                return False
            raise status.forbidden(attributes.resource, attributes.name, str(error)) from None

    async def _call(self, hook: Hook, request: Object, uid: str, *, mutating: bool) -> review.Verdict:
        answer = await self._caller.post(hook.endpoint, review.encode(request), hook.seconds)
        return review.decode(answer, uid, mutating=mutating)

    async def _as_known(self, seen: Attributes) -> Attributes:
        """A request in the version that a webhook knows, where more than the name of the version differs."""
        if seen.requested is None or seen.resource.conversion is None:
            return seen
        version = seen.requested.api_version
        given = [{**each, "apiVersion": version} for each in (seen.obj, seen.old) if each is not None]
        converted = iter(await self._conversions.convert(seen.resource, given))
        return replace(
            seen,
            obj=next(converted) if seen.obj is not None else None,
            old=next(converted) if seen.old is not None else None,
        )


def _patched(attributes: Attributes, obj: Object, patch: list[Object]) -> Object:
    try:
        changed = orjson.loads(orjson.dumps(json_patch.apply(obj, patch)))
    except PatchError as error:
        raise status.internal(str(error)) from None
    if not is_object(changed):
        raise status.internal("a webhook's patch left no object")
    if attributes.obj is not None and "apiVersion" in attributes.obj:
        # the webhook may know the object in another version
        changed["apiVersion"] = attributes.obj["apiVersion"]
    behaviour = _behaviour(attributes)
    try:
        # what a webhook changes belongs to nobody: managed fields are settled before admission
        behaviour.coerce(changed)
    except DecodeError as error:
        raise status.internal(str(error)) from None
    behaviour.default(changed)
    return changed


def _behaviour(attributes: Attributes) -> Behaviour:
    resource, kind = attributes.resource, attributes.kind
    if kind == (resource.group, resource.version, resource.kind):
        return resource.behaviour
    behaviour = behaviour_of_kind(*kind)
    assert behaviour is not None
    return behaviour


def _cause(hook: Hook, error: Any) -> str:
    if isinstance(error, TimeoutError):
        return f'failed to call webhook: Post "{hook.endpoint.url}?timeout={hook.seconds}s": context deadline exceeded'
    if isinstance(error, TlsError):
        return f"could not get REST client: unable to load root certificates: {error}"
    if isinstance(error, review.InvalidAnswerError | RefusedError):
        return f"received invalid webhook response: {error}"
    return f'failed to call webhook: Post "{hook.endpoint.url}?timeout={hook.seconds}s": {error}'
