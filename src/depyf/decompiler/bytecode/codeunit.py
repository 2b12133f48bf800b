"""A frozen, host-independent view of one code object, live or read from a ``.pyc``."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from depyf.safety.depth import any_depth


@dataclass(frozen=True, slots=True, eq=False)
class CodeUnit:
    """The content of a code object, whatever interpreter wrote it.

    ``version`` is ``(major, minor)`` of the writer.  ``consts`` holds nested code objects as ``CodeUnit``; every
    other constant is the live object (Dynamo puts dtypes, functions and modules there).  ``exctable`` is empty
    before 3.11.  ``lines`` maps a byte offset to a source line for every instruction that has one.
    """

    version: tuple[int, int]
    name: str
    qualname: str
    filename: str
    firstlineno: int
    argcount: int
    posonlyargcount: int
    kwonlyargcount: int
    nlocals: int
    stacksize: int
    flags: int
    code: bytes
    consts: tuple[Any, ...]
    names: tuple[str, ...]
    varnames: tuple[str, ...]
    cellvars: tuple[str, ...]
    freevars: tuple[str, ...]
    linetable: bytes
    exctable: bytes
    live: types.CodeType | None = field(default=None, repr=False)
    """The code object of the running interpreter this was made from, if it was."""
    optimized: int = 0
    """The level of optimisation (``-O``, ``-OO``) it was compiled with, as far as that is known."""
    slots: tuple[tuple[str, int], ...] = ()
    """The slots with their kinds (3.11+), where the three tuples of names do not tell which variable has which slot."""
    given: CodeUnit | None = field(default=None, repr=False)
    """The unit as it was read, where this one has other names for what it has (``told_apart``)."""

    @property
    def folds_percent(self) -> bool:
        """Whether the compiler turns ``"%s" % (x,)`` into a formatted string (3.11+)."""
        return self.version >= (3, 11)

    @property
    def annotates_in_order(self) -> bool:
        """Parameters that are positional only are annotated before the others; up to 3.14 after them."""
        return self.version >= (3, 15)

    @property
    def joins_at_once(self) -> bool:
        """Whether a starred display or call is built by one instruction (3.8) rather than step by step."""
        return self.version < (3, 9)

    @property
    def fills_displays(self) -> bool:
        """Whether a list or set display of three or more constants is filled from one constant (3.9+)."""
        return self.version >= (3, 9)

    @property
    def fills_long_displays(self) -> bool:
        """Whether a set display of more than 30 constants is filled from one constant, too (up to 3.13)."""
        return self.version < (3, 14)

    @property
    def has_qualname(self) -> bool:
        """Whether the code object has its qualified name (3.11+); before, the instructions that make a function give
        it."""
        return self.version >= (3, 11)

    @property
    def fills_sets_twice(self) -> bool:
        """Whether the compiler fills a constant set with the items of one that it has filled from the text (before
        3.14)."""
        return self.version < (3, 14)

    @property
    def packs_wide_calls(self) -> bool:
        """Whether a call of very many arguments passes them as a tuple and a dict (3.10+)."""
        return self.version >= (3, 10)

    @property
    def fills_stepwise(self) -> bool:
        """Whether a dict display of more than 15 pairs, or a set display of more than 30 items, is filled one by one
        (3.10+)."""
        return self.version >= (3, 10)

    @property
    def joins_tests_on_a_line(self) -> bool:
        """Whether ``(a and b) or c`` tests ``a and b`` once if all is on one line, and else twice (3.10, 3.11)."""
        return (3, 10) <= self.version < (3, 12)

    @property
    def notes_class_line(self) -> bool:
        """Whether a class body begins with a store to ``__firstlineno__`` (3.13+)."""
        return self.version >= (3, 13)

    @property
    def lists_static_attributes(self) -> bool:
        """Whether a class body ends with a store to ``__static_attributes__`` (3.13+)."""
        return self.version >= (3, 13)

    @property
    def keeps_dead_code(self) -> bool:
        """Whether the compiler leaves instructions that nothing reaches (before 3.10)."""
        return self.version < (3, 10)

    @property
    def drops_constant_statements(self) -> bool:
        """Whether a statement whose condition is a constant leaves nothing, not even its variables (up to 3.9)."""
        return self.version < (3, 10)

    @property
    def prepares_for_annotations_in_match(self) -> bool:
        """Whether an annotation inside of a ``match`` makes the compiler prepare ``__annotations__`` (3.11+)."""
        return self.version >= (3, 11)

    @property
    def null_above_callable(self) -> bool:
        """Whether the NULL in a call sequence lies above the callable (3.13+) or below it (3.11, 3.12)."""
        return self.version >= (3, 13)

    @property
    def forgets_its_stack(self) -> bool:
        """Whether what is left on the stack when a function returns is never released (3.9, 3.10)."""
        return (3, 9) <= self.version < (3, 11)

    @property
    def may_be_default(self) -> bool:
        """Whether this may be the function that evaluates the default of a type parameter (3.13+)."""
        return self.version >= (3, 13) and self.name != "<lambda>"

    @property
    def implicit_variables(self) -> tuple[str, ...]:
        """The variables that the compiler makes in a class for the functions in it."""
        later = (((3, 12), "__classdict__"), ((3, 14), "__conditional_annotations__"))
        return ("__class__", *[name for since, name in later if self.version >= since])

    @property
    def leaks_comprehensions(self) -> bool:
        """Whether what one comprehension binds is local to the other comprehensions of the function, too (3.12)."""
        return self.version == (3, 12)

    @property
    def inlines_comprehensions(self) -> bool:
        """Whether list, set and dict comprehensions are part of the code around them (3.12+)."""
        return self.version >= (3, 12)

    @property
    def functions_see_class(self) -> bool:
        """Whether the annotations of every function see the names of the class around it (3.14+)."""
        return self.version >= (3, 14)

    @property
    def adds_to_large_sets(self) -> bool:
        """Whether a display of more than 30 constants adds them one by one; before 3.14 one constant fills it."""
        return self.version >= (3, 14)

    @property
    def has_match(self) -> bool:
        """Whether the language has ``match`` statements (3.10+)."""
        return self.version >= (3, 10)

    @property
    def branches_backward(self) -> bool:
        """Whether a conditional jump may go backward (not from 3.12 on: it goes forward over a jump back)."""
        return self.version < (3, 12)

    @property
    def handlers_last(self) -> bool:
        """Whether the compiler that wrote this moves exception handlers after all other code (3.12+)."""
        return self.version >= (3, 12)

    @property
    def asserts_by_name(self) -> bool:
        """Whether ``assert`` loads the global ``AssertionError`` like any other (before 3.9)."""
        return self.version < (3, 9)

    @property
    def unbinds_handled(self) -> bool:
        """Whether ``except E as e`` unbinds its name at its end while the exception is still handled (before 3.9)."""
        return self.version < (3, 9)

    @property
    def copies_long_ends(self) -> bool:
        """Whether the end of a function is copied to where jumps to it are, however long it is (3.10)."""
        return self.version == (3, 10)

    @property
    def folds_annotations(self) -> bool:
        """Whether tuples of constants are folded before an annotation becomes a text (before 3.9)."""
        return self.version < (3, 9)

    @property
    def params(self) -> tuple[str, ...]:
        """Parameter names in signature order, ``*args`` and ``**kwargs`` included."""
        count = self.argcount + self.kwonlyargcount + bool(self.flags & CO_VARARGS) + bool(self.flags & CO_VARKEYWORDS)
        return self.varnames[:count]

    @property
    def docstring(self) -> str | None:
        """The docstring of a function; class and module bodies store theirs with instructions."""
        if self.version >= (3, 14) and not self.flags & CO_HAS_DOCSTRING:
            return None
        first = self.consts[0] if self.consts else None
        return first if isinstance(first, str) else None

    @classmethod
    def from_code(cls, code: types.CodeType) -> CodeUnit:
        """The unit of a live code object of the running interpreter; nested code objects come along."""
        return _from_code(code, sys.version_info[:2])


@any_depth
def _from_code(code: types.CodeType, version: tuple[int, int]) -> CodeUnit:
    consts = tuple(_from_code(item, version) if type(item) is types.CodeType else item for item in code.co_consts)
    if version < (3, 11):
        from depyf.decompiler.bytecode.qualnames import with_qualnames

        consts = with_qualnames(code.co_code, consts)
    else:
        from depyf.decompiler.bytecode.variables.live_slots import live_slots
    return CodeUnit(
        version=version,
        name=code.co_name,
        qualname=getattr(code, "co_qualname", code.co_name),  # 3.11+
        filename=code.co_filename,
        firstlineno=code.co_firstlineno,
        argcount=code.co_argcount,
        posonlyargcount=code.co_posonlyargcount,
        kwonlyargcount=code.co_kwonlyargcount,
        nlocals=code.co_nlocals,
        stacksize=code.co_stacksize,
        flags=code.co_flags,
        code=code.co_code,
        consts=consts,
        names=code.co_names,
        varnames=code.co_varnames,
        cellvars=code.co_cellvars,
        freevars=code.co_freevars,
        linetable=code.co_linetable,
        exctable=getattr(code, "co_exceptiontable", b""),  # 3.11+
        live=code,
        optimized=sys.flags.optimize,
        slots=live_slots(code) if version >= (3, 11) else (),
    )


def units(unit: CodeUnit) -> Iterator[CodeUnit]:
    """``unit`` and all code nested in it, outer first."""
    pending = [unit]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(reversed(nested_units(found)))


def nested_units(unit: CodeUnit) -> list[CodeUnit]:
    """The code directly inside ``unit``, in the order of its constants."""
    return [const for const in unit.consts if type(const) is CodeUnit]


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """``code`` and all code nested in it, outer first; live code objects."""
    pending = [code]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(reversed(nested_codes(found)))


def nested_codes(code: types.CodeType) -> list[types.CodeType]:
    """The code objects directly inside ``code``, in the order of its constants."""
    return [const for const in code.co_consts if type(const) is types.CodeType]


CO_OPTIMIZED = 0x1
CO_NEWLOCALS = 0x2
CO_VARARGS = 0x4
CO_VARKEYWORDS = 0x8
CO_NESTED = 0x10
CO_GENERATOR = 0x20
CO_COROUTINE = 0x80
CO_ITERABLE_COROUTINE = 0x100
CO_ASYNC_GENERATOR = 0x200
CO_FUTURE_ANNOTATIONS = 0x1000000
CO_HAS_DOCSTRING = 0x4000000  # 3.14+
