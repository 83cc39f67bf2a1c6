"""Requests of users with few rights: what goes through, and what a refusal says."""

from __future__ import annotations

from tests.contract.access import (
    as_user,
    binding,
    cluster_binding,
    cluster_role,
    may,
    may_path,
    once,
    role,
    rule,
    subject,
)
from tests.contract.case import Step, apply, case, create, delete, get, json_patch, merge, update, watch

_MAP = {"metadata": {"name": "m"}}
_POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
_RAY = "/apis/ray.io/v1/namespaces/{ns}/rayclusters"


def _nobody(*steps: Step) -> list[Step]:
    return [as_user(step) for step in steps]


_OLD = "/api/v1/watch/namespaces/{ns}"
_SOCKET = {"Upgrade": "websocket", "Sec_WebSocket_Version": "13", "Sec_WebSocket_Key": "c2l4dGVlbiBsZXR0ZXJzIQ=="}


def _old_paths(*who: str) -> list[Step]:
    """Requests to the old paths of watches that are for no watch."""
    steps = [
        *(get(f"{_OLD}/pods/p/{part}") for part in ("exec", "attach", "portforward", "log", "status", "proxy/x")),
        *(create(f"{_OLD}/pods/p/{part}", {}) for part in ("exec", "eviction", "binding")),
        get(f"{_OLD}/pods/p/exec", command="sh", stdout=True).with_headers(Connection="Upgrade", **_SOCKET),
        get(f"{_OLD}/pods/p/exec", command="sh").with_headers(Connection="Upgrade", Upgrade="SPDY/3.1"),
        get("/api/v1/watch/nodes/n/proxy/run"),
        create(f"{_OLD}/configmaps", _MAP),
        update(f"{_OLD}/configmaps/m", _MAP),
        merge(f"{_OLD}/configmaps/m", {}),
        delete(f"{_OLD}/configmaps/m"),
        delete(f"{_OLD}/configmaps"),
    ]
    return [as_user(step, *who) for step in steps]


CASES = [
    case("the old paths of watches lead nowhere else", _old_paths("admin", "system:masters")),
    case(
        "the old paths of watches are no way around the right to more",
        cluster_role(rule("get list watch", "*", ["*"])),
        cluster_binding(),
        once(may("watch", "pods")),
        _old_paths(),
    ),
    case("the old paths of watches take the right to watch", _old_paths()),
    case(
        "nothing is allowed: each verb",
        _nobody(
            get("configmaps/m"),
            get("configmaps"),
            watch("configmaps", 1),
            create("configmaps", _MAP),
            update("configmaps/m", _MAP),
            merge("configmaps/m", {}),
            json_patch("configmaps/m"),
            apply("configmaps/m", _MAP),
            delete("configmaps/m"),
            delete("configmaps"),
        ),
    ),
    case(
        "nothing is allowed: in all namespaces and the cluster",
        _nobody(
            get("/api/v1/configmaps"),
            get("/api/v1/pods", watch=True),
            get("nodes"),
            get("nodes/n"),
            create("namespaces", {"metadata": {"name": "x"}}),
            get("namespaces/{ns}"),
            delete("namespaces/{ns}"),
            get("namespaces/{ns}/status"),
            update("/api/v1/namespaces/{ns}/finalize", {}),
            get("clusterroles/admin"),
        ),
    ),
    case(
        "nothing is allowed: groups and subresources",
        _nobody(
            get("/apis/apps/v1/namespaces/{ns}/deployments/d"),
            get("/apis/apps/v1/namespaces/{ns}/deployments/d/scale"),
            merge("/apis/apps/v1/namespaces/{ns}/deployments/d/status", {}),
            get("pods/p/log"),
            create("pods/p/eviction", {}),
            create("pods/p/binding", {}),
            get("pods/p/proxy/some/path"),
            get("services/s:80/proxy/"),
            create("serviceaccounts/default/token", {}),
            get(_RAY),
            get(f"{_RAY}/r/status"),
        ),
    ),
    case(
        "nothing is allowed: what does not exist",
        _nobody(
            get("/api/v1/namespaces/{ns}/unicorns"),
            get("/apis/example.com/v1/things"),
            get("/apis/example.com/v1/namespaces/{ns}/things/t"),
            get("/api/v9/pods"),
            get("/nowhere"),
            get("/apis/example.com"),
            create("/nowhere", {}),
        ),
    ),
    case(
        "what everybody may",
        _nobody(
            get("/version").only_of("major"),
            get("/healthz"),
            get("/livez"),
            get("/readyz"),
            get("/api").only_of("kind"),
            get("/apis").only_of("kind"),
            get("/api/v1").only_of("kind"),
            get("/apis/apps/v1").only_of("kind"),
            get("/openapi/v3").only_of("kind"),
            get("/metrics"),
            get("/logs"),
            get("/"),
            get("/version/x"),
        ),
    ),
    case(
        "what nobody in particular may",
        [
            step.with_headers(Authorization="")
            for step in (
                get("/version").only_of("major"),
                get("/healthz"),
                get("/livez"),
                get("/readyz"),
                get("/livez/ping"),
                get("/api"),
                get("/apis"),
                get("/api/v1/pods"),
                get("pods"),
                get("/metrics"),
                create("selfsubjectaccessreviews", {"spec": {}}),
                create("selfsubjectreviews", {}),
                get("/nowhere"),
            )
        ],
    ),
    case(
        "a token of nobody",
        get("/healthz").with_headers(Authorization="Bearer nonsense"),
        get("/version").with_headers(Authorization="Bearer a.b.c"),
        get("pods").with_headers(Authorization="Basic eA=="),
    ),
    case(
        "a role that reads",
        create("configmaps", _MAP).only_of("kind"),
        role(rule("get list watch", "configmaps")),
        binding(),
        once(may("watch", "configmaps")),
        _nobody(
            get("configmaps/m").only_of("kind"),
            get("configmaps").only_of("kind"),
            get("configmaps", "application/json;as=Table;v=v1;g=meta.k8s.io").only_of("kind"),
            merge("configmaps/m", {"data": {"a": "b"}}),
            delete("configmaps/m"),
            get("/api/v1/configmaps"),
            get("secrets"),
            get("configmaps/other"),
        ),
    ),
    case(
        "a role that writes",
        role(rule("create update patch", "configmaps")),
        binding(),
        once(may("patch", "configmaps")),
        _nobody(
            create("configmaps", _MAP).only_of("kind"),
            update("configmaps/m", {**_MAP, "data": {"a": "b"}}).only_of("kind"),
            merge("configmaps/m", {"data": {"a": "c"}}).only_of("kind"),
            get("configmaps/m"),
            delete("configmaps/m"),
            update("configmaps/new", {"metadata": {"name": "new"}}).only_of("kind"),
        ),
    ),
    case(
        "an update or apply that would create asks for create too",
        role(rule("update patch", "configmaps leases", ["", "coordination.k8s.io"])),
        binding(),
        once(may("update", "configmaps")),
        _nobody(
            update("leases/l", {"metadata": {"name": "l"}}),
            update("configmaps/m", _MAP),
            apply("configmaps/m", {"apiVersion": "v1", "kind": "ConfigMap", **_MAP}),
            merge("configmaps/m", {}),
        ),
    ),
    case(
        "one name",
        create("configmaps", _MAP).only_of("kind"),
        create("configmaps", {"metadata": {"name": "n"}}).only_of("kind"),
        role(rule("get list watch delete", "configmaps", names="m")),
        binding(),
        once(may("get", "configmaps", name="m")),
        _nobody(
            get("configmaps/m").only_of("kind"),
            get("configmaps/n"),
            get("configmaps"),
            get("configmaps", fieldSelector="metadata.name=m").only_of("kind"),
            get("configmaps", fieldSelector="metadata.name=n"),
            get("configmaps", fieldSelector="metadata.name==m").only_of("kind"),
            get("configmaps", fieldSelector="metadata.name!=m"),
            get("configmaps", fieldSelector="metadata.name in (m)"),
            watch("configmaps", 1, fieldSelector="metadata.name=m"),
            get("/api/v1/watch/namespaces/{ns}/configmaps/n"),
            delete("configmaps", fieldSelector="metadata.name=m"),
            delete("configmaps/n"),
            delete("configmaps/m").only_of("status"),
        ),
    ),
    case(
        "watch is not list",
        role(rule("list", "configmaps"), rule("watch", "secrets")),
        binding(),
        once(may("list", "configmaps")),
        _nobody(
            get("configmaps").only_of("kind"),
            get("configmaps", watch="true"),
            get("configmaps", watch="1"),
            get("configmaps", watch="false").only_of("kind"),
            get("/api/v1/watch/namespaces/{ns}/configmaps"),
            get("secrets"),
            get("secrets", watch="false"),
            watch("secrets", 0, timeoutSeconds=1),
        ),
    ),
    case(
        "subresources of pods",
        create("pods", _POD).only_of("kind"),
        role(rule("get", "pods"), rule("get", "pods/status"), rule("patch", "pods/ephemeralcontainers")),
        binding(),
        once(may("get", "pods")),
        _nobody(
            get("pods/p").only_of("kind"),
            get("pods/p/status").only_of("kind"),
            get("pods/p/log"),
            merge("pods/p/status", {}),
            create("pods/p/exec", {}),
            get("pods/p/exec", command="ls"),
            create("pods/p/eviction", {"metadata": {"name": "p"}}),
        ),
    ),
    case(
        "exec with GET needs create as well",
        create("pods", _POD).only_of("kind"),
        role(rule("get", "pods/exec pods/attach pods/portforward")),
        binding(),
        once(may("get", "pods", sub="exec")),
        _nobody(get("pods/p/exec", command="ls"), get("pods/p/attach"), get("pods/p/portforward")),
    ),
    case(
        "a namespace object is judged in its own namespace",
        role(rule("get delete", "namespaces")),
        binding(),
        once(may("get", "namespaces", name="{ns}")),
        _nobody(
            get("namespaces/{ns}").only_of("kind"),
            get("namespaces"),
            get("namespaces/default"),
            get("namespaces/{ns}/status"),
        ),
    ),
    case(
        "everything in a namespace",
        cluster_role(rule("*", "*", ["*"]), rule("*", urls="*")),
        binding(kind="ClusterRole", role="r-{ns}"),
        once(may("get", "pods")),
        _nobody(
            get("pods").only_of("kind"),
            create("configmaps", _MAP).only_of("kind"),
            get(_RAY).only_of("kind"),
            get("/api/v1/namespaces/{ns}/unicorns"),
            get("namespaces/{ns}").only_of("kind"),
            get("nodes"),
            get("/api/v1/pods"),
            get("/metrics"),
            get("/apis/example.com/v1/namespaces/{ns}/things"),
        ),
    ),
    case(
        "paths",
        cluster_role(rule("get", urls="/metrics /readyz/*")),
        cluster_binding(),
        once(may_path("get", "/metrics")),
        _nobody(
            get("/readyz/ping"),
            get("/livez/ping"),
            create("/metrics", {}),
            Step("HEAD", "/livez/ping"),
        ),
    ),
    case(
        "a role that is not there is named in the refusal",
        role(rule("get", "pods")),
        binding(),
        binding(role="gone", name="c"),
        once(may("get", "pods")),
        may("list", "pods").polled(status__reason='RBAC: role.rbac.authorization.k8s.io "gone" not found'),
        _nobody(get("pods"), get("pods/p"), create("pods", _POD)),
    ),
    case(
        "a service account by its token",
        create("serviceaccounts", {"metadata": {"name": "sa"}}).only_of("kind"),
        role(rule("get", "configmaps")),
        binding(subject("ServiceAccount", "sa")),
        create("serviceaccounts/sa/token", {"spec": {}}).keeping(token="status.token").only_of("kind"),
        once(may("get", "configmaps", who="system:serviceaccount:{ns}:sa")),
        [
            step.with_headers(Authorization="Bearer {token}")
            for step in (
                get("configmaps/m"),
                get("configmaps"),
                get("pods"),
                get("secrets", watch=True),
                create("configmaps", _MAP),
                get("/api/v1/namespaces/kube-system/configmaps/m"),
                get("/apis").only_of("kind"),
                create(
                    "selfsubjectaccessreviews",
                    {"spec": {"resourceAttributes": {"verb": "get", "resource": "configmaps", "namespace": "{ns}"}}},
                ).only_of("status.allowed", "status.reason"),
            )
        ],
    ),
    case(
        "letters of a name that HTML knows",
        as_user(get("configmaps"), 'a<b>&"c"'),
        as_user(get("/x<y>&z"), "u"),
    ),
]
