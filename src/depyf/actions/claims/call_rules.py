"""What a call does: which callables are one operation on terms, which are evaluated, and which are known.

Input: a callable with its arguments.  Output: what it returns.  A callable of the captured graph is one operation, as
it is for Dynamo; another Python function is evaluated by its text; a builtin of Python is called where its arguments
are values that the evaluation knows.  Every other one is not tried.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any

from depyf.actions.claims.graph_terms import OPERATORS
from depyf.actions.claims.live_attributes import BoundCall, SuperView, check_no_hooks
from depyf.actions.claims.made_calls import NEW, MadeCalls, fields_of
from depyf.actions.claims.made_objects import MadeObject, attributes_of, class_of, classes_above, is_builtin_of
from depyf.actions.claims.object_model import DICTS, ObjectModel
from depyf.actions.claims.scope import Closure
from depyf.actions.claims.terms import NoAttributeError, NotTriedError, Term
from depyf.sources.live.pure_access import classes_of
from depyf.sources.live.unguarded.class_members import MISSING, in_class, is_module

Call = tuple[tuple[Any, ...], Mapping[str, Any]]
_SIZES = frozenset(
    ("size", "dim", "ndimension", "numel", "nelement", "is_floating_point", "is_complex", "element_size", "stride",
     "is_contiguous", "storage_offset")
)  # fmt: skip
"""Methods of a tensor that no value decides."""
_PURE = (
    int, float, complex, bool, str, abs, round, pow, divmod, ord, chr, math.sqrt, math.ceil, math.floor, math.log,
    math.log2, math.exp, math.prod, math.gcd, math.isqrt, math.sin, math.cos, math.tanh, operator.index,
)  # fmt: skip
"""Functions that depend on the values of plain arguments alone."""
_OF_LIST = frozenset(("append", "extend", "insert", "pop", "reverse", "copy", "index", "count"))
_OF_DICT = frozenset(("get", "keys", "values", "items", "update", "setdefault", "pop", "copy"))
_READS_DICT = frozenset(("get", "keys", "values", "items"))
_OF_STR = frozenset(
    ("startswith", "endswith", "lower", "upper", "strip", "split", "join", "replace", "removeprefix", "removesuffix")
)


class CallRules:
    """What a call of a known callable does, on one side of the comparison."""

    def __init__(
        self,
        model: ObjectModel,
        function: Callable[[types.FunctionType, tuple[Any, ...], Mapping[str, Any]], Any],
        closure: Callable[[Closure, tuple[Any, ...], Mapping[str, Any]], Any],
    ) -> None:
        """``function`` and ``closure`` evaluate a Python function."""
        self.model = model
        self.opaque: dict[int, Any] = {}
        """Callables that are one operation each, by their addresses."""
        self.rules: list[tuple[Any, Callable[..., Any]]] = [(dataclasses.fields, fields_of)]
        """Functions of which it is known what they do, and what is done instead."""
        self._function = function
        self._closure = closure
        self._made = MadeCalls(model, self.call)
        known: dict[Any, Callable[..., Any]] = {
            len: model.length,
            bool: model.truth,
            tuple: lambda values=(): tuple(model.iterate(values)),
            list: lambda values=(): model.own(list(model.iterate(values))),
            iter: model.iterate,
            next: lambda values, *default: next(model.iterate(values), *default),
            range: lambda *given: range(*map(model.plain, given)),
            enumerate: lambda values, start=0: enumerate(model.iterate(values), model.plain(start)),
            zip: lambda *many, strict=False: zip(*map(model.iterate, many), strict=strict),
            map: lambda of, *many: (self.call(of, one, {}) for one in zip(*map(model.iterate, many))),
            reversed: lambda values: reversed(list(model.iterate(values))),
            any: lambda values: any(map(model.truth, model.iterate(values))),
            all: lambda values: all(map(model.truth, model.iterate(values))),
            sum: self._sum,
            min: lambda *given: self._extreme(min, given),
            max: lambda *given: self._extreme(max, given),
            isinstance: self._isinstance,
            issubclass: lambda one, other: issubclass(self._a_class(one), self._a_class(other)),
            callable: self._callable,
            type: self._type,
            getattr: self._getattr,
            hasattr: lambda value, name: self._getattr(value, name, MISSING) is not MISSING,
            dict: self._dict,
            collections.OrderedDict: lambda *given, **more: model.own(
                collections.OrderedDict(self._dict(*given, **more))
            ),
            sorted: lambda values: model.own(sorted(map(model.plain, model.iterate(values)))),
            print: self._not_tried,
            functools.partial: self._partial,
        }
        self._builtins = {id(function): rule for function, rule in known.items()}

    def call(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result of a call of ``function``.  NotTriedError for a callable without a rule."""
        if isinstance(function, BoundCall):
            return self._bound(function, args, kwargs)
        if isinstance(function, Closure):
            return self._closure(function, args, kwargs)
        for one, rule in self.rules:
            if function is one:
                return rule(*args, **kwargs)
        if id(function) in self.opaque:
            return self.model.operation(function, args, kwargs)
        if type(function) is types.MethodType:
            first = self.model.seen(function.__self__, f"{function.__func__.__qualname__}.__self__")
            return self.call(function.__func__, (first, *args), kwargs)
        if type(function) is types.FunctionType:
            known = _STATE.get(_name(function))
            return known if known is not None else self._function(function, args, kwargs)
        if type(function) is functools.partial:
            return self.call(function.func, (*function.args, *args), {**function.keywords, **kwargs})
        if isinstance(function, type):
            return self._known(function, args, kwargs)
        if args and is_builtin_of(function, args[0]):
            return self._bound(BoundCall(args[0], function), args[1:], kwargs)
        if any(function is one for one in NEW) and args and not kwargs:
            return self._made.empty(args[0], args[1:])
        if type(function) in (types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType):
            return self._builtin(function, args, kwargs)
        if is_module(function):
            check_no_hooks(function)
            self.model.called_modules[id(function)] = function
            return self.call(self.model.attribute(function, "forward"), args, kwargs)
        plain = in_class(class_of(function), "__call__")
        if type(plain) is types.FunctionType:
            return self.call(plain, (function, *args), kwargs)
        raise NotTriedError(f"a call of a {type(function).__name__}")

    def _bound(self, bound: BoundCall, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        first, of = bound.first, bound.function
        if isinstance(first, Term):
            if of in _SIZES:
                plain = [self.model.plain(one) for one in args]
                method = self.model.metadata(first, of)
                return method(*plain, **{name: self.model.plain(value) for name, value in kwargs.items()})
            return self.model.operation(of, (first, *args), kwargs)
        if type(of) is types.FunctionType:
            return self.call(of, (first, *args), kwargs)
        if is_builtin_of(of, first):
            return self._made.of_builtin(first, of, args, kwargs)
        name = getattr(of, "__name__", "")
        if type(first) is list and name in _OF_LIST:
            if self.model.is_live(first) and name not in ("copy", "index", "count"):
                raise NotTriedError("a list of the program is written")
            return self._of_list(first, name, args)
        if type(first) in DICTS and not kwargs and name in (_OF_DICT if type(first) is dict else _READS_DICT):
            return self._of_dict(first, name, args)
        if type(first) is str and name in _OF_STR:
            given = [list(self.model.iterate(one)) if name == "join" else self.model.plain(one) for one in args]
            made = getattr(first, name)(*given)
            return self.model.own(made) if type(made) is list else made
        if of is types.ModuleType.__getattribute__ or of is object.__getattribute__:
            return self.model.attribute(first, self.model.plain(*args), plainly=True)
        if of is object.__setattr__ and not kwargs:
            return self.model.write(first, self.model.plain(args[0]), args[1], plainly=True)
        if type(first) in (tuple, range) or type(first).__name__ == "Size":
            if name in ("index", "count", "numel"):
                return of(first, *map(self.model.plain, args))
        raise NotTriedError(f"{name} of a {type(first).__name__}")

    def _of_list(self, first: list[Any], name: str, args: tuple[Any, ...]) -> Any:
        if name == "extend":
            return first.extend(self.model.iterate(*args))
        if name == "copy":
            return self.model.own(list(self.model.iterate(first)))
        if name in ("index", "count"):
            values = [self.model.plain(one) for one in self.model.iterate(first)]
            return getattr(values, name)(*map(self.model.plain, args))
        return getattr(first, name)(*args)

    def _of_dict(self, first: dict[Any, Any], name: str, args: tuple[Any, ...]) -> Any:
        model = self.model
        if model.is_live(first):
            if name in ("update", "setdefault", "pop"):
                raise NotTriedError("a dict of the program is written")
            if name == "copy":
                return model.own(model.mapping(first))
        if name == "get":
            key, default = model.plain(args[0]), args[1] if len(args) > 1 else None
            return model.item(first, key) if model.compare("In", key, first) else default
        if name == "keys":
            return model.iterate(first)
        if name == "values":
            return iter([model.item(first, key) for key in model.iterate(first)])
        if name == "items":
            return iter([(key, model.item(first, key)) for key in model.iterate(first)])
        if name == "update":
            return first.update(model.mapping(args[0]))
        if name == "copy":
            return model.own(dict(first))
        return getattr(first, name)(*args)

    def _known(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """A builtin of Python, or a constant type of torch."""
        rule = self._builtins.get(id(function))
        if rule is not None:
            return rule(*args, **kwargs)
        import torch

        if any(function is one for one in (*_PURE, slice, torch.device, torch.Size)):
            plain = [tuple(map(self.model.plain, self.model.iterate(a))) if type(a) is list else a for a in args]
            named = {name: self.model.plain(value) for name, value in kwargs.items()}
            return function(*(self.model.plain(one) for one in plain), **named)
        if isinstance(function, type):
            return self._made.instance(function, args, kwargs)
        raise NotTriedError(f"a call of {_name(function)}")

    def _builtin(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        name = _name(function)
        if name in _STATE:
            return _STATE[name]
        if name in _LIVE_STATE:
            self.model.check_modes()
            return function(*map(self.model.plain, args))
        if name.startswith(_NO_OVERRIDES):
            return False  # all terms are plain tensors
        kind = next((kind for kind, of in OPERATORS.items() if of is function), "")
        if kind:
            compares = kind in ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
            return self.model.compare(kind, *args) if compares else self.model.operate(kind, *args)
        if _holds_term(args) or _holds_term(tuple(kwargs.values())) or name.startswith("torch."):
            if id(function) in self._builtins:
                return self._builtins[id(function)](*args, **kwargs)
            return self.model.operation(function, args, kwargs)
        return self._known(function, args, kwargs)

    # Builtins of Python

    def _sum(self, values: Any, start: Any = 0) -> Any:
        for value in self.model.iterate(values):
            start = self.model.operate("Add", start, value)
        return start

    def _extreme(self, of: Any, given: tuple[Any, ...]) -> Any:
        values = given if len(given) > 1 else self.model.iterate(given[0])
        return of(self.model.plain(one) for one in values)

    def _isinstance(self, value: Any, classes: Any) -> bool:
        wanted = tuple(self.model.iterate(classes)) if type(classes) is tuple else (classes,)
        own = classes_above(value)
        if isinstance(value, Term):
            own = tuple(type.mro(_class_of(value)))
        if isinstance(value, Closure):
            own = classes_of(self._isinstance)
        for one in wanted:
            if not isinstance(one, type) or in_class(type(one), "__instancecheck__") is not _PLAIN_CHECK:
                if not (_is_tensor_class(one) and isinstance(value, Term)):
                    one = self._strange_class(one, value)
            if one in own:
                return True
        return False

    def _strange_class(self, one: Any, value: Any) -> Any:
        """A class that says itself what its instances are; those of torch and ``abc`` are asked of plain values."""
        import torch

        if one in (torch.nn.Parameter, torch.nn.Buffer):
            return one if isinstance(value, Term) and value.number < 0 and isinstance(value.example, one) else None
        if isinstance(value, Term) or in_class(type(one), "__instancecheck__") is MISSING:
            raise NotTriedError(f"isinstance with {_name(one)}")
        if one.__module__ in _PLAIN_ABSTRACT:  # these look at the methods of a class, and call nothing
            return class_of(value) if issubclass(class_of(value), one) else None
        raise NotTriedError(f"isinstance with {_name(one)}")

    def _a_class(self, value: Any) -> type:
        if not isinstance(value, type) or type(value) is not type:
            raise NotTriedError("issubclass")
        return value

    def _type(self, value: Any, *more: Any) -> type:
        if more or isinstance(value, (BoundCall, Closure, SuperView)):
            raise NotTriedError("a class is made")
        return _class_of(value) if isinstance(value, Term) else class_of(value)

    def _callable(self, value: Any) -> bool:
        if type(value) is MadeObject:
            return in_class(value.cls, "__call__") is not MISSING
        return not isinstance(value, Term) and callable(value)

    def _getattr(self, value: Any, name: str, *default: Any) -> Any:
        if default and not self._has(value, name):
            if type(value) is not MadeObject:
                self.model.absent.setdefault((self.model.path(value), name))
            return default[0]
        return self.model.attribute(value, name)

    def _has(self, value: Any, name: str) -> bool:
        if isinstance(value, Term):
            import torch

            return in_class(torch.Tensor, name) is not MISSING
        if isinstance(value, (BoundCall, Closure, SuperView)):
            raise NotTriedError("hasattr of a function")
        if isinstance(value, types.ModuleType):
            return name in value.__dict__
        cls = value if isinstance(value, type) else class_of(value)
        if type(in_class(cls, "__getattribute__")) is types.FunctionType and not isinstance(value, type):
            try:
                self.model.attribute(value, name)
            except NoAttributeError:
                return False
            return True
        own = attributes_of(value) or {}
        if (id(value), name) in self.model.writes or name in own or in_class(cls, name) is not MISSING:
            return True
        if is_module(value) and any(name in own.get(state, {}) for state in ("_parameters", "_buffers", "_modules")):
            return True
        fallback = in_class(cls, "__getattr__")
        if fallback is not MISSING and not is_module(value):
            raise NotTriedError(f"{cls.__name__} has a __getattr__ of its own")
        return False

    def _dict(self, *given: Any, **more: Any) -> Any:
        if given and type(given[0]) is not dict:
            pairs = (tuple(self.model.iterate(pair)) for pair in self.model.iterate(given[0]))
            return self.model.own({self.model.plain(key): value for key, value in pairs} | more)
        return self.model.own((self.model.mapping(given[0]) if given else {}) | more)

    def _partial(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return functools.partial(function, *args, **kwargs)

    def _not_tried(self, *args: Any, **kwargs: Any) -> Any:
        raise NotTriedError("something is printed")


_PLAIN_ABSTRACT = ("collections.abc", "numbers")
_PLAIN_CHECK = type.__dict__["__instancecheck__"]
_STATE: dict[str, Any] = {
    "torch._jit_internal.is_scripting": False,
    "torch.jit._trace.is_tracing": False,
    "torch._jit_internal.is_tracing": False,
}
"""What is the same in Python and in what torch.compile makes."""
_LIVE_STATE = frozenset(
    ("torch._C.is_grad_enabled", "torch._C._is_grad_enabled", "torch.is_grad_enabled", "torch.is_autocast_enabled",
     "torch.is_inference_mode_enabled", "torch.get_default_dtype", "torch.is_autocast_cpu_enabled",
     "torch._C._get_deterministic_algorithms", "torch._C._get_deterministic_algorithms_warn_only")
)  # fmt: skip
"""What torch's guard on the global state looks at."""
_NO_OVERRIDES = ("torch._C._has_torch_function", "torch.overrides.has_torch_function", "torch._C.has_torch_function")


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None) or ""
    return f"{module}.{getattr(function, '__qualname__', getattr(function, '__name__', type(function).__name__))}"


def _holds_term(values: Any) -> bool:
    return any(isinstance(one, Term) or (type(one) in (list, tuple) and _holds_term(one)) for one in values)


def _class_of(term: Term) -> type:
    import torch

    if term.number < 0:
        own: type = classes_of(term.example)[0]
        return own
    if isinstance(term.example, torch.Tensor):
        plain: type = torch.Tensor
        return plain
    raise NotTriedError("the class of what an operation gives")


def _is_tensor_class(one: Any) -> bool:
    import torch

    return one is torch.Tensor
