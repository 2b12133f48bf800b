# The skeleton of a script of the gallery: ``fill.py`` turns it into the script of one graph, with values from
# ``script.py``. Names in capitals are holes, declared below; ``if HOLE:`` is decided when the script is written.  Never
# imported.
"""TITLE

Written by `depyf gallery`, recorded with torch TORCH; it needs torch only.  It runs the captured graph in eager
mode, under WAYS, and compares results and gradients.

    python THIS_FILE [--backend inductor|aot_eager|eager|none] [--seed N]

Exit status: 0 everything agrees, 1 something differs, 2 a device or an operator is missing.
NOTES
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # left out of scripts: ruff and mypy read it
    import argparse
    import contextlib
    import importlib
    import sys
    from typing import Any

    import torch

    from depyf.actions.gallery.harness import (
        Make,
        Report,
        judged,
        laid_out,
        missing,
        process_groups,
        run,
        run_aot,
        shaken,
    )
    from depyf.actions.gallery.modes import Assertions, drawing

    Captured: Any
    Forward: Any
    Backward: Any

    # whole lines
    NOTES: list[str]
    STANDARD_LIBRARY: list[str]
    LIBRARIES: list[str]
    SYMBOLS: list[str]
    MEMORY: list[str]
    INPUTS: dict[str, Any]
    CLASSES: list[str]
    ENTERED: list[str]
    HARNESS: list[str]

    # expressions; what is false in a condition is ""
    TITLE: str
    TORCH: str
    WAYS: str
    MODE: contextlib.AbstractContextManager[Any]
    CONTEXTS: contextlib.AbstractContextManager[Any]
    TARGETS: Any
    BACKEND: str
    BACKEND_HELP: str
    DEVICES: str
    ACCELERATOR: Any
    DEVICE_COUNT: int
    OPERATORS: tuple[str, ...]
    OPERATOR_MODULES: list[str]
    GROUPS: dict[str, int]
    TOLERANCE: float
    AOT_TITLE: str
    FRONT: int
    SAVED: tuple[str, ...]
    WANTED: tuple[str, ...]
    STRIDES: tuple[tuple[int, ...] | None, ...]
    LABELS: tuple[str, ...]
    EXPECTED: list[Any]
    KEPT: tuple[int, ...]

    # conditions, which are expressions as well
    MAKES: bool
    RECORDED: bool
    RANDOM: bool
    SHARED: bool
    ASSERTS: bool
    AOT: bool
    BACKWARD: bool
    ARGUMENT_TARGETS: bool

STANDARD_LIBRARY

LIBRARIES


SYMBOLS


def make_inputs(seed=0):
    if RECORDED:
        """The inputs as recorded."""
    else:
        """The inputs as recorded: shapes, strides, dtypes, devices; the values are random."""
    if MAKES:
        make = Make(seed)
    else:
        del seed
    MEMORY
    return {
        **INPUTS,
    }


CLASSES


def ambient():
    """The modes that the program had switched on around the graph."""
    if ENTERED:
        stack = contextlib.ExitStack()
        ENTERED
        return stack
    else:
        return MODE


if BACKWARD:

    def targets(arguments, outputs):
        """What the gradients arrive for, in the order of the backward graph's tangents."""
        if not ARGUMENT_TARGETS:
            del arguments
        return TARGETS


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default=BACKEND, help=BACKEND_HELP)
    parser.add_argument("--seed", type=int, default=0, help="other values for the inputs")
    if OPERATORS:
        parser.add_argument("--import", dest="modules", action="append", default=[], help="registers operators")
    options = parser.parse_args(argv)
    if DEVICES:
        if ACCELERATOR.device_count() < DEVICE_COUNT:
            print("this graph was compiled for DEVICES, which is not here", file=sys.stderr)
            return 2
    if OPERATORS:
        for module in OPERATOR_MODULES:
            importlib.import_module(module)
        if missing(OPERATORS):
            print(*missing(OPERATORS), "is missing: --import the module that registers it", file=sys.stderr)
            return 2
    if GROUPS:
        process_groups(GROUPS)
    return judged(compare, options, TOLERANCE)


def compare(options, tolerance):
    names = list(make_inputs())
    if ASSERTS:
        asserted = Assertions()

    def inputs():
        return report.given(list(make_inputs(options.seed).values()))

    def computed(shake):
        with drawing(fixed=RANDOM), CONTEXTS:
            return run(Captured(), shaken(inputs()) if shake else inputs(), ambient)

    report = Report(tolerance, computed)
    report.title("The captured graph in eager mode")
    with drawing(fixed=False), CONTEXTS:
        eager = report.first(lambda: run(Captured(), inputs(), ambient))
    report.describe(eager["outputs"])
    if ASSERTS:
        if asserted.tell():
            options.backend = "none"  # compiled code would raise

    if options.backend != "none":
        report.title(f"torch.compile(graph, backend={options.backend!r})")
        torch._dynamo.reset()
        if RANDOM:
            torch._inductor.config.fallback_random = True
        if SHARED:
            torch._inductor.config.force_disable_caches = True  # their keys do not say what inputs share
        compiled = torch.compile(Captured(), backend=options.backend)
        with drawing(fixed=False):
            got = run(compiled, inputs(), ambient)
        report.same(names, eager, got)

    if AOT:
        report.title(AOT_TITLE)
        if BACKWARD:
            with drawing(fixed=RANDOM), CONTEXTS:
                eager = run(Captured(), inputs(), ambient, targets)
        else:
            with drawing(fixed=RANDOM), CONTEXTS:
                eager = run(Captured(), inputs(), ambient)
        outputs, arguments = eager["outputs"], eager["inputs afterwards"]
        if BACKWARD:
            saved = SAVED
            wanted = WANTED
            if STRIDES:
                strides = STRIDES
                cotangents = [laid_out(c, s) for c, s in zip(eager["cotangents"], strides)]
            else:
                cotangents = [c.contiguous() for c in eager["cotangents"]]
            if OPERATORS:
                with drawing(fixed=RANDOM), CONTEXTS:
                    got = run_aot(Forward(), inputs(), front=FRONT, backward=None if report.forward_only else Backward(), saved=saved, wanted=wanted, cotangents=cotangents)  # fmt: skip
            else:
                with drawing(fixed=RANDOM), CONTEXTS:
                    got = run_aot(Forward(), inputs(), front=FRONT, backward=Backward(), saved=saved, wanted=wanted, cotangents=cotangents)  # fmt: skip
        else:
            with drawing(fixed=RANDOM), CONTEXTS:
                got = run_aot(Forward(), inputs(), front=FRONT)
        labels = LABELS
        report.all("", labels, EXPECTED, got["results"])
        if KEPT:
            for i in KEPT:  # written to inside the graph
                report.check(f"input {names[i]}", arguments[i], got["inputs afterwards"][i])
        if BACKWARD:
            if OPERATORS:
                if not report.forward_only:
                    report.all("gradient of", names, eager["gradients"], got["gradients"])
            else:
                report.all("gradient of", names, eager["gradients"], got["gradients"])

    return report


# What follows is the same in every script of the gallery.


HARNESS


if __name__ == "__main__":
    sys.exit(main())
