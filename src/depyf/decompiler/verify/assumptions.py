"""What a proof may assume: each assumption once, with the text that verdicts show.

Each is a rule of the walk, which notes the assumption when it uses it.  ``docs/reference/verdicts.md`` lists the same
texts, and when they are used.
"""

from __future__ import annotations

# What every proof may rest on.
ITERATOR_NOTE = "assumes that iter() of an iterator gives the iterator itself"
BUILTIN_NOTE = "assumes that these names give the builtins which they are the names of: "
"""The names follow."""
NOTED_NOTE = (
    "assumes that nothing reads __static_attributes__, where the text cannot note an attribute that it sets by setattr"
)
EXTEND_NOTE = "where a list is extended by what is not iterable, the message of the TypeError may differ"
AWAITED_NOTE = "where what 'async with' awaits is not awaitable, the message of the TypeError may differ"
WHOLE_NOTE = "a mapping that updates a dict made in another block is read whole before the dict changes"
KEYWORDS_NOTE = "assumes that no callee keeps or changes the dict of its keyword arguments, which is a copy in the text"
PLAIN_NOTE = (
    "assumes that what a conversion or a format gives is a plain string, no subclass that has another __format__"
)
SET_NOTE = "assumes that nothing depends on the order of a set of numbers, which no text of it gives"
SEED_NOTE = "assumes that nothing depends on the order of a constant set of text, which is another in each process"
SET_ORDER_NOTE = "assuming that the order does not matter in which a set of constants gives its elements"
MANAGER_NOTE = (
    "assumes that a context manager has no __enter__ or __exit__ beside those of its type, and an exception no other"
    " traceback than its own"
)

# Exceptions, and how long objects live.
AGAIN_NOTE = (
    "an exception that is raised again by a statement gets one more entry in its traceback, and may get another"
    " __context__"
)
TESTED_NOTE = "the TypeError about a type in 'except' that is no exception may get another __context__"
UNWIND_NOTE = "where a handler raises, its exception counts as handled no longer, although the bytecode never says so"
HANDLED_NOTE = "an exception may live until its handler is left, where in the bytecode its handler has raised"
CAUGHT_NOTE = "where an exception is caught, a temporary may keep its object alive until the function returns"
FORGOTTEN_NOTE = "where paths meet, a temporary of one of them may keep its object alive until the function returns"
RAISED_NOTE = (
    "where an operation raises, a temporary keeps its object as long as the traceback lives, to which the frame belongs"
)
CYCLE_NOTE = "an exception that is raised from a temporary is a part of its own traceback until the collector runs"
EMPTY_NOTE = (
    "what stands below a block on the stack may be released before its handler is left, where a call has used it up"
    " on another way there"
)
LEFT_NOTE = "what the bytecode leaves on the stack when it returns is never released; the text releases it"
END_ORDER_NOTE = "assumes that no finaliser tells in which order objects end between two operations"

# Names that nothing looks at.
VARIABLE_ORDER_NOTE = (
    "local variables are in another order: assumes that nothing looks at it, or depends on which of them ends first"
)
ITERABLE_NOTE = "what a comprehension's frame calls its iterable is not looked at"
QUALNAME_NOTE = (
    "assumes that nothing looks at the qualified name of a function that is not called after what it is nested in"
)
NAME_NOTE = "assumes that nothing looks at the name of a function which no source can give it"
CODE_NAME_NOTE = (
    "assumes that nothing looks at the name of code that is called otherwise than what it is stored as or used for"
)
PARAMETER_NOTE = (
    "parameters have other names, as no source can have theirs: assumes that no call passes them by keyword, and that"
    " nothing looks at their names"
)
SLOT_NOTE = (
    "variables have other names, as no source can have theirs: assumes that nothing looks at these (messages of"
    " errors, inspect)"
)
STAND_IN_NOTE = "assumes that nothing looks for names which no source can have: the text has others in their place"
NAMESPACE_NOTE = "assumes an ordinary namespace: temporaries are names in it for a while"
FEATURE_NOTE = (
    "the text imports from __future__ what the original was compiled with by a flag: assumes that nothing looks for"
    " the names this binds"
)
IMPORT_NOTE = "the text imports builtins under other names: assumes that nothing looks for the names this binds"

# What the program that wrote the code promises (``depyf.decompiler.generated.contract``).
STABLE_NOTE = "assuming that the globals which the generator of this code installed are not rebound"
FIXED_NOTE = "assuming that the functions of torch's own modules and the builtins are not rebound while it runs"
GRAPH_NOTE = "assuming that a compiled graph returns a list or tuple which is never changed"
MAKER_NOTE = "assuming that making a resume function from cells has no effect"
READ_NOTE = "assuming that what the guards have just read can be read in another order"
MARK_NOTE = "assuming that torch's profiler marks change nothing the program can see"
KEYS_NOTE = "assuming that hashing and comparing the keys which torch puts in a large dict or set changes nothing"
IDLE_NOTE = "assuming that a function whose code does nothing keeps that code"
UNREACHED_NOTE = "assuming that no exception is suppressed by a 'with' after which torch then raises None"
VARIABLE_NOTE = "assuming that nothing looks up by name the variables which the generator added"
LISTS_NOTE = "assuming that the lists by which torch hands frames on are torch's alone"
CONTAINERS_NOTE = "assuming that containers which torch hands on half filled are torch's alone: the text copies them"
FUNCTIONS_NOTE = (
    "assuming that torch hands on what the code before the break made: the text takes defaults and annotations apart"
)
STRINGS_NOTE = "assuming that the parts of formatted strings which torch hands on are plain strings"
ASSIGNED_NOTE = (
    "assuming that nothing sees the variable of an augmented assignment which torch cut in two until that is done"
)
