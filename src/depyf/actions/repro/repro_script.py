"""The script of a bug report: one captured graph, its inputs, expected against actual.

Input: a ``ReproSubject``.  Output: the text of a script that needs torch only, and the entries of a file of tensors
beside it (none where all inputs are small).  Nothing of the dump is executed.  Raises ``ReproError`` where the graph
reads what belongs to the program.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from depyf.actions.repro.repro_subject import ReproError, ReproSubject
from depyf.actions.scripts.classes import constants_of, graph_code
from depyf.actions.scripts.fill import Value
from depyf.actions.scripts.graph_parts import (
    RANDOM,
    REGISTERS,
    code_lines,
    common_values,
    own_operators,
    script_text,
    subject_of,
)
from depyf.actions.scripts.input_table import CannotRender, InputTexts, input_texts
from depyf.actions.scripts.process_groups import NOTE, groups_of
from depyf.actions.scripts.tensor_text import quoted, tensor_texts
from depyf.decompiler.emit.comments import in_docstring, remark
from depyf.errors import DepyfError
from depyf.run.compile_stages import CAPTURED
from depyf.run.files.writer import write_whole
from depyf.run.graphs.graph_source import one_way_operator
from depyf.run.graphs.graph_text import GraphClass, read_graph
from depyf.run.graphs.value_types import Number, printed_symbol
from depyf.run.recorded.recorded_inputs import CompiledWith
from depyf.run.recorded.tensor_file import TensorEntry, packed
from depyf.safety.escape import one_line, printable

_EXIT = "Exit status: 0 all results agree, 1 they differ or compiled code raises, 2 eager mode raises, too."
_STATE = "rng"


@dataclass(frozen=True, slots=True)
class ReproScript:
    """The text of a script, and the entries of the tensor file beside it."""

    text: str
    beside: Mapping[str, TensorEntry]


def write_repro(subject: ReproSubject, path: Path) -> tuple[Path, ...]:
    """Write the script to ``path``, and the file of tensors beside it where it needs one; returns the paths written.
    ReproError where that is not possible."""
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
    """The script with the file name ``name``.  Files below ``root`` are named relative to it.  ReproError for a graph
    that cannot become a script."""
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
        self.recorded = subject.failed or subject.first
        self.symbols: dict[str, Number] = dict(self.facts.symbols)
        self.inputs: InputTexts = input_texts(captured, self.facts, self.symbols, recorded=self.recorded)
        self.beside: dict[str, TensorEntry] = dict(self.inputs.beside)

    def script(self, name: str) -> ReproScript:
        classes, imports = graph_code([(self.captured, "Captured", self.facts)])
        imports += REGISTERS.findall(self.subject.graph.stages[CAPTURED].text)
        code = code_lines("\n".join(classes))
        if one_way := one_way_operator(code):
            raise CannotRender(f"Dynamo cannot read back the operator {one_way} that it wrote")
        graph, constants = self.subject.graph, self._constants()
        version, python = in_docstring(printable(graph.torch)), in_docstring(printable(self.subject.python))
        values: dict[str, Value] = {
            **common_values(self.facts, self.symbols, self.inputs, classes),
            "BUG": True,
            "BACKWARD": False,
            "TITLE": f"torch.compile of {subject_of(graph, self.root)}: expected against actual.",
            "ABOUT": [
                f"Recorded with torch {version}, Python {python}; written by `depyf repro`. It needs torch only:"
            ],
            "COMMAND": in_docstring(printable(name)),
            "EXIT": [
                f"runs the captured graph in eager mode and under torch.compile {self._which_inputs()}.",
                _EXIT,
            ],
            "NOTES": [in_docstring(printable(line)) for line in self._said(code)],
            "CONSTANTS": constants,
            "GRAPH": "captured()" if constants else "Captured()",
            **self._how_it_is_called(code),
        }
        return ReproScript(script_text(imports, values), self.beside)

    def _which_inputs(self) -> str:
        if self.subject.failed is not None:
            return "on the inputs of a call that raised"
        if self.subject.first is None:
            return "on made-up inputs of the recorded shapes"
        return "on the inputs of the first call"

    def _said(self, code: str) -> list[str]:
        error = self.subject.failed.error if self.subject.failed is not None else self.subject.error
        lines = ["", f"What happened: {one_line(error)}"] if error else []
        if self.recorded is None:
            lines += ["", "The dump has no recorded inputs (prepare_debug(record=True) keeps them)."]
        elif self.inputs.made_up:
            lines += ["", f"Made up, because the dump does not have them: {', '.join(self.inputs.made_up)}."]
        if own := own_operators(code):
            lines += ["", f"Import the module that registers {', '.join(own)}."]
        if groups_of(code):
            lines += ["", NOTE]
        return lines

    def _constants(self) -> list[str]:
        """The lines that give the graph the tensors that it holds."""
        first, known = self.subject.first, constants_of(self.facts)
        if first is None:
            return []
        large = [
            item
            for item in first.constants
            if not item.left_out
            and item.name.isidentifier()
            and (item.name not in known or known[item.name].values is None)
        ]
        texts = tensor_texts(first, large)
        self.beside.update(texts.beside)
        return [*texts.shared, *(f"graph.{name} = {made}" for name, made in texts.made.items())]

    def _how_it_is_called(self, code: str) -> dict[str, Value]:
        """Settings, random numbers, backend, and the inputs with a gradient that are no leaves: the graph may write to
        them."""
        random = RANDOM.search(code) is not None
        settings = dict(self.how.settings)
        if random:
            settings["torch._inductor.config.fallback_random"] = True
        if ".item()" in code:
            settings["torch._dynamo.config.capture_scalar_outputs"] = True
        backend, why = self._backend()
        given = ["backend"]
        if self.how.options and not why:
            given.append(f"options={dict(self.how.options)!r}")
        if any(printed_symbol(p.type) is not None for p in self.captured.parameters):
            given.append("dynamic=True")
        items = {item.name: item for item in self.recorded.inputs} if self.recorded is not None else {}
        computed = [
            position
            for position, parameter in enumerate(self.captured.parameters)
            if (item := items.get(parameter.original)) is not None and item.requires_grad and not item.leaf
        ]
        return {
            "SETTINGS": [f"{quoted(name)}: {value!r}," for name, value in settings.items()],
            "SEEDED": self._seeded() if random else [],
            "BACKEND": remark(quoted(backend), why),
            "COMPILED_WITH": ", ".join(given),
            "COMPUTED": repr(tuple(computed)),
        }

    def _seeded(self) -> list[str]:
        """The lines that set the generators of random numbers."""
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
        guess = "inductor" if self.subject.graph.wrappers else "aot_eager"
        if not name:
            return guess, "the dump does not say which it was"
        return "eager", f"it was {name}: import it, and put it here"
