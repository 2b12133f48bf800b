"""What each instruction of ``ops`` does to a frame of the plain interpreter (``vm.py``): two tables, from op to function.

An effect takes the frame, the argument and the operands, and gives what is pushed; those of ``INPLACE`` work on the stack.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from depyf.decompiler.bytecode import ops
from vm_values import BINARY, COMMON, COMPARE, UNARY, Unsupported, match_class, reraise_star, split_group

if TYPE_CHECKING:
    from vm import Frame

NULL: Any = type("NULL", (), {"__repr__": lambda self: "NULL"})()


class Reraised(Exception):
    """Carries an exception that goes on as it is: its context is not set again."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def build_class(frame: Frame, function: Any, name: str, *bases: Any, **keywords: Any) -> Any:
    resolved = types.resolve_bases(bases)
    meta, namespace, keywords = types.prepare_class(name, resolved, keywords)
    if resolved is not bases:
        namespace["__orig_bases__"] = bases
    function.__vm__.call({}, namespace)
    for name_ in ("__classdictcell__", "__annotate_func__"):
        namespace.pop(name_, None)
    return meta(name, resolved, namespace, **keywords)


def invoke(frame: Frame, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    if function is super and not args:
        first = frame.unit.varnames[0]
        me = frame.cells[first].cell_contents if first in frame.cells else frame.locals[first]
        return super(frame.load_deref("__class__"), me)
    if function is locals:
        found = {name: value for name, value in frame.locals.items() if value is not NULL}
        return frame.namespace if frame.namespace is not None else found
    return function(*args, **keywords)


def call(frame: Frame, shape: Any, *operands: Any) -> Any:
    slots, values = operands[: shape.slots], operands[shape.slots :]
    args = values[: shape.count]
    if shape.slots == 2:
        args = tuple(slot for slot in slots[1:] if slots[0] is not NULL and slot is not NULL) + args
        function = slots[1] if slots[0] is NULL else slots[0]
    else:
        function = slots[0]
    return invoke(frame, function, args, dict(zip(shape.keywords, values[shape.count :])))


def call_ex(frame: Frame, arg: Any, *operands: Any) -> Any:
    slots, rest = operands[: arg[0]], operands[arg[0] :]
    function = next(slot for slot in slots if slot is not NULL)
    if not hasattr(rest[0], "__iter__"):
        raise TypeError(f"Value after * must be an iterable, not {type(rest[0]).__name__}")
    return invoke(frame, function, tuple(rest[0]), dict(rest[1]) if arg[1] else {})


def make_function(frame: Frame, names: tuple[str, ...], *operands: Any) -> Any:
    function = frame.function.nested(operands[-1]).stub
    for name, value in zip(names, operands):
        set_attribute(frame, name, value, function)
    return function


def set_attribute(frame: Frame, name: str, value: Any, function: Any) -> Any:
    if name == "closure":
        function.__vm__.closure = value
    elif name == "defaults":
        function.__defaults__ = value
    elif name == "kwdefaults":
        function.__kwdefaults__ = value
    elif name == "annotations":
        function.__annotations__ = value if isinstance(value, dict) else dict(zip(value[::2], value[1::2]))
    elif name == "annotate":
        function.__annotations__ = value(1)
    return function


def load_fast(frame: Frame, name: str) -> Any:
    if name not in frame.locals:
        raise frame.unbound(name)
    return frame.locals[name]


def delete_fast(frame: Frame, name: str) -> None:
    load_fast(frame, name)
    del frame.locals[name]


def load_fast_clear(frame: Frame, name: str) -> Any:
    if name in frame.unit.cellvars and name in frame.cells:
        return frame.cells.pop(name)
    return frame.locals.pop(name, NULL)


def restore_fast(frame: Frame, name: str, value: Any) -> None:
    if name in frame.unit.cellvars:
        frame.cells.pop(name, None)
    frame.locals.pop(name, None)
    if value is NULL:
        return
    if name in frame.unit.cellvars and isinstance(value, types.CellType):
        frame.cells[name] = value
    else:
        frame.locals[name] = value


def make_cell(frame: Frame, name: str) -> None:
    frame.cells[name] = types.CellType(frame.locals.pop(name)) if name in frame.locals else types.CellType()


def load_classderef(frame: Frame, name: str) -> Any:
    return frame.namespace[name] if name in frame.namespace else frame.load_deref(name)


def delete_deref(frame: Frame, name: str) -> None:
    frame.load_deref(name)
    del frame.cells[name].cell_contents


def delete_name(place: Any, name: str) -> None:
    if name not in place:
        raise NameError(f"name '{name}' is not defined")
    del place[name]


def unpack(frame: Frame, count: int, value: Any) -> list[Any]:
    items = []
    iterator = iter(value)
    for item in iterator:
        items.append(item)
        if len(items) > count:
            got = f", got {len(items) + len(list(iterator))}" if frame.unit.version >= (3, 14) else ""
            raise ValueError(f"too many values to unpack (expected {count}{got})")
    if len(items) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
    return items[::-1]


def unpack_ex(frame: Frame, arg: Any, value: Any) -> list[Any]:
    before, after = arg
    items = list(value)
    if len(items) < before + after:
        raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
    end = len(items) - after
    return [*items[:before], items[before:end], *items[end:]][::-1]


def format_value(frame: Frame, arg: Any, value: Any, spec: str = "") -> str:
    conversion, _ = arg
    return format({"": lambda v: v, "s": str, "r": repr, "a": ascii}[conversion](value), spec)


def import_name(frame: Frame, name: str, level: int, names: Any) -> Any:
    return __import__(name, frame.globals, None, names, level)


def import_from(frame: Frame, name: str, module: Any) -> Any:
    if not hasattr(module, name):
        raise ImportError(f"cannot import name '{name}' from '{module.__name__}' ({module.__file__})")
    return module, getattr(module, name)


def raise_(frame: Frame, count: int, *operands: Any) -> None:
    if not count:
        handled = frame.handled()
        if handled is None:
            raise RuntimeError("No active exception to reraise")
        raise Reraised(handled)
    error = operands[0]() if isinstance(operands[0], type) else operands[0]
    if not isinstance(error, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    if count == 2:
        cause = operands[1]
        error.__cause__ = cause() if isinstance(cause, type) else cause
    handled = frame.handled()
    if handled is not None and handled is not error:
        error.__context__ = handled
    raise error


def reraise(frame: Frame, count: int, *operands: Any) -> None:
    raise Reraised(operands[-1] if count == 1 else operands[-2])


def push_exc_info(frame: Frame, arg: Any, error: BaseException) -> Any:
    old, frame.own = frame.own, error
    return old, error


def pop_except(frame: Frame, count: int, *old: Any) -> None:
    frame.own = old[0] if count == 1 else old[1]


def exc_match(frame: Frame, arg: Any, error: Any, kind: Any) -> Any:
    for one in kind if isinstance(kind, tuple) else (kind,):
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return error, issubclass(error if isinstance(error, type) else type(error), kind)


def eg_match(frame: Frame, arg: Any, error: Any, kind: Any) -> Any:
    rest, match = split_group(error, kind)
    if match is not None:
        frame.own = match
    return rest, match


def end_async_for(frame: Frame, count: int, *slots: Any) -> None:
    error = slots[-1] if count == 2 else slots[-2]
    if not isinstance(error, StopAsyncIteration):
        raise Reraised(error)
    if count == 7:
        frame.own = slots[2]


def before_with(enter: str, exit_: str) -> Callable[..., Any]:
    def effect(frame: Frame, slots: int, manager: Any) -> Any:
        kind = type(manager)
        for name in (enter, exit_):
            if not hasattr(kind, name):
                raise (TypeError if frame.unit.version >= (3, 11) else AttributeError)("no context manager")
        leave = getattr(kind, exit_).__get__(manager)
        return (leave, *(NULL,) * (slots - 1), getattr(kind, enter)(manager))

    return effect


def with_except_start(frame: Frame, depth: int) -> None:
    error = frame.stack[-2] if depth == 7 else frame.stack[-1]
    frame.stack.append(frame.stack[-depth](type(error), error, error.__traceback__))


def awaitable(frame: Frame, arg: Any, value: Any) -> Any:
    if isinstance(value, types.GeneratorType):
        return value
    if not hasattr(value, "__await__"):
        raise TypeError(f"object {type(value).__name__} can't be used in 'await' expression")
    return iter(value.__await__())


def get_aiter(frame: Frame, arg: Any, value: Any) -> Any:
    if not hasattr(type(value), "__aiter__"):
        raise TypeError("no asynchronous iterable")
    return type(value).__aiter__(value)


def yield_from_iter(frame: Frame, arg: Any, value: Any) -> Any:
    if isinstance(value, types.CoroutineType):
        return value.__await__()
    return value if isinstance(value, types.GeneratorType) else iter(value)


def build_unpack(frame: Frame, arg: Any, *parts: Any) -> Any:
    kind = arg[0]
    if kind.endswith("map"):
        merged: dict[Any, Any] = {}
        for part in parts:
            if kind == "call_map" and (twice := [key for key in part if key in merged]):
                raise TypeError(f"got multiple values for keyword argument '{twice[0]}'")
            merged.update(part)
        return merged
    make: Any = {"tuple": tuple, "call_tuple": tuple, "list": list, "set": set}[kind]
    return make([item for part in parts for item in part])


def dict_merge(mapping: dict[Any, Any], other: Any) -> None:
    for key in other.keys() if hasattr(other, "keys") else dict(other):
        if key in mapping:
            raise TypeError(f"got multiple values for keyword argument '{key}'")
        mapping[key] = other[key]


def intrinsic(frame: Frame, arg: Any, *operands: Any) -> Any:
    raise Unsupported(arg[0])


def unsupported(frame: Frame, arg: Any, *operands: Any) -> Any:
    raise Unsupported(str(arg))


def matches(kind: str, value: Any) -> bool:
    from collections.abc import Mapping, Sequence

    if kind == "mapping":
        return isinstance(value, Mapping)
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def match_keys(frame: Frame, arg: Any, subject: Any, keys: Any) -> Any:
    missing = object()
    values = tuple(subject.get(key, missing) for key in keys)
    return subject, keys, None if missing in values else values


def add_to(method: str, pops: int = 1) -> Callable[[Frame, int], None]:
    def effect(frame: Frame, depth: int) -> None:
        operands = frame.stack[-pops:]
        del frame.stack[-pops:]
        container = frame.stack[-depth]
        if method == "item":
            container[operands[0]] = operands[1]
        elif method == "merge":
            dict_merge(container, operands[0])
        else:
            getattr(container, method)(*operands)

    return effect


INPLACE: dict[str, Callable[[Frame, Any], None]] = {
    ops.LIST_APPEND: add_to("append"), ops.SET_ADD: add_to("add"), ops.MAP_ADD: add_to("item", 2),
    ops.LIST_EXTEND: add_to("extend"), ops.SET_UPDATE: add_to("update"), ops.DICT_UPDATE: add_to("update"),
    ops.DICT_MERGE: add_to("merge"), ops.WITH_EXCEPT_START: with_except_start,
}  # fmt: skip

EFFECTS: dict[str, Callable[..., Any]] = {
    ops.NULL: lambda f, a: NULL,
    ops.POP: lambda f, a, v: None,
    ops.LOAD_CONST: lambda f, a: a,
    ops.LOAD_FAST: load_fast,
    ops.STORE_FAST: lambda f, a, v: f.locals.__setitem__(a, v),
    ops.DELETE_FAST: delete_fast,
    ops.LOAD_FAST_CLEAR: load_fast_clear,
    ops.RESTORE_FAST: restore_fast,
    ops.LOAD_DEREF: lambda f, a: f.load_deref(a),
    ops.STORE_DEREF: lambda f, a, v: setattr(f.cells[a], "cell_contents", v),
    ops.DELETE_DEREF: delete_deref,
    ops.LOAD_CLASSDEREF: load_classderef,
    ops.LOAD_CLOSURE: lambda f, a: f.cells[a],
    ops.MAKE_CELL: make_cell,
    ops.LOAD_GLOBAL: lambda f, a: f.load_global(a),
    ops.STORE_GLOBAL: lambda f, a, v: f.globals.__setitem__(a, v),
    ops.DELETE_GLOBAL: lambda f, a: delete_name(f.globals, a),
    ops.LOAD_NAME: lambda f, a: f.load_name(a),
    ops.STORE_NAME: lambda f, a, v: f.namespace.__setitem__(a, v),
    ops.DELETE_NAME: lambda f, a: delete_name(f.namespace, a),
    ops.LOAD_LOCALS: lambda f, a: f.namespace,
    ops.LOAD_FROM_DICT_OR_DEREF: lambda f, a, m: m[a] if a in m else f.load_deref(a),
    ops.LOAD_FROM_DICT_OR_GLOBALS: lambda f, a, m: m[a] if a in m else f.load_global(a),
    ops.LOAD_COMMON: lambda f, a: COMMON[a],
    ops.LOAD_BUILD_CLASS: lambda f, a: lambda *args, **keywords: build_class(f, *args, **keywords),
    ops.SETUP_ANNOTATIONS: lambda f, a: f.namespace.setdefault("__annotations__", {}) and None,
    ops.LOAD_ATTR: lambda f, a, v: getattr(v, a),
    ops.LOAD_METHOD: lambda f, a, v: (getattr(v, a), NULL),
    ops.LOAD_SUPER_ATTR: lambda f, a, s, c, m: getattr(s(c, m), a[0]),
    ops.LOAD_SUPER_METHOD: lambda f, a, s, c, m: (getattr(s(c, m), a[0]), NULL),
    ops.STORE_ATTR: lambda f, a, v, o: setattr(o, a, v),
    ops.DELETE_ATTR: lambda f, a, o: delattr(o, a),
    ops.SUBSCR: lambda f, a, o, k: o[k],
    ops.STORE_SUBSCR: lambda f, a, v, o, k: o.__setitem__(k, v),
    ops.DELETE_SUBSCR: lambda f, a, o, k: o.__delitem__(k),
    ops.BUILD_SLICE: lambda f, a, *v: slice(*v),
    ops.BINARY: lambda f, a, left, right: BINARY[a](left, right),
    ops.UNARY: lambda f, a, v: UNARY[a](v),
    ops.COMPARE: lambda f, a, left, right: COMPARE[a](left, right),
    ops.IS: lambda f, a, left, right: (left is right) == (a == "is"),
    ops.CONTAINS: lambda f, a, left, right: (left in right) == (a == "in"),
    ops.BUILD_TUPLE: lambda f, a, *v: v,
    ops.BUILD_LIST: lambda f, a, *v: list(v),
    ops.BUILD_SET: lambda f, a, *v: set(v),
    ops.BUILD_MAP: lambda f, a, *v: dict(zip(v[::2], v[1::2])),
    ops.BUILD_CONST_KEY_MAP: lambda f, a, *v: dict(zip(v[-1], v)),
    ops.BUILD_STRING: lambda f, a, *v: "".join(v),
    ops.FORMAT: format_value,
    ops.CONVERT: lambda f, a, v: {"s": str, "r": repr, "a": ascii}[a](v),
    ops.BUILD_INTERPOLATION: unsupported,
    ops.BUILD_TEMPLATE: unsupported,
    ops.LIST_TO_TUPLE: lambda f, a, v: tuple(v),
    ops.BUILD_UNPACK: build_unpack,
    ops.UNPACK_SEQUENCE: lambda f, a, v: unpack(f, a, v)[0] if a == 1 else unpack(f, a, v),
    ops.UNPACK_EX: lambda f, a, v: unpack_ex(f, a, v)[0] if a == (0, 0) else unpack_ex(f, a, v),
    ops.CALL: call,
    ops.CALL_EX: call_ex,
    ops.MAKE_FUNCTION: make_function,
    ops.SET_FUNCTION_ATTRIBUTE: set_attribute,
    ops.INTRINSIC: intrinsic,
    ops.IMPORT_NAME: import_name,
    ops.IMPORT_NAME_LAZY: import_name,
    ops.IMPORT_FROM: import_from,
    ops.IMPORT_STAR: unsupported,
    ops.GET_ITER: lambda f, a, v: iter(v) if a == 1 else (iter(v), NULL),
    ops.GET_AITER: get_aiter,
    ops.GET_ANEXT: lambda f, a, v: (v, awaitable(f, None, type(v).__anext__(v))),
    ops.GET_AWAITABLE: awaitable,
    ops.GET_YIELD_FROM_ITER: yield_from_iter,
    ops.END_ASYNC_FOR: end_async_for,
    ops.PUSH_EXC_INFO: push_exc_info,
    ops.POP_EXCEPT: pop_except,
    ops.EXC_MATCH: exc_match,
    ops.EG_MATCH: eg_match,
    ops.PREP_RERAISE_STAR: lambda f, a, o, errors: reraise_star(o, errors),
    ops.BEFORE_WITH: before_with("__enter__", "__exit__"),
    ops.BEFORE_ASYNC_WITH: before_with("__aenter__", "__aexit__"),
    ops.MATCH_CLASS: lambda f, a, *v: match_class(a, *v),
    ops.MATCH_MAPPING: lambda f, a, v: (v, matches("mapping", v)),
    ops.MATCH_SEQUENCE: lambda f, a, v: (v, matches("sequence", v)),
    ops.MATCH_KEYS: match_keys,
    ops.COPY_DICT_WITHOUT_KEYS: lambda f, a, s, keys: (s, {k: v for k, v in s.items() if k not in keys}),
    ops.GET_LEN: lambda f, a, v: (v, len(v)),
    ops.RAISE: raise_,
    ops.RERAISE: reraise,
}
