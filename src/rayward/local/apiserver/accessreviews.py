"""Access reviews: may this user do that, and what may I do at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, Verbatim, invalid
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.apiserver import status
from rayward.local.apiserver.app import Handler
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.rbac.access import Access
from rayward.local.apiserver.rbac.authorizer import Authorizer
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.respond import shown_object
from rayward.local.apiserver.reviewed import asked


async def myself(core: Core, request: Request) -> Response:
    """SelfSubjectAccessReview: may I."""
    review = asked(core, request)
    _refuse(request, _attribute_problems(section(review, "spec")))
    return _answer(core, request, review, request.user)


async def anybody(core: Core, request: Request) -> Response:
    """SubjectAccessReview, also of one namespace: may somebody."""
    review = asked(core, request)
    spec = section(review, "spec")
    _refuse(request, [*_subject_problems(spec), *(_local_problems(review) if request.namespace else ())])
    return _answer(core, request, review, _subject(spec))


async def my_rules(core: Core, request: Request) -> Response:
    """SelfSubjectRulesReview: what may I in a namespace."""
    namespace = section(asked(core, request), "spec").get("namespace") or ""
    if not namespace:
        raise status.bad_request("no namespace on request")
    return shown_object(request, 201, _rules(core.authorizer, request, namespace))


def _answer(core: Core, request: Request, review: Object, user: User) -> Response:
    decision = core.authorizer.authorize(user, _access(section(review, "spec")))
    review["status"] = {"allowed": decision.allowed, **({"reason": decision.reason} if decision.reason else {})}
    return shown_object(request, 201, review)


def _subject(spec: Object) -> User:
    groups: tuple[str, ...] = tuple(entries(spec, "groups"))
    return User(spec.get("user") or "", spec.get("uid") or "", groups, section(spec, "extra"))


def _access(spec: Object) -> Access:
    of_resource = spec.get("resourceAttributes")
    if of_resource is None:
        other = section(spec, "nonResourceAttributes")
        return Access(other.get("verb") or "", path=other.get("path") or "", of_resource=False)
    fields = ("verb", "group", "resource", "subresource", "namespace", "name")
    verb, group, resource, subresource, namespace, name = (of_resource.get(field) or "" for field in fields)
    return Access(verb, group, resource, subresource, namespace, name)


def _rules(authorizer: Authorizer, request: Request, namespace: str) -> Object:
    grants = authorizer.index.grants(request.user, namespace)
    rules = [rule.to_object() for rule in grants.rules]
    answer: Object = {
        "resourceRules": [rule for rule in rules if "resources" in rule],
        "nonResourceRules": [
            {"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]}
            for rule in rules
            if "nonResourceURLs" in rule
        ],
        "incomplete": False,
    }
    if grants.errors:
        answer["evaluationError"] = grants.error
    identity = {"kind": request.resource.kind, "apiVersion": request.resource.api_version}
    return {**identity, "metadata": {}, "spec": {}, "status": answer}


def _refuse(request: Request, problems: list[FieldError]) -> None:
    if problems:
        # kube-apiserver forgets the kind here
        refusal = status.invalid(request.resource.group, "", "", problems)
        refusal.details = {k: v for k, v in (refusal.details or {}).items() if k != "kind"}
        raise refusal


def _attribute_problems(spec: Object) -> list[FieldError]:
    of_resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if of_resource is not None and other is not None:
        text = "cannot be specified in combination with resourceAttributes"
        return [invalid("spec.nonResourceAttributes", _path_shown(other), text)]
    if of_resource is None and other is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid("spec.resourceAttributes", None, text)]
    return []


def _subject_problems(spec: Object) -> list[FieldError]:
    problems = _attribute_problems(spec)
    if not spec.get("user") and not spec.get("groups"):
        problems.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    return problems


def _local_problems(review: Object) -> list[FieldError]:
    spec, namespace = section(review, "spec"), review["metadata"].get("namespace") or ""
    problems: list[FieldError] = []
    of_resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if of_resource is not None and (of_resource.get("namespace") or "") != namespace:
        asked_for = of_resource.get("namespace") or ""
        problems.append(invalid("spec.resourceAttributes.namespace", asked_for, "must match metadata.namespace"))
    if other is not None:
        shown = _path_shown(other)
        problems.append(invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
    return problems


def _path_shown(other: Mapping[str, Any]) -> Verbatim:
    shown = {"Path": other.get("path") or "", "Verb": other.get("verb") or ""}
    return Verbatim(json.dumps(shown, separators=(",", ":")))


HANDLERS: Mapping[str, Handler] = {
    "selfsubjectaccessreviews.authorization.k8s.io": myself,
    "subjectaccessreviews.authorization.k8s.io": anybody,
    "localsubjectaccessreviews.authorization.k8s.io": anybody,
    "selfsubjectrulesreviews.authorization.k8s.io": my_rules,
}
