"""Reviews: questions that are asked by creating an object, answered at once and never stored."""

from __future__ import annotations

from collections.abc import Mapping

from rayward.local.apiserver import accessreviews, status
from rayward.local.apiserver.app import Handler
from rayward.local.apiserver.authentication import Authenticator
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.objects import metadata_of, stamp
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.respond import shown_object
from rayward.local.apiserver.reviewed import asked
from rayward.local.apiserver.subresources import bind_in_collection
from rayward.local.apiserver.tokens import ISSUER, Tokens


async def whoami(core: Core, request: Request) -> Response:
    """SelfSubjectReview: who is asking."""
    review = asked(core, request)
    metadata_of(review)["creationTimestamp"] = stamp(core.clock())
    review["status"] = {"userInfo": request.user.info()}
    return shown_object(request, 201, review)


def token_review(tokens: Tokens, authenticator: Authenticator) -> Handler:
    """TokenReview: whose token is this."""

    async def answer(core: Core, request: Request) -> Response:
        review = asked(core, request)
        spec: Object = review.get("spec") or {}
        token = spec.get("token") or ""
        if not token:
            raise status.bad_request("token is required for TokenReview in authentication")
        audiences: list[str] = spec.get("audiences") or [ISSUER]
        user: User | None = tokens.user(token, audiences) if "." in token else authenticator.of_token(token.encode())
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


def handlers(tokens: Tokens, authenticator: Authenticator) -> Mapping[str, Handler]:
    """The reviews by resource."""
    return {
        **accessreviews.HANDLERS,
        "selfsubjectreviews.authentication.k8s.io": whoami,
        "tokenreviews.authentication.k8s.io": token_review(tokens, authenticator),
        "bindings": bind_in_collection,
    }
