"""Run two versions of one function on objects that record everything, and print what each did.

    pythonX.Y traced.py < requests > answers

Runs in the target interpreter: it is written for Python 3.8 and imports nothing of depyf.  A request is one line of JSON:
``sides`` (two sources, or two sources with a patch of the bytecode of each) and ``seed``.  The answer is one line with the
two lists of events.  Every global of a function is a ``Traced`` object: each operation on it is an event, its result is
another such object, and its end is an event, too.  What a test gives, how many items an iterable has, and where an
operation raises is decided by ``seed``, so another seed takes another path.
"""

import ast
import gc
import json
import os
import random
import re
import signal
import sys
import types

LIMIT = 150
"""Events after which a run is cut off; both sides are, if they do the same."""
SECONDS = 2
ADDRESS = re.compile("0x[0-9a-f]+")


class CutOff(BaseException):
    """The run is long enough."""


class Oops(Exception):
    """What an operation on a traced object raises."""


class State:
    """What one run has done so far."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.events = []
        self.count = 0
        self.open = True
        self.late = 0

    def note(self, text):
        if not self.open:
            return
        self.events.append(text)
        if len(self.events) >= LIMIT:
            raise CutOff

    def chance(self, share):
        return self.random.random() < share


state = State(0)


def operate(self, name, *operands, **named):
    """Record an operation and give its result, or raise."""
    details = [show(item) for item in operands] + ["%s=%s" % (key, show(value)) for key, value in named.items()]
    state.note("%s(%s)" % (name, ", ".join([show(self), *details])))
    if state.chance(0.08):
        raised = state.random.choice((Oops, ValueError, KeyError, StopIteration, AttributeError))
        state.note("raise " + raised.__name__)
        raise raised(state.count)
    return Traced()


class Traced:
    """An object on which everything can be done."""

    def __init__(self, *args, **named):
        self.__dict__["_number"] = state.count
        self.__dict__["_of"] = state
        state.count += 1
        if args or named:
            operate(self, "made", *args, **named)

    def __del__(self):
        try:
            if self._of is state and state.open:
                state.events.append("end #%d" % self._number)
        except AttributeError:
            pass

    def __getattr__(self, name):
        if name.startswith(("__", "_ipython")):
            raise AttributeError(name)
        if name.endswith(("Error", "Exception", "Exit", "Interrupt", "Warning")):
            state.note("exception class %s of %s" % (name, show(self)))
            return Oops if len(name) % 2 else ValueError
        return operate(self, "getattr", name)

    def __setattr__(self, name, value):
        operate(self, "setattr", name, value)

    def __delattr__(self, name):
        operate(self, "delattr", name)

    def __call__(self, *args, **named):
        return operate(self, "call", *args, **named)

    def __bool__(self):
        operate(self, "bool")
        return state.chance(0.5)

    def __len__(self):
        operate(self, "len")
        return state.random.randrange(4)

    def __index__(self):
        operate(self, "index")
        return state.random.randrange(4)

    def __hash__(self):
        return self.__dict__["_number"]

    def __repr__(self):
        return "#%d" % self.__dict__["_number"]

    def __str__(self):
        operate(self, "str")
        return "s%d" % self.__dict__["_number"]

    def __format__(self, spec):
        operate(self, "format", spec)
        return "f%d" % self.__dict__["_number"]

    def __iter__(self):
        operate(self, "iter")
        for _ in range(state.random.randrange(4)):
            operate(self, "next")
            yield Traced()

    def __contains__(self, item):
        operate(self, "contains", item)
        return state.chance(0.5)

    def __enter__(self):
        return operate(self, "enter")

    def __exit__(self, kind, error, trace):
        operate(self, "exit", kind, error)
        return state.chance(0.3)

    async def __aenter__(self):
        return operate(self, "aenter")

    async def __aexit__(self, kind, error, trace):
        operate(self, "aexit", kind, error)
        return state.chance(0.3)

    def __await__(self):
        operate(self, "await")
        sent = yield Traced()
        state.note("resumed with " + show(sent))
        return Traced()

    def __aiter__(self):
        return operate(self, "aiter")

    def __anext__(self):
        state.note("anext of " + show(self))  # a loop that asks and never awaits ends, too
        return self._anext()

    async def _anext(self):
        operate(self, "anext")
        if state.chance(0.4):
            raise StopAsyncIteration
        return Traced()

    def __instancecheck__(self, item):
        operate(self, "instancecheck", item)
        return state.chance(0.5)

    def __subclasscheck__(self, item):
        operate(self, "subclasscheck", item)
        return state.chance(0.5)


def _method(name, answers):
    def method(self, *operands):
        found = operate(self, name, *operands)
        return found if answers is None else state.chance(0.5)

    return method


for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
    for _kind in ("", "r", "i"):
        setattr(Traced, "__%s%s__" % (_kind, _name), _method(_kind + _name, None))
for _name in "neg pos invert getitem setitem delitem".split():
    setattr(Traced, "__%s__" % _name, _method(_name, None))
for _name in "lt le gt ge eq ne".split():
    setattr(Traced, "__%s__" % _name, _method(_name, bool))
Traced.__hash__ = lambda self: self.__dict__["_number"]


def show(value, depth=0):
    """A text for a value, the same in every process; it runs nothing of the value's."""
    kind = type(value)
    if kind is Traced:
        return "#%d" % value.__dict__["_number"]
    if depth > 4:
        return "..."
    if kind in (tuple, list):
        return "%s[%s]" % (kind.__name__, ", ".join(show(item, depth + 1) for item in value))
    if kind in (set, frozenset):
        return "%s{%s}" % (kind.__name__, ", ".join(sorted(show(item, depth + 1) for item in value)))
    if kind is dict:
        return "{%s}" % ", ".join(
            # the line on which a class begins (3.13+) is about its text
            "%s: %s" % (show(k, depth + 1), "a line" if repr(k) == "'__firstlineno__'" else show(v, depth + 1))
            for k, v in value.items()
        )
    if isinstance(value, BaseException):
        return "%s(%s)" % (kind.__name__, ", ".join(show(arg, depth + 1) for arg in value.args))
    if isinstance(value, type):
        return "class " + value.__name__
    if kind in (int, float, complex, str, bytes, bool, type(None), slice, range):
        return ADDRESS.sub("0x", repr(value))[:200]
    if kind is types.FunctionType:
        return "function " + value.__name__
    return "a " + kind.__name__


class Names(dict):
    """The globals of a function: whatever is asked for is there."""

    def __missing__(self, name):
        if name in PURE:
            raise KeyError(name)
        if name.endswith(("Error", "Exception", "Exit", "Interrupt", "Warning")):
            made = Oops if len(name) % 2 else ValueError
        else:
            made = Traced()
            state.note("global %s is #%d" % (name, made._number))
        self[name] = made
        return made


def _imported(name, namespace=None, variables=None, fromlist=(), level=0):
    state.note("import %s %s %s" % (name, show(fromlist), level))
    return Traced()


PURE = {
    name: getattr(__import__("builtins"), name)
    for name in (
        "len isinstance issubclass iter next getattr setattr hasattr delattr int str list tuple dict set frozenset bool float"
        " bytes bytearray range enumerate zip map filter reversed sorted min max sum any all abs repr format hash callable"
        " type super object property staticmethod classmethod slice divmod ord chr iter locals vars"
        " Exception BaseException ValueError TypeError KeyError IndexError AttributeError StopIteration RuntimeError OSError"
        " NameError LookupError ArithmeticError GeneratorExit AssertionError NotImplementedError StopAsyncIteration"
        " UnboundLocalError ImportError UnicodeDecodeError NotImplemented Ellipsis None True False __build_class__ __debug__"
        " ZeroDivisionError OverflowError UnicodeError FileNotFoundError"
    ).split()
    if name not in ("None", "True", "False")
}
PURE["__import__"] = _imported


def drive(value):
    """Run a generator or coroutine to its end; close it now and then."""
    if isinstance(value, types.AsyncGeneratorType):
        drive(consume(value))
        return
    if not isinstance(value, (types.GeneratorType, types.CoroutineType)):
        state.note("returned " + show(value))
        return
    sent = None
    for _ in range(12):
        try:
            if state.chance(0.12):
                state.note("throw")
                item = value.throw(Oops("thrown"))
            else:
                item = value.send(sent)
        except StopIteration as stop:
            state.note("finished " + show(stop.value))
            return
        state.note("yielded " + show(item))
        del item
        sent = Traced() if state.chance(0.5) else None
        if sent is None:
            try:
                item = next(value)
            except StopIteration as stop:
                state.note("finished " + show(stop.value))
                return
            state.note("yielded " + show(item))
            del item
    state.note("close")
    value.close()


async def consume(value):
    for _ in range(6):
        try:
            item = await (value.athrow(Oops("thrown")) if state.chance(0.15) else value.asend(None))
        except StopAsyncIteration:
            state.note("async finished")
            return
        state.note("async yielded " + show(item))
        del item
    await value.aclose()


def described(error):
    parts = []
    while error is not None and len(parts) < 6:
        hidden = " (context hidden)" if error.__suppress_context__ else ""
        parts.append(show(error) + hidden)
        error = error.__cause__ or error.__context__
    return " <- ".join(parts)


def call(function):
    """Call a function with new traced objects, of which it has the only references."""
    code = function.__code__
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    parts = ["new()"] * code.co_argcount
    parts += ["new()"] * 2 if code.co_flags & 4 else []
    parts += ["**{%s}" % ", ".join("%r: new()" % name for name in named)] if named else []
    parts += ["extra_keyword=new()"] if code.co_flags & 8 else []
    return eval("function(%s)" % ", ".join(parts), {"function": function, "new": Traced, "__builtins__": {}})


def found_in(code, path):
    for name in path:
        code = next(item for item in code.co_consts if isinstance(item, types.CodeType) and item.co_name == name)
    return code


def patched(code, path, patch):
    """``code`` with what lies at ``path`` in it replaced."""
    if not path:
        changes = {}
        for key, value in patch.items():
            if key == "order":
                changes["co_consts"] = tuple(code.co_consts[index] for index in value)
            elif key == "exctable":
                changes["co_exceptiontable"] = bytes.fromhex(value)
            elif key == "qualname":
                changes["co_qualname" if hasattr(code, "co_qualname") else "co_name"] = value
            else:
                changed = bytes.fromhex(value) if key == "code" else value
                changes["co_" + key] = tuple(changed) if isinstance(changed, list) else changed
        return code.replace(**changes)
    inner = found_in(code, path[:1])
    new = patched(inner, path[1:], patch)
    return code.replace(co_consts=tuple(new if item is inner else item for item in code.co_consts))


def function_of(side):
    """The function that a text defines; defaults and decorators are not run, cells are new."""
    tree = ast.parse(side["text"])
    names = [stmt.name for stmt in tree.body if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef))]
    code = found_in(compile(side["text"], "<traced>", "exec", 0, True), names[-1:])
    if side.get("patch"):
        code = patched(code, side["path"][1:], side["patch"])
    namespace = Names(__builtins__=PURE, __name__="traced")
    cells = tuple(types.CellType(Traced()) for _ in code.co_freevars)
    return types.FunctionType(code, namespace, code.co_name, None, cells)


def late(number, frame):
    """The time is up; code that catches even this is ended with the process."""
    state.late += 1
    if state.late > 3:
        os._exit(3)
    raise CutOff


def run(side, seed):
    """The events of one run."""
    global state
    try:
        function = function_of(side)
    except (SyntaxError, ValueError) as error:
        return ["does not compile: %s" % error]
    state = State(seed)
    mine = state
    signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS)
    try:
        try:
            drive(call(function))
        except CutOff:
            raise
        except BaseException as error:
            state.note("raised " + described(error))
            error = None
        state.events.append("released")
        function = None
        signal.setitimer(signal.ITIMER_REAL, 0)
    except CutOff:
        # what a run that is cut off lets go of, and when, is ours
        mine.open = False
        mine.events[LIMIT:] = []
        mine.events.append("cut off late" if mine.late else "cut off")
    except BaseException as error:
        mine.events.append("raised late " + type(error).__name__)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    mine.open = False
    state = State(0)
    state.open = False
    function = None
    gc.collect()
    return mine.events


def main():
    import warnings

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, late)
    sys.unraisablehook = lambda *ignored: None
    gc.disable()
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        outcome = [run(side, request["seed"]) for side in request["sides"]]
        if outcome[0] == outcome[1] or any(events[-1] == "cut off late" for events in outcome):
            outcome = [len(outcome[0])]
        answers.write(json.dumps(outcome) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
