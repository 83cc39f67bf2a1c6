"""The most that an expression can cost, told from its schema before it ever runs.

Follows cel-go's estimate with Kubernetes' prices, so that a CRD is refused here when it is refused there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rayward.kube.machinery.cel.ast import Ast, Call, Const, Expr, Fold, Ident, ListExpr, MapExpr, Select
from rayward.kube.machinery.cel.decltype import DeclType, escape
from rayward.kube.machinery.cel.prices import LIST, PRICES, UNKNOWN, Price, Priced, Size, capped, fixed

_MAP: Final = 30
_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})

Path = tuple[str, ...]


@dataclass(slots=True)
class _Local:
    path: Path
    size: Size | None
    entry: Size | None = None


@dataclass(slots=True)
class _Coster:
    tree: Ast
    root: DeclType
    paths: dict[int, Path] = field(default_factory=dict[int, Path])
    sizes: dict[int, Size] = field(default_factory=dict[int, Size])
    entries: dict[int, Size] = field(default_factory=dict[int, Size])
    scopes: dict[str, list[_Local]] = field(default_factory=dict[str, list[_Local]])

    def local(self, name: str) -> _Local | None:
        scope = self.scopes.get(name)
        return scope[-1] if scope else None

    def path(self, expr: Expr) -> Path:
        if isinstance(expr, Ident) and (local := self.local(expr.name)) is not None:
            return local.path
        return self.paths.get(expr.id, ())

    def declared(self, path: Path) -> DeclType | None:
        """The type a path leads to; its first part counts as the root whatever it is, as upstream."""
        if not path:
            return None
        at: DeclType | None = self.root
        for name in path[1:]:
            if at is None:
                return None
            if name in ("@items", "@values"):
                at = at.elem
            elif name == "@keys":
                at = DeclType("string") if at.kind == "map" else None
            else:
                # A keyword that stands for itself is not found: only its escaped name has a known size.
                at = at.fields.get(name) if escape(at.names.get(name, name)) == name else None
        return at

    def size(self, expr: Expr) -> Size | None:
        if expr.id in self.sizes:
            return self.sizes[expr.id]
        match expr:
            case Const():
                return fixed(len(expr.value) if isinstance(expr.value, str | bytes) else 1)
            case ListExpr():
                return fixed(len(expr.elements))
            case MapExpr():
                return fixed(len(expr.entries))
            case _:
                pass
        declared = self.declared(self.path(expr))
        if declared is not None:
            self.sizes[expr.id] = Size(0, declared.max_elements)
            return self.sizes[expr.id]
        kind = self.type_of(expr)
        if kind.removeprefix("optional_type(").removesuffix(")") in _SCALARS:
            return fixed(1)
        if isinstance(expr, Ident) and (local := self.local(expr.name)) is not None:
            return local.size
        return None

    def size_or_unknown(self, expr: Expr) -> Size:
        return self.size(expr) or UNKNOWN

    def entry(self, expr: Expr) -> Size | None:
        if expr.id in self.entries:
            return self.entries[expr.id]
        if isinstance(expr, Ident) and (local := self.local(expr.name)) is not None:
            return local.entry
        return None

    def cost(self, expr: Expr) -> int:
        match expr:
            case Ident():
                local = self.local(expr.name)
                self.paths[expr.id] = (expr.name,) if local is None else local.path
                return 1
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListExpr():
                return self._list(expr)
            case MapExpr():
                return capped(_MAP + sum(self.cost(key) + self.cost(value) for key, value, _ in expr.entries))
            case Fold():
                return self._fold(expr)
            case _:
                return 0

    def _select(self, expr: Select) -> int:
        operand = self.cost(expr.operand)
        if expr.test_only:
            return operand
        self.paths[expr.id] = (*self.path(expr.operand), expr.field)
        kind = self.type_of(expr.operand)
        return capped(operand + (kind.startswith("map(") or "." in kind))

    def _list(self, expr: ListExpr) -> int:
        total = LIST
        items: Size | None = None if expr.elements else Size(0, 0)
        for element in expr.elements:
            total += self.cost(element)
            size = self.size_or_unknown(element)
            items = size if items is None else items | size
        if items is not None:
            self.entries[expr.id] = items
        return capped(total)

    def _fold(self, expr: Fold) -> int:
        if isinstance(expr.over, ListExpr) and not expr.over.elements and not expr.accumulator.startswith("@result"):
            return self._bind(expr)
        total = self.cost(expr.over) + self.cost(expr.initial)
        self._push(expr.accumulator, _Local(self.path(expr.initial), self.size(expr.initial), self.entry(expr.initial)))
        over = self.path(expr.over)
        is_list = self.type_of(expr.over).startswith("list(") or expr.over.id in self.entries
        entry = self.entry(expr.over)
        value = _Local((*over, "@items" if is_list else "@values"), entry)
        if expr.second:
            self._push(expr.variable, _Local((*over, "@indices" if is_list else "@keys"), None))
            self._push(expr.second, value)
        elif is_list:
            self._push(expr.variable, value)
        else:
            self._push(expr.variable, _Local((*over, "@keys"), None))
        each = self.cost(expr.condition) + self.cost(expr.step)
        self.scopes[expr.variable].pop()
        if expr.second:
            self.scopes[expr.second].pop()
        total += self.cost(expr.result)
        self.scopes[expr.accumulator].pop()
        rounds = self.size_or_unknown(expr.over)
        if isinstance(expr.initial, Const):
            self._set(expr, self.size(expr.initial))
        elif isinstance(expr.initial, ListExpr | MapExpr):
            self._set(expr, rounds)
            if (grown := self.entry(expr.step)) is not None:
                self.entries[expr.id] = grown
        return capped(total + capped(rounds.most * each))

    def _bind(self, expr: Fold) -> int:
        total = self.cost(expr.over) + self.cost(expr.initial)
        self._push(expr.accumulator, _Local(self.path(expr.initial), self.size(expr.initial), self.entry(expr.initial)))
        total += self.cost(expr.result)
        self._set(expr, self.size(expr.result))
        self.scopes[expr.accumulator].pop()
        return capped(total)

    def _push(self, name: str, local: _Local) -> None:
        self.scopes.setdefault(name, []).append(local)

    def _set(self, expr: Expr, size: Size | None) -> None:
        if size is not None:
            self.sizes[expr.id] = size

    def _call(self, expr: Call) -> int:
        args = [self.cost(arg) for arg in expr.args]
        target = 0 if expr.target is None else self.cost(expr.target)
        function = expr.function
        if function in ("_&&_", "_||_"):
            return capped(sum(args))
        if function == "_?_:_":
            self._set(expr, self.size_or_unknown(expr.args[1]) | self.size_or_unknown(expr.args[2]))
            return capped(args[0] + max(args[1], args[2]))
        if function == "_[_]":
            base = self.path(expr.args[0])
            kind = "@values" if self.type_of(expr.args[0]).startswith("map(") else "@items"
            self.paths[expr.id] = (*base, kind)
            self._set(expr, self.entry(expr.args[0]))
            return capped(1 + sum(args))
        if function == "dyn":
            self._set(expr, self.size(expr.args[0]))
            if (entry := self.entry(expr.args[0])) is not None:
                self.entries[expr.id] = entry
            return capped(1 + args[0])
        price = 0
        result: Size | None = None
        for overload in self.tree.overloads.get(expr.id) or ("",):
            cost, size = self._priced(Priced(self, expr, overload))
            price = max(price, cost)
            if size is not None:
                result = size if result is None else result | size
        self._set(expr, result)
        return capped(price + sum(args) + target)

    def _priced(self, call: Priced) -> Price:
        pricing = PRICES.get(call.expr.function)
        if pricing is not None and (priced := pricing(call)) is not None:
            return priced
        return 1, None

    def type_of(self, expr: Expr) -> str:
        return self.tree.type_of(expr)

    def set_entry(self, expr: Expr, size: Size) -> None:
        self.entries[expr.id] = size

    def element_size(self, expr: Expr) -> Size:
        """The size of one element of a list of texts."""
        path = self.path(expr)
        declared = self.declared((*path, "@items")) if path else None
        return UNKNOWN if declared is None else Size(0, declared.max_elements)


def estimate(tree: Ast, root: DeclType) -> int:
    """The most one run over a value of the root type can cost."""
    return _Coster(tree, root).cost(tree.root)
