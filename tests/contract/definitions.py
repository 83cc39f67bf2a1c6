"""Custom resource definitions for the cases: a Widget in a group of the case's own."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Step, create, get

Schema = dict[str, Any]

GROUP = "{ns}.example.com"
CRD = "customresourcedefinitions/widgets.{ns}.example.com"
WIDGETS = "/apis/{ns}.example.com/v1/namespaces/{ns}/widgets"

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}


def thing(**properties: Schema) -> Schema:
    """An object schema."""
    return {"type": "object", "properties": properties}


def array(items: Schema, **more: Any) -> Schema:
    """A list schema."""
    return {"type": "array", "items": items, **more}


def of_spec(spec: Schema, **root: Any) -> Schema:
    """The schema of a kind with this spec, and a status where anything goes."""
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "properties": {"spec": spec, "status": status}, **root}


def version(schema: Schema | None = None, name: str = "v1", **more: Any) -> dict[str, Any]:
    """A served and stored version."""
    known = schema or of_spec(thing(size=INTEGER, colour=STRING))
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": known}, **more}


def definition(*versions: dict[str, Any], scope: str = "Namespaced", **spec: Any) -> dict[str, Any]:
    """The definition of Widgets."""
    names = {"plural": "widgets", "kind": "Widget", **spec.pop("names", {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {"group": GROUP, "scope": scope, "names": names, "versions": list(versions) or [version()], **spec},
    }


def install(*versions: dict[str, Any], **spec: Any) -> list[Step]:
    """Steps that create the definition and wait until Widgets are served."""
    first = (versions or (version(),))[0]["name"]
    return [
        create("customresourcedefinitions", definition(*versions, **spec)).only_of("kind"),
        get(f"/apis/{GROUP}/{first}/widgets").polled(code=200).only_of("kind"),
    ]


def widget(name: str = "w", spec: Any = None, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    """A Widget."""
    body: dict[str, Any] = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Widget",
        "metadata": {"name": name, **metadata},
    }
    return body if spec is None else {**body, "spec": spec}
