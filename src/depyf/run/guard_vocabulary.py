"""The functions that the guard expressions of a page call: ``depyf.sources.live.guards.check_functions`` has them."""

from depyf.run.guards import known_kinds

HELPERS = frozenset({
    "as_tensor", "class_named", "current_stream", "dataclass_fields", "from_numpy", "is_nan", "iterator_count",
    "iterator_item", "iterator_length", "iterator_range", "reversed_length", "reversed_list", "torch_function_mode",
})  # fmt: skip
"""Those that give a value and check nothing."""
CHECKS = HELPERS | known_kinds.CHECKS
ASKING = known_kinds.ASKING
"""Those whose exact answer only torch's own guard knows; the others are complete as Python."""
