"""What pods and claims take of a ResourceQuota: amounts, scopes, and the words in which too much is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.contract.case import Case, Step, case, create, delete, get, merge, update
from tests.contract.objects import claim, container, pod, service

_REFUSED = ("message", "reason", "code", "details")
Amounts = Mapping[str, str]


def _quota(hard: Amounts, used: Amounts | None = None, **spec: Any) -> list[Step]:
    """A quota, and the wait until it counts: the real server's first status comes from a controller."""
    body = {"metadata": {"name": "q"}, "spec": {"hard": dict(hard), **spec}}
    return [create("resourcequotas", body).only_of("spec", "status"), _used(used or dict.fromkeys(hard, "0"))]


def _used(amounts: Amounts) -> Step:
    return get("resourcequotas/q").polled(status__used=dict(amounts)).only_of("status")


def _resources(requests: Amounts | None = None, limits: Amounts | None = None) -> dict[str, Any]:
    given = {"requests": requests, "limits": limits}
    return {"resources": {field: dict(amounts) for field, amounts in given.items() if amounts}}


def _pod(name: str, requests: Amounts | None = None, limits: Amounts | None = None, **spec: Any) -> Step:
    return _post(pod(name, container(**_resources(requests, limits)), **spec))


def _post(body: Any, kind: str = "pods") -> Step:
    return create(kind, body).only_of("kind", "metadata.name", *_REFUSED)


def _counted(name: str, hard: Amounts, used: Amounts, *steps: Step, **spec: Any) -> Case:
    """A quota, some writes, and what they took."""
    return case(name, _quota(hard, **spec), *steps, _used(used))


def _selector(scope: str, operator: str, *values: str) -> dict[str, Any]:
    expression = {"scopeName": scope, "operator": operator, **({"values": list(values)} if values else {})}
    return {"scopeSelector": {"matchExpressions": [expression]}}


_CPU = {"cpu": "500m"}
_BOTH = {"cpu": "500m", "memory": "1Gi"}
_SIDECAR = {"restartPolicy": "Always"}
_SMALL = {"requests.cpu": "1", "requests.memory": "2Gi"}

_COUNTED = [
    _counted("cpu", {"cpu": "2"}, {"cpu": "500m"}, _pod("p", _CPU)),
    _counted("memory", {"memory": "2Gi"}, {"memory": "1Gi"}, _pod("p", {"memory": "1Gi"})),
    _counted("requests.cpu", {"requests.cpu": "2"}, {"requests.cpu": "500m"}, _pod("p", _CPU)),
    _counted("requests.memory", {"requests.memory": "2Gi"}, {"requests.memory": "1Gi"}, _pod("p", _BOTH)),
    _counted("limits.cpu", {"limits.cpu": "2"}, {"limits.cpu": "1500m"}, _pod("p", _CPU, {"cpu": "1500m"})),
    _counted("limits.memory", {"limits.memory": "2Gi"}, {"limits.memory": "1Gi"}, _pod("p", None, {"memory": "1Gi"})),
    _counted(
        "a limit is a request where none is made",
        {"requests.cpu": "2", "limits.cpu": "2"},
        {"requests.cpu": "1", "limits.cpu": "1"},
        _pod("p", None, {"cpu": "1"}),
    ),
    _counted(
        "ephemeral storage",
        {"ephemeral-storage": "2Gi", "requests.ephemeral-storage": "2Gi", "limits.ephemeral-storage": "4Gi"},
        {"ephemeral-storage": "1Gi", "requests.ephemeral-storage": "1Gi", "limits.ephemeral-storage": "3Gi"},
        _pod("p", {"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "3Gi"}),
    ),
    _counted(
        "a pod need not say its ephemeral storage",
        {"requests.ephemeral-storage": "2Gi"},
        {"requests.ephemeral-storage": "0"},
        _pod("p"),
    ),
    _counted(
        "extended resources",
        {"requests.example.com/gpu": "3"},
        {"requests.example.com/gpu": "2"},
        _pod("p", {"example.com/gpu": "2"}, {"example.com/gpu": "2"}),
        _pod("none"),
    ),
    _counted(
        "huge pages",
        {"hugepages-2Mi": "8Mi", "requests.hugepages-2Mi": "8Mi"},
        {"hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi"},
        _pod("p", {"cpu": "1"}, {"hugepages-2Mi": "4Mi", "cpu": "1"}),
    ),
    _counted(
        "containers together",
        {"requests.cpu": "2", "requests.memory": "4Gi"},
        {"requests.cpu": "750m", "requests.memory": "1536Mi"},
        _post(
            pod(
                "p",
                container("a", **_resources(_BOTH)),
                container("b", **_resources({"cpu": "250m", "memory": "512Mi"})),
            )
        ),
    ),
    _counted(
        "the largest init container counts where it is more",
        {"requests.cpu": "4"},
        {"requests.cpu": "2"},
        _post(
            pod(
                "p",
                container("a", **_resources(_CPU)),
                initContainers=[
                    container("i", **_resources({"cpu": "2"})),
                    container("j", **_resources({"cpu": "1"})),
                ],
            )
        ),
    ),
    _counted(
        "init containers are not added up",
        {"requests.cpu": "4"},
        {"requests.cpu": "1500m"},
        _post(
            pod(
                "p",
                container("a", **_resources({"cpu": "1500m"})),
                initContainers=[container(n, **_resources({"cpu": "1"})) for n in ("i", "j")],
            )
        ),
    ),
    _counted(
        "a sidecar is added to the containers",
        {"requests.cpu": "4", "limits.cpu": "4"},
        {"requests.cpu": "750m", "limits.cpu": "1500m"},
        _post(
            pod(
                "p",
                container("a", **_resources(_CPU, {"cpu": "1"})),
                initContainers=[container("s", **_resources({"cpu": "250m"}, _CPU), **_SIDECAR)],
            )
        ),
    ),
    _counted(
        "a sidecar runs beside the init containers after it",
        {"requests.cpu": "4"},
        {"requests.cpu": "2250m"},
        _post(
            pod(
                "p",
                container("a", **_resources(_CPU)),
                initContainers=[
                    container("s", **_resources({"cpu": "250m"}), **_SIDECAR),
                    container("i", **_resources({"cpu": "2"})),
                ],
            )
        ),
    ),
    _counted(
        "what a pod says for itself counts in place of its containers",
        {"requests.cpu": "4", "limits.memory": "4Gi"},
        {"requests.cpu": "3", "limits.memory": "2Gi"},
        _post(
            pod(
                "p",
                container("a", **_resources(_CPU)),
                resources={"requests": {"cpu": "3"}, "limits": {"cpu": "3", "memory": "2Gi"}},
            )
        ),
    ),
    _counted(
        "a pod that says its resources itself need not say them in its containers",
        {"requests.cpu": "4", "requests.memory": "4Gi"},
        {"requests.cpu": "1", "requests.memory": "0"},
        _post(pod("p", resources={"requests": {"cpu": "1"}})),
    ),
    _counted("several pods", {"requests.cpu": "2"}, {"requests.cpu": "1500m"}, *(_pod(n, _CPU) for n in "abc")),
    _counted(
        "amounts keep the form of the first",
        {"requests.memory": "4Gi"},
        {"requests.memory": "1572864k"},
        _pod("a", {"memory": "1048576k"}),
        _pod("b", {"memory": "524288k"}),
    ),
    _counted(
        "a deleted pod gives back",
        {"requests.cpu": "2"},
        {"requests.cpu": "500m"},
        _pod("a", _CPU),
        _pod("b", _CPU),
        _used({"requests.cpu": "1"}),
        delete("pods/a", {"gracePeriodSeconds": 0}).only_of("kind"),
    ),
    _counted(
        "a pod that has ended gives back, and stays an object",
        {"requests.cpu": "2", "pods": "2", "count/pods": "2"},
        {"requests.cpu": "0", "pods": "0", "count/pods": "1"},
        _pod("a", _CPU),
        merge("pods/a/status", {"status": {"phase": "Succeeded"}}).only_of("kind"),
    ),
    _counted(
        "the limits of a quota can be changed",
        {"requests.cpu": "1"},
        {"requests.cpu": "500m", "requests.memory": "1Gi"},
        _pod("p", _BOTH),
        merge("resourcequotas/q", {"spec": {"hard": {"requests.memory": "2Gi"}}}).only_of("spec"),
    ),
    case(
        "a quota that comes later counts what is there",
        _pod("p", _BOTH),
        _quota({"cpu": "2", "limits.cpu": "1"}, {"cpu": "500m", "limits.cpu": "0"}),
    ),
    _counted(
        "a dry run takes nothing",
        {"cpu": "1"},
        {"cpu": "0"},
        create("pods", pod("p", container(**_resources(_CPU))), dryRun="All").only_of("kind"),
    ),
    _counted(
        "storage without a meaning for quotas",
        {"requests.cpu": "1"},
        {"requests.cpu": "0"},
        _post(claim("c"), "persistentvolumeclaims"),
    ),
]

_REFUSALS = [
    case("refused: cpu", _quota({"cpu": "1"}), _pod("a", _CPU), _used({"cpu": "500m"}), _pod("b", {"cpu": "600m"})),
    case("refused: exactly as much fits", _quota({"cpu": "1"}), _pod("a", {"cpu": "1"}), _pod("b", {"cpu": "1m"})),
    case("refused: memory", _quota({"requests.memory": "1Gi"}), _pod("a", {"memory": "1025Mi"})),
    case("refused: limits", _quota({"limits.cpu": "1"}), _pod("a", _CPU, {"cpu": "2"})),
    case(
        "refused: several amounts",
        _quota({"requests.cpu": "1", "requests.memory": "1Gi", "pods": "5"}),
        _pod("a", {"cpu": "2", "memory": "2Gi"}),
    ),
    case(
        "refused: only what is too much is named",
        _quota({"requests.cpu": "1", "requests.memory": "4Gi", "pods": "5"}),
        _pod("a", {"cpu": "2", "memory": "2Gi"}),
    ),
    case(
        "refused: an extended resource",
        _quota({"requests.example.com/gpu": "1"}),
        _pod("a", None, {"example.com/gpu": "2"}),
    ),
    case(
        "refused: ephemeral storage",
        _quota({"requests.ephemeral-storage": "1Gi"}),
        _pod("a", {"ephemeral-storage": "2Gi"}),
    ),
    case("refused: nothing is allowed", _quota({"cpu": "0"}), _pod("a", {"cpu": "1m"}), _pod("b", {"cpu": "0"})),
    case("refused: cpu is not said", _quota({"cpu": "1"}), _pod("a")),
    case("refused: requests are not said", _quota(_SMALL), _pod("a"), _pod("b", _CPU)),
    case("refused: limits are not said", _quota({"limits.cpu": "1", "limits.memory": "1Gi"}), _pod("a", _BOTH)),
    case(
        "refused: one of the containers does not say",
        _quota(_SMALL),
        _post(pod("a", container("x", **_resources(_BOTH)), container("y"), container("z", **_resources(_CPU)))),
    ),
    case(
        "refused: an init container does not say",
        _quota(_SMALL),
        _post(pod("a", container("x", **_resources(_BOTH)), initContainers=[container("i")])),
    ),
    case(
        "refused: overhead is not said by the pod",
        _quota({"cpu": "1"}),
        _pod("a", _CPU, overhead={"cpu": "1"}),
    ),
    case(
        "refused: a dry run",
        _quota({"cpu": "1"}),
        create("pods", pod("p", container(**_resources({"cpu": "2"}))), dryRun="All").only_of("kind", *_REFUSED),
    ),
]

_SCOPES = [
    _counted(
        "scope BestEffort",
        {"pods": "1"},
        {"pods": "1"},
        _pod("a", _CPU),
        _pod("b"),
        _pod("c"),
        scopes=["BestEffort"],
    ),
    _counted(
        "scope NotBestEffort",
        {"pods": "1", "requests.cpu": "1"},
        {"pods": "1", "requests.cpu": "500m"},
        _pod("a"),
        _pod("b", _CPU),
        _pod("c", _CPU),
        scopes=["NotBestEffort"],
    ),
    _counted(
        "scope Terminating",
        {"requests.cpu": "1"},
        {"requests.cpu": "500m"},
        _pod("a", _CPU),
        _pod("b", _CPU, activeDeadlineSeconds=60),
        _pod("c", {"cpu": "1"}, activeDeadlineSeconds=60),
        scopes=["Terminating"],
    ),
    _counted(
        "scope NotTerminating",
        {"requests.cpu": "1"},
        {"requests.cpu": "500m"},
        _pod("a", _CPU),
        _pod("b", _CPU, activeDeadlineSeconds=60),
        _pod("c", {"cpu": "1"}),
        scopes=["NotTerminating"],
    ),
    case(
        "a deadline moves a pod into another scope",
        _quota({"requests.cpu": "1"}, scopes=["Terminating"]),
        _pod("a", {"cpu": "2"}),
        merge("pods/a", {"spec": {"activeDeadlineSeconds": 60}}).only_of("kind", *_REFUSED),
        _used({"requests.cpu": "0"}),
    ),
    _counted(
        "a pod outside the scope need not say",
        {"requests.cpu": "1"},
        {"requests.cpu": "0"},
        _pod("a"),
        scopes=["Terminating"],
    ),
    case(
        "a pod in the scope must say",
        _quota({"requests.cpu": "1"}, scopes=["NotTerminating"]),
        _pod("a"),
    ),
    _counted(
        "scope PriorityClass: in",
        {"requests.cpu": "1"},
        {"requests.cpu": "500m"},
        _pod("a", _CPU),
        _pod("b", _CPU, priorityClassName="system-node-critical"),
        _pod("c", {"cpu": "2"}, priorityClassName="system-node-critical"),
        _pod("d", {"cpu": "2"}, priorityClassName="system-cluster-critical"),
        **_selector("PriorityClass", "In", "system-node-critical"),
    ),
    _counted(
        "scope PriorityClass: not in",
        {"requests.cpu": "1"},
        {"requests.cpu": "500m"},
        _pod("a", _CPU),
        _pod("b", {"cpu": "2"}, priorityClassName="system-node-critical"),
        _pod("c", {"cpu": "2"}, priorityClassName="system-cluster-critical"),
        **_selector("PriorityClass", "NotIn", "system-node-critical"),
    ),
    _counted(
        "scope PriorityClass: any",
        {"requests.cpu": "1"},
        {"requests.cpu": "500m"},
        _pod("a", {"cpu": "2"}),
        _pod("b", _CPU, priorityClassName="system-node-critical"),
        **_selector("PriorityClass", "Exists"),
    ),
    _counted(
        "scope PriorityClass: none",
        {"requests.cpu": "1"},
        {"requests.cpu": "500m"},
        _pod("a", _CPU),
        _pod("b", {"cpu": "2"}, priorityClassName="system-node-critical"),
        **_selector("PriorityClass", "DoesNotExist"),
    ),
    _counted(
        "scope CrossNamespacePodAffinity",
        {"requests.cpu": "1"},
        {"requests.cpu": "500m"},
        _pod("a", {"cpu": "2"}),
        _pod(
            "b",
            _CPU,
            affinity={
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "a", "namespaces": ["x"], "labelSelector": {"matchLabels": {"a": "b"}}}
                    ]
                }
            },
        ),
        scopes=["CrossNamespacePodAffinity"],
    ),
]

_STORAGE_OF_FAST = "fast.storageclass.storage.k8s.io/requests.storage"
_CLAIMS_OF_FAST = "fast.storageclass.storage.k8s.io/persistentvolumeclaims"


def _claim(name: str, storage: str = "1Gi", **spec: Any) -> Step:
    return _post(claim(name, resources={"requests": {"storage": storage}}, **spec), "persistentvolumeclaims")


_CLAIMS = [
    _counted(
        "claims: storage", {"requests.storage": "5Gi"}, {"requests.storage": "3Gi"}, _claim("a"), _claim("b", "2Gi")
    ),
    _counted(
        "claims: storage of a class",
        {"requests.storage": "5Gi", _STORAGE_OF_FAST: "2Gi", _CLAIMS_OF_FAST: "1"},
        {"requests.storage": "3Gi", _STORAGE_OF_FAST: "2Gi", _CLAIMS_OF_FAST: "1"},
        _claim("a"),
        _claim("b", "2Gi", storageClassName="fast"),
    ),
    case("claims: too much storage", _quota({"requests.storage": "1Gi"}), _claim("a"), _claim("b", "1")),
    case(
        "claims: too much storage of a class",
        _quota({_STORAGE_OF_FAST: "1Gi"}),
        _claim("a", "5Gi"),
        _claim("b", "2Gi", storageClassName="fast"),
    ),
    case(
        "claims: too many of a class",
        _quota({_CLAIMS_OF_FAST: "1"}),
        _claim("a", storageClassName="fast"),
        _claim("b", storageClassName="fast"),
        _claim("c", storageClassName="slow"),
    ),
    _counted("claims: whole bytes", {"requests.storage": "5Gi"}, {"requests.storage": "2"}, _claim("a", "1500m")),
    _counted(
        "claims: a volume attributes class",
        {"requests.storage": "5Gi"},
        {"requests.storage": "1Gi"},
        _claim("a", "3Gi"),
        _claim("b", volumeAttributesClassName="gold"),
        **_selector("VolumeAttributesClass", "In", "gold"),
    ),
    _counted(
        "claims: deleted",
        {"requests.storage": "5Gi"},
        {"requests.storage": "1Gi"},
        _claim("a", "2Gi"),
        _claim("b"),
        merge("persistentvolumeclaims/a", {"metadata": {"finalizers": None}}).only_of("kind"),
        delete("persistentvolumeclaims/a").only_of("kind"),
    ),
]

_OTHERS = [
    case(
        "two quotas: both count",
        _quota({"cpu": "2"}),
        create("resourcequotas", {"metadata": {"name": "r"}, "spec": {"hard": {"memory": "1Gi"}}}).only_of("spec"),
        get("resourcequotas/r").polled(status__used={"memory": "0"}).only_of("status"),
        _pod("p", _BOTH),
        _used({"cpu": "500m"}),
        get("resourcequotas/r").polled(status__used={"memory": "1Gi"}).only_of("status"),
        _pod("o", {"cpu": "1", "memory": "1Mi"}),
    ),
    case("a quota of another namespace", _pod("p", {"cpu": "100"})),
    _counted(
        "services and amounts in one quota",
        {"services": "1", "cpu": "1"},
        {"services": "1", "cpu": "500m"},
        _post(service("s"), "services"),
        _post(service("t"), "services"),
        _pod("p", _CPU),
    ),
    case(
        "refused: limits of a quota",
        *(
            create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
            for hard in (
                {"requests.cpu": "-1"},
                {"requests.example.com/gpu": "1.5"},
                {"limits.example.com/gpu": "1"},
                {"requests.gpu": "1"},
            )
        ),
    ),
    case(
        "warned: requests beyond limits",
        create(
            "resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": "2", "limits.cpu": "1"}}}
        ).only_of("spec"),
    ),
    case(
        "an update of a pod takes nothing",
        _quota({"cpu": "1"}),
        _pod("p", {"cpu": "1"}),
        merge("pods/p", {"metadata": {"labels": {"a": "b"}}}).only_of("metadata.labels"),
        _used({"cpu": "1"}),
    ),
    case(
        "a put of a quota keeps its status",
        _quota({"cpu": "1"}),
        update("resourcequotas/q", {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": "3"}}}).only_of("spec"),
        get("resourcequotas/q").polled(status__hard={"cpu": "3"}).only_of("status"),
    ),
]


def _resize(requests: Amounts, limits: Amounts | None = None) -> Step:
    resized = container(**_resources(requests, limits))
    return merge("pods/p/resize", {"spec": {"containers": [resized]}}).only_of("kind", "metadata.name", *_REFUSED)


def _has(requests: Amounts) -> Step:
    """What a kubelet says that the container of the pod has now."""
    named = {"name": "main", "image": "busybox", "imageID": "", "ready": True, "restartCount": 0}
    told = {"containerStatuses": [{**named, **_resources(requests)}]}
    return merge("pods/p/status", {"status": told}).only_of("status.containerStatuses", *_REFUSED)


_RESIZED_USED = {"requests.cpu": "1", "requests.memory": "1Gi"}
_RESIZED = [
    case("a resize takes more", _quota(_SMALL), _pod("p", _BOTH), _resize({**_BOTH, "cpu": "1"}), _used(_RESIZED_USED)),
    case(
        "a resize gives back what its container no longer has",
        _quota({"cpu": "1"}),
        _pod("p", {"cpu": "1"}),
        _has({"cpu": "1"}),
        _resize({"cpu": "250m"}),
        _used({"cpu": "1"}),
        _has({"cpu": "250m"}),
        _used({"cpu": "250m"}),
        _pod("q", {"cpu": "750m"}),
    ),
    case(
        "refused: a resize beyond the quota",
        _quota({"cpu": "1"}),
        _pod("p", _CPU),
        _resize({"cpu": "1500m"}),
        _used({"cpu": "500m"}),
    ),
    case(
        "refused: a resize of limits beyond the quota",
        _quota({"limits.memory": "1Gi"}),
        _pod("p", {"memory": "512Mi"}, {"memory": "1Gi"}),
        _resize({"memory": "512Mi"}, {"memory": "2Gi"}),
        _used({"limits.memory": "1Gi"}),
    ),
    case(
        "a resize beside a scope that does not hold",
        _quota({"pods": "1"}, scopes=["BestEffort"]),
        _pod("p", _CPU),
        _resize({"cpu": "1500m"}),
        _used({"pods": "0"}),
    ),
]

CASES = [*_COUNTED, *_REFUSALS, *_SCOPES, *_CLAIMS, *_OTHERS, *_RESIZED]
