"""CPython 3.9: finally bodies are copied by the compiler, RERAISE, IS_OP and CONTAINS_OP, LIST_EXTEND and its like."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.versions import base, before_311
from depyf.decompiler.bytecode.versions.base import counted, fixed
from depyf.decompiler.bytecode.versions.data import op39
from depyf.decompiler.bytecode.versions.spec import Rule, build_spec

RULES: dict[str, Rule | None] = {
    **before_311.RULES,
    "COMPARE_OP": base.chosen(ops.COMPARE, op39.CMP),
    "IS_OP": base.chosen(ops.IS, ("is", "is not")),
    "CONTAINS_OP": base.chosen(ops.CONTAINS, ("in", "not in")),
    "JUMP_IF_NOT_EXC_MATCH": before_311.jump_if_not_exc_match,
    "LOAD_ASSERTION_ERROR": fixed(ops.LOAD_COMMON, "AssertionError"),
    "LIST_EXTEND": counted(ops.LIST_EXTEND),
    "SET_UPDATE": counted(ops.SET_UPDATE),
    "DICT_UPDATE": counted(ops.DICT_UPDATE),
    "DICT_MERGE": counted(ops.DICT_MERGE),
    "LIST_TO_TUPLE": fixed(ops.LIST_TO_TUPLE),
}

SPEC = build_spec(op39, RULES)
