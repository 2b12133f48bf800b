"""The functions that the guard expressions of a page call: ``depyf.sources.live.guards.check_functions`` defines them."""

CHECKS = frozenset({
    "as_tensor", "attribute", "check_global_state", "check_no_aliasing", "check_overlapping", "check_tensor",
    "check_torch_function_mode_stack", "class_module", "class_name", "class_named", "current_stream",
    "dataclass_fields", "default_device_is", "from_numpy", "in_classes", "is_a", "is_nan", "iterator_count",
    "iterator_item", "iterator_length", "iterator_range", "length", "marks_on", "marks_within",
    "no_dynamic_marks", "same_dtensor_spec", "same_guarded_values", "same_items", "same_membership",
    "same_metadata", "same_object", "same_value", "saved_tensors_hooks_are", "sets_in_order", "short_name",
    "shown", "shows_as", "tensor_differences", "torch_checks", "torch_function_mode", "type_is", "unchanged",
})  # fmt: skip
"""All of them; ``tests/unit/run/test_guard_vocabulary.py`` compares them with the module."""

ASKING = frozenset({
    "check_global_state", "check_tensor", "check_torch_function_mode_stack", "same_dtensor_spec",
    "same_guarded_values", "same_membership", "same_metadata", "same_object", "saved_tensors_hooks_are",
    "shows_as", "torch_checks", "type_is", "unchanged",
})  # fmt: skip
"""Those whose exact answer only torch's own guard knows; the others are complete as Python."""
