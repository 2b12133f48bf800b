"""For each advice a program that needs it.

A program is called twice: as it is, and with ``advised=True`` (or under the switch, where the advice is one).  It returns what
it computed, which must be the same both times.  ``removes`` is what the advice removes: ``compilations``, ``breaks``,
``python`` (functions that ran as ordinary Python) or ``errors``; "" for an explanation, which changes nothing.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import logging
import operator
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

import depyf

X = torch.arange(1.0, 4.0)
FACTOR = 2
TABLE = torch.ones(4)
LOG = logging.getLogger("advice_programs")


@dataclass(frozen=True)
class Program:
    run: Callable[[bool], Any]
    removes: str
    asked: bool = False
    """It returns what ``depyf.why`` says, which has the advice, and the recording does not."""
    here: bool = True
    """Whether this torch has what the program uses."""


PROGRAMS: dict[str, Program] = {}


def needs(id: str, removes: str = "compilations", asked: bool = False, here: bool = True) -> Callable[[Any], Any]:
    def register(run: Callable[[bool], Any]) -> Callable[[bool], Any]:
        assert id not in PROGRAMS
        PROGRAMS[id] = Program(run, removes, asked, here)
        return run

    return register


def compiled(function: Any, **options: Any) -> Any:
    return torch.compile(function, backend="eager", **options)


# sizes


def double(x):
    return x * 2


@needs("drop-last")
def a_smaller_last_batch(advised):
    double_c = compiled(double)
    samples = torch.utils.data.TensorDataset(torch.arange(20.0).reshape(10, 2))
    loader = torch.utils.data.DataLoader(samples, batch_size=4, drop_last=advised)
    return [double_c(x) for (x,) in loader][:2]


@needs("no-static")
def sizes_of_what_is_compiled_for_each(advised):
    """A size, and a number that is an index of what a module returns."""
    double_c = compiled(scaled_by, **({} if advised else {"dynamic": False}))
    return [double_c(torch.ones(n, 2), n) for n in (4, 5, 6, 7)]


def scaled_by(x, n):
    return x.relu()[:n] * n


class Trainer:
    """Has the name of the one of transformers, which is not needed here."""

    __module__ = "transformers.trainer"

    def train(self, loader, step):
        return [step(x) for (x,) in loader]


@needs("trainer-drop-last")
def a_smaller_last_batch_of_a_trainer(advised):
    samples = torch.utils.data.TensorDataset(torch.arange(20.0).reshape(10, 2))
    loader = torch.utils.data.DataLoader(samples, batch_size=4, drop_last=advised)
    return Trainer().train(loader, compiled(double))[:2]


def padded(samples):
    return torch.nn.utils.rnn.pad_sequence(samples, batch_first=True)


def padded_to_eight(samples):
    return nn.functional.pad(padded(samples), (0, 8 - max(map(len, samples))))


@needs("pad-batches")
def batches_as_long_as_their_longest_sample(advised):
    samples = [torch.ones(length) for length in (3, 4, 5, 6, 7, 8)]
    collate = padded_to_eight if advised else padded
    loader = torch.utils.data.DataLoader(samples, batch_size=2, collate_fn=collate)
    double_c = compiled(double)
    return [double_c(batch).sum() for batch in loader]


@needs("launched-dynamic")
def what_accelerate_compiles(advised):
    """A library of that name calls torch.compile for the program."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site-packages" / "accelerate" / "accelerator.py"
        path.parent.mkdir(parents=True)
        path.write_text("import torch\ndef prepare(f):\n    return torch.compile(f, backend='eager')\n")
        double_c = imported(path, "accelerator").prepare(double)
    return [double_c(torch.ones(size)) for size in (4, 5, 6)]


def imported(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs("mark-dynamic")
def sizes(advised):
    double_c = compiled(double)
    return [double_c(torch.ones(size)) for size in (4, 5, 6)]


@needs("unequal-sizes")
def equal_sizes(advised):
    double_c = compiled(double, dynamic=True)
    shapes = [(4, 8), (8, 8)] if advised else [(8, 8), (4, 8)]
    return sum(double_c(torch.ones(shape)).sum() for shape in shapes)


@needs("compile-dynamic")
def sizes_of_a_global(advised):
    def scaled(x):
        return x * TABLE.sum()

    scaled_c = compiled(scaled)
    results = []
    for size in (4, 5, 6):
        globals()["TABLE"] = torch.ones(size)
        results.append(scaled_c(X))
    return results


DECLARES = "dynamic_shapes" in inspect.signature(torch.compile).parameters


def declared(*dims):
    """``double`` with these sizes of ``x`` declared: (min, max), or None for a size that is a constant."""
    from torch.fx.experimental.dynamic_spec import ParamsSpec, ShapeVar, TensorSpec

    spec = [ShapeVar(f"d{i}", min=dim[0], max=dim[1]) if dim else None for i, dim in enumerate(dims)]
    return compiled(double, dynamic_shapes=ParamsSpec({"x": TensorSpec(spec)}))


@needs("declare-size", here=DECLARES)
def a_size_that_is_not_declared(advised):
    double_c = declared((2, 64), (1, 64) if advised else None)
    return [double_c(torch.ones(n, n)) for n in (3, 4, 5, 6)]


@needs("declared-bound", removes="errors", here=DECLARES)
def a_size_outside_of_what_is_declared(advised):
    double_c = declared((2, 64 if advised else 16), None)
    results = [double_c(torch.ones(4, 2))]
    try:
        results.append(double_c(torch.ones(32, 2)))
    except AssertionError:
        results.append(double(torch.ones(32, 2)))
    return results


@needs("mark-unbacked")
def size_one(advised):
    double_c = compiled(double)
    return [double_c(torch.ones(size)) for size in (1, 5)]


@needs("pad-size")
def size_one_padded(advised):
    double_c = compiled(lambda x: x * 3, dynamic=True)
    results = []
    for size in (5, 1):
        x = torch.ones(size)
        if advised and size == 1:
            x = torch.cat([x, torch.zeros(1)])
        results.append(double_c(x)[:size])
    return results


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.ones(4))

    def forward(self, x):
        return x * self.cache.sum()


@needs("dynamic-parameters")
def sizes_of_buffers(advised):
    module = Growing()
    module_c = compiled(module)
    results = []
    for size in (4, 5, 6, 7):
        module.cache = torch.ones(size)
        results.append(module_c(X))
    return results


@needs("needed-value")
def unrolled_loop(advised):
    def add(x):
        return x + 1

    add_c = compiled(add)

    def many(x, n):
        for _ in range(n):
            x = add(x)
        return x

    many_c = compiled(many)
    results = []
    for n in (2, 3, 4):
        x = X
        if advised:
            for _ in range(n):
                x = add_c(x)
        results.append(x if advised else many_c(x, n))
    return results


@needs("fixed-value", asked=True)
def unrolled_size(advised):
    def unrolled(x):
        for part in range(x.size(0)):
            x = x + part
        return x

    unrolled_c = compiled(unrolled)
    for size in (4, 3):
        unrolled_c(torch.ones(size))
    return str(depyf.why(unrolled_c, torch.ones(5)))


@needs("condition", removes="")
def question_about_a_size(advised):
    function_c = compiled(lambda x: x * 2 if x.shape[0] > 5 else x + 1, dynamic=True)
    return [function_c(torch.ones(size)) for size in (4, 8)]


# tensors


@needs("contiguous")
def strides(advised):
    double_c = compiled(double)
    other = torch.ones(4, 3).t()
    return [double_c(torch.ones(3, 4)), double_c(other.contiguous() if advised else other)]


@needs("one-rank")
def ranks(advised):
    double_c = compiled(double)
    results = []
    for shape in ((6, 4), (2, 3, 4)):
        x = torch.ones(shape)
        results.append(double_c(x.reshape(-1, 4)).reshape(shape) if advised else double_c(x))
    return results


@needs("one-dtype")
def dtypes(advised):
    double_c = compiled(double)
    return [double_c(x.float() if advised else x).float() for x in (X, X.double())]


@needs("one-requires-grad", removes="")
def gradients(advised):
    double_c = compiled(double)
    return [double_c(x).detach() for x in (X, X.clone().requires_grad_())]


@needs("no-inference-tensors")
def inference_tensors(advised):
    double_c = compiled(double)
    results = [double_c(X)]
    with torch.no_grad() if advised else torch.inference_mode():
        x = X.clone()
    return [*results, double_c(x)]


@needs("one-inference-mode")
def inference_calls(advised):
    double_c = compiled(double)
    results = []
    for mode in (torch.no_grad, torch.no_grad if advised else torch.inference_mode):
        with mode():
            results.append(double_c(X))
    return [result.sum().item() for result in results]


@needs("one-kind-of-tensor")
def conjugates(advised):
    double_c = compiled(double)
    x = torch.ones(3, dtype=torch.complex64)
    return [double_c(x), double_c(x.conj().resolve_conj() if advised else x.conj())]


@needs("parameter-or-tensor")
def parameters(advised):
    double_c = compiled(double)
    weight = nn.Parameter(X, requires_grad=False)
    return [double_c(X), double_c(weight.detach() if advised else weight)]


@needs("distinct-tensors")
def one_tensor_twice(advised):
    product_c = compiled(lambda x, y: x * y)
    return [product_c(X, X + 1), product_c(X, X.clone() if advised else X)]


@needs("view-or-not")
def views(advised):
    double_c = compiled(double)
    wholes = [torch.ones(8, 3, 3, 3), torch.ones(16, 8, 3, 3), torch.ones(4, 5, 3, 3)]
    views = [whole.view(whole.shape[0], -1) for whole in wholes]
    if not advised:
        views[2] = views[2].clone()
    return [double_c(view).sum() for view in views]


@needs("mark-alike")
def marks(advised):
    double_c = compiled(double)
    first, second = torch.ones(4), torch.ones(4)
    for x in (first, second) if advised else (second,):
        torch._dynamo.mark_dynamic(x, 0)
    return [double_c(first), double_c(second)]


# values


class Counter(nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@needs("unspecialised-int")
def counting_module(advised):
    module_c = compiled(Counter(0))
    return [module_c(X) for _ in range(5)]


class TensorCounter(Counter):
    def __init__(self):
        super().__init__(0)
        del self.calls
        self.register_buffer("calls", torch.tensor(0))


@needs("tensor-in-module")
def counting_with_a_tensor(advised):
    module_c = compiled(TensorCounter() if advised else Counter(0))
    return [module_c(X) for _ in range(5)]


@needs("tensor-in-object")
def number_in_object(advised):
    state = SimpleNamespace(step=0.0)
    scaled_c = compiled(lambda x, state: x * state.step)
    results = []
    for n in (2.0, 3.0, 4.0):
        state.step = torch.tensor(n) if advised else n
        results.append(scaled_c(X, state))
    return results


@needs("number-as-tensor")
def numbers(advised):
    scaled_c = compiled(lambda x, n: x * n)
    return [scaled_c(X, torch.tensor(float(n)) if advised else float(n)) for n in (2, 3, 4)]


@needs("tensor-learning-rate")
def learning_rate(advised):
    weight = nn.Parameter(X.clone())
    optimizer = torch.optim.SGD([weight], lr=torch.tensor(0.1) if advised else 0.1)
    step_c = compiled(optimizer.step)
    for n in range(4):
        weight.grad = torch.ones(3)
        if advised:
            optimizer.param_groups[0]["lr"].fill_(0.1 / (n + 1))
        else:
            optimizer.param_groups[0]["lr"] = 0.1 / (n + 1)
        step_c()
    return weight.detach()


@needs("no-momentum-cycle")
def cycled_momentum(advised):
    weight = nn.Parameter(X.clone())
    optimizer = torch.optim.AdamW([weight], lr=torch.tensor(0.01))
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=torch.tensor(0.01), total_steps=10, cycle_momentum=not advised
    )
    step_c = compiled(optimizer.step)
    weight.grad = torch.ones(3)
    for _ in range(4):
        step_c()
        scheduler.step()
    return weight.shape


@needs("global-as-argument")
def changing_global(advised):
    by_global = compiled(lambda x: x * FACTOR)
    by_argument = compiled(lambda x, factor: x * factor)
    results = []
    for n in (2, 3, 4, 5):
        globals()["FACTOR"] = n
        results.append(by_argument(X, n) if advised else by_global(X))
    return results


@needs("global-as-tensor")
def changing_global_tensor(advised):
    by_global = compiled(lambda x: x * FACTOR)
    results = []
    for n in (2, 3, 4, 5):
        globals()["FACTOR"] = torch.tensor(n) if advised else n
        results.append(by_global(X))
    return results


@needs("one-value")
def words(advised):
    function_c = compiled(lambda x, word: x * 2 if word == "a" else x + x)
    return [function_c(X, "a" if advised else word) for word in "ab"]


@needs("one-flag")
def flags(advised):
    function_c = compiled(lambda x, flag: x * 2 if flag else x + x)
    return [function_c(X, flag or advised) for flag in (True, False)]


@needs("with-and-without", removes="")
def left_out(advised):
    function_c = compiled(lambda x, y=None: x * 2 if y is None else x * y)
    return [function_c(X), function_c(X, X)]


@needs("train-and-eval", removes="")
def modes_of_a_module(advised):
    module = nn.Sequential(nn.Dropout(0.0))
    module_c = compiled(lambda x: module(x) * 2)
    return [module_c(X), module.eval() and module_c(X)]


@needs("optimizer-state", removes="")
def first_step(advised):
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step_c = compiled(optimizer.step)
    for _ in range(3):
        model(torch.ones(1, 2)).sum().backward()
        step_c()
    return []


@needs("one-length")
def growing_list(advised):
    by_length = compiled(lambda x, items: x * len(items))
    by_number = compiled(lambda x, number: x * number)
    items: list[torch.Tensor] = []
    results = []
    for _ in range(4):
        items.append(X)
        results.append(by_number(X, torch.tensor(len(items))) if advised else by_length(X, items))
    return results


@needs("same-keys")
def orders_of_keys(advised):
    total_c = compiled(lambda d: sum(d.values()))
    return [total_c(dict.fromkeys(sorted(keys) if advised else keys, X)) for keys in ("ab", "ba")]


@needs("always-there", asked=True)
def missing_key(advised):
    function_c = compiled(lambda x, d: x * d["a"] if "b" not in d else x)
    function_c(X, {"a": 2})
    return str(depyf.why(function_c, X, {"z": 2}))


@needs("same-arguments")
def numbers_of_arguments(advised):
    total_c = compiled(lambda x, *args: x + sum(args))
    zero = [torch.zeros(3)] if advised else []
    return [total_c(X, X + 1, *zero), total_c(X, X + 1, X + 2)]


# objects


@torch.compiler.disable
def excluded(x):
    return x.sin()


@needs("one-class")
def classes(advised):
    total_c = compiled(lambda x, items: x * sum(items))
    return [total_c(X, tuple(items) if advised else items) for items in ((1, 2), [1, 2])]


class Scaled:
    factor = 2

    @torch.compile(backend="eager")
    def scaled(self, x):
        return x * self.factor


class ScaledMore(Scaled):
    factor = 3


@needs("class-of-self", removes="")
def inherited_method(advised):
    return [Scaled().scaled(X), ScaledMore().scaled(X)]


def made_anew():
    class Box:
        factor = 2

    return Box


@needs("class-made-once")
def classes_made_anew(advised):
    scaled_c = compiled(lambda x, box: x * box.factor)
    once = made_anew()
    return [scaled_c(X, (once if advised else made_anew())()) for _ in range(2)]


@needs("one-object")
def builtin_functions(advised):
    called_c = compiled(lambda x, function: function(x))
    return [called_c(X, function) for function in (torch.neg, torch.neg if advised else operator.neg)]


@needs("each-receiver", removes="")
def two_optimizers(advised):
    parameters = [nn.Parameter(torch.ones(2)) for _ in range(2)]
    optimizers = [torch.optim.Adam([parameter]) for parameter in parameters]
    step_c = compiled(torch.optim.Adam.step)
    for parameter, optimizer in zip(parameters, optimizers):
        parameter.grad = torch.ones(2)
        step_c(optimizer)
    return parameters


@needs("one-function")
def functions(advised):
    called_c = compiled(lambda x, function: function(x))
    add = lambda x: x + x
    return [called_c(X, function) for function in (double, double if advised else add)]


@needs("keep-the-object")
def method_that_waits(advised):
    table = {X.shape: X}

    def waits(x):
        return table.get(excluded(x + 1).shape) + 1

    def waits_not(x):
        key = excluded(x + 1).shape
        return table.get(key) + 1

    function_c = compiled(waits_not if advised else waits)
    return [function_c(X) for _ in range(3)]


# settings


@needs("compile-once")
def backends(advised):
    function = lambda x: x * 2
    first = compiled(function)
    second = first if advised else torch.compile(function, backend="aot_eager")
    return [first(X), second(X)]


@needs("one-global-state")
def autocast(advised):
    double_c = compiled(double)
    results = []
    for mode in (nullcontext(), torch.autocast("cpu")):
        with torch.autocast("cpu") if advised else mode:
            results.append(double_c(X))
    return results


@needs("with-and-without-gradients", removes="")
def grad_modes(advised):
    double_c = compiled(double)
    with torch.no_grad():
        result = double_c(X)
    return [double_c(X), result]


@needs("same-hooks")
def hooks(advised):
    module = nn.Linear(3, 3)
    module_c = compiled(lambda x: module(x) * 2)
    results = []
    with torch._dynamo.config.patch(skip_nnmodule_hook_guards=False):
        for call in range(2):
            if call == (0 if advised else 1):
                module.register_forward_hook(lambda *_: None)
            results.append(module_c(X).shape)
    return results


@needs("one-mode")
def devices(advised):
    function_c = compiled(lambda x: x + torch.ones(3))
    results = []
    for mode in (nullcontext(), torch.device("cpu")):
        with torch.device("cpu") if advised else mode:
            results.append(function_c(X))
    return results


@needs("call-before-threads")
def calls_of_threads(advised):
    double_c = compiled(double)
    if advised:
        double_c(X)
    together = threading.Barrier(3)

    def call():
        together.wait()
        double_c(X)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [double_c(X)]


@needs("raise-limit", removes="python")
def many_values(advised):
    def unrolled(x, n):
        for _ in range(n):
            x = x + 1
        return x

    unrolled_c = compiled(unrolled)
    return [unrolled_c(X, n) for n in range(2, 14)]


# graph breaks


@needs("capture-scalars", removes="breaks")
def number_of_a_tensor(advised):
    return compiled(lambda x: x * x.sum().item())(X)


@needs("keep-tensor", removes="breaks")
def number_kept_as_tensor(advised):
    return compiled((lambda x: x * x.sum()) if advised else (lambda x: x * x.sum().item()))(X)


@needs("pass-number", removes="breaks")
def a_number_that_is_a_size(advised):
    def head(x, lengths):
        return x[: lengths.max().item()] * 2

    def head_of(x, length):
        return x[:length] * 2

    lengths = torch.tensor([1, 2])
    return compiled(head_of)(X, lengths.max().item()) if advised else compiled(head)(X, lengths)


@needs("index-tensor", removes="breaks")
def a_weight_of_a_list(advised):
    def picked(x, which):
        weights = [1.0, 2.0, 3.0]
        return x * weights[which.item()]

    def gathered(x, which):
        weights = torch.tensor([1.0, 2.0, 3.0])
        return x * weights[which]

    return compiled(gathered if advised else picked)(X, torch.tensor(1))


@needs("loop-outside", removes="python")
def a_loop_until_it_is_enough(advised):
    def until(x):
        while x.sum().item() < 100:
            x = x * 2
        return x

    if not advised:
        return compiled(until)(X)
    once, x = compiled(lambda x: x * 2), X
    while x.sum().item() < 100:
        x = once(x)
    return x


@needs("assert-tensor", removes="breaks")
def a_checked_number(advised):
    def checked(x):
        if x.min().item() < 0:
            raise ValueError("negative")
        return x * 2

    def asserted(x):
        assert (x >= 0).all(), "negative"
        return x * 2

    return compiled(asserted if advised else checked)(X)


@needs("log-after", removes="breaks")
def a_logged_loss(advised):
    def logged(x):
        loss = x.square().mean()
        value = loss.item()
        LOG.debug(f"loss {value:.3f}")
        return loss * 2

    def computed(x):
        loss = x.square().mean()
        return loss, loss * 2

    if not advised:
        return compiled(logged)(X)
    loss, twice = compiled(computed)(X)
    LOG.debug(f"loss {loss.item():.3f}")
    return twice


@needs("read-after", removes="breaks")
def a_returned_number(advised):
    def accuracy_of(x):
        return (x > 1).float().mean()

    def both(x):
        return x * 2, accuracy_of(x).item()

    def tensors(x):
        return x * 2, accuracy_of(x)

    if not advised:
        return list(compiled(both)(X))
    twice, accuracy = compiled(tensors)(X)
    return [twice, accuracy.item()]


@needs("store-tensor", removes="breaks")
def a_stored_number(advised):
    class Meter(nn.Module):
        def forward(self, x):
            self.last = x.mean() if advised else x.mean().item()
            return x * 2

    meter = Meter()
    return [compiled(meter)(X), float(meter.last)]


@needs("unused-number", removes="breaks")
def a_number_for_nothing(advised):
    def synchronised(x):
        y = x * 2
        y.sum().item()
        return y

    return compiled(double if advised else synchronised)(X)


@needs("keep-size", removes="breaks")
def loss_of_some(advised):
    def selected(x, mask):
        return x[mask].square().sum()

    def multiplied(x, mask):
        return torch.where(mask, x, 0).square().sum()

    return compiled(multiplied if advised else selected)(X, X > 1)


@needs("no-size-question", removes="breaks")
def a_question_about_a_size(advised):
    def asks(x):
        rows = x.nonzero()
        if rows.numel() == 0:
            return x
        return x.index_add(0, rows[:, 0], torch.ones(rows.shape[0]))

    def computes(x):
        rows = x.nonzero()
        return x.index_add(0, rows[:, 0], torch.ones(rows.shape[0]))

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=advised):
        return compiled(computes if advised else asks)(X)


@needs("torch-own", removes="")
def an_optimizer(advised):
    layer = nn.Linear(3, 1)
    layer(X).sum().backward()
    step = compiled(torch.optim.AdamW(layer.parameters()).step)
    for _ in range(3):
        step()


@torch.library.custom_op("advised::copied", mutates_args=())
def copied(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@copied.register_fake
def _(x):
    return torch.empty_like(x)


@needs("repro", removes="")
def an_error_of_a_compiler(advised):
    """It has no formula for its gradient, which the backend asks for."""
    for rows in (2, 3):
        compiled(double)(torch.ones(rows))
    with contextlib.suppress(torch._dynamo.exc.BackendCompilerFailed):
        torch.compile(lambda x: copied(x * 2), backend="aot_eager")(X.clone().requires_grad_())


@needs("library-own", removes="")
def a_line_of_a_library(advised):
    source = "def clipped(x):\n    if x.max() > 2:\n        x = x - 1\n    return x * 2\n"
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "lib", "site-packages", "clipping")
        package.mkdir(parents=True)
        Path(package, "__init__.py").write_text(source)
        spec = importlib.util.spec_from_file_location("clipping", package / "__init__.py")
        library = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(library)
        return compiled(lambda x: library.clipped(x + 1))(X)


@needs("capture-dynamic-shapes", removes="breaks")
def selection(advised):
    return compiled(lambda x: x[x > 1] * 2)(X)


@needs("branchless", removes="breaks")
def branch(advised):
    def asked(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    def chosen(x):
        return torch.where(x.sum() > 0, x * 2, x - 1)

    function_c = compiled(chosen if advised else asked)
    return [function_c(X), function_c(-X)]


@needs("check-outside", removes="breaks")
def assertion(advised):
    def checked(x):
        assert x.sum() > 0, f"sum of {x}"
        return x * 2

    if advised:
        assert X.sum() > 0, f"sum of {X}"
    return compiled(double if advised else checked)(X)


@needs("is-causal", removes="breaks")
def a_causal_mask(advised):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 1, 4, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    known = {"is_causal": True} if advised else {}

    def masked(x, mask):
        return encoder(x, mask=mask, **known)

    return [compiled(masked)(torch.ones(2, 3, 4), nn.Transformer.generate_square_subsequent_mask(3)).detach()]


@needs("num-classes", removes="breaks")
def one_hot(advised):
    count = {"num_classes": 3} if advised else {}
    return compiled(lambda x: nn.functional.one_hot(x, **count) * 2)(torch.arange(3))


@needs("reorder-output", removes="breaks")
def output(advised):
    def printing(x):
        y = x + 1
        print()
        return y * 2

    return compiled(printing)(X)


@needs("write-outside", removes="breaks")
def output_outside(advised):
    def printing(x):
        y = x + 1
        print(end="")
        return y * 2

    def silent(x):
        return (x + 1) * 2

    result = compiled(silent if advised else printing)(X)
    if advised:
        print(end="")
    return result


@needs("ignore-logging", removes="breaks")
def logging_messages(advised):
    def logs(x):
        y = x + 1
        LOG.debug("sum")
        return y * 2

    return compiled(logs)(X)


@needs("backward-outside", removes="breaks")
def training_step(advised):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def loss_of(x):
        return model(x).square().sum()

    def step(x):
        optimizer.zero_grad()
        loss = loss_of(x)
        loss.backward()
        optimizer.step()
        return loss.detach()

    loss_c, step_c = compiled(loss_of), compiled(step)
    losses = []
    for _ in range(3):
        if advised:
            optimizer.zero_grad()
            loss = loss_c(X)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        else:
            losses.append(step_c(X))
    return losses


@needs("gradient-outside", removes="breaks")
def gradient(advised):
    def energy(x):
        return (x * x).sum()

    def force(x):
        (gradient,) = torch.autograd.grad(energy(x), x)
        return -gradient

    x = X.clone().requires_grad_()
    if advised:
        return -torch.autograd.grad(compiled(energy)(x), x)[0]
    return compiled(force)(x)


@needs("call-outside", removes="breaks")
def clock(advised):
    def timed(x):
        begun = time.perf_counter()
        return x * 2, begun

    return compiled(double)(X) if advised else compiled(timed)(X)[0]


@torch.library.custom_op("depyf_tests::checksum", mutates_args=())
def checksum(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(zlib.crc32(x.numpy().tobytes()))


@checksum.register_fake
def _(x):
    return torch.empty((), dtype=torch.int64)


@needs("custom-operator", removes="breaks")
def library_function(advised):
    def summed(x):
        y = x + 1
        return y * (checksum(y) if advised else zlib.crc32(y.numpy().tobytes()))

    return compiled(summed)(X)


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


MANAGER = Manager()


@needs("context-outside", removes="python")
def manager(advised):
    def managed(x):
        with MANAGER:
            x = x + 1
            torch._dynamo.graph_break()
        return x * 2

    def inside(x):
        return (x + 1) * 2

    if not advised:
        return compiled(managed)(X)
    with MANAGER:
        return compiled(inside)(X)


@needs("parameter-outside", removes="breaks")
def parameter(advised):
    def made(x):
        return x * nn.Parameter(torch.ones(3))

    def given(x, weight):
        return x * weight

    return (compiled(given)(X, nn.Parameter(torch.ones(3))) if advised else compiled(made)(X)).detach()


class Outside:
    factor = 2


@needs("class-outside", removes="breaks")
def class_inside(advised):
    def defined(x):
        class Inside:
            factor = 2

        return x * Inside.factor

    return compiled((lambda x: x * Outside.factor) if advised else defined)(X)


@needs("no-mode-query", removes="breaks")
def inference_query(advised):
    return compiled(double if advised else (lambda x: x * 3 if torch.is_inference_mode_enabled() else x * 2))(X)


@needs("detach-result", removes="breaks")
def result_with_gradient(advised):
    def inside(x):
        y = x.detach() * 2
        y.requires_grad_(True)
        return y

    def outside(x):
        return x.detach() * 2

    return compiled(outside)(X).requires_grad_(True) if advised else compiled(inside)(X)


@needs("no-graph-break", removes="breaks")
def asked_for(advised):
    def broken(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    return compiled((lambda x: (x + 1) * 2) if advised else broken)(X)


@needs("no-disable", removes="breaks")
def excluded_function(advised):
    return compiled(lambda x: (torch.sin(x + 1) if advised else excluded(x + 1)) * 2)(X)


@needs("loop-body", removes="python")
def break_in_a_loop(advised):
    def body(x):
        x = x + 1
        time.perf_counter()
        return x * 2

    def loop(x):
        for _ in range(3):
            x = x + 1
            time.perf_counter()
            x = x * 2
        return x

    if not advised:
        return compiled(loop)(X)
    body_c, x = compiled(body), X
    for _ in range(3):
        x = body_c(x)
    return x


class Mean:
    def __init__(self):
        self.total = 0.0

    def update(self, value):
        self.total += value


@needs("break-before", removes="python")
def what_breaks_waits_for_a_method(advised):
    def meant(x):
        mean, y = Mean(), x.sin()
        if advised:
            value = y.sum().item()
            mean.update(value)
        else:
            mean.update(y.sum().item())
        return y.cos() + mean.total

    return compiled(meant)(X)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(3, 3), nn.Linear(3, 2)

    def before(self, x):
        return x.abs() + 1

    def after(self, h):
        return self.head(h).sigmoid()

    def forward(self, x):
        return self.after(self.rnn(self.before(x))[0])


@needs("rnn-apart", removes="breaks")
def around_a_recurrent_module(advised):
    torch.manual_seed(0)
    net, x = Recurrent(), torch.ones(6, 1, 3)
    if advised:
        before, after = compiled(net.before), compiled(net.after)
        return after(net.rnn(before(x))[0]).detach()
    return compiled(net)(x).detach()


@needs("allow-rnn", removes="breaks")
def recurrent(advised):
    torch.manual_seed(0)
    module = nn.LSTM(3, 3)
    return compiled(lambda x: module(x)[0] * 2)(torch.ones(2, 1, 3)).detach()


class Inspected:
    """A method that looks at itself after it was compiled: torch fails in its own code until 2.15."""

    def parameters(self):
        return inspect.getfullargspec(self.step).args

    def step(self, x):
        self.parameters()
        return x * 2


@needs("not-traced", removes="errors", here=torch.__version__ < (2, 14))
def inspected(advised):
    item = Inspected()
    if advised:
        item.parameters = torch.compiler.disable(item.parameters)
    item.step = compiled(item.step)
    try:
        return item.step(X)
    except Exception as error:
        assert "InternalTorchDynamoError" in type(error).__name__
        return X * 2


@needs("mark-too", removes="errors")
def one_of_two_marked(advised):
    function = lambda logits, labels: nn.functional.cross_entropy(logits, labels, reduction="sum")
    logits, labels = torch.ones(4, 3), torch.zeros(4, dtype=torch.int64)
    torch._dynamo.mark_dynamic(labels, 0)
    if advised:
        torch._dynamo.mark_dynamic(logits, 0)
    try:
        return compiled(function)(logits, labels)
    except Exception as error:
        assert "ConstraintViolationError" in type(error).__name__ + str(error)
        return function(logits, labels)


@needs("maybe-mark-dynamic", removes="errors")
def marked_in_vain(advised):
    function = lambda x: x * 2 if x.shape[0] == 4 else x
    x = torch.ones(4)
    (torch._dynamo.maybe_mark_dynamic if advised else torch._dynamo.mark_dynamic)(x, 0)
    try:
        return compiled(function)(x)
    except Exception as error:
        assert "ConstraintViolationError" in type(error).__name__ + str(error)
        return function(x)
