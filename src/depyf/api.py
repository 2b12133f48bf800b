"""The torch side of the public surface.  Nothing here imports torch until it is used."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, overload

from depyf.sources.live.require import require_torch

if TYPE_CHECKING:
    from depyf.actions.asking.replay import Replay
    from depyf.actions.asking.watched import Watched
    from depyf.actions.asking.why import Why
    from depyf.actions.comparing.against_model import ModelComparison
    from depyf.actions.comparing.compare import Comparison
    from depyf.actions.edit.edited.edited_comparison import EditedComparison
    from depyf.actions.edit.edited.edited_run import Edited


def prepare_debug(
    dump_src_dir: str | os.PathLike[str],
    clean_wild_fx_code: bool = True,
    log_bytecode: bool = False,
    report: bool = False,
    record: bool | int = False,
) -> AbstractContextManager[None]:
    """Dump what ``torch.compile`` does inside the block to ``dump_src_dir``, as Python; results do not change.

    In process N of a distributed run (``torchrun``) it goes to ``rank_N`` below that directory. Read
    ``full_code_for_*.py`` first; ``manifest.json`` says what each file is.  The bytecode that runs for a compiled
    function is its recompiled decompilation where that is proven equivalent, with the program's lines, else Dynamo's
    own, with the reason in the file.  ``clean_wild_fx_code`` is accepted for compatibility: depyf writes no stray
    ``fx_graph_code*`` files. ``log_bytecode`` also writes the disassembly of each transformed function.  ``report``
    also writes the page of ``depyf report``, as ``report.html`` in the folder.  ``record`` also keeps what the program
    gave to each captured graph when it was compiled, parameters included, for ``depyf repro``, ``depyf gallery`` and
    ``depyf export``: up to 256 MiB of tensors in the whole dump, or up to so many bytes.  Not reentrant; may be entered
    and left by hand (``__enter__()``, ``__exit__(None, None, None)``), from any thread.

    DepyfError, before anything runs: the directory cannot be written, it is active already, torch is missing or older
    than 2.6, ``record`` is no number of bytes, or ``report`` is asked for and Jinja2 or Pygments is missing.
    """
    require_torch()
    from depyf.contexts import PrepareDebug

    if not report:
        return PrepareDebug(dump_src_dir, clean_wild_fx_code, log_bytecode, None, record)
    from depyf.views.report.report_page import needs_libraries, report_in

    needs_libraries()
    return PrepareDebug(dump_src_dir, clean_wild_fx_code, log_bytecode, report_in, record)


def debug(level: str | None = None, stop_on: str | None = None) -> AbstractContextManager[None]:
    """Step through the code dumped by the last ``prepare_debug``, with pdb or any other debugger.

    On entry it prints where the files are and stops in ``breakpoint()`` so that breakpoints can be set by file and
    line; inside the block they are hit in transformed code (torch 2.9 and later; outside of the block it has the lines
    of the program), captured graphs (eager), AOT forward and backward graphs (aot_eager) and generated wrappers
    (inductor).  It does not stop without a terminal or debugger, nor with the environment variable ``DEPYF_NO_PAUSE``.

    ``level``: ``"graph"``, ``"aot"``, ``"wrapper"`` or ``"kernel"``: whatever the program's backend, torch compiles
    again at this level inside the block, so that its lines can be stepped through; warm caches are passed by.
    ``"kernel"`` runs the Triton kernels of the wrappers in Triton's interpreter. ``stop_on``: ``"nan"`` or ``"inf"``:
    stop at the first line of a graph, forward or backward, that creates such a value (level ``"aot"`` unless given);
    ``depyf.NonFiniteError`` is raised there where no debugger or terminal is present.  Then it does not stop on entry:
    that line is the first stop.

    Without a ``prepare_debug`` before it, what is compiled already is dumped to a new temporary folder first.

    On exit everything is as before.  DepyfError inside ``prepare_debug``, where nothing is compiled and there is no
    level, at level ``"kernel"`` without triton, and for other arguments.
    """
    require_torch()
    from depyf.contexts import Debug

    return Debug(level, stop_on)


def edited(dump_src_dir: str | os.PathLike[str]) -> Edited:
    """Run the program inside the block with the files of a dump as they are now: ``with depyf.edited(directory):``.

    Each file of ``dump_src_dir`` that differs from what ``prepare_debug`` wrote takes the place of what torch makes for
    the same function and stage.  **An edited dump is code that you run on purpose**: only edit, or use, dumps that you
    trust; files that the manifest does not list, and links, are not read.  Torch compiles again inside the block, past
    its caches; on exit its entries and caches are as before, and what was used is printed.  Edited code is not proven
    to mean anything.

    DepyfError, before anything runs: ``dump_src_dir`` is no dump, or an edited file is no Python.  While the program
    runs, at the call that compiles: a graph that cannot be traced, or that returns other shapes than what comes after
    it expects (file and line in the message).  On exit: an edited file was never used, with the reason.
    """
    require_torch()
    from depyf.actions.edit.edited.edited_run import Edited

    return Edited(dump_src_dir)


@overload
def compare(
    fn: Callable[..., Any],
    *args: Any,
    reference: None = None,
    edited: None = None,
    backends: tuple[str | Callable[..., Any], str | Callable[..., Any]] | None = None,
    backend: str | Callable[..., Any] | None = None,
    fullgraph: bool | None = None,
    dynamic: bool | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> Comparison: ...


@overload
def compare(fn: Callable[..., Any], *args: Any, edited: str | os.PathLike[str], **kwargs: Any) -> EditedComparison: ...


@overload
def compare(
    fn: Callable[..., Any],
    *args: Any,
    reference: Callable[..., Any],
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> ModelComparison: ...


def compare(
    fn: Callable[..., Any],
    *args: Any,
    reference: Callable[..., Any] | None = None,
    edited: str | os.PathLike[str] | None = None,
    backends: tuple[str | Callable[..., Any], str | Callable[..., Any]] | None = None,
    backend: str | Callable[..., Any] | None = None,
    fullgraph: bool | None = None,
    dynamic: bool | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> Comparison | ModelComparison | EditedComparison:
    """Does compiled ``fn(*args, **kwargs)`` do what Python does, and each graph of it the same on both backends?

    ``fn`` is a function or module, compiled or not.  It is called several times, each time from the same state: as
    Python, as Dynamo's code with its graphs in eager mode, and by the cache entry that would run, or compiled apart
    where there is none.  Results or errors, arguments, parameters, buffers, attributes, globals and cells that the call
    can reach, random numbers, standard output and gradients are compared; where they part, the layer is named, and the
    cause where it is known.  Afterwards the program is as it was: state, random numbers and torch's caches.  What two
    runs cannot share (a generator) is named, and a call that acts outside of the process is not made.  An error of the
    call that comes before any graph is raised.

    ``backends``: names or callables, the reference first; by default eager mode and the backend of ``fn``, or Inductor.
    Each graph runs on both with the same inputs.  Outputs, inputs written into and gradients (for made-up gradients of
    the outputs) are compared; for a graph that differs beyond tolerance, the first node that differs is named, with
    both values' statistics and the user's line.  ``rtol`` is relative to each element plus the mean magnitude of its
    tensor, by default what the dtype allows; ``atol`` is absolute, by default 0.  The result is true where all agree;
    print it.  A custom operator that writes to an argument without declaring it is named.  DepyfError without torch 2.6
    or newer.

    ``backend``, ``fullgraph``, ``dynamic``, ``mode``, ``options``: as for ``torch.compile``, where ``fn`` is not
    compiled; it is then compiled so, for this call alone.  For an argument of ``fn`` of such a name:
    ``functools.partial(fn, mode=...)``.

    ``reference``: another function or module to compare ``fn`` with, in place of backends.  Each is called once, as
    Python, with copies of the arguments and the same random numbers; the first operation or module output that differs
    is named, with its module path, both lines, and the weights of the module that differ.  Where all agree, gradients
    of parameters and arguments are compared, for made-up gradients of the results.

    ``edited``: the folder of a dump with edited files, which this runs (see ``depyf.edited``).  ``fn`` is called once;
    each graph of an edited function is compared with the original on the same inputs: results, gradients, the time of
    the fastest call, peak memory, and the first node that differs.  The result is true where results and gradients
    agree.
    """
    require_torch()
    from depyf.sources.live.state.library_objects import own_variables

    with own_variables():
        if edited is not None:
            from depyf.actions.edit.edited.edited_run import compare_edited

            return compare_edited(fn, args, kwargs, edited)
        if reference is not None:
            from depyf.actions.comparing.against_model import against_model

            return against_model(fn, reference, args, kwargs, rtol, atol)
        from depyf.actions.comparing.compare import compare as run

        given = {"backend": backend, "fullgraph": fullgraph, "dynamic": dynamic, "mode": mode, "options": options}
        asked = {name: value for name, value in given.items() if value is not None}
        return run(fn, args, kwargs, backends, rtol, atol, asked)


def install() -> None:
    """Add the decompiled source to torch's bytecode log (``TORCH_LOGS="+bytecode"``)."""
    require_torch()
    from depyf.sources.live.recording.bytecode_log import install as install_hook

    install_hook()


def uninstall() -> None:
    """Undo ``install``; without it, nothing happens."""
    from depyf.sources.live.recording.bytecode_log import uninstall as uninstall_hook

    uninstall_hook()


def why(compiled_fn: Any, /, *args: Any, **kwargs: Any) -> Why:
    """What a call ``compiled_fn(*args, **kwargs)`` would run: a cache entry, or for each entry every guard that
    fails, with the expected and the actual value, the entry with the fewest of them first.

    Nothing is compiled or called, and torch's caches stay as they are.  DepyfError where ``compiled_fn`` is no Python
    function or module; TypeError where the arguments do not fit its signature.
    """
    require_torch()
    from depyf.actions.asking.why import why as ask

    return ask(compiled_fn, args, kwargs)


def watch() -> Watched:
    """A context manager that watches what torch compiles while its block runs, with everything that kept the cache
    entries from running, asked at the moment of each call; ``print`` it afterwards.

    The program runs as without it.  It tells also of functions whose arguments only the run itself computes, which
    ``why`` cannot know.  DepyfError where torch is missing or too old.
    """
    require_torch()
    from depyf.actions.asking.watched import Watched

    return Watched()


def replay(target: Any, directory: str | os.PathLike[str] | None = None) -> Replay:
    """torch's dispatcher of a compiled function, written in Python and executable.

    ``target`` is a compiled function or module, or a ``full_code_for_*`` file dumped by this process: a file that is
    not, to the letter, what this process wrote there is not executed.  The result is called like the compiled function:
    it evaluates the guards as Python, one by one, compares each entry's answer with torch's own, and runs the code
    torch would run; where torch would compile, the original runs.  Its ``path`` is the page that is executed (written
    to ``directory``, or to a temporary folder), so that a debugger can follow it; ``steps(*args)`` gives every guard
    with its values.  DepyfError where nothing is compiled or alive.
    """
    require_torch()
    from depyf.actions.asking.replay import replay as make

    return make(target, directory)
