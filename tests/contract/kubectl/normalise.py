"""Takes out of kubectl's output what no two servers or moments share."""

from __future__ import annotations

import re
from itertools import groupby

from tests.contract.mask import Mask, without_quotations

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"https://127\.0\.0\.1:\d+", "<server>"),
        (r"(resourceVersion\"?: \"?|Resource Version: +|Expected resource version to be \d+, was )\d+", r"\1<rv>"),
        (r"\b[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} [+-]\d{4}", "<time>"),
        (r"/tmp/(LIVE|MERGED)-\d+/", r"/tmp/\1/"),
        (r"/tmp/[\w./-]*kubectl-[\w.-]+", "<file>"),
        (r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.\d+ [+-]\d{4}", "<time>"),
        (r"\b[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "<log> "),
        (r"(?<=\s\s)(\d+s|\d+m\d+s)(?=\s\s|$| \()", "<age>"),
        (r"(?:^|(?<=\s))\d+y(\d+d)?(?= |$|\))", "<age>"),
        (r"(?<=\()(\d+s|\d+m\d+s)(?= ago\))", "<age>"),
        (r"(?<=[^\s+-])  +", "  "),
    )
)
_SERVICE_IP = re.compile(r"\b10\.(?:43|96)\.\d+\.\d+\b")
_NODE_PORT = re.compile(r"(?<=[:\s])3[0-2]\d{3}(?=/)|(?<=nodePort: )\d+")
_FIELD = re.compile(r"^ *[\w.$-]+\t<.*|^[A-Z]+:.*")

# The client's own log of watches that end, which depends on who is faster.
_CLIENT_NOISE = "<log> reflector.go"

OUR_GROUPS = ("v1", "apps/v1", "batch/v1", "coordination.k8s.io/v1", "discovery.k8s.io/v1", "events.k8s.io/v1",
              "networking.k8s.io/v1", "policy/v1", "scheduling.k8s.io/v1", "rbac.authorization.k8s.io/v1",
              "apiextensions.k8s.io/v1", "admissionregistration.k8s.io/v1", "authentication.k8s.io/v1",
              "authorization.k8s.io/v1", "ray.io/v1")  # fmt: skip
_OUR_KINDS = {"Namespace", "Node", "Pod", "Service", "Endpoints", "EndpointSlice", "ConfigMap", "Secret",
              "ServiceAccount", "Event", "PersistentVolumeClaim", "ResourceQuota", "Lease", "Role", "RoleBinding",
              "ClusterRole", "ClusterRoleBinding", "Job", "Deployment", "ControllerRevision", "Ingress",
              "NetworkPolicy", "PodDisruptionBudget", "PriorityClass", "CustomResourceDefinition",
              "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "SelfSubjectAccessReview",
              "SelfSubjectReview", "TokenReview", "RayCluster", "Binding"}  # fmt: skip


class Normaliser:
    """The masks of one session."""

    def __init__(self, namespace: str, said: str) -> None:
        self._namespace = namespace
        self._said = said
        self._mask = Mask(said)

    def lines(self, text: str, shown: str) -> list[str]:
        """The text, line by line, masked and cut to what is compared."""
        text = without_quotations(self._mask.text(text.replace(self._namespace, "{ns}")))
        lines = [line for raw in text.splitlines() if not (line := self._line(raw)).startswith(_CLIENT_NOISE)]
        lines = _bullets_in_order(lines)
        if shown == "fields":
            return [line for line in lines if _FIELD.match(line)]
        if shown == "ours":
            return [line for line in lines if _is_ours(line)]
        return [] if shown == "nothing" else lines

    def _line(self, line: str) -> str:
        for pattern, replacement in _RULES:
            line = pattern.sub(replacement, line)
        line = _SERVICE_IP.sub(lambda m: m[0] if m[0] in self._said else "<ip>", line)
        return _NODE_PORT.sub(lambda m: m[0] if m[0] in self._said else "<port>", line).rstrip()


def _bullets_in_order(lines: list[str]) -> list[str]:
    """Go walks the fields of a schema in random order, so two mistakes of one object come in either order."""
    ordered: list[str] = []
    for bullets, run in groupby(lines, key=lambda line: line.startswith("* ")):
        found = list(run)
        ordered += sorted(found) if bullets else found
    return ordered


def _is_ours(line: str) -> bool:
    words = line.split()
    return not words or words[0] == "NAME" or line in OUR_GROUPS or bool(_OUR_KINDS.intersection(words))
