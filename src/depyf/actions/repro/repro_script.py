"""The script of a bug report: one captured graph, its inputs, expected against actual.

Input: a ``ReproSubject``.  Output: the text of a script that needs torch only, and the entries of a file of tensors
beside it (none where all inputs are small).  Nothing of the dump is executed.  Raises ``ReproError`` where the graph
reads what belongs to the program.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from depyf.actions.gallery.classes import class_text, constants_of
from depyf.actions.gallery.input_table import CannotRender, input_lines, readable_source
from depyf.actions.gallery.script import (
    ONE_WAY,
    RANDOM,
    REGISTERS,
    code_lines,
    import_order,
    managers_of,
    own_operators,
    short_place,
    symbol_lines,
    tolerance_of,
)
from depyf.actions.repro.repro_subject import ReproError, ReproSubject
from depyf.decompiler.emit.comments import comment, in_docstring, remark
from depyf.errors import DepyfError
from depyf.run.compile_stages import CAPTURED
from depyf.run.files.writer import write_whole
from depyf.run.graphs.graph_text import GraphClass, imports_of, read_graph
from depyf.run.graphs.process_groups import NOTE, groups_of
from depyf.run.graphs.script_parts import harness_text
from depyf.run.graphs.value_types import Number
from depyf.run.recorded.recorded_inputs import CompiledWith, Recorded, RecordedInput
from depyf.run.recorded.tensor_file import TensorEntry, packed
from depyf.run.recorded.tensor_text import quoted, tensor_texts
from depyf.safety.escape import one_line, printable

_PARTS = Path(__file__).with_name("repro_parts.py")
_KNOWN = ("inductor", "aot_eager", "eager", "aot_eager_decomp_partition", "cudagraphs", "openxla", "tvm", "onnxrt")
_STATE = "rng"


@dataclass(frozen=True, slots=True)
class ReproScript:
    """The text of the script, and what the file beside it holds."""

    text: str
    beside: Mapping[str, TensorEntry]


def write_repro(subject: ReproSubject, path: Path) -> tuple[Path, ...]:
    """Write the script to ``path``, and the file of tensors beside it where it needs one; the files that were
    written."""
    script = repro_script(subject, str(path.name))
    written = [path]
    try:
        if script.beside:
            written.append(path.with_suffix(".safetensors"))
            write_whole(str(written[1]), packed(script.beside, {}))
        write_whole(str(path), script.text)
    except OSError as error:
        raise ReproError(f"cannot write {printable(str(path))}: {error.strerror or error}") from error
    return tuple(written)


def repro_script(subject: ReproSubject, name: str, root: str = "") -> ReproScript:
    """The script, which calls itself ``name``; files of the program below ``root`` are named relative to it."""
    graph = subject.graph
    stage = graph.stages[CAPTURED]
    base = os.path.realpath(root or os.getcwd())
    captured = read_graph(stage.text, base)
    if captured is None:
        raise ReproError(f"{stage.name} holds no graph that can be read")
    try:
        return _ReproPage(subject, captured, base).script(name)
    except CannotRender as error:
        raise ReproError(f"{stage.name} cannot become a script: {error}") from error
    except DepyfError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:  # facts of a damaged dump
        raise ReproError(f"what the dump says of {stage.name} is damaged: {type(error).__name__}: {error}") from error


class _ReproPage:
    """The parts of one script."""

    def __init__(self, subject: ReproSubject, captured: GraphClass, root: str) -> None:
        self.subject, self.captured, self.root = subject, captured, root
        self.facts = subject.graph.stages[CAPTURED].facts
        self.how = subject.first.compiled_with if subject.first is not None else CompiledWith()
        self.made_up: list[str] = []
        self.beside: dict[str, TensorEntry] = {}

    def script(self, name: str) -> ReproScript:
        inputs = self._inputs()
        constants = constants_of(self.facts)
        classes = [class_text(part, "Captured", constants) for part in self.captured.everything()]
        texts = "\n\n\n".join(classes)
        code = "\n".join(code_lines(texts))
        if one_way := ONE_WAY.search(code):
            raise CannotRender(f"Dynamo cannot read back the operator {one_way['name']} that it wrote")
        functions = dict(self.facts.functions)
        imports, unknown = imports_of([self.captured], functions)
        if unknown:
            raise CannotRender(f"it calls {', '.join(unknown)}, which belongs to the program")
        imports += REGISTERS.findall(self.subject.graph.stages[CAPTURED].text)
        groups = groups_of(texts)
        middle = [part for part in (inputs, texts, self._constants(), self._main(code, groups)) if part]
        helpers, standard = self._helpers("\n".join(middle), groups)
        head = self._head(name, [*imports, *standard], code)
        ending = 'if __name__ == "__main__":\n    sys.exit(main())\n'
        page = "\n\n\n".join([head, *middle, helpers, ending])
        try:
            ast.parse(page)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise CannotRender("torch printed what is no Python") from error
        return ReproScript(page, self.beside)

    def _head(self, name: str, imports: Sequence[str], code: str) -> str:
        graph, python = self.subject.graph, self.subject.python
        what = f"{graph.function} ({short_place(graph.place, self.root)})" if graph.function else "an unknown function"
        lines = [
            f"torch.compile of {what}, compile id {graph.compile_id}: expected against actual.",
            "",
            f"Recorded with torch {graph.torch}, Python {python}; written by `depyf repro`. It needs torch only:",
            "",
            f"    python {name}",
            "",
            f"runs the captured graph in eager mode and under torch.compile {self._which_inputs()}.",
            "Exit status: 0 all results agree, 1 they differ or compiled code raises, 2 eager mode raises, too.",
            *self._said(code),
        ]
        found = sorted({"import sys", "import torch", *imports}, key=import_order)
        plain = [line for line in found if not re.match(r"(?:import|from) torch\b", line) and " = " not in line]
        others = [line for line in found if line not in plain]
        text = "\n".join(in_docstring(printable(line)) for line in lines)
        tolerance = remark(f"TOLERANCE = {tolerance_of(code)!r}", "of the largest value of a tensor")
        start = f'"""{text}\n"""\n\nfrom __future__ import annotations'
        return "\n\n".join([start, "\n".join(plain), "\n".join(others), tolerance])

    def _which_inputs(self) -> str:
        if self.subject.failed is not None:
            return "on the inputs of a call that raised"
        if self.subject.first is None:
            return "on made-up inputs of the recorded shapes"
        return "on the inputs of the first call"

    def _said(self, code: str) -> list[str]:
        error = self.subject.failed.error if self.subject.failed is not None else self.subject.error
        lines = ["", f"What happened: {one_line(error)}"] if error else []
        if self.subject.first is None and self.subject.failed is None:
            lines += ["", "The dump has no recorded inputs (prepare_debug(record=True) keeps them)."]
        elif self.made_up:
            lines += ["", f"Made up, because the dump does not have them: {', '.join(self.made_up)}."]
        if own := own_operators(code):
            lines += ["", f"Import the module that registers {', '.join(own)}."]
        if groups_of(code):
            lines += ["", NOTE]
        return lines

    def _inputs(self) -> str:
        """``make_inputs``, and the dynamic sizes that made-up inputs have."""
        recorded = self.subject.failed or self.subject.first
        items = {item.name: item for item in recorded.inputs} if recorded is not None else {}
        kept = [
            item for p in self.captured.parameters if (item := items.get(p.original)) is not None and not item.left_out
        ]
        known = {item.name for item in kept}
        texts = tensor_texts(recorded, kept) if recorded is not None else None
        self.beside.update(texts.beside if texts is not None else {})
        missing = [p for p in self.captured.parameters if p.original not in known]
        made, symbols = self._made_up() if missing else ({}, [])
        lines = []
        for parameter in self.captured.parameters:
            item = items.get(parameter.original)
            if texts is not None and item is not None and parameter.original in known:
                source = readable_source(item.source)
                told = source if item.role == "input" else f"{item.role} {source}".strip()
                line = f'"{parameter.name}": {texts.made[parameter.original]},'
                lines.append(remark(line, "" if told == parameter.name else told))
            else:
                self.made_up.append(parameter.name)
                why = f"made up: {item.left_out}" if item is not None else "made up"
                lines.append(remark(made[parameter.name], why))
        head = ["def make_inputs():"]
        if any("make." in line for line in lines):
            head.append("    make = Make(0)")
        head += ["    " + line for line in (texts.shared if texts is not None else [])]
        function = "\n".join([*head, "    return {", *("        " + line for line in lines), "    }"])
        return "\n".join([*symbols, "", "", function]) if symbols else function

    def _made_up(self) -> tuple[dict[str, str], list[str]]:
        symbols: dict[str, Number] = dict(self.facts.symbols)
        lines = input_lines(self.captured, self.facts, symbols, frozenset())
        return dict(zip([p.name for p in self.captured.parameters], lines)), symbol_lines(lines, symbols, self.facts)

    def _constants(self) -> str:
        """``captured``: the graph with the tensors that it holds."""
        first, known = self.subject.first, constants_of(self.facts)
        large = [
            item
            for item in (first.constants if first is not None else ())
            if not item.left_out
            and item.name.isidentifier()
            and (item.name not in known or known[item.name].values is None)
        ]
        if not large or first is None:
            return ""
        texts = tensor_texts(first, large)
        self.beside.update(texts.beside)
        lines = [f"graph.{name} = {made}" for name, made in texts.made.items()]
        return "\n    ".join(["def captured():", "graph = Captured()", *texts.shared, *lines, "return graph"])

    def _main(self, code: str, groups: Mapping[str, int]) -> str:
        recorded = self.subject.failed or self.subject.first
        random = RANDOM.search(code) is not None
        graph = "captured()" if self._constants() else "Captured()"
        modes = managers_of(self.facts.modes)
        computed = _computed(self.captured, recorded)
        lines = ["def main():", '    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}")']
        settings = dict(self.how.settings)
        if random:
            settings["torch._inductor.config.fallback_random"] = True
        if ".item()" in code:
            settings["torch._dynamo.config.capture_scalar_outputs"] = True
        if settings:
            items = [f"        {quoted(name)}: {value!r}," for name, value in settings.items()]
            lines.append("\n".join(["    set_as_recorded({", *items, "    })"]))
        if groups:
            lines.append(f"    process_groups({dict(groups)!r})")
        backend, why = self._backend()
        lines.append(remark(f"    backend = {quoted(backend)}", why))
        compile_arguments = ["backend=backend"]
        if self.how.options and not why:
            compile_arguments.append(f"options={dict(self.how.options)!r}")
        if any(p.type.startswith("Sym(") for p in self.captured.parameters):
            compile_arguments.append("dynamic=True")
        lines += ["", "    def result(graph):"]
        lines += [f"        {line}" for line in self._seeded(random)]
        call = f"run(graph, make_inputs(){f', {computed!r}' if computed else ''})"
        if modes:
            call_lines = [f"with {', '.join(modes)}:", f"    return {call}"]
        else:
            call_lines = [f"return {call}"]
        lines += [f"        {line}" for line in call_lines]
        lines += [
            "",
            f'    expected = attempt("Expected: eager mode", lambda: result({graph}))',
            f"    compiled = torch.compile({graph}, {', '.join(compile_arguments)})",
            '    actual = attempt(f"Actual: torch.compile, backend {backend}", lambda: result(compiled))',
            "    return judge(expected, actual)",
        ]
        return "\n".join(lines)

    def _seeded(self, random: bool) -> list[str]:
        """The lines that set the generators of random numbers."""
        if not random:
            return []
        first = self.subject.first
        if first is None or self.subject.failed is not None or not first.rng:
            return ["torch.manual_seed(0)"]
        lines = []
        for device, entry in first.rng.items():
            name = f"{_STATE}.{device}"
            self.beside[name] = first.entries[entry]
            setter = "torch.set_rng_state(" if device == "cpu" else "torch.cuda.set_rng_state("
            lines.append(f"{setter}stored_bytes({quoted(name)}){'' if device == 'cpu' else f', {quoted(device)}'})")
        return lines

    def _backend(self) -> tuple[str, str]:
        name = self.how.backend
        if name and "." not in name:
            return name, ""
        guess = "inductor" if self.subject.graph.wrapper else "aot_eager"
        if not name:
            return guess, "the dump does not say which it was"
        return "eager", f"it was {name}: import it, and put it here"

    def _helpers(self, body: str, groups: Mapping[str, int]) -> tuple[str, list[str]]:
        """The definitions that the script needs, and their imports."""
        needed = [word for word in ("written_bytes(", "stored_bytes(", "Make(") if word in body] + (
            ["process_groups("] if groups else []
        )
        shared, imports = harness_text(" ".join(needed))
        parts = _parts("set_as_recorded(" in body)
        imports += ["import traceback", "from collections.abc import Callable, Iterator", "from typing import Any"]
        if "set_as_recorded(" in body:
            imports.append("import importlib")
        imports = [
            line
            for line in imports
            if not line.startswith("from collections.abc import") or line.endswith("Callable, Iterator")
        ]
        return "\n\n\n".join(part for part in (parts, shared) if part), imports


def _computed(captured: GraphClass, recorded: Recorded | None) -> tuple[str, ...]:
    """The inputs with a gradient that are no leaves: the graph may write to them."""
    items: dict[str, RecordedInput] = {item.name: item for item in recorded.inputs} if recorded is not None else {}
    return tuple(
        parameter.name
        for parameter in captured.parameters
        if (item := items.get(parameter.original)) is not None and item.requires_grad and not item.leaf
    )


def _parts(with_settings: bool) -> str:
    """``repro_parts.py`` without its imports."""
    lines = _PARTS.read_text(encoding="utf-8").splitlines()
    found = []
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.FunctionDef) and (with_settings or node.name != "set_as_recorded"):
            found.append("\n".join(lines[node.lineno - 1 : node.end_lineno]))
    return "\n\n\n".join([comment("What follows is the same in every script."), *found])
