"""The frame of a CustomResourceDefinition of ours."""

from __future__ import annotations

from tools.crds.shape import Object, integer, listing, rule, structure, text, time

_OLD_VERSION = "ray.io/v1alpha1 {kind} is deprecated and leaves with KubeRay 1.9: write apiVersion: ray.io/v1"


def definition(
    kind: str,
    columns: list[Object],
    properties: dict[str, Object],
    rules: tuple[Object, ...],
    *,
    only_v1: bool = False,
) -> Object:
    """Both versions share one schema, so that what one stores the other can read whole."""
    singular, plural = kind.lower(), f"{kind.lower()}s"
    schema = structure(
        {"apiVersion": text(), "kind": text(), "metadata": structure({"name": text()}), **properties}, rules=rules
    )
    version: Object = {
        "additionalPrinterColumns": columns,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "served": True,
    }
    versions: list[Object] = [{"name": "v1", "storage": True, **version}]
    if not only_v1:
        warning = _OLD_VERSION.format(kind=kind)
        versions.append(
            {"name": "v1alpha1", "storage": False, "deprecated": True, "deprecationWarning": warning, **version}
        )
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.ray.io"},
        "spec": {
            "group": "ray.io",
            "names": {
                "categories": ["all"],
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": singular,
            },
            "scope": "Namespaced",
            "versions": versions,
        },
    }


def column(name: str, path: str, kind: str = "string", *, wide: bool = False) -> Object:
    """A column of ``kubectl get``; a wide one shows with ``-o wide`` only."""
    return {"jsonPath": path, "name": name, **({"priority": 1} if wide else {}), "type": kind}


def name_rules(kind: str, limit: int) -> tuple[Object, ...]:
    """Rules for new objects only: one that is there already must still take its status and lose its finalizers."""
    return (
        rule(
            f"oldSelf.hasValue() || size(self.metadata.name) <= {limit}",
            f"the name of a {kind} has at most {limit} characters, because names of services and pods are made "
            "from it: write a shorter one",
            at=".metadata.name",
            optionalOldSelf=True,
        ),
        rule(
            "oldSelf.hasValue() || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            f"the name of a {kind} becomes part of service names: write lower case letters, digits and -, "
            "beginning with a letter and ending with a letter or digit",
            at=".metadata.name",
            optionalOldSelf=True,
        ),
    )


def conditions() -> Object:
    """Kubernetes' own conditions, one of each type."""
    condition = structure(
        {
            "lastTransitionTime": time(),
            "message": text(maxLength=32768),
            "observedGeneration": integer(bits=64, minimum=0),
            "reason": text(maxLength=1024, minLength=1, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
            "status": text(enum=["True", "False", "Unknown"]),
            "type": text(
                maxLength=316,
                pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            ),
        },
        required=("lastTransitionTime", "message", "reason", "status", "type"),
    )
    return listing(
        condition,
        "What holds now, and why.",
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
