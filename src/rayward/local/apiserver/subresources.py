"""Subresources with rules of their own: scale, binding, eviction, token, finalize."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import orjson

from rayward.kube.machinery.apply import Owners, track_update, type_of
from rayward.kube.machinery.fielderror import invalid
from rayward.kube.machinery.jsonvalue import section
from rayward.local.apiserver import recorded, status
from rayward.local.apiserver.admission import admitted
from rayward.local.apiserver.app import Handler
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.pod import admit as podadmit
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.eviction import evict
from rayward.local.apiserver.kubelet import Kubelets
from rayward.local.apiserver.noderestriction import check_token
from rayward.local.apiserver.objects import Live, stamp
from rayward.local.apiserver.options import WriteOptions, write_options
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.respond import shown_object
from rayward.local.apiserver.scale import get_scale, patch_scale, put_scale
from rayward.local.apiserver.tokens import ISSUER, Tokens
from rayward.local.apiserver.verbs.create import ensure_namespace, posted_part
from rayward.local.apiserver.verbs.incoming import body_of
from rayward.local.apiserver.verbs.patch import patch
from rayward.local.apiserver.verbs.read import get
from rayward.local.apiserver.verbs.update import modify, update

_TOKEN_REQUEST = type_of(recorded.schema("io.k8s.api.authentication.v1.TokenRequest"), recorded.schemas().get)
_TOKEN_SECONDS = 3600
_SHORTEST_TOKEN = 600
_LONGEST_TOKEN = 1 << 32


def handlers(tokens: Tokens, kubelets: Kubelets) -> Mapping[tuple[str, str], Mapping[str, Handler]]:
    """Verbs by resource and subresource; ``*`` stands for any resource."""
    return {
        ("*", "scale"): {"get": get_scale, "update": put_scale, "patch": patch_scale},
        ("pods", "binding"): {"create": bind},
        ("pods", "eviction"): {"create": evict},
        ("serviceaccounts", "token"): {"create": _token_handler(tokens)},
        ("namespaces", "finalize"): {"update": update},
        ("pods", "ephemeralcontainers"): {"get": get, "update": update, "patch": patch},
        ("pods", "log"): {"get": kubelets.logs},
        ("pods", "exec"): {"get": kubelets.connect, "create": kubelets.connect},
        ("pods", "attach"): {"get": kubelets.connect, "create": kubelets.connect},
        ("pods", "portforward"): {"get": kubelets.connect, "create": kubelets.connect},
        ("pods", "resize"): {"get": get, "update": update, "patch": patch},
    }


async def bind(core: Core, request: Request) -> Response:
    """Answer a binding: the pod runs on that node from now on."""
    return await _bind(core, request, request)


async def _bind(core: Core, request: Request, asked: Request) -> Response:
    """Bind the pod of a request, which admission sees as it was ``asked``."""
    options = write_options(request.query, request.agent, "CreateOptions")
    attributes = posted_part(asked, body_of(request, "", "Binding"), options)
    given = await core.admission.mutate(core, attributes, request.warnings)
    name = section(given, "metadata").get("name")
    if name and name != request.name:
        raise status.bad_request("name in URL does not match name in Binding object")
    errors = podadmit.check_binding(given)
    if errors:
        raise status.bad_request(str(errors[0]) if len(errors) == 1 else f"[{', '.join(map(str, errors))}]")

    await core.admission.validate(core, attributes.with_object(given), request.warnings)

    def change(live: Live | None) -> tuple[Object, Owners]:
        if live is None:
            raise status.not_found(request.resource, request.name)
        obj = orjson.loads(orjson.dumps(live.value))
        why = podadmit.bind(obj, given, stamp(core.clock()))
        if why:
            error = status.conflict(request.resource, request.name, why)
            error.message = error.message.replace(" pods ", " pods/binding ", 1)
            error.details = {"name": request.name, "kind": "pods/binding"}
            raise error
        # the scheduler owns nothing of a pod: who is bound where is no wish of a writer
        return obj, core.objects.owners(live)

    await modify(admitted(core), request, change, options)
    answer: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return shown_object(request, 201, answer)


async def bind_in_collection(core: Core, request: Request) -> Response:
    """Answer a POST to ``bindings``: the pod's name is in the body."""
    pods = core.registry.find("", "v1", "pods")
    assert pods is not None
    name = str(section(body_of(request, "", "Binding"), "metadata").get("name") or "")
    if not name:
        raise status.bad_request("Name parameter required.")
    info = replace(request.info, resource="pods", name=name, subresource="binding")
    inner = Request(info, pods, request.query, request.headers, request.body, request.user, request.warnings)
    return await _bind(core, inner, request)


def _token_handler(tokens: Tokens) -> Handler:
    async def issue(core: Core, request: Request) -> Response:
        options = write_options(request.query, request.agent, "CreateOptions")
        review = _token_request(core, request, options)
        review.setdefault("spec", {}).setdefault("expirationSeconds", _TOKEN_SECONDS)
        attributes = posted_part(request, review, options)
        review = await core.admission.mutate(core, attributes, request.warnings)
        account = core.objects.newest(request.resource, request.namespace, request.name)
        if account is None:
            raise status.not_found(request.resource, request.name)
        spec: Object = review.setdefault("spec", {})
        seconds = spec["expirationSeconds"] = spec.get("expirationSeconds") or _TOKEN_SECONDS
        if not _SHORTEST_TOKEN <= seconds <= _LONGEST_TOKEN:
            text = (
                "may not specify a duration less than 10 minutes"
                if seconds < _SHORTEST_TOKEN
                else "may not specify a duration larger than 2^32 seconds"
            )
            error = invalid("spec.expirationSeconds", seconds, text)
            raise status.invalid("authentication.k8s.io", "TokenRequest", "", [error])
        spec["audiences"] = spec.get("audiences") or [ISSUER]
        review["metadata"] |= {
            "name": request.name,
            "namespace": request.namespace,
            "uid": account.value["metadata"]["uid"],
            "creationTimestamp": stamp(core.clock()),
        }
        await core.admission.validate(core, attributes.with_object(review), request.warnings)
        bound = _bound_object(core, request, spec.get("boundObjectRef"))
        check_token(request, spec.get("boundObjectRef"), bound)
        token, ends = tokens.issue(account.value, spec["audiences"], seconds, bound)
        spec.setdefault("boundObjectRef", None)
        review["status"] = {"token": token, "expirationTimestamp": stamp(ends)}
        return shown_object(request, 201, review)

    return issue


def _token_request(core: Core, request: Request, options: WriteOptions) -> Object:
    review = body_of(request, "authentication.k8s.io", "TokenRequest")
    ensure_namespace(request, section(review, "metadata"))
    if section(review, "spec").get("boundObjectRef", review) is None:
        # what was not given is nobody's
        del review["spec"]["boundObjectRef"]
    review["kind"], review["apiVersion"] = "TokenRequest", "authentication.k8s.io/v1"
    tracked, _owners = track_update(
        None,
        {**review, "metadata": {}},
        type=_TOKEN_REQUEST,
        manager=options.manager,
        api_version="authentication.k8s.io/v1",
        subresource="token",
        now=stamp(core.clock()),
    )
    return tracked


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
    account = section(found.value, "spec").get("serviceAccountName") or ""
    if resource.qualified_name == "pods" and account != request.name:
        text = f'cannot bind token for serviceaccount "{request.name}" to pod'
        raise status.bad_request(f"{text} running with different serviceaccount name.")
    return found.value
