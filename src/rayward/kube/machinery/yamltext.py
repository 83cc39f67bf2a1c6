"""YAML that Kubernetes reads back as what was written: more words than JSON's need quotes."""

from __future__ import annotations

from typing import Any, Final

import yaml

from rayward.kube.machinery.yamlscalar import scalar

_TEXT: Final = "tag:yaml.org,2002:str"
_WIDE: Final = 1 << 20
_Base: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Base):
    """Repeats what occurs twice instead of referring to it."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump(document: Any, *, sort_keys: bool = False) -> str:
    """A plain value as a YAML document."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=sort_keys, allow_unicode=True, width=_WIDE)


def _represent(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(_TEXT, text, style=_style(text))


def _style(text: str) -> str | None:
    if "\n" in text:
        return "|"
    try:
        return None if scalar(text) == text else '"'
    except ValueError:
        return '"'


_Dumper.add_representer(str, _represent)
