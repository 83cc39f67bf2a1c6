"""Objects as text: JSON, YAML, names, or what a JSONPath finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
import orjson

from rayward.kube.machinery.jsonvalue import Object, section

_PLAIN = ("table", "wide", "json", "yaml", "name")


@dataclass(frozen=True, slots=True)
class Form:
    """How an answer looks; ``template`` belongs to jsonpath."""

    name: str = "table"
    template: str = ""

    @property
    def is_table(self) -> bool:
        """Whether the server lays the answer out."""
        return self.name in ("table", "wide")


class FormType(click.ParamType[Form]):
    """``-o`` as a Form."""

    name = "form"

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed or (*_PLAIN, "jsonpath")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Form:
        """Read the text after ``-o``."""
        if isinstance(value, Form):
            return value
        name, _, template = str(value).partition("=")
        if name not in self._allowed or bool(template) != (name == "jsonpath"):
            choices = ", ".join("jsonpath=TEMPLATE" if one == "jsonpath" else one for one in self._allowed)
            self.fail(f"{value!r} is not one of {choices}", param, ctx)
        return Form(name, template)


def without_managed(obj: Object) -> Object:
    """An object without the record of who owns which field, which few want to read."""
    metadata = section(obj, "metadata")
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def as_list(objects: list[Object]) -> Object:
    """Objects as the one document that kubectl makes of several."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": objects}


def rendered(document: Object, form: Form) -> str:
    """A document in JSON, in YAML, or what a template finds in it.

    Raises:
        CommandError: The template is none, or does not fit.
    """
    if form.name == "json":
        return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    if form.name == "yaml":
        return to_yaml(document)
    return _found(document, form.template)


def _found(document: Object, template: str) -> str:
    from rayward.cli.failure import Code, CommandError
    from rayward.kube.machinery import jsonpath

    text = template if "{" in template else f"{{{template if template.startswith('.') else '.' + template}}}"
    try:
        return jsonpath.parse(text, relaxed=True).render(document)
    except jsonpath.JSONPathError as error:
        following = "rayward get ... -o jsonpath='{.metadata.name}'"
        raise CommandError(Code.USAGE, f"the template {template!r} does not work", str(error), following) from error


def to_yaml(document: Object) -> str:
    """A document as YAML, without the last line's end."""
    from rayward.kube.machinery import yamltext

    return yamltext.dump(document, sort_keys=True).removesuffix("\n")
