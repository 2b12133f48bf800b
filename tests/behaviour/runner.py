"""Run the functions of one suite module and print what each of them did, as JSON.

    pythonX.Y runner.py SUITE_TEXT_FILE

Runs in the target interpreter, so it is written for Python 3.8 and imports nothing of depyf.  The suite's text (the
original one or the decompiled one) is executed with the names below as its globals; each function that ``@case``
registered is called once per input, and every observable event is recorded: calls of ``log``, operations on ``N``
objects, entering and leaving of ``cm``, the result or the exception.
"""

import json
import os
import sys
import types

EVENTS = []
CASES = []


def case(*inputs):
    """Register a function with its inputs; an input is the text of its arguments, evaluated freshly for every call."""

    def register(function):
        CASES.append((function, inputs))
        return function

    return register


def log(*args):
    """Record a call and return the last argument."""
    EVENTS.append("log " + ", ".join(show(arg) for arg in args))
    return args[-1] if args else None


def fail(*args):
    """Record a call and raise: an exception given, or ValueError."""
    EVENTS.append("fail " + ", ".join(show(arg) for arg in args))
    if args and isinstance(args[-1], (BaseException, type)):
        raise args[-1]
    raise ValueError(*args)


class N:
    """A number that records every operation on it."""

    def __init__(self, value, items=()):
        self.__dict__["value"] = value
        self.__dict__["items"] = list(items)

    def __repr__(self):
        return "N(%s)" % self.value

    def __bool__(self):
        log("bool", self)
        return bool(self.value)

    def __hash__(self):
        return hash(self.value)

    def __call__(self, *args, **kwargs):
        log("call", self, args, kwargs)
        return N("%s()" % self.value)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        log("getattr", self, name)
        return N("%s.%s" % (self.value, name))

    def __setattr__(self, name, value):
        log("setattr", self, name, value)

    def __delattr__(self, name):
        log("delattr", self, name)

    def __getitem__(self, key):
        log("getitem", self, key)
        return N("%s[%s]" % (self.value, show(key)))

    def __setitem__(self, key, value):
        log("setitem", self, key, value)

    def __delitem__(self, key):
        log("delitem", self, key)

    def __iter__(self):
        log("iter", self)
        return iter(self.items)

    def __contains__(self, item):
        log("contains", self, item)
        return item in self.items


def _operator(name, inplace):
    def operate(self, other):
        log(name, self, other)
        value, right = self.value, getattr(other, "value", other)
        if "__" + name + "__" in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
            return getattr(value, "__" + name + "__")(right)
        return self if inplace else N("(%s %s %s)" % (value, name, right))

    return operate


for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
    setattr(N, "__%s__" % _name, _operator(_name, False))
    setattr(N, "__r%s__" % _name, _operator("r" + _name, False))
    setattr(N, "__i%s__" % _name, _operator("i" + _name, True))
for _name in "lt le gt ge eq ne".split():
    setattr(N, "__%s__" % _name, _operator(_name, False))


class cm:
    """A context manager that records; ``swallow`` is an exception type it keeps to itself."""

    def __init__(self, name, swallow=(), fail_enter=False, fail_exit=False):
        self.name, self.swallow, self.fail_enter, self.fail_exit = name, swallow, fail_enter, fail_exit

    def __repr__(self):
        return "cm(%s)" % self.name

    def __enter__(self):
        log("enter", self.name)
        if self.fail_enter:
            raise RuntimeError("enter " + self.name)
        return self.name

    def __exit__(self, kind, error, trace):
        log("exit", self.name, kind, error)
        if self.fail_exit:
            raise RuntimeError("exit " + self.name)
        return bool(self.swallow) and kind is not None and issubclass(kind, self.swallow)


class acm(cm):
    """The same, asynchronous."""

    async def __aenter__(self):
        await pause("aenter " + self.name)
        return self.__enter__()

    async def __aexit__(self, *details):
        await pause("aexit " + self.name)
        return self.__exit__(*details)


class pause:
    """An awaitable that yields to the driver once and then gives its value."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return "pause(%s)" % show(self.value)

    def __await__(self):
        log("await", self.value)
        sent = yield self.value
        log("resumed", sent)
        return self.value


class aiter_of:
    """An asynchronous iterable; an item that is an exception is raised."""

    def __init__(self, *items):
        self.items = list(items)

    def __repr__(self):
        return "aiter_of(%s)" % ", ".join(show(item) for item in self.items)

    def __aiter__(self):
        log("aiter")
        return self

    async def __anext__(self):
        await pause("anext")
        if not self.items:
            raise StopAsyncIteration
        item = self.items.pop(0)
        if isinstance(item, BaseException):
            raise item
        return item


class Tracked:
    """Records its own end."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "Tracked(%s)" % self.name

    def __del__(self):
        EVENTS.append("del " + self.name)


def show(value):
    """A text for a value that is the same in every process: no addresses, no set order."""
    if isinstance(value, BaseException):
        text = "%s(%s)" % (type(value).__name__, ", ".join(show(arg) for arg in value.args))
        if isinstance(getattr(value, "exceptions", None), tuple):
            text += "[" + ", ".join(show(error) for error in value.exceptions) + "]"
        return text
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return "<function %s>" % value.__name__
    if isinstance(value, types.ModuleType):
        return "<module %s>" % value.__name__
    if isinstance(value, tuple):
        return "(%s,)" % ", ".join(show(item) for item in value)
    if isinstance(value, list):
        return "[%s]" % ", ".join(show(item) for item in value)
    if isinstance(value, (set, frozenset)):
        return "{%s}" % ", ".join(sorted(show(item) for item in value))
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (show(k), show(v)) for k, v in value.items())
    if type(value).__repr__ is object.__repr__:
        return "<%s>" % type(value).__name__
    return repr(value)


def note(kind, value):
    EVENTS.append(kind + " " + show(value))


def drive(value):
    """Run what a function returned to its end: generators get None, a number and an exception sent in turn."""
    if isinstance(value, (types.GeneratorType, types.CoroutineType)):
        drive_generator(value)
    elif isinstance(value, types.AsyncGeneratorType):
        drive_async_generator(value)
    else:
        note("returned", value)


def drive_generator(gen):
    step = 0
    try:
        item = gen.send(None)
        while step < 12:
            note("yielded", item)
            step += 1
            item = gen.throw(KeyError("thrown")) if step == 6 else gen.send(step)
        gen.close()
        EVENTS.append("closed")
    except StopIteration as stop:
        note("finished", stop.value)


def drive_async_generator(gen):
    async def consume():
        step = 0
        try:
            item = await gen.asend(None)
            while step < 12:
                note("async yielded", item)
                step += 1
                item = await (gen.athrow(KeyError("thrown")) if step == 6 else gen.asend(step))
            await gen.aclose()
        except StopAsyncIteration:
            EVENTS.append("async finished")

    drive_generator(consume())


def observe(function, text, namespace):
    """The events of one call, as a list of strings."""
    del EVENTS[:]
    try:
        drive(function(*eval("(" + text + ",)" if text else "()", namespace)))
    except BaseException as error:
        chain = []
        while error is not None and len(chain) < 8:
            chain.append(show(error) + (" (context hidden)" if error.__suppress_context__ else ""))
            error = error.__cause__ or error.__context__
        EVENTS.append("raised " + " <- ".join(chain))
        error = None
    return list(EVENTS)


def main():
    path = sys.argv[1]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    names = "case log fail N cm acm pause aiter_of Tracked show".split()
    namespace = {name: globals()[name] for name in names}
    namespace["__name__"] = "suite"
    exec(compile(text, "suite", "exec", dont_inherit=True), namespace)
    outcome = {}
    for function, inputs in CASES:
        outcome[function.__name__] = [observe(function, text, namespace) for text in inputs or ("",)]
    json.dump(outcome, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
