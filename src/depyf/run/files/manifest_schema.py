"""The schema of ``manifest.json`` as data: what a reader checks, and the JSON schema that the documentation shows.

A field holds a type, [what the items of a list are], (alternatives), an object, or text of a pattern; with ``!`` it
must be there.  Fields that the schema does not know are ignored by readers: a newer depyf may write more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

FORMAT = 1


def is_plain(name: str) -> bool:
    """Whether ``name`` can only be a file of the folder that it is looked up in."""
    return bool(name) and name not in (".", "..") and not set(name) & set("/\\:\0") and name.isprintable()


@dataclass(frozen=True, slots=True)
class TextPattern:
    """Text of some kind: ``what`` in words, ``pattern`` as a regular expression that it matches whole."""

    what: str
    pattern: str

    def fits(self, text: str) -> bool:
        return re.fullmatch(self.pattern, text, re.ASCII) is not None and (self is not NAME or is_plain(text))


NAME = TextPattern("plain file name", r"(?!\.{1,2}$)[^/\\:\x00]+")
COMPILE_ID = TextPattern("compile id", r"(?!.*[0-9]{10})[!A-Za-z0-9_./+-]{0,100}")
FORK = TextPattern("folder of a forked process", r"fork_[0-9]{1,9}")
_OPTIONAL = (str, None)

OBJECTS: dict[str, dict[str, Any]] = {}
"""Name of an object -> its fields."""
MEANINGS: dict[str, str] = {}
"""``object.field`` -> what it says."""


def _object(name: str, *fields: tuple[str, Any, str]) -> dict[str, Any]:
    OBJECTS[name] = {field: wanted for field, wanted, _ in fields}
    MEANINGS.update({f"{name}.{field.rstrip('!')}": meaning for field, _, meaning in fields})
    return OBJECTS[name]


_ADVICE = _object(
    "advice",
    ("id!", str, "its row in the table of advice"),
    ("values!", dict, "what its text is filled with"),
    ("text", str, "the text, filled in"),
)
_VERDICT = _object(
    "verdict",
    ("function", str, "the code object"),
    ("status", str, "IDENTICAL, EQUIVALENT, UNVERIFIED or FAILED; EDITED: the text of a file that depyf.edited used"),
    ("reason", str, "why there is no proof, or what the proof assumes"),
)
_GIVEN = _object(
    "given",
    ("name", str, "the name under which the backend gave the graph"),
    ("by", str, "the function that gave it"),
    ("context", dict, "the engine's pass context then"),
    ("order", int, "its place among the graphs given"),
)
_LINE_TABLE = _object(
    "line table",
    (
        "stretches!", str,
        "COUNT:LINE:FILE:FUNCTION:TEXT:ENTRY for each stretch of lines: how many, the line of the program, and the "
        "numbers of its file, function, text and cache entry among the names; what is empty at the end is left out",
    ),
    ("names", [str], "the names, from 0"),
)  # fmt: skip
_FILE = _object(
    "file",
    ("file!", NAME, "its name in the folder"),
    (
        "kind!", str,
        "what it is: full_code, transformed_code, original_code, bytecode, graph, graph_inputs, recorded_inputs, "
        "failed_inputs, layers, layer_index, wrapper, kernel_source, index, report, ...",
    ),
    ("stage", str, "of a graph: Captured_Graph, Forward_graph, Backward_graph, AFTER_POST_GRAD, ..."),
    ("index", int, "the first, second, ... graph of this stage"),
    ("compile_id", COMPILE_ID, "torch's compile id"),
    ("generation", int, "how often torch._dynamo.reset() had been called"),
    ("compile_ids", [COMPILE_ID], "of a full_code page: the compile ids on it"),
    ("from", [str], "the files that it came from, or the place of the program's function"),
    ("steppable", bool, "whether breakpoints in it stop"),
    ("function", str, "the program's function"),
    ("substituted", bool, "whether this text is what runs"),
    ("reason", str, "why it is not what runs"),
    ("same_code_as", NAME, "the file whose code torch loaded in place of this one's"),
    ("level", str, "the level of depyf.debug() that wrote it"),
    ("given", _GIVEN, "of a graph that a backend gave to torch's lazy_format_graph_code"),
    ("verdicts", [_VERDICT], "what was proven, one for each code object"),
    ("sha256", str, "checksum of a file that depyf.edited can use, as it was written"),
    ("line_checksums", str, "the same line by line: the last 16 bits of the CRC-32 of each, in hexadecimal"),
    (
        "made_from", str,
        "checksum of what torch made, without comments and line breaks: whether it makes the same again",
    ),
    ("lines", _LINE_TABLE, "the lines of the program that its lines come from, as it was written"),
    ("kernel", str, "of a kernel: its name in the wrapper"),
    ("called_at", int, "of a kernel: the line of the wrapper that calls it"),
)  # fmt: skip
_BREAK = _object(
    "graph_break",
    ("at", str, "FILE:LINE of the program"),
    ("function", str, "the function of that line"),
    ("from", str, "the line that called it, where the break is inside a call"),
    ("reason", str, "torch's reason"),
    ("cause", str, "the reason in plain words"),
    ("hints", [str], "torch's hints"),
    ("advice", [_ADVICE], "what helps"),
    ("code", str, "torch's number of the reason (GB0001)"),
    ("skipped", bool, "the whole function runs as Python"),
    ("rest_skipped", bool, "the rest of the function runs as Python"),
)
_RECOMPILED = _object(
    "recompilation",
    ("entry", COMPILE_ID, "the cache entry that did not fit"),
    ("guard", str, "the guard that failed"),
    ("at", str, "the line of the program that the guard is for"),
    ("expected", _OPTIONAL, "what the guard wanted"),
    ("actual", _OPTIONAL, "what was there"),
    ("advice", [_ADVICE], "what avoids it"),
)
_SYMBOL = _object(
    "symbol",
    ("name", str, "s0, u0"),
    ("source", str, "the size or number that it is"),
    ("sources", [str], "all that share it"),
    ("value", _OPTIONAL, "when compiled"),
    ("range", _OPTIONAL, "when made"),
    ("final_range", _OPTIONAL, "after all guards"),
    ("equals", _OPTIONAL, "the expression that it equals in the end"),
    ("dynamic", _OPTIONAL, "why it is dynamic: marked, changed or asked"),
    ("became", _OPTIONAL, "the constant that it was specialised to"),
    ("why", str, "torch's reason for that"),
    ("specialised_at", str, "the line that asked for the value"),
    ("specialised_by", _OPTIONAL, "the operator that asked"),
    ("at", str, "the line where it was made"),
    ("assumed", [_object(
        "assumption",
        ("expression", str, "the condition"),
        ("at", str, "the line that asked"),
    )], "what torch assumed about it"),
)  # fmt: skip
_CONDITION = _object(
    "shape_condition",
    ("expression", str, "torch's expression"),
    ("at", str, "the line"),
    ("operator", str, "the operator"),
    ("asked_by", str, "torch's function"),
)
_ENTRY = _object(
    "entry",
    ("compile_id!", COMPILE_ID, "torch's compile id"),
    ("generation", int, "how often torch._dynamo.reset() had been called, where it had"),
    ("guards", int, "how many guards it has"),
    ("state", str, "what became of the guards: alive, or why they cannot be shown"),
    ("compiled", bool, "whether code came of it"),
    ("before_recording", bool, "compiled before the recording began"),
    ("made", str, "at call, ahead of time, or loaded"),
    ("graph_breaks", [_BREAK], "where its graph ended"),
    ("recompiled_because", [_RECOMPILED], "the earlier entries that did not fit"),
    ("failed", _OPTIONAL, "the error, where torch raised one"),
    ("advice", [_ADVICE], "what helps against that error"),
    ("raised", bool, "whether the error reached the program"),
    ("restarts", [str], "why Dynamo began again"),
    ("symbols", [_SYMBOL], "its dynamic sizes"),
    ("shape_conditions", [_CONDITION], "conditions on sizes"),
    ("caches", [_object(
        "cache",
        ("cache", str, "which cache"),
        ("status", str, "hit, miss, bypass"),
        ("reason", str, "why"),
    )], "what torch's caches answered"),
    ("called_by", [_object(
        "caller",
        ("at", str, "FILE:LINE"),
        ("function", str, "its function"),
        ("frame", str, "the number of its frame, where Dynamo saw it"),
    )], "the lines that led here, outermost first"),
)  # fmt: skip
_KEY = _object(
    "key",
    ("compile_id!", COMPILE_ID, "torch's compile id"),
    ("generation!", int, "how often torch._dynamo.reset() had been called"),
)
_WAY = _object(
    "way out",
    ("advice!", [_ADVICE], "what is to be followed, all of it"),
    ("compilations!", (int, None), "compilations of the run; null where nothing is predicted"),
    ("left!", (int, None), "how many are left then, predicted"),
    ("or_more", bool, "true where more may be left: there were calls that are not recorded, or no symbols yet"),
    ("or_fewer", bool, "true where fewer may be left: a call has an entry only because of strides, which may change"),
)
_CAUSE = _object(
    "cause",
    ("kind!", str, "failed, recompiles, breaks, ran as Python"),
    ("function!", str, "the program's function"),
    ("at!", str, "FILE:LINE"),
    ("line!", str, "the text of the line"),
    ("asked!", str, "the operator or the guard that asked"),
    ("module!", str, "the path of the nn.Module"),
    ("compile_ids!", [_KEY], "the compilations that met it"),
    ("caused!", [_KEY], "the compilations that would not have been without it"),
    ("costs!", _object(
        "costs",
        ("compilations!", int, "compilations that would not have been without it"),
        ("python!", int, "functions that ended as ordinary Python"),
        ("operations!", int, "operations that are in no graph then"),
        ("breaks!", int, "functions whose graph ends at it"),
    ), "what it costs"),
    ("text!", str, "one sentence: what happened, and why"),
    ("more", str, "what follows from it"),
    ("advice!", [_ADVICE], "what is advised, explanations included"),
    ("ways", [_WAY], "the ways out, the best first"),
    ("inside!", str, "the library's line, where 'at' calls a library"),
    ("functions!", [str], "the functions that met it"),
    ("ran_as_python!", [str], "those that ended as ordinary Python"),
    ("needed", bool, "the program needs these compilations: nothing to fix"),
    ("evidence", [_object(
        "raw record",
        ("record!", str, "what torch calls it: recompile_reasons"),
        ("compile_id!", COMPILE_ID, "torch's compile id"),
        ("generation!", int, "how often torch._dynamo.reset() had been called"),
        ("line!", (int, None), "its line in the log of torch; null where the run was recorded"),
    )], "torch's records that it rests on"),
)  # fmt: skip
_OBSERVATION = _object(
    "observation",
    (
        "kind!",
        str,
        "different from Python, never called, unrolled loop, nothing compiled, cache, mode, not fused, fallback, "
        "copy, CUDA graphs skipped, ended by an error",
    ),
    ("at!", str, "FILE:LINE"),
    ("line!", str, "the text of the line"),
    ("text!", str, "one sentence: what was found"),
    ("details!", [str], "more of it, a sentence each"),
    ("ways!", [str], "the ways out, the best first"),
    ("cost!", str, "what it costs"),
    ("compile_ids!", [_KEY], "the compilations that it is about"),
)
_FUNCTION = _object(
    "function",
    ("function!", str, "its qualified name"),
    ("shown", str, "the name under which the program knows it, where that is another one"),
    ("from!", str, "FILE:LINE"),
    ("resume_of", _OPTIONAL, "of a resume function: the number of the frame that it goes on with"),
    ("entries!", [_ENTRY], "its compilations, in torch's order"),
)
_SKIPPED = _object("skipped", ("function", str, "its name"), ("from", str, "FILE:LINE"), ("reason", str, "why"))
_object(
    "page",
    ("format", int, f"{FORMAT}; another number is another schema"),
    ("torch", str, "the version of torch"),
    ("python", str, "the version of Python"),
    ("files!", [_FILE], "each file of the dump"),
    ("causes", [_CAUSE], "what to fix first, the most costly first"),
    ("observations", [_OBSERVATION], "what else there is to change"),
    ("functions", [_FUNCTION], "each function that Dynamo was given"),
    ("never_compiled", [_SKIPPED], "functions that Dynamo met and left alone"),
    ("ranks", int, "how many processes the run had"),
    ("forks", [FORK], "dumps of forked children"),
    ("not_reported", [str], "what this torch does not tell"),
    ("notes", [str], "what went wrong while recording"),
)  # fmt: skip


def json_schema(closed: bool = False) -> dict[str, Any]:
    """The JSON schema (draft 2020-12); ``closed``: a field that it does not know is an error."""
    definitions = {name: _definition(name, closed) for name in OBJECTS if name != "page"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://depyf.readthedocs.io/en/latest/reference/manifest.schema.json",
        "title": "manifest.json of a dump of depyf",
        **_definition("page", closed),
        "$defs": definitions,
    }


def _definition(name: str, closed: bool) -> dict[str, Any]:
    fields = OBJECTS[name]
    properties = {
        field.rstrip("!"): {**_schema_of(wanted), "description": MEANINGS[f"{name}.{field.rstrip('!')}"]}
        for field, wanted in fields.items()
    }
    required = [field[:-1] for field in fields if field.endswith("!")]
    found: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        found["required"] = required
    if closed:
        found["additionalProperties"] = False
    return found


_TYPES = {str: "string", int: "integer", bool: "boolean", dict: "object", None: "null"}


def _schema_of(wanted: Any) -> dict[str, Any]:
    for name, fields in OBJECTS.items():
        if fields is wanted:
            return {"$ref": f"#/$defs/{name}"}
    if isinstance(wanted, list):
        return {"type": "array", "items": _schema_of(wanted[0])}
    if isinstance(wanted, tuple):
        return {"type": [_TYPES[item] for item in wanted]}
    if isinstance(wanted, TextPattern):
        return {"type": "string", "pattern": f"^(?:{wanted.pattern})$"}
    return {"type": _TYPES[wanted]}
