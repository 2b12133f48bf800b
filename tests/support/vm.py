"""A plain interpreter of the version-free instruction set: the executable definition of ``ops``.

It runs lowered code of any CPython version on the running one, so a test can compare what a foreign ``.pyc`` does here
with what it does where it comes from.  Written from the comments in ``ops`` alone; slow and short on purpose.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Generator
from typing import Any

from depyf.bytecode import ops
from depyf.bytecode.codeunit import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_ITERABLE_COROUTINE, CodeUnit
from depyf.bytecode.lower import lower
from vm_values import BINARY, COMMON, COMPARE, UNARY, Unsupported, match_class, reraise_star, split_group

NULL: Any = type("NULL", (), {"__repr__": lambda self: "NULL"})()

RUNNING: list[Frame] = []


class Yielded:
    """What an asynchronous generator yields, told from what its awaits pass through."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Reraised(Exception):
    """Carries an exception that goes on as it is: its context is not set again."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Frame:
    """One activation; ``own`` is the exception it handles, if any."""

    def __init__(self, function: Function, variables: dict[str, Any], namespace: Any) -> None:
        self.function = function
        self.unit = unit = function.unit
        self.locals = variables
        self.globals = function.globals
        self.namespace = namespace
        self.own: BaseException | None = None
        self.stack: list[Any] = []
        self.cells: dict[str, types.CellType] = dict(zip(unit.freevars, function.closure))
        for name in unit.cellvars:
            self.cells[name] = types.CellType(self.locals.pop(name)) if name in self.locals else types.CellType()

    def handled(self) -> BaseException | None:
        for frame in reversed(RUNNING):
            if frame.own is not None:
                return frame.own
        return None

    # Names

    def unbound(self, name: str) -> UnboundLocalError | NameError:
        if name in self.unit.freevars:
            if self.unit.version >= (3, 11):
                text = "cannot access free variable '%s' where it is not associated with a value in enclosing scope"
            else:
                text = "free variable '%s' referenced before assignment in enclosing scope"
            return NameError(text % name)
        if self.unit.version >= (3, 11):
            return UnboundLocalError("cannot access local variable '%s' where it is not associated with a value" % name)
        return UnboundLocalError("local variable '%s' referenced before assignment" % name)

    def load_deref(self, name: str) -> Any:
        cell = self.cells[name]
        if cell == types.CellType():
            raise self.unbound(name)
        return cell.cell_contents

    def load_global(self, name: str) -> Any:
        for place in (self.globals, vars(builtins)):
            if name in place:
                return place[name]
        raise NameError(f"name '{name}' is not defined")

    def load_name(self, name: str) -> Any:
        return self.namespace[name] if name in self.namespace else self.load_global(name)

    # Running

    def run(self) -> Generator[Any, Any, Any]:
        lowered = self.function.lowered
        instrs, handlers = lowered.instrs, lowered.handlers
        stack = self.stack
        position = 0
        RUNNING.append(self)
        try:
            while True:
                instr = instrs[position]
                error: BaseException | None = None
                fresh = True
                try:
                    if instr.op == ops.YIELD:
                        value = stack.pop()
                        if self.unit.flags & CO_ASYNC_GENERATOR:
                            value = Yielded(value)
                        RUNNING.remove(self)
                        try:
                            sent = yield value
                        finally:
                            RUNNING.append(self)
                        stack.append(sent)
                        position += 1
                    elif instr.op == ops.DELEGATE:
                        stack.append((yield from self.delegate(stack.pop())))
                        position += 1
                    elif instr.op == ops.RETURN:
                        return stack.pop()
                    else:
                        position = self.step(instr, position)
                except Reraised as carrier:
                    error, fresh = carrier.error, False
                except BaseException as caught:
                    error = caught
                if error is not None:
                    if isinstance(error, Unsupported):
                        raise error
                    if fresh:
                        self.chain(error)
                    position = self.unwind(error, instr, handlers, position)
                    error = None
        finally:
            RUNNING.remove(self)

    def chain(self, error: BaseException) -> None:
        """Set the context as the interpreter would have when the exception was raised."""
        handled = self.handled()
        while handled is not None and error is not handled:
            if error.__context__ is None:
                error.__context__ = handled
                return
            error = error.__context__

    def unwind(self, error: BaseException, instr: Any, handlers: Any, position: int) -> int:
        if instr.handler < 0:
            self.stack.clear()
            raise error
        handler = handlers[instr.handler]
        del self.stack[handler.depth :]
        values = {
            "lasti": position, "exc": error, "tb": error.__traceback__, "value": error, "type": type(error),
            "old_tb": None, "old_value": self.own, "old_type": None,
        }  # fmt: skip
        if "old_value" in handler.pushes:
            self.own = error
        self.stack += [values[name] for name in handler.pushes]
        target: int = handler.target
        return target

    def delegate(self, iterator: Any) -> Generator[Any, Any, Any]:
        """PEP 380, with this frame off the list of running ones while it is suspended."""
        try:
            item = next(iterator)
        except StopIteration as stop:
            return stop.value
        while True:
            RUNNING.remove(self)
            thrown: BaseException | None = None
            try:
                sent = yield item
            except GeneratorExit as error:
                RUNNING.append(self)
                if hasattr(iterator, "close"):
                    iterator.close()
                raise Reraised(error) from None
            except BaseException as error:
                thrown = error
            RUNNING.append(self)
            try:
                if thrown is not None:
                    if not hasattr(iterator, "throw"):
                        raise thrown
                    item = iterator.throw(thrown)
                elif sent is None:
                    item = next(iterator)
                else:
                    item = iterator.send(sent)
            except StopIteration as stop:
                return stop.value

    def step(self, instr: Any, position: int) -> int:
        """Everything that does not suspend; returns the next position."""
        op, arg, stack = instr.op, instr.arg, self.stack
        if op == ops.JUMP:
            return int(instr.target)
        if op == ops.BRANCH:
            value = stack.pop()
            taken = {
                "true": lambda: bool(value), "false": lambda: not value,
                "none": lambda: value is None, "not none": lambda: value is not None,
            }[arg]()  # fmt: skip
            return int(instr.target) if taken else position + 1
        if op == ops.FOR_ITER:
            try:
                stack.append(next(stack[-arg]))
            except StopIteration:
                del stack[-arg:]
                return int(instr.target)
            return position + 1
        pops, pushes = ops.stack_effect(op, arg)
        if op == ops.COPY:
            stack.append(stack[-arg])
        elif op == ops.SWAP:
            stack[-1], stack[-arg] = stack[-arg], stack[-1]
        elif op == ops.ROT:
            stack.insert(len(stack) - arg, stack.pop())
        elif op in INPLACE:
            INPLACE[op](self, arg)
        else:
            operands = stack[len(stack) - pops :]
            del stack[len(stack) - pops :]
            results = EFFECTS[op](self, arg, *operands)
            if pushes == 1:
                stack.append(results)
            elif pushes:
                assert len(results) == pushes, op
                stack += results
        return position + 1


class Function:
    """What MAKE_FUNCTION makes; the callable object itself is ``stub``, a real function with the same signature."""

    def __init__(self, unit: CodeUnit, globals_: dict[str, Any]) -> None:
        self.unit = unit
        self.globals = globals_
        self.closure: tuple[types.CellType, ...] = ()
        self.lowered = lower(unit)
        self.stub = self.make_stub()

    def make_stub(self) -> Any:
        unit = self.unit
        names = [name.replace(".", "_") for name in unit.params]
        count = unit.argcount + unit.kwonlyargcount
        parts = [*names[: unit.argcount]]
        if unit.posonlyargcount:
            parts.insert(unit.posonlyargcount, "/")
        rest = names[count:]
        if unit.flags & 4:
            parts.append("*" + rest.pop(0))
        elif unit.kwonlyargcount:
            parts.append("*")
        parts += names[unit.argcount : count]
        parts += ["**" + name for name in rest]
        bound = ", ".join(f"{real!r}: {name}" for real, name in zip(unit.params, names))
        space = {"__run__": self.call}
        exec(f"def stub({', '.join(parts)}): return __run__({{{bound}}})", space)
        stub: Any = space["stub"]
        stub.__name__ = unit.name
        stub.__vm__ = self
        first = unit.consts[0] if unit.consts else None
        stub.__doc__ = first if type(first) is str and (unit.version < (3, 14) or unit.flags & 0x4000000) else None
        return stub

    def call(self, variables: dict[str, Any], namespace: Any = None) -> Any:
        flags = self.unit.flags
        run = Frame(self, variables, namespace).run()
        if flags & CO_ASYNC_GENERATOR:
            return async_generator(run)
        if flags & CO_COROUTINE:
            return coroutine(run)
        if flags & CO_GENERATOR:
            return types.coroutine(lambda: run)() if flags & CO_ITERABLE_COROUTINE else run
        try:
            next(run)
        except StopIteration as stop:
            return stop.value
        raise AssertionError("a plain function yielded")


class Await:
    """Any iterator as an awaitable."""

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator

    def __await__(self) -> Any:
        return self.iterator


async def coroutine(run: Any) -> Any:
    return await Await(run)


@types.coroutine
def pass_through(value: Any) -> Any:
    return (yield value)


async def async_generator(run: Any) -> Any:
    resume: Callable[[], Any] = lambda: run.send(None)
    while True:
        try:
            item = resume()
        except StopIteration:
            return
        try:
            sent = (yield item.value) if isinstance(item, Yielded) else await pass_through(item)
            resume = lambda sent=sent: run.send(sent)
        except BaseException as error:
            resume = lambda error=error: run.throw(error)


def run_module(unit: CodeUnit, globals_: dict[str, Any]) -> None:
    """Execute a module's code with ``globals_`` as its namespace."""
    Function(unit, globals_).call({}, globals_)


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
    function = Function(operands[-1], frame.globals).stub
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
