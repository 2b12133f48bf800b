"""Statement and expression trees -> Python source text with a line map, in the grammar of the target version."""

from depyf.decompiler.emit.entry import emit_function, emit_module
from depyf.decompiler.emit.result import EmitOptions, Emitted

__all__ = ["Emitted", "EmitOptions", "emit_function", "emit_module"]
