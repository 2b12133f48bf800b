"""What well-known functions do with the numbers that they are given: Python's, torch's, those of loggers.

Input: nothing.  Output invariant: plain tables of names.  A function of torch is known by its last name, and so is the
method of a tensor.
"""

from __future__ import annotations

NUMBERS = frozenset("int float bool complex abs round min max sum pow divmod hash any all next".split())
"""Builtins that make a number of numbers."""
TEXTS = frozenset("str repr format ascii hex bin oct chr".split())
CONTAINERS = frozenset(
    "list tuple set frozenset dict sorted reversed enumerate zip iter map filter deque defaultdict OrderedDict".split()
)
"""They put what they get into a container, or pass a container on."""
MODULES = frozenset(("ModuleList", "ModuleDict", "Sequential"))
"""They make containers of modules."""
ASKS = frozenset("len isinstance issubclass type id callable hasattr".split())
"""They do not look at the value of a number."""
NUMBERS_OF_TENSORS = frozenset("size dim numel ndimension element_size stride get_device nelement".split())
"""Methods that say a number that does not depend on the values in a tensor."""
NUMBER_ATTRIBUTES = frozenset("shape ndim itemsize".split())
COLLECTS = frozenset("append appendleft extend extendleft insert add update setdefault put push".split())
"""Methods of containers that keep what they get."""
TAKES_OUT = frozenset("pop popleft get index count".split())
"""Methods of containers that give back one of what is in them."""
PACKS = frozenset(("pack_padded_sequence", "pack_sequence"))
"""They make what an RNN reads of sequences of several lengths."""
LOGS = frozenset(
    "debug info warning warn error exception critical log add_scalar add_scalars add_text log_metric log_metrics "
    "log_dict set_postfix set_postfix_str set_description write writelines echo".split()
)
"""Methods that write down what they get."""
NUMERIC_MODULES = frozenset(("math", "operator"))
READS = frozenset("item tolist numpy".split())
"""Methods that read numbers out of a tensor."""
READ_BY = frozenset("int float bool complex".split())
"""Builtins that do."""
MANY_READ = frozenset("tolist numpy".split())

SIZES = frozenset(
    "zeros ones empty full rand randn randint randperm arange linspace logspace eye tri tril_indices triu_indices "
    "view reshape expand repeat tile new_zeros new_ones new_empty new_full resize_ resize unflatten broadcast_to split "
    "split_with_sizes chunk tensor_split narrow topk kthvalue repeat_interleave pad interpolate unfold fold "
    "as_strided vander adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d "
    "hann_window hamming_window".split()
)
"""Functions of torch and methods of tensors that make a size of a number."""
CONSTANTS = frozenset("one_hot combinations bincount".split())
"""Those that must know it while compiling."""
INDEXES = frozenset(
    "select index_select roll gather take select_scatter slice_scatter narrow_copy swapaxes transpose movedim diagonal "
    "tril triu rot90 __getitem__".split()
)
"""Those that make an index of it."""
COMPUTES = frozenset(
    "add sub mul div divide true_divide floor_divide remainder fmod pow clamp clip min max minimum maximum where lerp "
    "fill fill_ full_like masked_fill masked_fill_ add_ sub_ mul_ div_ pow_ clamp_ clip_ eq ne gt lt ge le tensor "
    "as_tensor scalar_tensor addcmul addcdiv addcmul_ addcdiv_ baddbmm addmm dropout leaky_relu elu celu softplus "
    "threshold softshrink hardshrink normal_ uniform_ bernoulli bernoulli_ normal layer_norm rms_norm "
    "index_fill index_fill_ mul lerp_ xlogy copysign hypot atan2 float_power isclose allclose".split()
)
"""Those that compute with it."""
COMPUTES_IN = {"full": 1, "new_full": 1, "pad": 3}
"""Of those in ``SIZES``: from which argument on a number is no size (the value that is filled in)."""
FILLED_IN = frozenset(("fill_value", "value"))
"""Keywords that are no sizes."""
