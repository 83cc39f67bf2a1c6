"""Webhook configurations, mutating and validating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.cel import CompileError, authorization, compile_expression
from rayward.kube.machinery.fielderror import FieldError, duplicate, invalid, not_supported, required, too_many
from rayward.kube.machinery.names import check_dns1035_label, check_dns1123_subdomain, check_port_number
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin import weburl
from rayward.local.apiserver.builtin.check import Errors, fits, label_selector, qualified_name
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, name_of

Spec = Mapping[str, Any]

_GROUP = "admissionregistration.k8s.io"
_OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
_SIDE_EFFECTS = ["None", "NoneOnDryRun"]
_VERSIONS = ("v1", "v1beta1")
_CHOICES = (
    ("failurePolicy", ["Fail", "Ignore"]),
    ("matchPolicy", ["Equivalent", "Exact"]),
)
# What match conditions of webhooks may speak of.
VARIABLES = {"object": "dyn", "oldObject": "dyn", "request": "dyn", **authorization.VARIABLES}
_FORM = "; desired format: https://host[/path]"


def webhook_behaviour(*, mutating: bool) -> Behaviour:
    """The rules of mutating or validating webhook configurations."""
    kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
    return behaviour(
        f"io.k8s.api.admissionregistration.v1.{kind}",
        f"{_GROUP}/v1/{kind.lower()}s",
        cells,
        default=default_mutating if mutating else default,
        validate=validate,
        validate_update=lambda new, _old: validate(new),
        counts_generation=True,
        needs_resource_version=True,
    )


def default(obj: Object) -> None:
    for hook in obj.get("webhooks") or NO_ITEMS:
        fill = hook.setdefault
        fill("failurePolicy", "Fail")
        fill("matchPolicy", "Equivalent")
        fill("namespaceSelector", {})
        fill("objectSelector", {})
        fill("timeoutSeconds", 10)
        for rule in hook.get("rules") or NO_ITEMS:
            rule.setdefault("scope", "*")
        service = (hook.get("clientConfig") or NOTHING).get("service")
        if service is not None:
            service.setdefault("port", 443)


def default_mutating(obj: Object) -> None:
    """Fill in mutating webhooks."""
    default(obj)
    for hook in obj.get("webhooks") or NO_ITEMS:
        hook.setdefault("reinvocationPolicy", "Never")


def validate(obj: Object) -> list[FieldError]:
    """A configuration, new or changed."""
    out: Errors = []
    names: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks") or NO_ITEMS):
        at, name = f"webhooks[{index}]", hook.get("name") or ""
        _check_hook(hook, at, out)
        _check_review_versions(hook.get("admissionReviewVersions") or [], f"{at}.admissionReviewVersions", out)
        if name in names:
            out.append(duplicate(f"{at}.name", name))
        elif name:
            names.add(name)
    return out


def _check_hook(hook: Spec, at: str, out: Errors) -> None:
    _check_name(hook.get("name") or "", f"{at}.name", out)
    for index, rule in enumerate(hook.get("rules") or NO_ITEMS):
        check_rule(rule, f"{at}.rules[{index}]", out)
    for field, choices in _CHOICES:
        if hook.get(field) is not None and hook[field] not in choices:
            out.append(not_supported(f"{at}.{field}", hook[field], choices))
    effects = hook.get("sideEffects")
    if effects is None:
        out.append(required(f"{at}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}"))
    elif effects not in _SIDE_EFFECTS:
        out.append(not_supported(f"{at}.sideEffects", effects, _SIDE_EFFECTS))
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        out.append(invalid(f"{at}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds"))
    label_selector(hook.get("namespaceSelector"), f"{at}.namespaceSelector", out)
    label_selector(hook.get("objectSelector"), f"{at}.objectSelector", out)
    policy = hook.get("reinvocationPolicy")
    if policy is not None and policy not in ("IfNeeded", "Never"):
        out.append(not_supported(f"{at}.reinvocationPolicy", policy, ["IfNeeded", "Never"]))
    check_client(hook.get("clientConfig") or NOTHING, f"{at}.clientConfig", out)
    check_match_conditions(hook.get("matchConditions") or NO_ITEMS, f"{at}.matchConditions", out)


def _check_name(name: str, at: str, out: Errors) -> None:
    messages = check_dns1123_subdomain(name)
    if not name:
        out.append(required(at))
    elif messages:
        out.append(invalid(at, name, ",".join(messages)))
    elif name.count(".") < 2:
        out.append(invalid(at, name, "should be a domain with at least three segments separated by dots"))


def check_rule(rule: Spec, at: str, out: Errors) -> None:
    """Which requests are meant."""
    operations = rule.get("operations") or NO_ITEMS
    if not operations:
        out.append(required(f"{at}.operations"))
    if len(operations) > 1 and "*" in operations:
        text = "if '*' is present, must not specify other operations"
        out.append(invalid(f"{at}.operations", operations, text))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            out.append(not_supported(f"{at}.operations[{index}]", operation, _OPERATIONS))
    for field, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(field) or NO_ITEMS
        if not values:
            out.append(required(f"{at}.{field}"))
        if len(values) > 1 and "*" in values:
            out.append(invalid(f"{at}.{field}", values, f"if '*' is present, must not specify other {what}"))
        for index, value in enumerate(values if field == "apiVersions" else ()):
            if not value:
                out.append(required(f"{at}.{field}[{index}]"))
    _check_resources(rule.get("resources") or [], f"{at}.resources", out)
    scope = rule.get("scope")
    if scope is not None and scope not in ("*", "Cluster", "Namespaced"):
        out.append(not_supported(f"{at}.scope", scope, ["*", "Cluster", "Namespaced"]))


def _check_resources(resources: Sequence[str], at: str, out: Errors) -> None:
    if not resources:
        out.append(required(at))
    whole: set[str] = set()
    everywhere: set[str] = set()
    plain = False
    for index, resource in enumerate(resources):
        name, slash, part = resource.partition("/")
        here = f"{at}[{index}]"
        if not resource:
            out.append(required(here))
            continue
        if not slash:
            plain = resource != "*"
            continue
        if name in whole:
            out.append(invalid(here, resource, f"if '{name}/*' is present, must not specify {resource}"))
        if part in everywhere:
            out.append(invalid(here, resource, f"if '*/{part}' is present, must not specify {resource}"))
        if part == "*":
            whole.add(name)
        if name == "*":
            everywhere.add(part)
    if len(resources) > 1 and "*/*" in resources:
        text = "if '*/*' is present, must not specify other resources"
        out.append(invalid(at, list(resources), text))
    if "*" in resources and plain:
        text = "if '*' is present, must not specify other resources without subresources"
        out.append(invalid(at, list(resources), text))


def check_client(client: Spec, at: str, out: Errors) -> None:
    """Where a webhook is: an address or a service."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        out.append(required(at, "exactly one of url or service is required"))
    elif url is not None:
        _check_url(url, f"{at}.url", out)
    elif service is not None:
        _check_service(service, f"{at}.service", out)


def _check_url(text: str, at: str, out: Errors) -> None:
    try:
        url = weburl.parse(text)
    except weburl.UrlError as error:
        out.append(required(at, f"url must be a valid URL: {error}{_FORM}"))
        return
    if url.scheme != "https":
        out.append(invalid(at, url.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not url.host:
        out.append(invalid(at, "", f"host must be specified{_FORM}"))
    if url.user is not None:
        out.append(invalid(at, url.user, "user information is not permitted in the URL"))
    if url.fragment:
        out.append(invalid(at, url.fragment, "fragments are not permitted in the URL"))
    if url.query:
        out.append(invalid(at, url.query, "query parameters are not permitted in the URL"))


def _check_service(service: Spec, at: str, out: Errors) -> None:
    # The real server looks at name and namespace the wrong way round.
    if not service.get("namespace"):
        out.append(required(f"{at}.name"))
    if not service.get("name"):
        out.append(required(f"{at}.namespace"))
    port = service.get("port") or 0
    messages = check_port_number(port)
    if messages:
        out.append(invalid(f"{at}.port", port, f"port is not valid: {', '.join(messages)}"))
    path = service.get("path")
    if not path or path == "/":
        return
    if path == "//":
        out.append(invalid(f"{at}.path", path, "segment[0] may not be empty"))
        return
    if not path.startswith("/"):
        out.append(invalid(f"{at}.path", path, "must start with a '/'"))
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            out.append(invalid(f"{at}.path", path, f"segment[{index}] may not be empty"))
            continue
        for message in check_dns1123_subdomain(step):
            out.append(invalid(f"{at}.path", path, f"segment[{index}]: {message}"))


def check_match_conditions(
    conditions: Sequence[Spec], at: str, out: Errors, variables: Mapping[str, str] = VARIABLES
) -> None:
    """What must hold of a request beside its kind."""
    if len(conditions) > 64:
        out.append(too_many(at, len(conditions), 64))
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        here, name = f"{at}[{index}]", condition.get("name") or ""
        expression = (condition.get("expression") or "").strip()
        if not expression:
            out.append(required(f"{here}.expression"))
        else:
            check_expression(expression, f"{here}.expression", out, variables)
        if not name:
            out.append(required(f"{here}.name"))
        else:
            qualified_name(name, f"{here}.name", out)
            if name in names:
                out.append(duplicate(f"{here}.name", name))
            names.add(name)


def check_expression(text: str, at: str, out: Errors, variables: Mapping[str, str] = VARIABLES) -> None:
    """A condition in CEL."""
    try:
        program = compile_expression(text, variables)
    except CompileError as error:
        out.append(invalid(at, text, f"compilation failed: {error}"))
        return
    # The real server knows the type of every field of a request, we do not.
    unknown = program.result == "dyn" and "request" in program.variables
    if program.result != "bool" and not unknown:
        out.append(invalid(at, text, f"must evaluate to bool but got {program.result}"))


def _check_review_versions(versions: Sequence[str], at: str, out: Errors) -> None:
    listed = ", ".join(_VERSIONS)
    if not versions:
        out.append(required(at, f"must specify one of {listed}"))
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            out.append(invalid(f"{at}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        fits(check_dns1035_label, version, f"{at}[{index}]", out)
    if not seen & set(_VERSIONS):
        out.append(invalid(at, list(versions), f"must include at least one of {listed}"))


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Webhooks, Age."""
    return [name_of(obj), len(obj.get("webhooks") or NO_ITEMS), age_of(obj, now)]
