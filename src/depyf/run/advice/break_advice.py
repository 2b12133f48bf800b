"""The advice on graph breaks, on functions that run as ordinary Python and on errors.
``tests/torch/answers/test_advice.py`` has a program for each of them."""

from __future__ import annotations

from depyf.run.advice.advice import Advice, Switch, SwitchKind

_ONE_GRAPH = "the graph goes on there"
_OUTSIDE = "it runs before or after the graph"

VALUES_OF_TENSORS = (
    Advice(
        "capture-scalars",
        "a number read out of a tensor that decides no branch and no loop",
        "torch._dynamo.config.capture_scalar_outputs = True",
        "the number becomes a symbol of the graph",
        "torch raises an error where the number must be known, as it must in an index of a list",
        Switch(SwitchKind.CONFIG, "capture_scalar_outputs", "True"),
    ),
    Advice(
        "keep-tensor",
        "a number read out of a tensor that is computed with",
        "compute with the tensor instead of the number",
        _ONE_GRAPH + ", and nothing waits for the device",
    ),
    Advice(
        "pass-number",
        "a number read out of a tensor that is an index or a size",
        "read the number before the compiled function and pass it as an argument",
        _ONE_GRAPH,
        "the tensor must be known before the call",
    ),
    Advice(
        "index-tensor",
        "a number read out of a tensor that picks something out of a list or a dict",
        "make one tensor of what is picked from, and index that with the tensor",
        _ONE_GRAPH,
    ),
    Advice(
        "loop-outside",
        "a loop over what is read out of a tensor, or that runs as often as that says",
        "leave the loop out of the compiled function, and compile what one round of it calls",
        "a round is one graph",
        "the loop itself runs as ordinary Python",
    ),
    Advice(
        "assert-tensor",
        "a check of a number that was read out of a tensor",
        "assert it of the tensor, without reading a number: assert (x > 0).all(), 'message'",
        "the check is part of the graph",
        "the error is a RuntimeError",
    ),
    Advice(
        "log-after",
        "a number read out of a tensor that is only printed or logged",
        "return the tensor, and print or log the number after the compiled function",
        _ONE_GRAPH,
    ),
    Advice(
        "read-after",
        "a number read out of a tensor that is returned",
        "return the tensor, and read the number after the compiled function",
        _ONE_GRAPH,
    ),
    Advice(
        "store-tensor",
        "a number read out of a tensor that is stored",
        "store the tensor and read the number where it is used, or store the number after the compiled function",
        _ONE_GRAPH,
    ),
    Advice(
        "unused-number",
        "a number read out of a tensor that nothing uses",
        "take it out: nothing uses the number",
        _ONE_GRAPH,
    ),
    Advice(
        "keep-size",
        "a selection by a mask",
        "keep the size: torch.where(mask, x, 0) or x * mask instead of x[mask] (for a mean divide by mask.sum(); in a "
        "loss use ignore_index)",
        _ONE_GRAPH,
        "what is left out is computed, too",
    ),
    Advice(
        "capture-dynamic-shapes",
        "an operator whose result has as many elements as the values say",
        "torch._dynamo.config.capture_dynamic_output_shape_ops = True",
        "the size of the result becomes a symbol of the graph",
        "torch raises an error, or breaks the graph, where the program asks something about that size",
        Switch(SwitchKind.CONFIG, "capture_dynamic_output_shape_ops", "True"),
    ),
    Advice(
        "no-size-question",
        "an operator whose result has as many elements as the values say, where a line asks how many",
        "take out the question about the size at {line} (operators take empty tensors, too), and set "
        "torch._dynamo.config.capture_dynamic_output_shape_ops = True",
        _ONE_GRAPH,
        "what was left out for an empty tensor is computed",
    ),
    Advice(
        "branchless",
        "a branch on the values in a tensor, or on a number read out of one",
        "compute both ways and choose with torch.where, or use torch.cond",
        _ONE_GRAPH,
        "both ways are computed (torch.where)",
    ),
    Advice(
        "check-outside",
        "an assertion about the values in a tensor, or an if that only prints",
        "check this outside of the compiled function",
        _ONE_GRAPH,
    ),
    Advice(
        "is-causal",
        "a mask given to torch.nn.Transformer, TransformerEncoder or TransformerDecoder",
        (
            "pass is_causal=True or False with the mask (to a decoder tgt_is_causal, too): "
            "without it torch reads the mask to find out"
        ),
        _ONE_GRAPH,
        "is_causal=True with another mask than the causal one computes something else",
    ),
    Advice(
        "num-classes",
        "one_hot without the number of classes",
        "pass num_classes to torch.nn.functional.one_hot",
        "the size of the result is known while compiling",
    ),
)

SIDE_EFFECTS = (
    Advice(
        "reorder-output",
        "a call that writes something",
        "torch._dynamo.config.reorderable_logging_functions.add({function})",
        "what it writes comes after the graph instead of in the middle of it",
        "the order of what is written changes; a tensor is shown as it is at the end",
        Switch(SwitchKind.ADD, "reorderable_logging_functions", "function"),
    ),
    Advice(
        "write-outside",
        "a call that writes something",
        "call {function} outside of the compiled function",
        _ONE_GRAPH,
    ),
    Advice(
        "ignore-logging",
        "a call of a logger",
        "torch._dynamo.config.ignore_logging_functions.add({function})",
        "compiled code leaves the message out",
        "the messages are lost",
        Switch(SwitchKind.ADD, "ignore_logging_functions", "function"),
    ),
)

OUTSIDE = (
    Advice(
        "backward-outside",
        "a training step that is compiled as a whole",
        "compile only what computes the loss: leave backward() and optimizer.step() outside of the compiled function "
        "(torch compiles the backward with the forward)",
        "the forward is one graph, and the backward is another",
        one_cause=True,
    ),
    Advice(
        "gradient-outside",
        "torch.autograd.grad in compiled code",
        "call torch.autograd.grad outside of the compiled function (torch compiles the backward with the forward)",
        "the forward is one graph, and the backward is another",
    ),
    Advice(
        "call-outside",
        "a function that Dynamo does not look into",
        "call {function} outside of the compiled function",
        _OUTSIDE,
    ),
    Advice(
        "custom-operator",
        "a function with tensors that Dynamo does not look into",
        "where {function} computes tensors, make it a custom operator (torch.library.custom_op)",
        "the graph calls it without looking into it",
        "torch needs to be told the shape of the result (register_fake), and the gradient where one is needed",
    ),
    Advice(
        "context-outside",
        "a context manager that Dynamo does not know",
        "enter {manager} outside of the compiled function",
        _ONE_GRAPH,
    ),
    Advice(
        "parameter-outside",
        "a torch.nn.Parameter that is made in compiled code",
        "make the torch.nn.Parameter outside of the compiled function",
        _ONE_GRAPH,
    ),
    Advice(
        "class-outside",
        "a class that is defined in compiled code",
        "define the class outside of the compiled function",
        _ONE_GRAPH,
    ),
    Advice(
        "no-mode-query",
        "a question about inference mode",
        "do not ask for inference mode in compiled code; torch.no_grad() does as well where torch.compile is used",
        _ONE_GRAPH,
    ),
    Advice(
        "detach-result",
        "a result that the compiled code makes require a gradient",
        "call requires_grad_() outside of the compiled function",
        _ONE_GRAPH,
    ),
)

ASKED_FOR = (
    Advice(
        "no-graph-break",
        "a graph break that the program asks for",
        "remove the call of torch._dynamo.graph_break()",
        _ONE_GRAPH,
    ),
    Advice(
        "no-disable",
        "a function that is excluded from compilation",
        "call {function} outside of the compiled function, or remove torch.compiler.disable from it (unless it is "
        "there because torch fails to trace it)",
        "it is compiled with what calls it",
    ),
    Advice(
        "loop-body",
        "a graph break in a loop",
        "put the body of the loop into a function and compile that one: a break in a loop makes torch leave the whole "
        "function to ordinary Python",
        "the body is compiled up to the break and after it",
    ),
    Advice(
        "break-before",
        "a method of an object made while compiling, called with what breaks the graph",
        "assign {expression} to a variable in a statement before, and pass the variable to {waiting}",
        "nothing waits where the graph breaks: the rest of the function is compiled",
    ),
    Advice(
        "rnn-apart",
        "an RNN, LSTM or GRU in a function that is compiled",
        "compile what comes before and after the RNN as separate functions or modules: what reads an RNN runs as "
        "ordinary Python",
        "they are compiled, and the RNN runs as its own kernel",
    ),
    Advice(
        "allow-rnn",
        "an RNN, LSTM or GRU over few steps",
        "torch._dynamo.config.allow_rnn = True (for sequences of a few steps)",
        "the recurrence is unrolled into the graph",
        "compiling takes long for long sequences, and there is one entry per length",
        Switch(SwitchKind.CONFIG, "allow_rnn", "True"),
    ),
    Advice(
        "not-traced",
        "a line at which torch itself fails with an error",
        (
            "keep what this line calls out of the compiled function, or under torch.compiler.disable: "
            "torch fails to trace it"
        ),
        "the graph breaks there, and the program runs",
        "what is left out runs as ordinary Python",
    ),
    Advice(
        "mark-too",
        "a dimension marked dynamic that must be as long as one that is not marked",
        "torch._dynamo.mark_dynamic({tensor}, {dimension}), too, before the first call",
        "both sizes are one symbol",
        "code for any size may be slower than code for one",
        Switch(SwitchKind.MARK, "mark_dynamic"),
    ),
    Advice(
        "maybe-mark-dynamic",
        "a dimension marked dynamic of which the program needs the size",
        "use torch._dynamo.maybe_mark_dynamic instead of mark_dynamic, or take out what needs the size of {tensor}",
        "torch makes the size a constant instead of raising an error",
        "one entry per size",
    ),
)

NOT_THE_PROGRAMS = (
    Advice(
        "repro",
        "an error of a backend of torch",
        "the error alone, as a script: depyf run --record --out dump PROGRAM, then depyf repro dump {compile_id}",
        "",
        remedy=False,
    ),
    Advice(
        "torch-own",
        "a graph break in torch's own code, as in its optimizers and DistributedDataParallel",
        "torch's own, nothing to change",
        "",
        remedy=False,
    ),
    Advice(
        "library-own",
        "a graph break that a line of a library asks for",
        "the line is one of {package}: there is nothing to change in the program",
        "",
        remedy=False,
    ),
)
