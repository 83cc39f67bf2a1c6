"""Subresources with rules of their own: scale, binding, eviction, token, finalize."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from rayward.kube.machinery.apply import Owners
from rayward.kube.machinery.fielderror import invalid
from rayward.kube.machinery.jsonvalue import entries, is_object, section
from rayward.kube.machinery.patch import PatchError, json_patch, merge_patch
from rayward.local.apiserver import body, media, status
from rayward.local.apiserver.app import Handler
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin import podadmit
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import Live, metadata_of, stamp
from rayward.local.apiserver.options import write_options
from rayward.local.apiserver.protobuf import ProtobufError
from rayward.local.apiserver.protobuf import decode as decode_protobuf
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.resource import Scale
from rayward.local.apiserver.respond import shown_object
from rayward.local.apiserver.tokens import Tokens
from rayward.local.apiserver.verbs.delete import delete
from rayward.local.apiserver.verbs.incoming import object_in
from rayward.local.apiserver.verbs.patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, patch
from rayward.local.apiserver.verbs.read import get
from rayward.local.apiserver.verbs.update import check_uid, modify, tracked, update

_SHORTEST_TOKEN = 600
_LONGEST_TOKEN = 1 << 32


def handlers(tokens: Tokens) -> Mapping[tuple[str, str], Mapping[str, Handler]]:
    """Verbs by resource and subresource; ``*`` stands for any resource."""
    return {
        ("*", "scale"): {"get": get_scale, "update": put_scale, "patch": patch_scale},
        ("pods", "binding"): {"create": bind},
        ("pods", "eviction"): {"create": evict},
        ("serviceaccounts", "token"): {"create": _token_handler(tokens)},
        ("namespaces", "finalize"): {"update": update},
        ("pods", "ephemeralcontainers"): {"get": get, "update": update, "patch": patch},
    }


def _at(obj: Object, path: str) -> Any:
    value: Any = obj
    for part in path.strip(".").split("."):
        value = value.get(part) if is_object(value) else None
    return value


def _put(obj: Object, path: str, value: Any) -> None:
    *parents, last = path.strip(".").split(".")
    for part in parents:
        obj = obj.setdefault(part, {})
    obj[last] = value


def _places(request: Request) -> Scale:
    return request.resource.scale or Scale(".spec.replicas", ".status.replicas", "")


def _selector_text(obj: Object, places: Scale) -> str:
    value = _at(obj, places.selector_path) if places.selector_path else None
    if is_object(value):
        return ",".join(f"{key}={text}" for key, text in sorted(section(value, "matchLabels").items()))
    return str(value or "")


def scale_of(obj: Object, places: Scale) -> Object:
    """The autoscaling/v1 Scale of an object."""
    metadata = obj["metadata"]
    replicas = _at(obj, places.spec_path)
    shown_metadata = {
        key: metadata[key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in metadata
    }
    scale_status: Object = {"replicas": _at(obj, places.status_path) or 0}
    selector = _selector_text(obj, places)
    if selector:
        scale_status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": shown_metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": scale_status,
    }


async def get_scale(core: Core, request: Request) -> Response:
    """Answer a GET of the scale."""
    live = core.objects.newest(request.resource, request.namespace, request.name)
    if live is None:
        raise status.not_found(request.resource, request.name)
    await core.objects.store.committed(live.record.revision)
    return shown_object(request, 200, scale_of(live.value, _places(request)))


async def put_scale(core: Core, request: Request) -> Response:
    """Answer a PUT of the scale."""
    given = _body_of(request)
    return await _rescale(core, request, lambda _current: given)


async def patch_scale(core: Core, request: Request) -> Response:
    """Answer a PATCH of the scale."""
    kind = media.essence(request.header(b"content-type"))
    try:
        given = body.decode_json(request.body).value
    except body.MalformedError as error:
        raise status.bad_request(f"error decoding patch: {error}") from None
    if kind in {MERGE_PATCH, STRATEGIC_PATCH}:
        return await _rescale(core, request, lambda current: merge_patch.apply(current, given))
    if kind == JSON_PATCH:
        return await _rescale(core, request, lambda current: json_patch.apply(current, given))
    raise status.unsupported_media_type([JSON_PATCH, MERGE_PATCH])


async def _rescale(core: Core, request: Request, change_scale: Callable[[Object], Any]) -> Response:
    options = write_options(request.query, request.agent, "UpdateOptions")
    places = _places(request)

    def change(live: Live | None) -> tuple[Object, Owners]:
        if live is None:
            raise status.not_found(request.resource, request.name)
        try:
            wanted: Any = change_scale(scale_of(live.value, places))
        except PatchError as error:
            raise status.ApiError(error.code, error.reason, str(error)) from None
        if not is_object(wanted) or wanted.get("kind", "Scale") != "Scale":
            raise status.bad_request(f"expected input object type to be Scale, but {request.resource.kind}")
        replicas = section(wanted, "spec").get("replicas") or 0
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            raise status.bad_request(
                "json: cannot unmarshal into Go struct field ScaleSpec.spec.replicas of type int32"
            )
        if replicas < 0:
            error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise status.invalid("autoscaling", "Scale", request.name, [error])
        metadata = metadata_of(wanted)
        check_uid(request.resource, request.name, metadata, live)
        version = metadata.get("resourceVersion")
        if version and version != live.value["metadata"]["resourceVersion"]:
            raise status.conflict(request.resource, request.name)
        obj = orjson.loads(orjson.dumps(live.value))
        _put(obj, places.spec_path, replicas)
        return tracked(core, request, live, obj, options)

    changed = await modify(core, request, change, options)
    return shown_object(request, 200, scale_of(orjson.loads(changed.value), places))


def _negative(request: Request, places: Scale, replicas: int) -> status.ApiError:
    resource = request.resource
    if resource.builtin:
        error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        return status.invalid("autoscaling", "Scale", request.name, [error])
    error = invalid(places.spec_path, replicas, "should be a non-negative integer")
    return status.invalid(resource.group, resource.kind, request.name, [error])


async def bind(core: Core, request: Request) -> Response:
    """Answer a binding: the pod runs on that node from now on."""
    options = write_options(request.query, request.agent, "CreateOptions")
    given = _body_of(request)
    errors = podadmit.check_binding(given)
    if errors:
        raise status.bad_request(str(errors[0]) if len(errors) == 1 else f"[{', '.join(map(str, errors))}]")

    def change(live: Live | None) -> tuple[Object, Owners]:
        if live is None:
            raise status.not_found(request.resource, request.name)
        obj = orjson.loads(orjson.dumps(live.value))
        why = podadmit.bind(obj, given, stamp(core.clock()))
        if why:
            raise status.conflict(request.resource, request.name, why)
        return tracked(core, request, live, obj, options)

    await modify(core, request, change, options)
    answer: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return shown_object(request, 201, answer)


def _body_of(request: Request) -> Object:
    content_type = request.header(b"content-type")
    try:
        given = body.decode(request.body, content_type, strict=False, protobuf=decode_protobuf).value
    except (body.MalformedError, ProtobufError) as error:
        raise status.bad_request(str(error)) from None
    if not is_object(given):
        raise status.bad_request("the body of the request is no object")
    return given


async def _mark_evicted(core: Core, request: Request) -> None:
    options = write_options(request.query, request.agent, "CreateOptions")

    def change(live: Live | None) -> tuple[Object, Owners]:
        if live is None:
            raise status.not_found(request.resource, request.name)
        obj = orjson.loads(orjson.dumps(live.value))
        conditions: list[Object] = entries(section(obj, "status"), "conditions")
        evicted = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastProbeTime": None,
            "lastTransitionTime": stamp(core.clock()),
        }
        kept = [c for c in conditions if c["type"] != "DisruptionTarget"]
        obj.setdefault("status", {})["conditions"] = [*kept, evicted]
        return obj, core.objects.owners(live)

    await modify(core, request, change, options)


async def evict(core: Core, request: Request) -> Response:
    """Answer an eviction. Budgets are stored, not enforced: nothing here disrupts on its own."""
    given = _body_of(request)
    name = section(given, "metadata").get("name")
    if name and name != request.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    await _mark_evicted(core, request)
    options = section(given, "deleteOptions")
    dry_run = options.get("dryRun") or list(request.query.get("dryRun", ()))
    inner = Request(
        request.info,
        request.resource,
        {},
        {**request.headers, b"content-type": b"application/json"},
        orjson.dumps({"kind": "DeleteOptions", "apiVersion": "v1", **options, "dryRun": dry_run}),
        request.user,
        request.warnings,
    )
    await delete(core, inner)
    answer: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return shown_object(request, 201, answer)


def _token_handler(tokens: Tokens) -> Handler:
    async def issue(core: Core, request: Request) -> Response:
        """Answer a TokenRequest."""
        review = _token_request(core, request)
        account = core.objects.newest(request.resource, request.namespace, request.name)
        if account is None:
            raise status.not_found(request.resource, request.name)
        spec: Object = review.setdefault("spec", {})
        seconds = spec.get("expirationSeconds") or 3600
        if not _SHORTEST_TOKEN <= seconds <= _LONGEST_TOKEN:
            text = (
                "may not specify a duration less than 10 minutes"
                if seconds < _SHORTEST_TOKEN
                else "may not specify a duration larger than 2^32 seconds"
            )
            error = invalid("spec.expirationSeconds", seconds, text)
            raise status.invalid("authentication.k8s.io", "TokenRequest", request.name, [error])
        bound = _bound_object(core, request, spec.get("boundObjectRef"))
        token, ends = tokens.issue(account.value, spec.get("audiences") or [], seconds, bound)
        spec["expirationSeconds"] = seconds
        spec.setdefault("audiences", ["https://kubernetes.default.svc.cluster.local"])
        review["metadata"] = {
            "name": request.name,
            "namespace": request.namespace,
            "creationTimestamp": stamp(core.clock()),
        }
        review["status"] = {"token": token, "expirationTimestamp": stamp(ends)}
        return shown_object(request, 201, review)

    return issue


def _token_request(core: Core, request: Request) -> Object:
    kinds = core.registry.of_kind("authentication.k8s.io", "v1", "TokenRequest")
    if kinds is not None:
        options = write_options(request.query, request.agent, "CreateOptions")
        inner = Request(
            request.info, kinds, request.query, request.headers, request.body, request.user, request.warnings
        )
        return object_in(inner, options)
    given = _body_of(request)
    given["kind"], given["apiVersion"] = "TokenRequest", "authentication.k8s.io/v1"
    return given


def _bound_object(core: Core, request: Request, reference: Object | None) -> Object | None:
    if not reference:
        return None
    plural = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}.get(reference.get("kind", ""))
    resource = core.registry.find("", "v1", plural or "")
    if resource is None:
        raise status.bad_request(f"cannot bind token for serviceaccount to object of kind {reference.get('kind')}")
    namespace = request.namespace if resource.namespaced else ""
    found = core.objects.newest(resource, namespace, reference.get("name", ""))
    if found is None:
        raise status.not_found(resource, reference.get("name", ""))
    uid = reference.get("uid")
    if uid and uid != found.value["metadata"]["uid"]:
        text = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict(resource, reference.get("name", ""), text)
    return found.value
