"""The advice on recompilations.  ``tests/torch/answers/test_advice.py`` has a program for each of them."""

from __future__ import annotations

from depyf.run.advice.advice import Advice, Frees, Switch, SwitchKind

_ONE_ENTRY = "one entry serves all calls"
_CONVERTS = "the conversion costs time in each call"
_GENERAL = "code for any size may be slower than code for one"

SIZES = (
    Advice(
        "drop-last",
        "a last batch that is smaller",
        "drop_last=True in the DataLoader: its last batch is smaller than the others",
        _ONE_ENTRY,
        "the samples of the last batch are left out, others in each epoch where the loader shuffles",
    ),
    Advice(
        "trainer-drop-last",
        "a last batch of a Trainer that is smaller",
        "TrainingArguments(dataloader_drop_last=True): the last batch is smaller than the others",
        _ONE_ENTRY,
        "the samples of the last batch are left out, others in each epoch where the loader shuffles",
    ),
    Advice(
        "pad-batches",
        "batches that are as long as their longest sample",
        "{how}: a batch is as long as its longest sample",
        _ONE_ENTRY,
        "the padding is computed, too",
    ),
    Advice(
        "mark-dynamic",
        "a size of an argument that differs between calls",
        "torch._dynamo.mark_dynamic({tensor}, {dimension}) before the first call",
        "the size is a symbol from the first compilation on",
        f"torch raises ConstraintViolationError where the program needs the size itself; {_GENERAL}",
        Switch(SwitchKind.MARK, "mark_dynamic"),
        frees=Frees.SYMBOL,
    ),
    Advice(
        "compile-dynamic",
        "a size or a number that differs between calls",
        "torch.compile(dynamic=True)",
        "all sizes and numbers are symbols from the first compilation on",
        _GENERAL,
        Switch(SwitchKind.CONFIG, "assume_static_by_default", "False"),
        frees=Frees.SYMBOLS,
    ),
    Advice(
        "launched-dynamic",
        "the same, where accelerate or a Trainer calls torch.compile",
        "ACCELERATE_DYNAMO_USE_DYNAMIC=true in the environment: {library} calls torch.compile for the program",
        "all sizes and numbers are symbols from the first compilation on",
        _GENERAL,
        Switch(SwitchKind.CONFIG, "assume_static_by_default", "False"),
        frees=Frees.SYMBOLS,
    ),
    Advice(
        "no-static",
        "a size or a number that differs between calls of what is compiled with dynamic=False",
        "leave out dynamic=False: what changes becomes a symbol then",
        "sizes and numbers that change are symbols from the second compilation on",
        _GENERAL,
        Switch(SwitchKind.COMPILING, "automatic_dynamic_shapes", "True"),
        frees=Frees.SYMBOLS_WHEN_CHANGED,
    ),
    Advice(
        "mark-unbacked",
        "a size that is 0 or 1 in some calls",
        "torch._dynamo.decorators.mark_unbacked({tensor}, {dimension}) before the first call (where the program asks "
        "nothing about that size)",
        "the size is a symbol of which nothing is known, not even that it is 2 or more",
        "the graph breaks, or torch raises an error, where the program asks something about the size",
        Switch(SwitchKind.MARK, "mark_unbacked"),
        frees=Frees.UNASKED,
    ),
    Advice(
        "declare-size",
        "a size that differs between calls, and that dynamic_shapes= of torch.compile declares as it is",
        "declare dimension {dimension} of {tensor} in dynamic_shapes= of torch.compile: a ShapeVar in its place (marks "
        "and dynamic=True do not go with dynamic_shapes=)",
        "the size is a symbol of which nothing is known but what is declared",
        "torch raises an error where the program asks something about the size",
        frees=Frees.UNASKED,
    ),
    Advice(
        "declared-bound",
        "a size outside of the range that dynamic_shapes= of torch.compile declares",
        "declare the range that the calls need (min= and max= of its ShapeVar in dynamic_shapes=), or make the call "
        "within the range that is declared",
        "the call runs the code that is there",
        frees=Frees.NOTHING,
    ),
    Advice(
        "unequal-sizes",
        "two sizes that are equal in the first call and differ in a later one",
        "let {sizes} differ in the first call, or torch.fx.experimental._config.use_duck_shape = False: torch takes "
        "sizes that are equal while it compiles for one",
        _ONE_ENTRY,
        "with use_duck_shape = False there is a symbol for each size of each input, and more guards",
    ),
    Advice(
        "pad-size",
        "a size that is 0 or 1 in some calls",
        (
            "pad or expand dimension {dimension} of {tensor} to 2 or more in every call, "
            "or accept an entry for it: sizes 0 and 1 are always compiled separately"
        ),
        _ONE_ENTRY,
        "the padding is computed, too",
    ),
    Advice(
        "dynamic-parameters",
        "a size of a module's parameter or buffer that differs between calls",
        "torch._dynamo.config.force_parameter_static_shapes = False (for {tensor}: marks and dynamic=True do not reach "
        "a parameter or a buffer)",
        "sizes of parameters and buffers become symbols when they change",
        _GENERAL,
        Switch(SwitchKind.CONFIG, "force_parameter_static_shapes", "False"),
        frees=Frees.SYMBOL_WHEN_CHANGED,
    ),
    Advice(
        "needed-value",
        "a number or size that a line of the program makes a constant",
        (
            "move what needs the value of {name} out of the compiled function (one entry per value, "
            "as long as {line} is compiled)"
        ),
        "with that line outside of the compiled function, one entry serves all values",
        "what is outside runs as ordinary Python",
    ),
    Advice(
        "fixed-value",
        "a number or size that did not become dynamic when it changed",
        "move what needs the value of {name} (to unroll a loop, for a shape) out of the compiled function, or leave "
        "out dynamic=False: it did not become dynamic when it changed, so there is one entry per value",
        "with what needs the value outside of the compiled function, one entry serves all values",
        "what is outside runs as ordinary Python",
    ),
    Advice(
        "condition",
        "a condition on a number or size",
        "what the program asks about this value became a condition of the compiled code: one entry for calls that meet "
        "it, one for others",
        "nothing: both are needed",
        remedy=False,
    ),
)

TENSORS = (
    Advice(
        "contiguous",
        "strides of an argument that differ between calls",
        "pass {tensor}.contiguous(), or tensors of one memory layout",
        _ONE_ENTRY,
        "a copy where the tensor is not contiguous",
    ),
    Advice(
        "one-rank",
        "the number of dimensions of an argument that differs between calls",
        "give {tensor} the same number of dimensions in every call (one entry per rank is needed)",
        _ONE_ENTRY,
    ),
    Advice(
        "one-dtype",
        "a dtype that differs between calls",
        "convert {tensor} to one dtype before the call (one entry per dtype is needed)",
        _ONE_ENTRY,
        _CONVERTS,
    ),
    Advice(
        "one-requires-grad",
        "an argument that requires a gradient in some calls",
        "one entry for calls where {tensor} needs a gradient and one for those where it needs none is needed; where "
        "the gradient is not used, detach it in all of them",
        "nothing: both are needed",
        remedy=False,
    ),
    Advice(
        "no-inference-tensors",
        "an argument made under torch.inference_mode in some calls",
        (
            "pass as {tensor} only tensors made under torch.inference_mode(), "
            "or none (torch.no_grad() makes ordinary ones)"
        ),
        _ONE_ENTRY,
    ),
    Advice(
        "one-inference-mode",
        "calls under torch.inference_mode and calls that are not",
        "make every call under torch.no_grad(), or every call under torch.inference_mode()",
        _ONE_ENTRY,
    ),
    Advice(
        "one-kind-of-tensor",
        "a device, layout or subclass that differs between calls",
        "give {tensor} the same {what} in every call",
        _ONE_ENTRY,
        _CONVERTS,
    ),
    Advice(
        "parameter-or-tensor",
        "an argument that is a Parameter in some calls and a Tensor in others",
        "give {tensor} the same class in every call (a Parameter and a Tensor are compiled apart)",
        _ONE_ENTRY,
    ),
    Advice(
        "distinct-tensors",
        "two arguments that are one tensor in some calls",
        "pass distinct tensors, or the same one twice, but not now this and now that",
        _ONE_ENTRY,
        "a clone of the tensor",
    ),
    Advice(
        "view-or-not",
        "an argument that is a view of another tensor in some calls",
        "pass as {tensor} a view in every call, or in none ({tensor}.clone() is no view)",
        _ONE_ENTRY,
        "the copy",
    ),
    Advice(
        "mark-alike",
        "tensors of which some are marked",
        "mark the tensors of every call alike, from the first call on",
        _ONE_ENTRY,
    ),
)

VALUES = (
    Advice(
        "unspecialised-int",
        "a number kept in a module that changes",
        "torch._dynamo.config.allow_unspec_int_on_nn_module = True (for {name})",
        "numbers of modules become symbols when they change, as those of other objects do",
        "what a module's number decides (a kernel size) is compiled for any value",
        Switch(SwitchKind.CONFIG, "allow_unspec_int_on_nn_module", "True"),
        frees=Frees.SYMBOL_WHEN_CHANGED,
    ),
    Advice(
        "tensor-in-module",
        "a number kept in a module that changes",
        "keep {name} as a tensor (register_buffer)",
        "its value is an input of the compiled code, no constant",
        "reading it as a number waits for the device",
    ),
    Advice(
        "tensor-in-object",
        "a number kept in an object that changes",
        "keep {name} as a tensor (torch.tensor(...))",
        "its value is an input of the compiled code, no constant",
        "reading it as a number waits for the device",
    ),
    Advice(
        "number-as-tensor",
        "a number that differs between calls",
        "pass {name} as a tensor (torch.tensor(...))",
        "its value is an input of the compiled code, no constant",
        "a tensor is made in each call",
    ),
    Advice(
        "tensor-learning-rate",
        "an option of an optimizer that changes",
        "give the optimizer a tensor for {name} (lr=torch.tensor(0.1)) and fill_ that tensor",
        "its value is an input of the compiled code, no constant",
    ),
    Advice(
        "no-momentum-cycle",
        "a momentum that a learning rate scheduler changes in every step",
        "{scheduler}(cycle_momentum=False): its step() puts a float into {name} each time",
        _ONE_ENTRY,
        "the momentum stays as it is",
        changes_results=True,
    ),
    Advice(
        "global-as-argument",
        "a global that changes",
        "pass {name} as an argument",
        "numbers that are arguments become symbols when they change",
        _GENERAL,
        frees=Frees.SYMBOL_WHEN_CHANGED,
    ),
    Advice(
        "global-as-tensor",
        "a global that changes",
        "make {name} a tensor (torch.tensor(...))",
        "its value is an input of the compiled code, no constant",
        "a tensor is made in each call",
    ),
    Advice(
        "one-value",
        "a value that decides what is compiled",
        "keep {name} the same between calls, or move what depends on it out of the compiled function",
        _ONE_ENTRY,
        "what is outside runs as ordinary Python",
    ),
    Advice(
        "one-flag",
        "a flag that differs between calls",
        "one entry per value of {name} is needed; keep it the same where the speed matters",
        _ONE_ENTRY,
    ),
    Advice(
        "with-and-without",
        "an argument that is None in some calls",
        "one entry for calls without {name} and one for those with it is needed",
        "nothing: both are needed",
        remedy=False,
    ),
    Advice(
        "train-and-eval",
        "a module that was switched between train() and eval()",
        "one entry for train() and one for eval() is needed",
        "nothing: both are needed",
        remedy=False,
        one_cause=True,
    ),
    Advice(
        "optimizer-state",
        "an optimizer's first step",
        "an optimizer makes the state of a parameter in its first step: one entry for the first step and one for those "
        "after it is needed",
        "nothing: both are needed",
        remedy=False,
        one_cause=True,
    ),
    Advice(
        "one-length",
        "a container whose length differs between calls",
        "keep {name} the same between calls; what grows with the calls is better kept outside of the compiled function",
        _ONE_ENTRY,
    ),
    Advice(
        "same-keys",
        "a dictionary with other keys, or another order of them",
        "pass a dictionary with the same keys, in the same order, in every call",
        _ONE_ENTRY,
    ),
    Advice(
        "always-there",
        "a key or an attribute that is there in some calls",
        "let {name} be there in every call, or in none",
        _ONE_ENTRY,
    ),
    Advice(
        "same-arguments",
        "calls with more or fewer arguments",
        "pass {what} in every call (one entry for each way to call it is needed)",
        _ONE_ENTRY,
    ),
)

OBJECTS = (
    Advice(
        "one-class",
        "an argument of several classes",
        "let {name} be {expected} in every call{otherwise}",
        _ONE_ENTRY,
    ),
    Advice(
        "class-of-self",
        "a method that several classes inherit",
        "one entry for each class of {name} is needed",
        "nothing: each is needed",
        remedy=False,
    ),
    Advice(
        "class-made-once",
        "a class that is made anew",
        "the class of {name} is made anew (by a function that runs again): one entry per class is needed",
        "with the class defined once, one entry serves all calls",
    ),
    Advice(
        "one-object",
        "an object that the compiled code is for",
        "one entry per object is needed; keep it the same where the speed matters",
        _ONE_ENTRY,
    ),
    Advice(
        "each-receiver",
        "a method that is called on several objects",
        "one entry for each object that is {name} is needed, as long as these are the same in later calls",
        "nothing: each is needed",
        remedy=False,
    ),
    Advice(
        "one-function",
        "a function that the compiled code is for",
        "it is another function now: one entry per function is needed. A lambda or a closure made anew is the same one "
        "as long as its code is",
        _ONE_ENTRY,
    ),
    Advice(
        "keep-the-object",
        "an object that is gone",
        "the entry was for one object, and went with it: pass the same object in every call. A bound method that waits "
        "for its arguments at a graph break is a new object in each call: "
        "compute what breaks the graph in a separate statement before",
        _ONE_ENTRY,
        "the object stays in memory",
    ),
)

SETTINGS = (
    Advice(
        "compile-once",
        "a function that is passed to torch.compile more than once",
        "call torch.compile once for the function and keep what it returns: entries are for one backend= and one "
        "dynamic=. In tests, torch._dynamo.reset() lets go of what earlier ones compiled",
        _ONE_ENTRY,
    ),
    Advice(
        "one-global-state",
        "calls under other settings of torch",
        "make every call under {settings}",
        _ONE_ENTRY,
    ),
    Advice(
        "with-and-without-gradients",
        "calls with gradients and calls under torch.no_grad()",
        "one entry for calls with gradients and one for those under torch.no_grad() is needed; where all calls only "
        "infer, make them all under torch.no_grad()",
        "nothing: both are needed to train and to evaluate",
        remedy=False,
        one_cause=True,
    ),
    Advice(
        "same-hooks",
        "hooks that are added or removed between calls",
        "add {hooks} before the first call, and leave them as they are",
        _ONE_ENTRY,
    ),
    Advice(
        "one-mode",
        "calls under other modes of torch",
        (
            "make every call under the same modes: torch.device as a context, torch.set_default_device, "
            "a TorchFunctionMode"
        ),
        _ONE_ENTRY,
    ),
    Advice(
        "call-before-threads",
        "an entry that fits when it is asked again",
        "asked again, this entry fits: another thread had just compiled it (make one call before the threads start), "
        "or what its guards read has changed since",
        "threads find what is compiled",
    ),
    Advice(
        "raise-limit",
        "a function that has as many entries as it may have",
        "torch._dynamo.config.recompile_limit = {limit}",
        "the function is compiled for more values before it runs as ordinary Python",
        "each entry is compiled, kept and asked: this helps where the values are few",
        Switch(SwitchKind.LIMIT, "recompile_limit", "limit"),
        frees=Frees.NOTHING,
    ),
)
