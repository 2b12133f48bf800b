"""The edited text of transformed code -> the code object that runs in the place of Dynamo's.

Input: an edited ``__transformed_code_*`` file, and the code that Dynamo made now.  Output: the code of the text, with
Dynamo's own names, constants and nested functions where the text says the same as Dynamo's; it is in the file, on its
lines.  Nothing is proven of it, but torch can run it: parameters, cells and free variables are those of Dynamo's code.
The guards stay.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable

from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited_file import EditedFile, python
from depyf.actions.edit.uses import EditedCompilation, Uses
from depyf.decompiler.bytecode.codeunit import nested_codes
from depyf.decompiler.bytecode.host.patch import bind
from depyf.errors import DepyfError
from depyf.run.files.checksums import uncounted
from depyf.run.global_names import rename
from depyf.sources.live.recording import substitute
from depyf.sources.live.recording.code_record import code_record
from depyf.sources.live.recording.transform import DecompiledCode, decompile_made

Called = Callable[[EditedFile, EditedCompilation, types.CodeType, types.CodeType], None]
"""Is told of each call: the file, the compilation, the code of the file that runs now, and Dynamo's."""
_USED = "__depyf_used"


def edited_code(
    uses: Uses, compilation: EditedCompilation, code: types.CodeType, made: types.CodeType, called: Called
) -> types.CodeType | None:
    """The code to run for ``made``, which Dynamo made of ``code``; None where no file was edited.  EditError where it
    cannot run."""
    work: dict[str, DecompiledCode] = {}

    def texts(file: EditedFile) -> tuple[str, ...]:
        work[file.name] = decompile_made(file.keys[0], code_record(code), code, made)
        return (work[file.name].text,)

    file = uses.file_for(compilation, "", texts, "transformed_code")
    if file is None:
        return None

    import torch

    def used() -> None:
        called(file, compilation, candidate, made)

    candidate = _compiled(
        file, work[file.name], code, torch._dynamo.disable(used)
    )  # torch compiles what it calls, else
    return candidate


def _compiled(file: EditedFile, work: DecompiledCode, code: types.CodeType, used: Callable[[], None]) -> types.CodeType:
    emitted = work.found.emitted if work.found is not None else None
    if emitted is None:
        raise EditError(
            file.path, 1, f"Dynamo's code could not be decompiled, so that no text can take its place: {work.reason}"
        )
    tree = python(file)
    original = _original_names(tree, work)
    found = _function(tree, emitted.path)
    if found is None:
        raise EditError(file.path, 1, f"there is no function {'.'.join(emitted.path)}() in it")
    call = ast.Expr(ast.Call(ast.Name(_USED, ast.Load()), [], []))
    found.body.insert(int(ast.get_docstring(found) is not None), call)
    for node in ast.walk(call):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno = node.end_lineno = found.lineno
            node.col_offset = node.end_col_offset = found.col_offset
    try:
        inner = _at(compile(tree, str(file.path), "exec", dont_inherit=True), emitted.path)
        renames = {
            **{rename(shown, original): name for shown, name in emitted.renames.items()},
            **emitted.renames,
            **original,
        }
        consts = {**emitted.consts, _USED: used}
        made = work.made
        bound = bind(inner, consts=consts, cells=emitted.cells, renames=renames, template=made)
    except (DepyfError, SyntaxError, ValueError) as error:
        raise EditError(file.path, found.lineno, f"this cannot run in the place of Dynamo's code: {error}") from None
    candidate = _with_nested(made, work, bound)
    reason = substitute.torch_objection(made) or substitute.refuse(code, made, candidate)
    if reason:
        raise EditError(file.path, found.lineno, f"torch cannot run this instead of the code that it made: {reason}")
    return candidate


def _original_names(tree: ast.Module, work: DecompiledCode) -> dict[str, str]:
    """A global of Dynamo's as the file calls it -> its name now, which may have other counters."""
    now = {
        work.renamed.get(name, name): name for code in (work.made, *nested_codes(work.made)) for name in code.co_names
    }
    found = {shown: name for shown, name in now.items() if shown != name}
    left: dict[str, list[str]] = {}
    for shown in now:
        left.setdefault(uncounted(shown), []).append(shown)
    read = dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id.startswith("__"))
    for name in sorted((name for name in read if name not in now), key=lambda name: (len(name), name)):
        alike = left.get(uncounted(name), [])
        if alike:
            found[name] = now[alike.pop(0)]
    return found


def _function(tree: ast.Module, path: tuple[str, ...]) -> ast.FunctionDef | None:
    """The function at the end of the path of names."""
    body: list[ast.stmt] = tree.body
    found: ast.FunctionDef | None = None
    for name in path:
        found = next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == name), None)
        if found is None:
            return None
        body = found.body
    return found


def _at(code: types.CodeType, path: tuple[str, ...]) -> types.CodeType:
    for name in path:
        code = next(inner for inner in nested_codes(code) if inner.co_name == name)
    return code


def _with_nested(made: types.CodeType, work: DecompiledCode, bound: types.CodeType) -> types.CodeType:
    """``bound`` with Dynamo's own nested functions in the place of those that the text did not change."""
    known = work.found.code if work.found is not None else None
    before = nested_codes(known) if known is not None else []
    with_all = substitute.with_original_codes(made, bound)
    consts = tuple(
        new if not isinstance(old, types.CodeType) or any(substitute.same_code(old, one) for one in before) else old
        for old, new in zip(bound.co_consts, with_all.co_consts)
    )
    return substitute.like(made, bound.replace(co_consts=consts))
