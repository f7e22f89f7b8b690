"""What evaluating an expression can cost at least and at most, known before anything is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from moorage.cel import costs, types
from moorage.cel.costs import add, fixed, multiply, scale, union
from moorage.cel.declarations import UNKNOWN, Argument, CallEstimate, Function, Overload, Range
from moorage.cel.libraries.standard import estimate_comparison
from moorage.cel.syntax.macros import ACCUMULATOR
from moorage.cel.syntax.tree import (
    Call,
    Comprehension,
    Expression,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
)
from moorage.cel.types import Type
from moorage.cel.values import MAX_UINT

SizeOf: TypeAlias = Callable[[Sequence[str]], Range | None]
"""Of what a path leads to: a variable, then names of fields, `@items`, `@keys` and `@values`."""

_NOTHING, _ONE = fixed(0), fixed(1)
_NEVER = Range(MAX_UINT, 0)
_SCALARS = frozenset({types.BOOL, types.DOUBLE, types.DURATION, types.INT, types.TIMESTAMP, types.UINT})
_COMPARED_AT_ONCE = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"})
_MAX_FORMAT_SIZE = 64


def estimate(root: Expression, functions: Mapping[str, Function], size_of: SizeOf) -> Range:
    return _Estimation(functions, size_of).cost(root)


class _Path:
    """Names that lead somewhere.

    Two paths that go on from the same one share its storage, as in the original, where the second then
    overwrites the last name of the first.
    """

    __slots__ = ("_capacity", "_length", "_names")

    def __init__(self, names: list[str], length: int, capacity: int) -> None:
        self._names, self._length, self._capacity = names, length, capacity

    @property
    def names(self) -> list[str]:
        return self._names[: self._length]

    def then(self, name: str) -> _Path:
        if self._length < self._capacity:
            self._names[self._length :] = [name]
            return _Path(self._names, self._length + 1, self._capacity)
        return _Path([*self.names, name], self._length + 1, max(self._capacity * 2, 1))


_NO_PATH = _Path([], 0, 0)


class _Entries(NamedTuple):
    """Sizes of what is in a container."""

    is_list: bool
    key: Range
    value: Range

    def joined(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.is_list, union(self.key, other.key), union(self.value, other.value))


class _Local(NamedTuple):
    path: _Path
    size: Range | None
    entries: _Entries | None


class _Estimation:
    def __init__(self, functions: Mapping[str, Function], size_of: SizeOf) -> None:
        self._functions = functions
        self._size_of = size_of
        self._paths: dict[int, _Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entry_sizes: dict[int, _Entries] = {}
        self._locals: dict[str, list[_Local]] = {}
        self._ways: dict[type[Expression], Callable[[Any], Range]] = {
            Literal: lambda node: _NOTHING,
            Identifier: self._identifier,
            Select: self._select,
            Call: self._call,
            ListLiteral: self._list,
            MapLiteral: self._map,
            Comprehension: self._comprehension,
        }

    def cost(self, node: Expression) -> Range:
        return self._ways[node.__class__](node)

    # Names

    def _local(self, name: str) -> _Local | None:
        found = self._locals.get(name)
        return found[-1] if found else None

    def _path(self, node: Expression) -> _Path:
        if isinstance(node, Identifier) and (local := self._local(node.name)) is not None:
            return local.path
        return self._paths.get(node.id, _NO_PATH)

    def _identifier(self, node: Identifier) -> Range:
        local = self._local(node.name)
        self._paths[node.id] = _Path([node.name], 1, 1) if local is None else local.path
        return _ONE

    def _select(self, node: Select) -> Range:
        if node.constant:
            self._paths[node.id] = _Path([node.constant], 1, 1)
            return _ONE
        cost = self.cost(node.operand)
        if node.test_only:
            return cost
        if node.operand.type.name == "map" or node.operand.type.name not in _WITHOUT_COST:
            cost = add(cost, _ONE)
        self._paths[node.id] = self._path(node.operand).then(node.field)
        return cost

    # Calls

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            (inner,) = node.arguments
            cost = self.cost(inner)
            self._copy_sizes(node, inner)
            return add(_ONE, cost)
        argument_costs, arguments = [], []
        for argument in node.arguments:
            argument_costs.append(self.cost(argument))
            arguments.append(self._argument(argument))
        cost = _NOTHING
        if node.target is not None:
            cost = self.cost(node.target)
            arguments.insert(0, self._argument(node.target))
        size: Range | None = None
        call_cost = _NEVER
        declared = {overload.id: overload for overload in self._functions[node.function].overloads}
        for name in node.overloads:
            result = self._overload(node, declared[name], arguments, argument_costs)
            call_cost = union(call_cost, result.cost)
            if result.result_size is not None:
                size = result.result_size if size is None else union(size, result.result_size)
            if name in ("index_list", "index_map"):
                container = node.arguments[0]
                entries = self._entries(container)
                size = None if entries is None else entries.value
                self._paths[node.id] = self._path(container).then(
                    "@items" if name == "index_list" else "@values"
                )
            if size is None:
                size = self._size(node)
        if size is not None:
            self._sizes[node.id] = size
        return add(cost, call_cost)

    def _argument(self, node: Expression) -> Argument:
        size = self._size(node)
        value = node.value if isinstance(node, Literal) else None
        element = UNKNOWN
        if node.type.parameters:
            path = self._path(node).names
            if path and path[0] != ACCUMULATOR:
                element = self._size_of([*path, "@items"]) or UNKNOWN
        return Argument(node.type, size or UNKNOWN, value, element)

    def _overload(
        self, node: Call, overload: Overload, arguments: list[Argument], argument_costs: list[Range]
    ) -> CallEstimate:
        all_arguments = _NOTHING
        for cost in argument_costs:
            all_arguments = add(all_arguments, cost)
        if overload.id in ("logical_or", "logical_and"):
            left, right = argument_costs
            return CallEstimate(Range(left.min, add(left, right).max))
        if overload.id == "conditional":
            return self._conditional(node, arguments, argument_costs)
        found: CallEstimate | None = None
        if overload.estimate is not None:
            found = overload.estimate(arguments)
        elif overload.id in ("add_string", "add_bytes", "add_list"):
            found = self._addition(node, overload.id, arguments)
        elif overload.id in ("equals", "not_equals"):
            found = self._equality(node, overload.id, arguments)
        elif overload.id == "string_format":
            found = CallEstimate(scale(arguments[0].size, costs.STRING_TRAVERSAL))
        elif overload.id == "strings_quote":
            size = arguments[0].size
            quoted = Range(size.min + 2 & MAX_UINT, size.max * 2 + 2 & MAX_UINT)
            found = CallEstimate(scale(size, costs.STRING_TRAVERSAL), quoted)
        if found is None:
            found = CallEstimate(_ONE)
        return CallEstimate(add(found.cost, all_arguments), found.result_size)

    def _conditional(
        self, node: Call, arguments: list[Argument], argument_costs: list[Range]
    ) -> CallEstimate:
        condition, truthy, falsy = argument_costs
        one, other = self._entries(node.arguments[1]), self._entries(node.arguments[2])
        if one is not None and (joined := one.joined(other)) is not None:
            self._entry_sizes[node.id] = joined
        size = union(arguments[1].size, arguments[2].size)
        return CallEstimate(add(condition, union(truthy, falsy)), size)

    def _addition(self, node: Call, id: str, arguments: list[Argument]) -> CallEstimate:
        size = add(arguments[0].size, arguments[1].size)
        left, right = self._entries(node.arguments[0]), self._entries(node.arguments[1])
        if left is not None and (joined := left.joined(right)) is not None:
            self._entry_sizes[node.id] = joined
        return CallEstimate(_ONE if id == "add_list" else scale(size, costs.STRING_TRAVERSAL), size)

    def _equality(self, node: Call, id: str, arguments: list[Argument]) -> CallEstimate:
        left, right = arguments
        if id == "equals" and left.type == right.type:
            if left.type.name in _COMPARED_AT_ONCE:
                return CallEstimate(_ONE)
            if left.type.name == "kubernetes.NamedFormat":
                return CallEstimate(scale(Range(1, _MAX_FORMAT_SIZE), costs.STRING_TRAVERSAL))
            if left.type.name == "kubernetes.URL":
                size = self._size(node.arguments[1]) or _ONE
                return CallEstimate(scale(Range(1, size.max), costs.STRING_TRAVERSAL))
        return estimate_comparison(arguments)

    # Literals

    def _list(self, node: ListLiteral) -> Range:
        cost = _NOTHING
        values = _NEVER if node.elements else _NOTHING
        for element in node.elements:
            cost = add(cost, self.cost(element))
            values = union(values, self._size(element) or UNKNOWN)
        self._entry_sizes[node.id] = _Entries(True, _ONE, values)
        return add(cost, fixed(costs.CREATE_LIST))

    def _map(self, node: MapLiteral) -> Range:
        cost = _NOTHING
        keys = values = _NEVER if node.entries else _NOTHING
        for entry in node.entries:
            cost = add(add(cost, self.cost(entry.key)), self.cost(entry.value))
            keys = union(keys, self._size(entry.key) or UNKNOWN)
            values = union(values, self._size(entry.value) or UNKNOWN)
        self._entry_sizes[node.id] = _Entries(False, keys, values)
        return add(cost, fixed(costs.CREATE_MAP))

    # Loops

    def _comprehension(self, node: Comprehension) -> Range:
        cost = add(self.cost(node.range), self.cost(node.initial))
        if self._is_binding(node):
            self._push(node.accumulator, node.initial)
            cost = add(cost, self.cost(node.result))
            self._locals[node.accumulator].pop()
            self._copy_sizes(node, node.result)
            return cost
        self._push(node.accumulator, node.initial)
        self._push_variables(node)
        per_element = self.cost(node.condition)
        per_element = add(self.cost(node.step), per_element)
        self._locals[node.variable].pop()
        if node.second_variable:
            self._locals[node.second_variable].pop()
        cost = add(cost, self.cost(node.result))
        self._locals[node.accumulator].pop()
        count = self._size(node.range) or UNKNOWN
        if isinstance(node.initial, Literal):
            size = self._size(node.initial)
            if size is not None:
                self._sizes[node.id] = size
        elif isinstance(node.initial, (ListLiteral, MapLiteral)):
            self._sizes[node.id] = count
            if (entries := self._entries(node.step)) is not None:
                self._entry_sizes[node.id] = entries
        return add(cost, multiply(count, per_element))

    def _is_binding(self, node: Comprehension) -> bool:
        return (
            isinstance(node.range, ListLiteral)
            and not node.range.elements
            and isinstance(node.condition, Literal)
            and node.condition.value is False
            and node.accumulator != "__result__"
        )

    def _push(self, name: str, value: Expression) -> None:
        path, entries = self._path(value), self._entries(value)
        self._locals.setdefault(name, []).append(_Local(path, self._size(value), entries))

    def _push_variables(self, node: Comprehension) -> None:
        entries, path = self._entries(node.range), self._path(node.range)
        is_list = entries.is_list if entries is not None else node.range.type.name == "list"
        keys = (path, "@indices" if is_list else "@keys", None if entries is None else entries.key)
        values = (path, "@items" if is_list else "@values", None if entries is None else entries.value)
        if node.second_variable:
            self._push_variable(node.variable, *keys)
            self._push_variable(node.second_variable, *values)
        else:
            self._push_variable(node.variable, *(values if is_list else keys))

    def _push_variable(self, name: str, path: _Path, part: str, size: Range | None) -> None:
        self._locals.setdefault(name, []).append(_Local(path.then(part), size, None))

    # Sizes

    def _copy_sizes(self, to: Expression, source: Expression) -> None:
        if (size := self._size(source)) is not None:
            self._sizes[to.id] = size
        if (entries := self._entries(source)) is not None:
            self._entry_sizes[to.id] = entries

    def _size(self, node: Expression) -> Range | None:
        if (known := self._sizes.get(node.id)) is not None:
            return known
        if isinstance(node, Literal):
            return fixed(len(node.value) if isinstance(node.value, (str, bytes)) else 1)
        if isinstance(node, ListLiteral):
            return fixed(len(node.elements))
        if isinstance(node, MapLiteral):
            return fixed(len(node.entries))
        if names := self._path(node).names:
            size = self._size_of(names)
            if size is not None:
                self._sizes[node.id] = size
                return size
        if _is_scalar(node.type):
            return _ONE
        if isinstance(node, Identifier) and (local := self._local(node.name)) is not None:
            return local.size
        return None

    def _entries(self, node: Expression) -> _Entries | None:
        if (known := self._entry_sizes.get(node.id)) is not None:
            return known
        if isinstance(node, Identifier) and (local := self._local(node.name)) is not None:
            return local.entries
        return None


_WITHOUT_COST = frozenset({"dyn", "any", "optional_type"})


def _is_scalar(type_: Type) -> bool:
    while type_.name == "optional_type":
        type_ = type_.parameters[0]
    return type_ in _SCALARS
