"""ValidatingAdmissionPolicies: what they refuse, in which words, with parameters, conditions, variables and warnings.

The real server notices a policy a moment after it is stored. So every policy here also refuses a ConfigMap named
``canary``, and a case waits until it does. What is tried is a dry run: nothing of it stays.
"""

from __future__ import annotations

from typing import Any

from tests.contract.access import as_user, binding, may, once, role, rule, user
from tests.contract.case import Case, Step, case, create, delete, get, merge, update
from tests.contract.objects import configmap, pod

_CREATE_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
_ALL_MAPS = {**_CREATE_MAPS, "operations": ["*"]}
_CANARY = {"expression": "object == null || object.metadata.name != 'canary'", "message": "there it is"}
_HERE = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}}}
_CONFIGMAPS = {"apiVersion": "v1", "kind": "ConfigMap"}
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_SHOWN = ("kind", "metadata.name", "message", "reason", "code", "details", "status")
_GROWS = "oldObject == null || object == null || object.data.a.size() >= oldObject.data.a.size()"
_MOST = "object.data.a.size() < 3"

Object = dict[str, Any]


def _policy(*validations: Object, rules: Any = None, **spec: Any) -> Object:
    constraints = {"resourceRules": rules or [_CREATE_MAPS], **spec.pop("constraints", {})}
    return {
        "metadata": {"name": "p-{ns}"},
        "spec": {"matchConstraints": constraints, "validations": [_CANARY, *validations], **spec},
    }


def _binding(name: str = "b", actions: tuple[str, ...] = ("Deny",), **spec: Any) -> Object:
    resources = {**_HERE, **spec.pop("resources", {})}
    named = {"policyName": "p-{ns}", "validationActions": list(actions), "matchResources": resources, **spec}
    return {"metadata": {"name": f"{name}-{{ns}}"}, "spec": named}


def _told(code: int = 422) -> Step:
    return create("configmaps", configmap("canary"), dryRun="All").polled(code=code).only_of("code")


def _bound(policy: Object, *bindings: Object, told: bool = True) -> list[Step]:
    steps = [create("validatingadmissionpolicies", policy).only_of("kind", "message")]
    steps += [
        create("validatingadmissionpolicybindings", each).only_of("kind", "message")
        for each in bindings or (_binding(),)
    ]
    return [*steps, _told()] if told else steps


def _try(name: str = "m", a: str = "12345", **metadata: Any) -> Step:
    return create("configmaps", configmap(name, {"a": a}, **metadata), dryRun="All").only_of(*_SHOWN)


def _says(name: str, validation: Object, *tries: Step, **spec: Any) -> Case:
    return case(name, _bound(_policy(validation, **spec)), *(tries or (_try(a="1"), _try())))


def _refused(name: str, policy: Object) -> Case:
    return case(f"refused policy: {name}", create("validatingadmissionpolicies", policy).in_any_order())


def _refused_binding(name: str, binding: Object) -> Case:
    return case(f"refused binding: {name}", create("validatingadmissionpolicybindings", binding).in_any_order())


def _param(data: str, name: str = "limit", **metadata: Any) -> Step:
    return create("configmaps", configmap(name, {"most": data}, **metadata)).only_of("kind")


_BY_PARAM = {"expression": "object.data.a.size() < int(params.data.most)"}
_REF = {"name": "limit", "parameterNotFoundAction": "Deny"}


def _with_param(name: str, ref: Object, *steps: Step, told: bool = True, **spec: Any) -> Case:
    policy = _policy(_BY_PARAM, paramKind=_CONFIGMAPS, **spec)
    return case(name, *steps[:1], _bound(policy, _binding(paramRef=ref), told=told), *steps[1:])


_WORDS = [
    _says("an expression", {"expression": _MOST}),
    _says("a message", {"expression": _MOST, "message": "at most two letters"}),
    _says("a message is trimmed", {"expression": _MOST, "message": "  at most two letters "}),
    _says("a message in CEL", {"expression": _MOST, "messageExpression": "'not ' + object.data.a"}),
    _says("a message in CEL that is empty", {"expression": _MOST, "messageExpression": "' '", "message": "else"}),
    _says("a message in CEL that fails", {"expression": _MOST, "messageExpression": "string(object.nope)"}),
    _says("a message in CEL of two lines", {"expression": _MOST, "messageExpression": "'a\\nb'", "message": "else"}),
    *(
        _says(f"reason {reason}", {"expression": _MOST, "reason": reason})
        for reason in ("Forbidden", "Invalid", "RequestEntityTooLarge")
    ),
    _says("an expression that fails", {"expression": "object.data.nope == 'x'"}),
    _says("an expression that fails and is ignored", {"expression": "object.data.nope == 'x'"}, failurePolicy="Ignore"),
    _says("a failing field of the specification", {"expression": "object.spec.replicas > 1"}),
    _says("has", {"expression": "has(object.data.b)"}),
    _says(
        "the first refusal counts",
        {"expression": _MOST, "message": "first"},
        variables=[{"name": "x", "expression": "1"}],
    ),
    case(
        "two validations",
        _bound(_policy({"expression": _MOST, "message": "one"}, {"expression": "object.data.a == '1'"})),
        _try(a="2"),
        _try(a="123"),
        _try(a="1"),
    ),
]

_REQUESTS = [
    _says(
        "who asks", {"expression": "!('system:masters' in request.userInfo.groups)", "message": "not masters"}, _try()
    ),
    _says("the operation", {"expression": "request.operation == 'UPDATE'"}, _try()),
    _says("the kind", {"expression": "request.kind.kind == 'Secret'"}, _try()),
    _says("the resource", {"expression": "request.resource.resource == 'secrets'"}, _try()),
    _says("the name", {"expression": "request.name == 'good'"}, _try("good"), _try("bad")),
    _says("a dry run", {"expression": "!request.dryRun"}, _try()),
    _says("the namespace", {"expression": "request.namespace == 'x'"}, _try()),
    _says("the namespace's labels", {"expression": "'team' in namespaceObject.metadata.labels"}, _try()),
    _says("the namespace's name", {"expression": "namespaceObject.metadata.name == request.namespace"}, _try()),
    _says("no old object on create", {"expression": "oldObject == null"}, _try()),
]

_CHANGES = [
    case(
        "an update sees both",
        create("configmaps", configmap("m", {"a": "12"})).only_of("kind"),
        _bound(
            _policy(
                {"expression": _GROWS},
                rules=[_ALL_MAPS],
            )
        ),
        merge("configmaps/m", {"data": {"a": "1"}}).only_of(*_SHOWN),
        merge("configmaps/m", {"data": {"a": "123"}}).only_of("data"),
    ),
    case(
        "a delete has no object",
        create("configmaps", configmap("m")).only_of("kind"),
        _bound(_policy({"expression": "object != null", "message": "stays"}, rules=[_ALL_MAPS])),
        delete("configmaps/m").only_of(*_SHOWN),
        delete("validatingadmissionpolicybindings/b-{ns}").only_of("kind"),
        create("configmaps", configmap("canary"), dryRun="All").polled(code=201).only_of("code"),
        delete("configmaps/m").only_of("kind"),
    ),
    case(
        "a policy without a binding does nothing",
        create("validatingadmissionpolicies", _policy({"expression": "false"})).only_of("kind"),
        _try(),
    ),
    case(
        "a binding without a policy does nothing",
        create("validatingadmissionpolicybindings", _binding()).only_of("kind"),
        _try(),
    ),
    case(
        "a changed policy",
        _bound(_policy({"expression": _MOST})),
        merge("validatingadmissionpolicies/p-{ns}", {"spec": {"validations": [{"expression": "true"}]}}).only_of(
            "spec.validations", "metadata.generation"
        ),
        create("configmaps", configmap("canary"), dryRun="All").polled(code=201).only_of("code"),
        _try(),
    ),
]

_ACTIONS = [
    case(
        "warn",
        _bound(
            _policy({"expression": _MOST}),
            _binding(actions=("Warn",)),
            _binding("c", resources={"objectSelector": {"matchLabels": {"x": "y"}}}),
            told=False,
        ),
        create("configmaps", configmap("canary", {"a": "1"}, labels={"x": "y"}), dryRun="All")
        .polled(code=422)
        .only_of("code"),
        _try(),
        _try(a="1"),
    ),
    case(
        "audit",
        _bound(
            _policy({"expression": _MOST}),
            _binding(actions=("Audit",)),
            _binding("c", resources={"objectSelector": {"matchLabels": {"x": "y"}}}),
            told=False,
        ),
        create("configmaps", configmap("canary", {"a": "1"}, labels={"x": "y"}), dryRun="All")
        .polled(code=422)
        .only_of("code"),
        _try(),
    ),
    _says(
        "audit annotations",
        {"expression": _MOST},
        auditAnnotations=[{"key": "size", "valueExpression": "string(object.data.a.size())"}],
    ),
    _says(
        "an audit annotation that fails",
        {"expression": "true"},
        auditAnnotations=[{"key": "size", "valueExpression": "string(object.data.nope)"}],
    ),
    _says("deny and audit", {"expression": _MOST}),
]

_FAILS = "object.metadata.name == 'canary' || object.data.nope == 'x'"
_FAILING: dict[str, Object] = {
    "expression": _policy({"expression": _FAILS}),
    "match condition": _policy(matchConditions=[{"name": "bad", "expression": _FAILS}]),
    "audit annotation": _policy(
        auditAnnotations=[{"key": "k", "valueExpression": f"{_FAILS} ? '' : string(object.data.nope)"}]
    ),
    "parameter": _policy(_BY_PARAM, paramKind=_CONFIGMAPS),
}


def _failing(what: str, *actions: str) -> Case:
    """The policy is known to be at work by a binding of its own, for labelled objects."""
    missing: Object = {"paramRef": {**_REF, "name": "none"}} if what == "parameter" else {}
    return case(
        f"{', '.join(actions)}: {what} that fails",
        _bound(
            _FAILING[what],
            _binding(actions=actions, resources={"objectSelector": {"matchLabels": {"x": "b"}}}, **missing),
            _binding("c", resources={"objectSelector": {"matchLabels": {"x": "y"}}}),
            told=False,
        ),
        create("configmaps", configmap("canary", {"a": "1"}, labels={"x": "y"}), dryRun="All")
        .polled(code=422)
        .only_of("code"),
        _try(labels={"x": "b"}),
    )


# 810,000 each: below what one expression may cost
_DEAR = "object.metadata.name == 'canary' || !object.data.a.contains(object.data.b)"
_DEAR_MAP = configmap("m", {"a": "a" * 9_000, "b": "b" * 9_000})


def _dear(name: str, policy: Object) -> Case:
    return case(f"cost: {name}", _bound(policy), create("configmaps", _DEAR_MAP, dryRun="All").only_of(*_SHOWN))


def _validations(count: int) -> list[Object]:
    return [{"expression": f"{_DEAR} || {number} > 0"} for number in range(count)]


def _conditions(count: int) -> list[Object]:
    return [{"name": f"n{number}", "expression": _DEAR} for number in range(count)]


_DEAR_ANNOTATION = {"key": "k", "valueExpression": f"{_DEAR} ? 'a' : 'b'"}

_COSTS = [
    _dear("conditions may cost 2.5 million", _policy({"expression": _FAILS}, matchConditions=_conditions(3))),
    _dear("conditions that cost more", _policy(matchConditions=_conditions(4))),
    _dear("conditions that cost more, ignored", _policy(matchConditions=_conditions(4), failurePolicy="Ignore")),
    _dear("validations may cost 10 million beside them", _policy(*_validations(12), matchConditions=_conditions(3))),
    _dear("validations that cost more", _policy(*_validations(13))),
    _dear("annotations have 10 million of their own", _policy(*_validations(12), auditAnnotations=[_DEAR_ANNOTATION])),
    _dear(
        "annotations that cost more",
        _policy(
            {"expression": "object.metadata.name == 'canary'", "message": "refused anyway"},
            auditAnnotations=[{**_DEAR_ANNOTATION, "key": f"k{number}"} for number in range(13)],
        ),
    ),
    _dear(
        "a message that costs more",
        _policy(
            {"expression": "object.metadata.name == 'canary'", "messageExpression": f"string({_DEAR})"},
            *_validations(12),
        ),
    ),
]

_MATCHES = [
    _says(
        "match conditions: no namespace",
        {"expression": "false", "message": "condition met"},
        _try(),
        matchConditions=[{"name": "n", "expression": "namespaceObject == null"}],
    ),
    _says(
        "audit annotations: no authorizer",
        {"expression": "true"},
        _try(),
        auditAnnotations=[
            {"key": "k", "valueExpression": "string(authorizer.group('').resource('pods').check('list').allowed())"}
        ],
    ),
    _says(
        "match conditions: not met",
        {"expression": "false"},
        _try(),
        _try("yes"),
        matchConditions=[{"name": "only", "expression": "object.metadata.name in ['yes', 'canary']"}],
    ),
    _says(
        "match conditions: failing",
        {"expression": "true"},
        _try(),
        matchConditions=[{"name": "bad", "expression": "object.metadata.name == 'canary' || object.data.nope == 'x'"}],
    ),
    _says(
        "match conditions: failing and ignored",
        {"expression": "false"},
        _try(),
        failurePolicy="Ignore",
        matchConditions=[{"name": "bad", "expression": "object.metadata.name == 'canary' || object.data.nope == 'x'"}],
    ),
    _says(
        "match conditions: a false one decides",
        {"expression": "false"},
        _try(),
        matchConditions=[
            {"name": "bad", "expression": "object.metadata.name == 'canary' || object.data.nope == 'x'"},
            {"name": "no", "expression": "object.metadata.name == 'canary'"},
        ],
    ),
    _says("another kind", {"expression": "false"}, create("pods", pod("p"), dryRun="All").only_of("kind")),
    _says(
        "excluded",
        {"expression": "false"},
        _try("m"),
        _try("other"),
        constraints={"excludeResourceRules": [{**_CREATE_MAPS, "resourceNames": ["m"]}]},
    ),
    _says(
        "names",
        {"expression": "false"},
        _try("m"),
        _try("other"),
        rules=[{**_CREATE_MAPS, "resourceNames": ["m", "canary"]}],
    ),
    _says(
        "object selector",
        {"expression": "false"},
        _try(),
        _try(labels={"x": "y"}),
        constraints={"objectSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}},
    ),
    case(
        "a binding elsewhere",
        create("validatingadmissionpolicies", _policy({"expression": "false"})).only_of("kind"),
        create(
            "validatingadmissionpolicybindings",
            _binding(resources={"namespaceSelector": {"matchLabels": {"no": "such"}}}),
        ).only_of("kind"),
        _try(),
    ),
]

_VARIABLES = [
    _says(
        "a variable",
        {"expression": "variables.size < 3"},
        variables=[{"name": "size", "expression": "object.data.a.size()"}],
    ),
    _says(
        "variables of variables",
        {"expression": "variables.small"},
        variables=[
            {"name": "size", "expression": "object.data.a.size()"},
            {"name": "small", "expression": "variables.size < 3"},
        ],
    ),
    _says(
        "a variable in a message",
        {"expression": _MOST, "messageExpression": "'size ' + string(variables.size)"},
        variables=[{"name": "size", "expression": "object.data.a.size()"}],
    ),
    _says(
        "a variable that fails",
        {"expression": "variables.bad == 'x'"},
        variables=[{"name": "bad", "expression": "object.data.nope"}],
    ),
    _says(
        "a variable that fails and is not needed",
        {"expression": "true || variables.bad == 'x'"},
        variables=[{"name": "bad", "expression": "object.data.nope"}],
    ),
]

# kube-apiserver's policies see a parameter a moment after its writer: until then nothing that needs it is let in.
_LET_IN = _try(a="1").polled(code=201)

_PARAMS = [
    _with_param("params", _REF, _param("3"), _LET_IN, _try()),
    _with_param(
        "params: missing",
        {**_REF, "name": "none"},
        _param("3"),
        create("configmaps", configmap("m"), dryRun="All").polled(code=422).only_of(*_SHOWN),
        told=False,
    ),
    _with_param(
        "params: missing and allowed",
        {"name": "none", "parameterNotFoundAction": "Allow"},
        _param("3"),
        _try(),
        told=False,
    ),
    _with_param("params: of one namespace", {**_REF, "namespace": "{ns}"}, _param("3"), _LET_IN, _try()),
    _with_param(
        "params: selected",
        {"selector": {"matchLabels": {"x": "y"}}, "parameterNotFoundAction": "Deny"},
        _param("3", labels={"x": "y"}),
        _LET_IN,
        _try(),
    ),
    case(
        "params: a policy that has none ignores them",
        _bound(_policy({"expression": _MOST}), _binding(paramRef=_REF)),
        _try(),
    ),
    case(
        "params: null where a binding names none",
        _bound(_policy({"expression": "params == null"}, paramKind=_CONFIGMAPS)),
        _try(),
    ),
]

_WHOLE = [
    case(
        "whole",
        create("validatingadmissionpolicies", _policy({"expression": _MOST})),
        get("validatingadmissionpolicies/p-{ns}", _TABLE),
        create("validatingadmissionpolicybindings", _binding()),
        get("validatingadmissionpolicybindings/b-{ns}", _TABLE),
    ),
    case(
        "whole: with parameters",
        create("validatingadmissionpolicies", _policy(_BY_PARAM, paramKind=_CONFIGMAPS)),
        get("validatingadmissionpolicies/p-{ns}", _TABLE),
        create("validatingadmissionpolicybindings", _binding(paramRef=_REF)),
        get("validatingadmissionpolicybindings/b-{ns}", _TABLE),
    ),
]

_REFUSED = [
    _refused("nothing in it", {"metadata": {"name": "p-{ns}"}}),
    _refused("no rules", {"metadata": {"name": "p-{ns}"}, "spec": {"matchConstraints": {}, "validations": [_CANARY]}}),
    _refused(
        "no validations",
        {"metadata": {"name": "p-{ns}"}, "spec": {"matchConstraints": {"resourceRules": [_CREATE_MAPS]}}},
    ),
    _refused("an expression that is no CEL", _policy({"expression": "object."})),
    _refused("an expression that is not boolean", _policy({"expression": "1 + 1"})),
    _refused("a message that is no text", _policy({"expression": "true", "messageExpression": "1"})),
    _refused("a message of two lines", _policy({"expression": "true", "message": "a\nb"})),
    _refused("an unknown reason", _policy({"expression": "true", "reason": "Unauthorized"})),
    _refused("an unknown failure policy", _policy({"expression": "true"}, failurePolicy="Maybe")),
    _refused("params without a kind", _policy({"expression": "params.x == 1"})),
    _refused(
        "an unknown variable", _policy({"expression": "variables.x == 1"}, variables=[{"name": "y", "expression": "1"}])
    ),
    _refused(
        "a bad variable",
        _policy({"expression": "true"}, variables=[{"name": "a-b", "expression": "1"}, {"name": "", "expression": ""}]),
    ),
    _refused("a bad parameter kind", _policy({"expression": "true"}, paramKind={"apiVersion": "a/b/c", "kind": "a_b"})),
    _refused("a bad rule", _policy({"expression": "true"}, rules=[{**_CREATE_MAPS, "operations": ["LOOK"]}])),
    _refused_binding("nothing in it", {"metadata": {"name": "b-{ns}"}}),
    _refused_binding("deny and warn", _binding(actions=("Deny", "Warn"))),
    _refused_binding("an unknown action", _binding(actions=("Cry",))),
    _refused_binding("one action twice", _binding(actions=("Deny", "Deny"))),
    _refused_binding(
        "name and selector", _binding(paramRef={"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"})
    ),
    _refused_binding("neither name nor selector", _binding(paramRef={"parameterNotFoundAction": "Deny"})),
    _refused_binding(
        "an unknown action for what is missing", _binding(paramRef={"name": "a", "parameterNotFoundAction": "Cry"})
    ),
]

_UPDATED = [
    case(
        "a put of a binding",
        _bound(_policy({"expression": _MOST})),
        get("validatingadmissionpolicybindings/b-{ns}").keeping(rv="metadata.resourceVersion").only_of("kind"),
        update(
            "validatingadmissionpolicybindings/b-{ns}",
            {**_binding(actions=("Warn",)), "metadata": {"name": "b-{ns}", "resourceVersion": "{rv}"}},
        ).only_of("spec.validationActions", "metadata.generation"),
        create("configmaps", configmap("canary"), dryRun="All").polled(code=201).only_of("code"),
        _try(),
    ),
]

_MAY = "authorizer.group('').resource('secrets').namespace('{ns}').check('list').allowed()"
_ROLE_MAY = "authorizer.requestResource.check('deletecollection').allowed()"


def _as_clerk(step: Step) -> Step:
    return as_user(step, "clerk-{ns}")


_CLERKS = [
    role(rule("create", "configmaps"), rule("deletecollection", "configmaps", names="kept")),
    binding(user("clerk-{ns}")),
    once(may("create", "configmaps", who="clerk-{ns}")),
]

_AUTHORIZER = [
    case("who may list secrets", _CLERKS, _bound(_policy({"expression": _MAY})), _try(), _as_clerk(_try())),
    case(
        "who may delete what is written",
        _CLERKS,
        _bound(_policy({"expression": _ROLE_MAY})),
        _try(),
        _as_clerk(_try()),
        _as_clerk(_try("kept")),
    ),
    case(
        "a match condition about roles",
        _CLERKS,
        _bound(
            _policy({"expression": "false"}, matchConditions=[{"name": "not-trusted", "expression": f"!{_MAY}"}]),
            told=False,
        ),
        _as_clerk(_try()).polled(code=422),
        _try(),
        _as_clerk(_try()),
    ),
    case(
        "a variable about roles",
        _CLERKS,
        _bound(
            _policy(
                {"expression": "variables.trusted", "messageExpression": "string(variables.trusted)"},
                variables=[{"name": "trusted", "expression": _MAY}],
            )
        ),
        _try(),
        _as_clerk(_try()),
    ),
    case(
        "a path and a service account",
        _CLERKS,
        _bound(
            _policy(
                {"expression": "authorizer.path('/healthz').check('get').allowed()", "message": "no health"},
                {"expression": "authorizer.serviceAccount('{ns}', 'nobody').path('/metrics').check('get').allowed()"},
            )
        ),
        _try(),
        _as_clerk(_try()),
    ),
    case(
        "why it is allowed",
        _CLERKS,
        _bound(_policy({"expression": "authorizer.requestResource.check('create').reason() == ''"})),
        _try(),
        _as_clerk(_try()),
    ),
    _refused(
        "authorizer in a message",
        _policy({"expression": "true", "messageExpression": "string(authorizer.path('/x').check('get').allowed())"}),
    ),
    _refused("a check that is no answer", _policy({"expression": "authorizer.path('/x').check('get')"})),
]

CASES = [
    *_WORDS,
    *_REQUESTS,
    *_CHANGES,
    *_ACTIONS,
    *(_failing(what, action) for what in _FAILING for action in ("Warn", "Audit", "Deny")),
    *(_failing(what, "Warn", "Audit") for what in _FAILING),
    *_COSTS,
    *_MATCHES,
    *_VARIABLES,
    *_PARAMS,
    *_WHOLE,
    *_REFUSED,
    *_UPDATED,
    *_AUTHORIZER,
]
