"""A plain interpreter of the version-free instruction set: the executable definition of ``ops``.

It runs lowered code of any CPython version on the running one, so a test can compare what a foreign ``.pyc`` does here
with what it does where it comes from.  Written from the comments in ``ops`` alone; slow and short on purpose.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Generator
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_ITERABLE_COROUTINE,
    CodeUnit,
)
from depyf.decompiler.bytecode.lower import lower
from vm_effects import EFFECTS, INPLACE, Reraised
from vm_values import Unsupported

RUNNING: list[Frame] = []


class Yielded:
    """What an asynchronous generator yields, told from what its awaits pass through."""

    def __init__(self, value: Any) -> None:
        self.value = value


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

    def nested(self, unit: CodeUnit) -> Function:
        return Function(unit, self.globals)

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
