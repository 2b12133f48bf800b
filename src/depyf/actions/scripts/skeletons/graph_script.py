# The skeleton of a script of one graph, for ``depyf gallery`` and, with BUG, for ``depyf repro``: ``fill.py`` turns it
# into the script. Names in capitals are holes, declared below; ``if HOLE:`` is decided when the script is written.
# Never imported.
"""TITLE

ABOUT

    python COMMAND

EXIT
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

    from depyf.actions.scripts.carried.comparing import Comparison, Report, judged, shaken
    from depyf.actions.scripts.carried.making import Make, process_groups
    from depyf.actions.scripts.carried.modes import Assertions, drawing
    from depyf.actions.scripts.carried.repro_parts import attempt, set_as_recorded
    from depyf.actions.scripts.carried.running import laid_out, missing, run, run_aot

    Captured: Any
    Forward: Any
    Backward: Any

    # whole lines
    ABOUT = EXIT = NOTES = STANDARD_LIBRARY = LIBRARIES = SYMBOLS = MEMORY = CLASSES = HARNESS = [""]
    ENTERED = CONSTANTS = SEEDED = [""]
    INPUTS: dict[str, Any] = {}
    SETTINGS: dict[str, Any] = {}

    # expressions; what is false in a condition is ""
    TITLE = COMMAND = BACKEND = BACKEND_HELP = DEVICES = AOT_TITLE = ""
    MODE = CONTEXTS = contextlib.nullcontext()
    TARGETS: Any
    ACCELERATOR: Any
    GRAPH: Any
    COMPILED_WITH: Any
    WITH_TARGETS: Any
    DEVICE_COUNT = FRONT = 0
    TOLERANCE = 0.0
    OPERATORS = SAVED = WANTED = LABELS = ("", "")
    OPERATOR_MODULES = [""]
    GROUPS: dict[str, int] = {}
    STRIDES: tuple[tuple[int, ...] | None, ...] = ()
    EXPECTED: list[Any] = []
    KEPT = COMPUTED = (0, 0)

    # conditions, which are expressions as well
    BUG = MAKES = RECORDED = RANDOM = SHARED = ASSERTS = AOT = BACKWARD = ARGUMENT_TARGETS = False

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


if CONSTANTS:

    def captured():
        """The graph with the tensors that it holds."""
        graph = Captured()
        CONSTANTS
        return graph


if BUG:

    def main():
        print(f"torch {torch.__version__}, Python {sys.version.split()[0]}")
        if SETTINGS:
            set_as_recorded(
                {
                    **SETTINGS,
                }
            )
        if GROUPS:
            process_groups(GROUPS)
        backend = BACKEND

        def result(graph):
            SEEDED
            return run(graph, list(make_inputs().values()), ambient, computed=COMPUTED)

        expected = attempt("Expected: eager mode", lambda: result(GRAPH))
        compiled = torch.compile(GRAPH, backend=COMPILED_WITH)
        actual = attempt(f"Actual: torch.compile, backend {backend}", lambda: result(compiled))
        comparison = Comparison(TOLERANCE)
        comparison.title("Expected against actual")
        if expected is None:
            print("  eager mode raises" + (", compiled code does, too" if actual is None else ""))
            return 2
        if actual is None:
            print("  only compiled code raises")
            return 1
        comparison.same(list(make_inputs()), expected, actual)
        return comparison.conclusion()


if not BUG:

    def main(argv=None):  # type: ignore
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


if not BUG:

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
            with drawing(fixed=RANDOM), CONTEXTS:
                eager = run(Captured(), inputs(), ambient, WITH_TARGETS)
            outputs, arguments = eager["outputs"], eager["inputs afterwards"]
            if BACKWARD:
                saved = SAVED
                wanted = WANTED
                if STRIDES:
                    strides = STRIDES
                    cotangents = [laid_out(c, s) for c, s in zip(eager["cotangents"], strides)]
                else:
                    cotangents = [c.contiguous() for c in eager["cotangents"]]
                backward = None if report.forward_only else Backward()
                with drawing(fixed=RANDOM), CONTEXTS:
                    got = run_aot(Forward(), inputs(), front=FRONT, backward=backward, saved=saved, wanted=wanted, cotangents=cotangents)  # fmt: skip
            else:
                with drawing(fixed=RANDOM), CONTEXTS:
                    got = run_aot(Forward(), inputs(), front=FRONT)
            labels = LABELS
            report.all("", labels, EXPECTED, got["results"])
            if KEPT:
                for i in KEPT:  # written to inside the graph
                    report.check(f"input {names[i]}", arguments[i], got["inputs afterwards"][i])
            if BACKWARD:
                if not report.forward_only:
                    report.all("gradient of", names, eager["gradients"], got["gradients"])

        return report


# What follows is the same in every script.


HARNESS


if __name__ == "__main__":
    sys.exit(main())
