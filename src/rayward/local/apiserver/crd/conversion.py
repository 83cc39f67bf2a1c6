"""Custom objects in another version than the one they are stored in, where a webhook knows how the versions relate.

Reading an object is synchronous everywhere in the server and asking a webhook is not. So what a webhook converted is
kept, and a reader that finds nothing kept raises ``ConversionNeeded``; whoever serves the request has it converted and
starts again, which is safe because nothing is stored before everything was read.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import orjson

from rayward.kube.machinery.jsonvalue import is_list, is_object, section
from rayward.kube.machinery.objectmeta import check_labels
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.crd.strategy import Conversion
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.status import ApiError
from rayward.local.apiserver.webhooks.caller import Caller, RefusedError
from rayward.local.store import Record
from rayward.net.errors import NetworkError
from rayward.net.tls import TlsError

_SECONDS = 30
_MOST_KEPT = 50_000


class ConversionNeeded(Exception):  # noqa: N818 - no error: what was asked for has to be converted first
    """An object is needed in a version in which it is neither stored nor kept."""

    def __init__(self, resource: Resource, record: Record) -> None:
        super().__init__(f"{record.key} in {resource.api_version}")
        self.resource = resource
        self.record = record


class Conversions:
    """Asks conversion webhooks, and keeps what they said of stored objects."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._kept: OrderedDict[tuple[str, int, str, int], bytes] = OrderedDict()

    def kept(self, resource: Resource, record: Record) -> bytes:
        """A stored object in the resource's version. Raises ConversionNeeded."""
        value = self._kept.get(_key(resource, record))
        if value is None:
            raise ConversionNeeded(resource, record)
        return value

    def keep(self, resource: Resource, record: Record, value: bytes) -> None:
        """Remember what a stored object is in the resource's version."""
        self._kept[_key(resource, record)] = value

    def forget(self, resource: Resource, needed: Sequence[Record]) -> None:
        """Forget the oldest beyond the limit, but none that are needed now: a list larger than it would never end."""
        for record in needed:
            key = _key(resource, record)
            if key in self._kept:
                self._kept.move_to_end(key)
        while len(self._kept) > max(_MOST_KEPT, len(needed)):
            self._kept.popitem(last=False)

    def lacks(self, resource: Resource, record: Record) -> bool:
        """Whether a stored object still has to be converted."""
        return not record.value.startswith(resource.head) and _key(resource, record) not in self._kept

    async def convert(self, resource: Resource, objects: Sequence[Object]) -> list[Object]:
        """The same objects in the resource's version, pruned and defaulted as it says.

        Raises:
            ApiError: The webhook did not answer, or not with the same objects.
        """
        conversion = resource.conversion
        assert conversion is not None
        foreign = [obj for obj in objects if obj["apiVersion"] != resource.api_version]
        if not foreign:
            return list(objects)
        about = f"{_gvk(foreign[0])}"
        answers = await self._ask(conversion, resource.api_version, foreign, about)
        if len(answers) != len(foreign):
            raise _failed(f"conversion webhook for {about} returned {len(answers)} objects, expected {len(foreign)}")
        converted = iter(
            _restored(before, after, resource, about) for before, after in zip(foreign, answers, strict=True)
        )
        return [obj if obj["apiVersion"] == resource.api_version else next(converted) for obj in objects]

    async def _ask(self, conversion: Conversion, wanted: str, objects: Sequence[Object], about: str) -> list[Any]:
        if not conversion.review:
            raise _failed("no supported conversion review versions")
        uid, version = str(uuid.uuid4()), f"apiextensions.k8s.io/{conversion.review}"
        request = {"uid": uid, "desiredAPIVersion": wanted, "objects": list(objects)}
        body = orjson.dumps({"kind": "ConversionReview", "apiVersion": version, "request": request})
        try:
            answer = await self._caller.post(conversion.endpoint, body, _SECONDS)
            return _read(answer, uid, strict=conversion.review == "v1")
        except (NetworkError, TlsError, RefusedError, TimeoutError, ValueError) as error:
            why = f'Post "{conversion.endpoint.url}?timeout={_SECONDS}s": {error}'
            told = str(error) if isinstance(error, ValueError) else why
            raise _failed(f"conversion webhook for {about} failed: {told}") from None


def _read(body: bytes, uid: str, *, strict: bool) -> list[Any]:
    """The objects in an answer. Raises ValueError."""
    review: Any = orjson.loads(body)
    if not is_object(review) or (strict and review.get("kind") != "ConversionReview"):
        raise ValueError("expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview")
    response = review.get("response")
    if not is_object(response):
        raise ValueError("no response provided")
    if strict and response.get("uid") != uid:
        raise ValueError(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    result = section(response, "result")
    if result.get("status") != "Success":
        text = f"response.result.status was '{result.get('status', '')}', not 'Success'"
        raise ValueError(result.get("message") or text)
    objects = response.get("convertedObjects")
    return objects if is_list(objects) else []


def _restored(before: Object, after: Any, resource: Resource, about: str) -> Object:
    """A converted object with the metadata it had: a webhook may change labels and annotations, and nothing else."""
    if not is_object(after):
        raise _failed(f"conversion webhook for {about} returned invalid object: it is no object")
    found = after.get("apiVersion")
    if found != resource.api_version:
        text = f"invalid groupVersion (expected {resource.api_version}, received {found})"
        raise _failed(f"conversion webhook for {about} returned invalid object at index 0: {text}")
    if after.get("kind") != before["kind"]:
        text = f"invalid kind (expected {before['kind']}, received {after.get('kind')})"
        raise _failed(f"conversion webhook for {about} returned invalid object at index 0: {text}")
    old, new = before["metadata"], section(after, "metadata")
    for field, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if (old.get(field) or "") != (new.get(field) or ""):
            text = f"must have the same {shown}: {old.get(field) or ''} != {new.get(field) or ''}"
            raise _failed(f"conversion webhook for {about} returned invalid object: {text}")
    metadata = {**old}
    for field in ("labels", "annotations"):
        metadata.pop(field, None)
        given = new.get(field)
        if given is None:
            continue
        if not is_object(given) or not all(isinstance(value, str) for value in given.values()):
            raise _failed(f"conversion webhook for {about} returned invalid metadata: invalid metadata.{field}")
        if field == "labels" and (wrong := check_labels(given, "metadata.labels")):
            raise _failed(f"conversion webhook for {about} returned invalid metadata: {wrong[0]}")
        metadata[field] = given
    converted = {**after, "metadata": metadata}
    return resource.refresh(converted) if resource.refresh is not None else converted


def _gvk(obj: Object) -> str:
    return f"{obj['apiVersion']}, Kind={obj['kind']}"


def _failed(text: str) -> ApiError:
    return ApiError(500, "", text, None)


def _key(resource: Resource, record: Record) -> tuple[str, int, str, int]:
    return record.key, record.revision, resource.version, resource.schema_since
