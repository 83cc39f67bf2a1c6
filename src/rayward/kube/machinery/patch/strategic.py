"""Strategic merge patch: lists of built-in types merge by key, and directives say what a plain merge cannot."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from rayward.kube.machinery import gotext
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object
from rayward.kube.machinery.patch.error import PatchError, json_kind, too_deep
from rayward.kube.machinery.patch.gotype import item_type, wrong_type
from rayward.kube.machinery.patch.ordering import arrange, identify_by, key_of
from rayward.kube.machinery.patch.patchmeta import FieldMeta, Resolve, TypeMeta

_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_SET_ORDER: Final = "$setElementOrder"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_DROP: Final[Any] = object()

_BAD_ORDER: Final = "invalid patch format of setElementOrder list"
_BAD_RETAIN_KEYS: Final = "invalid patch format of retainKeys"
_BAD_PRIMITIVE_LIST: Final = "invalid patch format of primitive list"


def apply(doc: Object, patch: Any, schema: Object, resolve: Resolve, *, kind: str = "") -> Object:
    """The document after the patch.

    Args:
        doc: An object of a built-in kind.
        patch: The decoded patch.
        schema: The OpenAPI v3 structure of the kind, with ``x-kubernetes-patch-*``.
        resolve: Gives the structure a ``$ref`` points to, by its name.
        kind: The name of the kind, for texts.

    Raises:
        PatchError: The patch is malformed or contradicts the structure.
    """
    if patch is None:
        return doc
    if not is_object(patch):
        text = f"json: cannot unmarshal {json_kind(patch)} into Go value of type map[string]interface {{}}"
        raise PatchError.bad_request(text)
    try:
        return _merge_object(doc, patch, TypeMeta(schema, resolve, kind))
    except RecursionError:
        raise too_deep() from None


def _merge_object(live: Object, patch: Object, meta: TypeMeta) -> Object:
    if _DIRECTIVE in patch:
        return _directed(patch)
    patch = dict(patch)
    merged = _retained(live, patch)
    for key in [key for key in patch if key.startswith(_SET_ORDER)]:
        _merge_ordered(merged, patch, key, meta)
    for key, value in patch.items():
        deletes = key.startswith(_DELETE_FROM)
        name = (_field_of(key, _DELETE_FROM, _BAD_PRIMITIVE_LIST) or key) if deletes else key
        if value is None:
            merged.pop(name, None)
        elif name not in merged or type(merged[name]) is not type(value):
            if not deletes:
                _put(merged, name, _cleaned(value))
        elif is_object(value):
            field = meta.field(name)
            replaces = field.strategy == "replace"
            merged[name] = value if replaces else _merge_object(merged[name], value, field.of_value())
        elif is_list(value):
            field = meta.field(name)
            merges = deletes or field.strategy == "merge"
            merged[name] = _merge_list(merged[name], value, field, deletes)[0] if merges else value
        else:
            merged[name] = value
    return merged


def _directed(patch: Object) -> Object:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _unknown_directive(directive: Any, patch: Object) -> PatchError:
    return PatchError.misfit(f"unknown patch type: {gotext.plain(directive)} in map: {gotext.plain(patch)}")


def _retained(live: Object, patch: Object) -> Object:
    """A copy of the live object, without what ``$retainKeys`` does not list; takes the directive off the patch."""
    if _RETAIN_KEYS not in patch:
        return dict(live)
    kept = patch.pop(_RETAIN_KEYS)
    if not is_list(kept):
        raise PatchError.bad_request(_BAD_RETAIN_KEYS)
    names = {name for name in kept if isinstance(name, str)}
    for key, value in patch.items():
        if value is not None and key not in names and not key.startswith((_DELETE_FROM, _SET_ORDER)):
            raise PatchError.bad_request(_BAD_RETAIN_KEYS)
    return {key: value for key, value in live.items() if key in names}


def _field_of(key: str, prefix: str, problem: str) -> str:
    found, slash, name = key.partition("/")
    if found != prefix or not slash:
        raise PatchError.bad_request(problem)
    return name


def _put(target: Object, key: str, value: Any) -> None:
    if value is _DROP:
        target.pop(key, None)
    else:
        target[key] = value


def _cleaned(value: Any) -> Any:
    """A value that is new to the document: no nulls, and nothing that a ``$patch`` directive stands in."""
    if is_object(value):
        if value.get(_DIRECTIVE) is not None:
            return _DROP
        cleaned = {key: _cleaned(member) for key, member in value.items() if member is not None}
        return {key: member for key, member in cleaned.items() if member is not _DROP}
    if is_list(value):
        return [item for item in map(_cleaned, value) if item is not _DROP]
    return value


def _without_directives(items: list[Any]) -> list[Any]:
    return [item for item in map(_undirected, items) if item is not _DROP]


def _undirected(value: Any) -> Any:
    if is_object(value):
        if _DIRECTIVE in value:
            return _DROP
        members = {key: _undirected(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member is not _DROP}
    return _without_directives(value) if is_list(value) else value


def _merge_ordered(merged: Object, patch: Object, order_key: str, meta: TypeMeta) -> None:
    """Merge the list that a ``$setElementOrder`` directive is about, and take both off the patch."""
    order = patch.pop(order_key)
    if not is_list(order):
        raise wrong_type([], order)
    name = _field_of(order_key, _SET_ORDER, _BAD_ORDER)
    live = _list_or_none(merged, name)
    changes = _list_or_none(patch, name)
    field = meta.field(name)
    _check_order(changes or [], order, field.merge_key)
    before = live or []
    if changes is None:
        result = live
    elif live is None:
        result = _without_directives(changes)
    elif field.strategy == "merge":
        result, before = _merge_list(live, changes, field)
    else:
        result = changes
    if result is None:
        return
    _element_type(live or [], changes or [])
    merged[name] = arrange(result, order, before, identify_by(field.merge_key))
    patch.pop(name, None)


def _list_or_none(holder: Object, name: str) -> list[Any] | None:
    if name not in holder:
        return None
    value = holder[name]
    if not is_list(value):
        raise wrong_type([], value)
    return value


def _check_order(changes: list[Any], order: list[Any], merge_key: str) -> None:
    """The items of a patch must come in the order that its directive gives."""
    if not order or not changes:
        return
    identify = identify_by(merge_key)
    items = [item for item in changes if not _is_deletion(item, merge_key)]
    at = position = 0
    while at < len(items) and position < len(order):
        if is_object(items[at]) and _DIRECTIVE in items[at]:
            at += 1
            continue
        if identify(items[at]) == identify(order[position]):
            at += 1
        position += 1
    if at < len(items) and position >= len(order):
        shown = f"{gotext.plain(changes)}\n doesn't match {_SET_ORDER} list:\n{gotext.plain(order)}\n"
        raise PatchError.misfit(f"The order in patch list:\n{shown}")


def _is_deletion(item: Any, merge_key: str) -> bool:
    if not merge_key:
        return False
    if not is_object(item):
        raise wrong_type({}, item)
    return item.get(_DIRECTIVE) == "delete"


def _merge_list(
    live: list[Any], changes: list[Any], field: FieldMeta, deletes: bool = False
) -> tuple[list[Any], list[Any]]:
    """The merged list, and the live list whose order counts when a directive orders the result once more."""
    if not live and not changes:
        return live, live
    if _element_type(live, changes) is dict:
        return _merge_objects(live, changes, field)
    identify = identify_by("")
    if deletes:
        gone = set(map(identify, changes))
        return [item for item in live if identify(item) not in gone], live
    unique = {identify(item): item for item in [*live, *changes]}
    return arrange(list(unique.values()), changes, live, identify_by(field.merge_key)), live


def _element_type(*lists: list[Any]) -> type[Any]:
    """The one type that all items have."""
    found: type[Any] | None = None
    for item in [item for items in lists for item in items]:
        kind = item_type(item)
        if found is None and kind is list:
            raise PatchError.unprocessable("lists of lists are not supported")
        if kind is type(None) or kind is not (found or kind):
            raise PatchError.misfit(f"list element types are not identical: {gotext.plain(list(lists))}")
        found = kind
    if found is None:
        raise PatchError.misfit("no elements in any of the given slices")
    return found


def _merge_objects(live: list[Any], changes: list[Any], field: FieldMeta) -> tuple[list[Any], list[Any]]:
    merge_key = field.merge_key
    if not merge_key:
        raise PatchError.misfit("cannot merge lists without merge key for struct")
    length = len(live)
    live, changes = _directed_items(live, changes, merge_key)
    identify = identify_by("")
    merged = list(live)
    at = {identify(item[merge_key]): index for index, item in reversed(list(enumerate(merged))) if merge_key in item}
    items = field.of_items()
    for change in changes:
        identity = identify(key_of(change, merge_key))
        if identity in at:
            merged[at[identity]] = _merge_object(merged[at[identity]], change, items)
        else:
            at[identity] = len(merged)
            merged.append(change)
    # In Kubernetes a new item takes the place that a deleted one left in the live list.
    return arrange(merged, changes, live, identify_by(merge_key)), merged[:length]


def _directed_items(live: list[Any], changes: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Live items after the directives in a list, and the changes that are none."""
    plain: list[Any] = []
    gone: set[Hashable] = set()
    replaces = False
    identify = identify_by("")
    for change in changes:
        if _DIRECTIVE not in change:
            plain.append(change)
            continue
        directive = change[_DIRECTIVE]
        if directive == "delete":
            gone.add(identify(key_of(change, merge_key)))
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise PatchError.misfit("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, change)
    if gone:
        live = [item for item in live if merge_key not in item or identify(item[merge_key]) not in gone]
    return (plain, []) if replaces else (live, plain)
