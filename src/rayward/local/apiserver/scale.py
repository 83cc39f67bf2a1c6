"""The scale subresource: an object's replicas, shown and changed as an autoscaling/v1 Scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from rayward.kube.machinery import decoding, dottedpath, table
from rayward.kube.machinery.apply import ApplyConflict, ApplyError, Owners, apply_config, encode, track_update
from rayward.kube.machinery.apply.scale import SCALE, SCALE_VERSION, parent_owners, scale_owners
from rayward.kube.machinery.fielderror import invalid
from rayward.kube.machinery.jsonvalue import is_object, section
from rayward.kube.machinery.patch import PatchError, json_patch, merge_patch
from rayward.local.apiserver import media, requestbody, status
from rayward.local.apiserver.admission import AdmissionChain
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Admission, Core
from rayward.local.apiserver.media import Form
from rayward.local.apiserver.objects import Live, metadata_of, stamp
from rayward.local.apiserver.options import APPLY, WriteOptions, write_options
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.resource import Scale
from rayward.local.apiserver.respond import accepted, shown_object
from rayward.local.apiserver.verbs.incoming import json_type, shape
from rayward.local.apiserver.verbs.patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, conflict_status, refuse_patch
from rayward.local.apiserver.verbs.update import check_uid, modify

_SHOWN_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_MOST_REPLICAS = (1 << 31) - 1
_Tracked = tuple[Object, Owners]


def scale_of(obj: Object, places: Scale) -> Object:
    """The Scale of an object, with no word on who manages it."""
    replicas = dottedpath.parse(places.spec_path).get(obj)
    shown_status: Object = {"replicas": dottedpath.parse(places.status_path).get(obj) or 0}
    selector = _selector_text(obj, places)
    if selector:
        shown_status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {key: obj["metadata"][key] for key in _SHOWN_METADATA if key in obj["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": shown_status,
    }


def _selector_text(obj: Object, places: Scale) -> str:
    value = dottedpath.parse(places.selector_path).get(obj) if places.selector_path else None
    if is_object(value):
        return ",".join(f"{key}={text}" for key, text in sorted(section(value, "matchLabels").items()))
    return str(value or "")


def _places(request: Request) -> Scale:
    assert request.resource.scale is not None
    return request.resource.scale


async def get_scale(core: Core, request: Request) -> Response:
    """Answer a GET of the scale."""
    record = core.objects.store.get(request.resource.key(request.namespace, request.name))
    if record is None:
        raise status.not_found(request.resource, request.name)
    obj = core.objects.decode(request.resource, record)
    places = _places(request)
    if dottedpath.parse(places.spec_path).get(obj) is None:
        # a bad object, not a bad server: kube-apiserver's own 500 would tell a client to try again
        text = f'the spec replicas field "{places.spec_path}" does not exist'
        details = {"causes": [{"message": text}]}
        raise status.ApiError(400, "BadRequest", f"Internal error occurred: {text}", details)
    return _shown(core, request, scale_of(obj, places))


_LAYOUT = table.custom_layout(table.SCALE_COLUMNS)


def _shown(core: Core, request: Request, scale: Object) -> Response:
    wanted = accepted(request)
    if wanted.form is not Form.TABLE:
        return shown_object(request, 200, scale)
    metadata = {"resourceVersion": scale["metadata"]["resourceVersion"]}
    now = datetime.fromtimestamp(core.clock(), UTC)
    return shown_object(request, 200, table.build(_LAYOUT, [scale], now=now, metadata=metadata, version=wanted.version))


async def put_scale(core: Core, request: Request) -> Response:
    """Answer a PUT of the scale."""
    options = write_options(request.query, request.agent, "UpdateOptions")
    try:
        given = requestbody.decode(request.body, request.header(b"content-type"), strict=False, protobuf=None).value
    except decoding.MalformedError as error:
        raise status.bad_request(str(error)) from None
    if not is_object(given):
        raise status.bad_request(f"expected input object type to be Scale, but {json_type(given)}")
    kind = given.get("kind", "Scale")
    if kind != "Scale":
        version = str(given.get("apiVersion", "")).rpartition("/")[2]
        text = f"converting ({version}.{kind}) to (autoscaling.Scale): unknown conversion"
        raise status.bad_request(f'{kind} in version "{version}" cannot be handled as a Scale: {text}')
    name = metadata_of(given).get("name")
    if name and name != request.name:
        raise status.bad_request(f"the name of the object ({name}) does not match the name on the URL ({request.name})")

    shape(given, "autoscaling", "Scale", status.bad_request)

    return await _rescale(core, request, options, _updated(core, options, lambda _current: given))


async def patch_scale(core: Core, request: Request) -> Response:
    """Answer a PATCH of the scale."""
    kind = media.essence(request.header(b"content-type"))
    if kind not in {JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY}:
        raise status.unsupported_media_type([JSON_PATCH, MERGE_PATCH, APPLY])
    options = write_options(request.query, request.agent, "PatchOptions", kind)
    try:
        given = (decoding.decode_yaml if kind == APPLY else decoding.decode_patch)(request.body).value
    except decoding.MalformedError as error:
        raise status.bad_request(f"error decoding {'YAML' if kind == APPLY else 'patch'}: {error}") from None
    if kind == APPLY:
        return await _rescale(core, request, options, _applied(core, options, given))
    run = json_patch.apply if kind == JSON_PATCH else merge_patch.apply

    def rescale(current: Object) -> Object:
        try:
            wanted = run(current, given)
        except PatchError as error:
            raise status.ApiError(error.code, error.reason, str(error)) from None
        if not is_object(wanted):
            raise refuse_patch("the patched value is no object", "")
        shown_value = orjson.dumps(wanted).decode()
        wanted = orjson.loads(shown_value)
        shape(wanted, "autoscaling", "Scale", lambda text: refuse_patch(shown_value, text))
        return wanted

    return await _rescale(core, request, options, _updated(core, options, rescale))


_Change = Callable[[Object, Owners], _Tracked]
"""From the present Scale and its owners to the next."""


def _updated(core: Core, options: WriteOptions, rescale: Callable[[Object], Object]) -> _Change:
    def change(current: Object, owners: Owners) -> _Tracked:
        wanted = orjson.loads(orjson.dumps(rescale(current)))
        metadata_of(wanted)
        if not section(wanted, "spec").get("replicas"):
            # no replicas are written as no field, so that nobody owns it
            wanted["spec"] = {}
        return track_update(
            current,
            wanted,
            type=SCALE,
            manager=options.manager,
            api_version=SCALE_VERSION,
            subresource="scale",
            now=stamp(core.clock()),
            owners=owners,
        )

    return change


def _applied(core: Core, options: WriteOptions, config: Any) -> _Change:
    if not is_object(config):
        raise status.bad_request("error decoding YAML: json: cannot unmarshal into a map")

    def change(current: Object, owners: Owners) -> _Tracked:
        try:
            return apply_config(
                current,
                config,
                type=SCALE,
                manager=options.manager,
                force=options.force,
                api_version=SCALE_VERSION,
                kind="Scale",
                subresource="scale",
                now=stamp(core.clock()),
                owners=owners,
            )
        except ApplyConflict as error:
            raise conflict_status(error) from None
        except ApplyError as error:
            raise status.bad_request(str(error)) from None

    return change


class _ScaleAdmission(AdmissionChain):
    """Admission that is asked about the Scale of an object, and changes nothing else of it."""

    def __init__(self, of_server: Admission, places: Scale) -> None:
        super().__init__()
        self._of_server = of_server
        self._places = places

    def _seen(self, attributes: Attributes) -> Attributes:
        assert attributes.obj is not None
        assert attributes.old is not None
        obj, old = scale_of(attributes.obj, self._places), scale_of(attributes.old, self._places)
        return replace(attributes, obj=obj, old=old)

    async def mutate(self, core: Core, attributes: Attributes, warnings: list[str]) -> Object:
        seen = self._seen(attributes)
        scale = await self._of_server.mutate(core, seen, warnings)
        assert attributes.obj is not None
        if scale is seen.obj:
            return attributes.obj
        return dottedpath.parse(self._places.spec_path).set(attributes.obj, section(scale, "spec").get("replicas") or 0)

    async def validate(self, core: Core, attributes: Attributes, warnings: list[str]) -> None:
        await self._of_server.validate(core, self._seen(attributes), warnings)


async def _rescale(core: Core, request: Request, options: WriteOptions, next_scale: _Change) -> Response:
    places = _places(request)
    spec_path = dottedpath.parse(places.spec_path)
    owned = tuple(f"f:{key}" for key in spec_path.keys)

    def change(live: Live | None) -> _Tracked:
        if live is None:
            raise status.not_found(request.resource, request.name)
        parent = core.objects.owners(live)
        current = scale_of(live.value, places)
        wanted, owners = next_scale(current, scale_owners(parent, owned))
        metadata = metadata_of(wanted)
        check_uid(request.resource, request.name, metadata, live)
        version = metadata.get("resourceVersion")
        if version and version != live.value["metadata"]["resourceVersion"]:
            raise status.conflict(request.resource, request.name)
        replicas = section(wanted, "spec").get("replicas") or 0
        if replicas < 0:
            raise _negative(request, places, replicas)
        if replicas > _MOST_REPLICAS:
            raise status.bad_request(f"{replicas} replicas are more than an int32 holds")
        obj = spec_path.set(live.value, replicas)
        after = parent_owners(parent, owners, owned, request.resource.api_version)
        metadata = {**obj["metadata"], "managedFields": encode(after)}
        return {**obj, "metadata": metadata}, after

    asking = replace(core, admission=_ScaleAdmission(core.admission, places))
    changed = await modify(asking, request, change, options)
    return shown_object(request, 200, scale_of(orjson.loads(changed.value), places))


def _negative(request: Request, places: Scale, replicas: int) -> status.ApiError:
    resource = request.resource
    if resource.builtin:
        error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        return status.invalid("autoscaling", "Scale", request.name, [error])
    error = invalid(places.spec_path, replicas, "should be a non-negative integer")
    return status.invalid(resource.group, resource.kind, request.name, [error])
