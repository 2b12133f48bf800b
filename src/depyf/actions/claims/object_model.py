"""What Python's operators do with live objects and with terms.

Input: values: terms, containers that the evaluation made, and objects of the program, which stay as they are.  Output:
values, and operations of the trace.  What of the program is looked at is noted in ``reads``: the guards have to look at
it, too.  ``NotTriedError`` where an operator would run code of the program that is not understood.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import operator
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from depyf.actions.claims.graph_terms import IN_PLACE, OPERATORS
from depyf.actions.claims.live_attributes import BoundCall, Getter, SuperView, found
from depyf.actions.claims.made_objects import MadeObject, class_of, is_builtin_of
from depyf.actions.claims.scope import Closure
from depyf.actions.claims.terms import Leaves, NotTriedError, Term, TermTrace
from depyf.sources.live.pure_access import is_a
from depyf.sources.live.unguarded.class_members import MISSING, in_class, is_module

Writes = dict[tuple[int, str], tuple[Any, Any]]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)
_METADATA = frozenset(
    (
        "shape",
        "dtype",
        "device",
        "ndim",
        "layout",
        "is_cuda",
        "is_cpu",
        "is_sparse",
        "is_quantized",
        "is_meta",
        "is_nested",
        "is_mkldnn",
        "is_xla",
        "is_sparse_csr",
        "is_mps",
        "is_xpu",
        "itemsize",
        "nbytes",
    )
)
DICTS: tuple[type, ...] = (dict, collections.OrderedDict)
"""Of an OrderedDict what is looked up and gone through is as in a dict."""
_CONTAINERS: tuple[type, ...] = (list, tuple, *DICTS)
_RESHAPES = frozenset(
    ("t_", "transpose_", "squeeze_", "unsqueeze_", "resize_", "resize_as_", "set_", "swapaxes_", "swapdims_",
     "as_strided_", "rename_", "requires_grad_", "detach_", "apply_", "map_")
)  # fmt: skip
"""Methods after which a tensor has other sizes, or another history."""
_ITERATORS: tuple[type, ...] = (
    types.GeneratorType, enumerate, zip, reversed, type(iter([])), type(iter(())), type(iter(range(0))),
    type(reversed([])),
)  # fmt: skip
"""What the evaluation makes to go through values."""
_OF_DATACLASSES = (type(dataclasses.MISSING), type(dataclasses._HAS_DEFAULT_FACTORY))  # type: ignore[attr-defined]
_SINGLETONS = (
    type(None), bool, type(...), type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType,
    *_OF_DATACLASSES,
)  # fmt: skip


class ObjectModel:
    """The objects that one side of the comparison reads, makes and writes."""

    def __init__(self, trace: TermTrace, leaves: Leaves) -> None:
        self.trace = trace
        self.leaves = leaves
        self.line = ""
        self.reads: dict[str, Any] = {}
        """A value of the program that was looked at, in the program's words -> it."""
        self.lengths: dict[str, int] = {}
        """A container of which the length, or the keys, were looked at -> how many."""
        self.absent: dict[tuple[str, str], None] = {}
        """(object, attribute) that it has not."""
        self.alike: dict[tuple[str, str], None] = {}
        """Two names of one object: the proof holds while it is one."""
        self.apart: dict[tuple[str, str], None] = {}
        """Two tensors that are not one."""
        self.of_tensors: dict[int, set[str]] = {}
        """Leaf -> the names that it was read by."""
        self._written_tensors = False
        self._set_modes = False
        self.made_operations = 0
        self.called_modules: dict[int, Any] = {}
        """The modules that were called, which have no hooks."""
        self.writes: Writes = {}
        """(address of an object, attribute) -> the object, and what was assigned to it."""
        self.made: dict[int, Any] = {}
        self.call: Callable[[Any, tuple[Any, ...], Mapping[str, Any]], Any] = _no_call
        self._paths: dict[int, tuple[str, Any]] = {}

    # What the program has

    def own(self, container: Any) -> Any:
        """Register ``container`` as one that the evaluation made and may write to."""
        self.made[id(container)] = container
        return container

    def seen(self, value: Any, path: str, noted: bool = True) -> Any:
        """The value for an object of the program: a term for a tensor, else itself.  ``noted``: remember it as read, if
        the program can rebind it.  NotTriedError for a tensor subclass."""
        import torch

        if isinstance(value, torch.Tensor):
            if type(value) not in (torch.Tensor, torch.nn.Parameter):
                raise NotTriedError(f"a tensor that is a {type(value).__name__}")
            term = self.leaves.term(value, path)
            self.of_tensors.setdefault(term.number, set()).add(path)
            return term
        if not isinstance(value, (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)):
            if not _is_single(value):
                known, _ = self._paths.setdefault(id(value), (path, value))
                if known != path:
                    self.alike.setdefault((known, path))
            if noted:
                self.reads.setdefault(path, value)
        else:
            self._paths.setdefault(id(value), (path, value))
        return value

    def path(self, value: Any) -> str:
        return self._paths[id(value)][0] if id(value) in self._paths else class_of(value).__name__

    def is_live(self, value: Any) -> bool:
        """Whether ``value`` is an object of the program, which other code may see."""
        return id(value) in self._paths and id(value) not in self.made

    def operation(self, of: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Term:
        """Append an operation on terms to the trace; returns its result.  NotTriedError for one that changes the
        metadata of a tensor in place."""
        name = of if isinstance(of, str) else getattr(of, "__name__", "")
        self.made_operations += 1
        if name in _RESHAPES or "out" in (kwargs or {}):
            raise NotTriedError(f"{name} changes what is known of a tensor")
        self._written_tensors |= of is operator.setitem or of in IN_PLACE.values()
        self._written_tensors |= name.endswith("_")
        given = {name: self.whole(value) for name, value in (kwargs or {}).items()}
        made = self.trace.made(of, tuple(map(self.whole, args)), given, self.line)
        self._set_modes |= made.example is None
        return made

    def check_modes(self) -> None:
        """NotTriedError where an earlier operation may have changed a mode of torch."""
        if self._set_modes:
            raise NotTriedError("a mode of torch is asked for after an operation of which nothing is known")

    def whole(self, value: Any) -> Any:
        """``value`` with the tensors in the program's lists and tuples replaced by terms."""
        if type(value) in (list, tuple) and (type(value) is list or self.is_live(value) or _nested(value)):
            parts = [self.whole(one) for one in self.iterate(value)]
            return parts if type(value) is list else tuple(parts)
        return value

    # Operators

    def plain(self, value: Any) -> Any:
        """``value``, if Python's operators on it run no code of the program; NotTriedError for a term and for other
        objects."""
        if type(value) is tuple:
            return tuple(self.plain(one) for one in value)
        if type(value) in _PLAIN or _of_torch(value):
            return value
        if isinstance(value, Term):
            raise NotTriedError("the value of a tensor is asked for")
        raise NotTriedError(f"an operator on a {type(value).__name__}")

    def hashed(self, value: Any) -> Any:
        """``value``, if a set may hold it without running code of the program; NotTriedError else."""
        return value if _by_identity(value) else self.plain(value)

    def truth(self, value: Any) -> bool:
        if isinstance(value, Term):
            raise NotTriedError("a branch on a tensor")
        if type(value) in _PLAIN:
            return bool(value)
        if type(value) in (*_CONTAINERS, set) or _size(value):
            return self.length(value) > 0
        if isinstance(value, (BoundCall, Closure, type, types.FunctionType, types.BuiltinFunctionType)):
            return True
        for name in ("__bool__", "__len__"):
            if in_class(class_of(value), name) is not MISSING:
                return bool(self.plain(self.call(self.method_of(value, name), (), {})))
        return True

    def length(self, value: Any) -> int:
        if type(value) in (*_CONTAINERS, set, str, bytes, range) or _size(value):
            if self.is_live(value):
                self.lengths.setdefault(self.path(value), len(value))
            return len(value)
        if isinstance(value, Term):
            return int(self.metadata(value, "shape")[0])
        return int(self.plain(self.call(self.method_of(value, "__len__"), (), {})))

    def operate(self, kind: str, *values: Any) -> Any:
        """The result of the unary or binary operator ``kind``, the name of a class of ``ast``.  NotTriedError for
        unsupported operands."""
        of = OPERATORS[kind]
        if any(isinstance(value, Term) for value in values):
            return self.operation(of, values)
        if all(type(value) is list for value in values) and kind == "Add":
            return self.own([one for value in values for one in self.iterate(value)])
        if kind == "Add" and all(type(value) is tuple or _size(value) for value in values):
            return tuple(one for value in values for one in self.iterate(value))
        if kind == "Mult" and len(values) == 2 and type(values[0]) in (list, tuple) and type(values[1]) is int:
            made = _applied(of, type(values[0])(self.iterate(values[0])), values[1])
            return self.own(made) if type(made) is list else made
        return _applied(of, *map(self.plain, values))

    def in_place(self, kind: str, before: Any, value: Any) -> Any:
        if isinstance(before, Term):
            return self.operation(IN_PLACE[kind], (before, value))
        if type(before) is list:
            if self.is_live(before) or kind != "Add":
                raise NotTriedError("a list of the program is written")
            before.extend(self.iterate(value))
            return before
        return self.operate(kind, before, value)

    def compare(self, kind: str, left: Any, right: Any) -> Any:
        if kind in ("Is", "IsNot"):
            if isinstance(left, Term) and isinstance(right, Term):
                return self._one_tensor(left, right) is (kind == "Is")
            if not (_is_single(left) or _is_single(right) or id(left) in self.made or id(right) in self.made):
                self._one_object(left, right)
            return (left is right) is (kind == "Is")
        if kind in ("In", "NotIn"):
            return self._contains(right, left) is (kind == "In")
        if isinstance(left, Term) or isinstance(right, Term):
            return self.operation(OPERATORS[kind], (left, right))
        if kind in ("Eq", "NotEq"):
            return self._equal(left, right) is (kind == "Eq")
        return _applied(OPERATORS[kind], self.plain(left), self.plain(right))

    def _equal(self, left: Any, right: Any) -> bool:
        if type(left) in (list, tuple) or _size(left):
            if not (type(right) is type(left) or (_size(left) or _size(right)) and isinstance(right, tuple)):
                self.plain(right)
                return False
            ones, others = list(self.iterate(left)), list(self.iterate(right))
            return len(ones) == len(others) and all(map(self._equal, ones, others))
        identical = (type, types.FunctionType, types.BuiltinFunctionType)
        if isinstance(left, identical) or isinstance(right, identical):
            return left is right
        if all(_is_member(one) or type(one) in _PLAIN for one in (left, right)):
            return bool(left == right)
        return bool(self.plain(left) == self.plain(right))

    def _contains(self, container: Any, value: Any) -> bool:
        if type(container) in DICTS:
            key = self.plain(value)
            if self.is_live(container):
                self._asked_for(container, key)
            return key in container
        if type(container) in (list, tuple):
            return any(one is value or self._equal(one, value) for one in self.iterate(container))
        if type(container) is str:
            return bool(self.plain(value) in container)
        if type(container) in (set, frozenset):
            key = self.hashed(value)
            if self.is_live(container):
                self._asked_for(container, key)
            if any(type(one) not in _PLAIN and not _by_identity(one) for one in container):
                raise NotTriedError("a set of other objects")
            return key in container
        return bool(self.plain(self.call(self.method_of(container, "__contains__"), (value,), {})))

    def _one_tensor(self, left: Term, right: Term) -> bool:
        """Whether two names are of one tensor of the program."""
        if left.number >= 0 or right.number >= 0:
            raise NotTriedError("whether an operation gives its operand")
        if left is not right:
            self.apart.setdefault((left.shown, right.shown))
        return left is right

    def _one_object(self, left: Any, right: Any) -> None:
        """Note that two objects of the program are not one; that two names are of one is noted where these are read."""
        if not (self.is_live(left) and self.is_live(right)):
            raise NotTriedError("whether two names are of one object")
        if left is not right:
            self.apart.setdefault((self.path(left), self.path(right)))

    def _asked_for(self, container: Any, key: Any) -> None:
        if key in container:
            self.lengths.setdefault(self.path(container), len(container))
        else:
            self.absent.setdefault((self.path(container), str(key)))

    # Attributes and items

    def attribute(self, value: Any, name: str, plainly: bool = False) -> Any:
        """``value.name``; ``plainly``: as ``object.__getattribute__`` gives it."""
        if isinstance(value, Term):
            return self._of_tensor(value, name)
        if isinstance(value, (BoundCall, Closure, Getter)):
            raise NotTriedError(f"an attribute of a function: {name}")
        asked = type(in_class(type(value), "__getattribute__")) is types.FunctionType and not plainly
        if (id(value), name) in self.writes and not asked:
            return self.writes[id(value), name][1]
        if type(value) in (*_CONTAINERS, str, set, range) or _size(value):
            return BoundCall(value, getattr(type(value), name))
        if _of_torch(value) or type(value) is types.CodeType:
            return getattr(value, name)
        if type(value) is dataclasses.Field:  # it belongs to the class
            return self.seen(getattr(value, name), f"{value.name}.{name}", noted=False)
        got, own = found(value, name, plainly)
        if isinstance(got, Getter):
            return self.call(got.function, got.args, {})
        if own and type(value) is MadeObject:
            return got
        if own and not isinstance(value, (type, SuperView)):
            return self.seen(got, f"{self.path(value)}.{name}")
        if name == "__dict__" and type(got) is dict and type(value) is MadeObject:
            return self.own(got)
        if name == "__dict__" and type(got) is dict:
            if any(where == id(value) for where, _ in self.writes):
                raise NotTriedError("the attributes of an object that is written")
            return self.seen(got, f"{self.path(value)}.__dict__")
        if not _is_data(got):
            return got
        if not own and not isinstance(
            value, (type, SuperView, MadeObject)
        ):  # the class has it, and the object has none
            self.absent.setdefault((self.path(value), name))
        return self.seen(got, f"{self.path(value)}.{name}", noted=type(value) is not types.FunctionType)

    def method_of(self, value: Any, name: str) -> Any:
        """The method ``name`` of the class of ``value``, as an operator looks it up.  NotTriedError for unsupported
        classes."""
        cls = class_of(value)
        plain = in_class(cls, name)
        if type(plain) is not types.FunctionType and not is_builtin_of(plain, value):
            raise NotTriedError(f"{name} of a {cls.__name__}")
        return BoundCall(value, plain)

    def metadata(self, term: Term, name: str) -> Any:
        """The property ``name`` (shape, dtype, ...) of a tensor.  NotTriedError where it is unknown."""
        if term.example is None:
            raise NotTriedError(f"the {name} of {term} is not known")
        return getattr(term.example, name)

    def _of_tensor(self, term: Term, name: str) -> Any:
        import torch

        if name in _METADATA:
            return self.metadata(term, name)
        if name == "requires_grad":
            if self._written_tensors:
                raise NotTriedError("whether a tensor has a history, after a write to one")
            return bool(self.metadata(term, name))
        of_class = in_class(torch.Tensor, name)
        if of_class is MISSING:
            raise NotTriedError(f"a tensor has no {name}")
        if in_class(type(of_class), "__set__") is not MISSING:
            return self.operation(getattr, (term, name))
        return BoundCall(term, name)

    def item(self, holder: Any, key: Any) -> Any:
        if isinstance(holder, Term):
            return self.operation(operator.getitem, (holder, key))
        if isinstance(key, Term):
            raise NotTriedError("a container is indexed by a tensor")
        if type(holder) in (*_CONTAINERS, str, range) or _size(holder):
            got = holder[self.plain(key)]
            if not self.is_live(holder):
                return self.own(got) if type(got) is list and type(key) is slice else got
            if type(key) is slice:
                parts = [self.item(holder, n) for n in range(*key.indices(self.length(holder)))]
                return self.own(parts) if type(holder) is list else tuple(parts)
            return self.seen(got, f"{self.path(holder)}[{key!r}]")
        if type(holder) is types.MappingProxyType:
            raise NotTriedError("an item of a mappingproxy")
        return self.call(self.method_of(holder, "__getitem__"), (key,), {})

    def put_item(self, holder: Any, key: Any, value: Any) -> None:
        if isinstance(holder, Term):
            self.operation(operator.setitem, (holder, key, value))
        elif type(holder) in (list, dict) and id(holder) in self.made:
            holder[self.plain(key)] = value
        elif type(holder) is MadeObject:
            self.call(self.method_of(holder, "__setitem__"), (key, value), {})
        else:
            raise NotTriedError(f"an item of a {type(holder).__name__} of the program is written")

    def mapping(self, value: Any) -> dict[str, Any]:
        """The items of ``**value``.  NotTriedError where ``value`` is no dict."""
        if type(value) is not dict:
            raise NotTriedError(f"** of a {type(value).__name__}")
        return {key: self.item(value, key) for key in self.iterate(value)}

    def write(self, holder: Any, name: str, value: Any, plainly: bool = False) -> None:
        """Model ``holder.name = value``; ``plainly``: as ``object.__setattr__`` does it.  NotTriedError where the
        assignment may run code or is not modelled."""
        import torch

        cls = class_of(holder)
        plain = in_class(cls, "__setattr__")
        own = isinstance(plain, types.FunctionType) and plain is not torch.nn.Module.__dict__["__setattr__"]
        if type(holder) is MadeObject or own and not plainly:
            self.call(self.method_of(holder, "__setattr__"), (name, value), {})
            return
        modules = is_module(holder) and plain is torch.nn.Module.__dict__["__setattr__"]
        strange = isinstance(holder, (Term, type, types.ModuleType, BoundCall, Closure))
        if strange or not (plain is object.__dict__["__setattr__"] or modules or plainly and own):
            raise NotTriedError(f"an attribute of a {cls.__name__} is written")
        of_class = in_class(cls, name)
        if of_class is not MISSING and in_class(type(of_class), "__set__") is not MISSING:
            raise NotTriedError(f"the descriptor {cls.__name__}.{name} is written")
        if modules and (isinstance(value, Term) or is_module(value)):
            raise NotTriedError("a tensor becomes an attribute of a module")
        self.writes[id(holder), name] = (holder, value)

    def iterate(self, value: Any, wanted: int | None = None) -> Iterator[Any]:
        """The values that iterating over ``value`` yields.  ``wanted``: the number unpacked.  NotTriedError for other
        iterators."""
        if isinstance(value, Term):
            return self._parts_of(value)
        if type(value) in _ITERATORS and not self.is_live(value):
            return iter(value)
        if type(value) in (list, tuple) or _size(value):
            if not self.is_live(value):
                return iter(value)
            return (self.item(value, n) for n in range(self.length(value)))
        if type(value) is range:
            return iter(value)
        if type(value) in DICTS:
            self.length(value)
            return iter(list(value))
        got = self.call(self.method_of(value, "__iter__"), (), {})
        if type(got) not in _ITERATORS or self.is_live(got):
            raise NotTriedError(f"the iterator of a {type(value).__name__}")
        return iter(got)

    def _parts_of(self, term: Term) -> Iterator[Any]:
        """Of an operation with several results each of these."""
        if type(term.example) not in (tuple, list) and not _size(term.example):
            raise NotTriedError("a loop over a tensor")
        for number in range(len(term.example)):
            yield self.operation(operator.getitem, (term, number))


def _applied(of: Any, *values: Any) -> Any:
    return of(*values)


def _no_call(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    raise NotTriedError("a call")


def _is_single(value: Any) -> bool:
    """Of which there is one only, or which nothing else can be."""
    return isinstance(value, _SINGLETONS) or type(value) in _PLAIN or _of_torch(value) or is_a(value, enum.Enum)


def _is_member(value: Any) -> bool:
    """A member of an enumeration, which is compared by C code."""
    equal = in_class(type(value), "__eq__")
    return is_a(value, enum.Enum) and any(equal is one for one in (object.__eq__, str.__eq__, int.__eq__))


def _by_identity(value: Any) -> bool:
    """A class or function, which is equal to itself alone."""
    plain = in_class(type(value), "__eq__") is object.__eq__ and in_class(type(value), "__hash__") is object.__hash__
    return isinstance(value, (type, types.FunctionType)) and plain


def _nested(value: tuple[Any, ...]) -> bool:
    return any(type(one) in (list, tuple) for one in value)


def _size(value: Any) -> bool:
    import torch

    return type(value) is torch.Size


def _of_torch(value: Any) -> bool:
    """A constant of torch."""
    import torch

    return type(value) in (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size)


def _is_data(value: Any) -> bool:
    return type(value) in (*_PLAIN, *_CONTAINERS, set)
