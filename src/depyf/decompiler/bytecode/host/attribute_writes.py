"""The names of attributes that a function of the running interpreter writes or deletes, whatever object has them."""

from __future__ import annotations

from types import CodeType

from depyf.decompiler.bytecode.codeunit import nested_codes
from depyf.decompiler.bytecode.host.assemble import disassemble

_WRITES = ("STORE_ATTR", "DELETE_ATTR")


def written_attributes(code: CodeType) -> set[str]:
    """The names in ``code`` and in the code of functions that it defines.  BytecodeError for code that the running
    interpreter cannot run."""
    found = {code.co_names[op.arg] for op in disassemble(code) if op.name in _WRITES}
    return found.union(*map(written_attributes, nested_codes(code)))
