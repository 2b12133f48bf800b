"""The torch side of the public surface.  Nothing here imports torch until it is used."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager


def prepare_debug(
    dump_src_dir: str | os.PathLike[str], clean_wild_fx_code: bool = True, log_bytecode: bool = False
) -> AbstractContextManager[None]:
    """Dump what ``torch.compile`` does inside the block to ``dump_src_dir``, as Python; results do not change.

    In process N of a distributed run (``torchrun``) it goes to ``rank_N`` below that directory.
    Read ``full_code_for_*.py`` first; ``manifest.json`` says what each file is.  The bytecode that runs for a compiled
    function is its recompiled decompilation where that is proven equivalent, else Dynamo's own, with the reason in the
    file.  ``clean_wild_fx_code`` is accepted for compatibility: depyf writes no stray ``fx_graph_code*`` files.
    ``log_bytecode`` also writes the disassembly of each transformed function.  Not reentrant; may be entered and left
    by hand (``__enter__()``, ``__exit__(None, None, None)``), from any thread.

    DepyfError, before anything runs: the directory cannot be written, it is active already, torch is missing or older
    than 2.6.
    """
    from depyf.dynamo.contexts import PrepareDebug

    return PrepareDebug(dump_src_dir, clean_wild_fx_code, log_bytecode)


def debug() -> AbstractContextManager[None]:
    """Step through the code dumped by the last ``prepare_debug``, with pdb or any other debugger.

    On entry it prints where the files are and stops in ``breakpoint()`` so that breakpoints can be set by file and
    line; inside the block they are hit in transformed code, captured graphs (eager), AOT forward and backward graphs
    (aot_eager) and generated wrappers (inductor).  It does not stop without a terminal or debugger, nor with the
    environment variable ``DEPYF_NO_PAUSE``.  DepyfError before any ``prepare_debug``, and inside one.
    """
    from depyf.dynamo.contexts import Debug

    return Debug()


def install() -> None:
    """Add the decompiled source to torch's bytecode log (``TORCH_LOGS="+bytecode"``)."""
    from depyf.dynamo.bytecode_log import install as install_hook

    install_hook()


def uninstall() -> None:
    """Undo ``install``; without it, nothing happens."""
    from depyf.dynamo.bytecode_log import uninstall as uninstall_hook

    uninstall_hook()
