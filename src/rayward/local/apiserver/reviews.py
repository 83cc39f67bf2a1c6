"""Reviews: questions that are asked by creating an object, answered at once and never stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from rayward.kube.machinery.apply import track_update
from rayward.kube.machinery.fielderror import FieldError, Verbatim, invalid
from rayward.kube.machinery.jsonvalue import section
from rayward.local.apiserver import status
from rayward.local.apiserver.app import Handler
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.objects import metadata_of, stamp
from rayward.local.apiserver.options import write_options
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.respond import shown_object
from rayward.local.apiserver.subresources import bind_in_collection
from rayward.local.apiserver.tokens import ISSUER, Tokens
from rayward.local.apiserver.verbs.incoming import object_in


def _asked(core: Core, request: Request) -> Object:
    options = write_options(request.query, request.agent, "CreateOptions")
    review = object_in(request, options)
    metadata = metadata_of(review)
    metadata.pop("resourceVersion", None)
    if request.namespace:
        metadata["namespace"] = request.namespace
    tracked, _owners = track_update(
        None,
        review,
        type=request.resource.behaviour.type,
        manager=options.manager,
        api_version=request.resource.api_version,
        now=stamp(core.clock()),
    )
    return tracked


async def access(core: Core, request: Request) -> Response:
    """SelfSubjectAccessReview and its relatives: who holds a valid token may do all."""
    review = _asked(core, request)
    problem = _attributes_problem(section(review, "spec"))
    if problem is not None:
        # kube-apiserver forgets the kind here
        refusal = status.invalid(request.resource.group, "", "", [problem])
        refusal.details = {k: v for k, v in (refusal.details or {}).items() if k != "kind"}
        raise refusal
    review["status"] = {"allowed": True, "reason": "every holder of a valid credential may do all on this server"}
    return shown_object(request, 201, review)


def _attributes_problem(spec: Object) -> FieldError | None:
    of_resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if of_resource and other:
        shown = Verbatim(
            json.dumps({"Path": other.get("path", ""), "Verb": other.get("verb", "")}, separators=(",", ":"))
        )
        text = "cannot be specified in combination with resourceAttributes"
        return invalid("spec.nonResourceAttributes", shown, text)
    if not of_resource and not other:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return invalid("spec.resourceAttributes", None, text)
    return None


async def rules(core: Core, request: Request) -> Response:
    """SelfSubjectRulesReview: everything."""
    review = _asked(core, request)
    review["status"] = {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }
    return shown_object(request, 201, review)


async def whoami(core: Core, request: Request) -> Response:
    """SelfSubjectReview: who is asking."""
    review = _asked(core, request)
    metadata_of(review)["creationTimestamp"] = stamp(core.clock())
    review["status"] = {"userInfo": request.user.info()}
    return shown_object(request, 201, review)


def token_review(tokens: Tokens, admin: Callable[[str], User | None]) -> Handler:
    """TokenReview: whose token is this."""

    async def answer(core: Core, request: Request) -> Response:
        review = _asked(core, request)
        spec: Object = review.get("spec") or {}
        token = spec.get("token") or ""
        if not token:
            raise status.bad_request("token is required for TokenReview in authentication")
        audiences: list[str] = spec.get("audiences") or [ISSUER]
        user: User | None = admin(token) or tokens.user(token, audiences)
        if user is None:
            review["status"] = {"user": {}, "error": "invalid bearer token"}
        else:
            review["status"] = {
                "authenticated": True,
                "user": user.info(),
                "audiences": spec.get("audiences") or [ISSUER],
            }
        return shown_object(request, 201, review)

    return answer


def handlers(tokens: Tokens, admin: Callable[[str], User | None]) -> Mapping[str, Handler]:
    """The reviews by resource."""
    return {
        "selfsubjectaccessreviews.authorization.k8s.io": access,
        "subjectaccessreviews.authorization.k8s.io": access,
        "localsubjectaccessreviews.authorization.k8s.io": access,
        "selfsubjectrulesreviews.authorization.k8s.io": rules,
        "selfsubjectreviews.authentication.k8s.io": whoami,
        "tokenreviews.authentication.k8s.io": token_review(tokens, admin),
        "bindings": bind_in_collection,
    }
