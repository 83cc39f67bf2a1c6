"""No module needs itself: imports that only type checkers follow count too."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp


def cycle(imports: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a ring, the first one named again at the end; empty where there are none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_a_ring_is_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert sorted(set(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}))) == ["a", "b", "c"]


def test_no_module_imports_itself_through_others() -> None:
    graph = grimp.build_graph("rayward", exclude_type_checking_imports=False, cache_dir=None)
    assert len(graph.modules) > 500
    assert cycle({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}) == []
