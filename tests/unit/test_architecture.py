"""The rules of the architecture that a machine can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "depyf"
FILES = sorted(SOURCE.rglob("*.py"))
TORCH_ALLOWED = (
    "sources/live/",
    "actions/asking/",
    "actions/claims/",
    "actions/comparing/",
    "actions/debugger/",
    "actions/doctor/",
    "actions/edit/",
    "optimization.py",
    "actions/scripts/carried/",
    "actions/scripts/skeletons/",
)
# optimization.py is a published class that compiles; the files of scripts/ are text, never imported
INTERPRETERS = (
    "decompiler/verify/recompiling/interpreters.py",
    "decompiler/verify/recompiling/recompile.py",
)  # which CPython runs is their subject
LINE_LIMIT = 500


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported, at whatever place in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def uses_host_version(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in ("version_info", "hexversion")
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
        for node in ast.walk(tree)
    )


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_file(path: Path) -> None:
    name = relative(path)
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    tops = {module.split(".")[0] for module in imported(tree)}
    if not name.startswith("decompiler/bytecode/"):
        if name not in INTERPRETERS:
            assert not uses_host_version(tree), "versions of CPython are known in bytecode/ only"
        assert not tops & {"dis", "opcode"}, "the running interpreter's opcodes are no business of the core"
    if not name.startswith(TORCH_ALLOWED):
        assert "torch" not in tops, "torch is imported in sources and actions only"
    assert len(text.splitlines()) < LINE_LIMIT
    if text.strip() and path.name != "__init__.py":
        assert ast.get_docstring(tree), "a module says what it is for"


KNOW_VERSIONS = ("decompiler/bytecode/", "decompiler/emit/grammar.py")


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_versions_are_compared_in_one_room(path: Path) -> None:
    """What a version's compiler does is a property of ``CodeUnit`` with a name that says it."""
    if relative(path).startswith(KNOW_VERSIONS):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare) and any(
            isinstance(side, ast.Tuple) and [type(getattr(one, "value", None)) for one in side.elts] == [int, int]
            for side in (node.left, *node.comparators)
        ):
            assert "version" not in ast.unparse(node), f"line {node.lineno}"


PARSES = ("safety/unheard.py", "actions/scripts/carried/")
"""The second are texts that go into files of the user, and parse nothing but themselves."""


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_python_is_parsed_unheard(path: Path) -> None:
    """``ast.parse`` warns through the filters of the process that it parses in: ``unheard.parse`` does not."""
    if relative(path).startswith(PARSES):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not (isinstance(node, ast.Attribute) and ast.unparse(node) == "ast.parse"), f"line {node.lineno}"


def test_import_is_light() -> None:
    """``import depyf`` brings in neither torch nor anything else that is not the standard library."""
    program = (
        "import sys; before = set(sys.modules); import depyf; "
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"depyf"}


MODULES = {
    relative(path)[:-3].replace("/", ".").removesuffix(".__init__"): path
    for path in FILES
    if path.parent != SOURCE or path.name != "__init__.py"
}
ROOMS = ("decompiler", "views", "actions", "sources")
"""Whose parts are layers of their own."""
LAYERS = (
    ("errors", "native", "safety"),
    ("decompiler.bytecode",),
    ("decompiler.ir", "decompiler.cfg", "decompiler.emit"),
    ("decompiler.lift",),
    ("decompiler.structure",),
    ("decompiler.idioms", "decompiler.fallback"),
    ("decompiler.generated",),
    ("decompiler.options", "decompiler.verify"),
    ("decompiler.driver",),
    ("run", "sources.files", "sources.reports"),
    ("sources.trace_log",),
    ("actions.scripts",),
    ("views.pages", "views.dump", "views.compare"),
    ("actions.gallery", "views.report", "actions.repro", "actions.export", "actions.profile"),
    ("sources.live",),
    (
        "decompiling",
        "dynamo",
        "actions.claims",
        "actions.debugger",
        "actions.doctor",
        "actions.opened",
        "actions.following",
    ),
    ("contexts", "actions.asking", "actions.comparing"),
    ("actions.edit", "actions.explaining", "actions.fixing", "actions.checking", "views.findings"),
    ("api", "decompiler", "doctor", "explain", "export", "gallery", "optimization", "report", "testing", "utils"),
    ("cli", "pytest_plugin", "__main__"),
)
"""What is imported before what imports it; packages of one layer may import each other in one direction."""
FILES_IN_A_FOLDER = 16
PUBLISHED_TWICE = ("explain/utils.py", "doctor.py")
"""Published modules whose name another one has, and dumps or programs import both."""
TEXT_FOR_SCRIPTS = ("carried", "skeletons")
"""Folders of what scripts show, never imported."""


def package(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[: 2 if parts[0] in ROOMS else 1])


def imports_of(path: Path) -> set[str]:
    """The modules of depyf that one imports, wherever in the file: in functions, and for the type checker alone, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole.removeprefix("depyf.") in MODULES else node.module)
    return {name.removeprefix("depyf.") for name in found if name.startswith("depyf.")}


def test_packages_import_each_other_in_one_direction() -> None:
    """No cycle between packages, and none against the layers."""
    edges = {
        (package(name), package(other)): f"{name} imports {other}"
        for name, path in MODULES.items()
        if name
        for other in imports_of(path)
    }
    layer = {name: depth for depth, names in enumerate(LAYERS) for name in names}
    for (one, other), example in edges.items():
        if one != other:
            assert layer[one] >= layer[other], example
            assert (other, one) not in edges, f"{example}; {edges.get((other, one))}"


def test_layers_name_every_package() -> None:
    named = [name for names in LAYERS for name in names]
    assert sorted(named) == sorted({package(name) for name in MODULES if name} - {*ROOMS[1:]})


def test_folders_are_small() -> None:
    sizes = Counter(path.parent for path in FILES if path.name != "__init__.py")
    assert [f"{relative(folder)}: {count}" for folder, count in sizes.items() if count > FILES_IN_A_FOLDER] == []


def test_module_names_are_unique() -> None:
    files = [path for path in FILES if relative(path) not in PUBLISHED_TWICE]
    names = Counter(path.stem for path in files if path.stem not in ("__init__", "__main__"))
    assert [name for name, count in names.items() if count > 1] == []


TESTS = Path(__file__).parents[1]
TEST_FILES = sorted(TESTS.rglob("test_*.py"))


def test_unit_tests_lie_where_their_module_lies() -> None:
    """``tests/unit`` mirrors ``src/depyf``: each folder is one of the source, with no more files; at the top is what crosses modules."""
    unit = TESTS / "unit"
    sizes = Counter(path.parent for path in TEST_FILES if path.is_relative_to(unit))
    assert [str(folder) for folder in sizes if not (SOURCE / folder.relative_to(unit) / "__init__.py").exists()] == []
    assert [f"{folder}: {count}" for folder, count in sizes.items() if count > FILES_IN_A_FOLDER] == []


def test_names_of_test_files_are_unique() -> None:
    names = Counter(path.name for path in TEST_FILES)
    assert [name for name, count in names.items() if count > 1] == []


def test_class_names_are_unique() -> None:
    names = Counter(
        node.name
        for path in FILES
        if path.parent.name not in TEXT_FOR_SCRIPTS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_checker_knows_nothing_of_the_making() -> None:
    """``verify/`` imports what reads bytecode, and of what makes texts the contract of generated code alone."""
    allowed = ("errors", "safety", *(f"decompiler.{one}" for one in ("bytecode", "generated.contract", "verify")))
    for name, path in MODULES.items():
        if package(name) == "decompiler.verify":
            for other in imports_of(path):
                assert other.startswith(allowed), f"{name} imports {other}"


ON_COPIES = (
    "compare.py",
    "compiled_graph.py",
    "tensors.py",
    "against_model.py",
    "undeclared_writes.py",
    "wrong_fakes.py",
    "reference.py",
    "probes.py",
    "nonfinite.py",
    "operator_bodies.py",
    "libdevice.py",
    "fake_values.py",
    "edit_trial.py",
    "transformed_trial.py",
    "retrace.py",
    "kept_tensors.py",
    "images.py",
)
"""They run graphs for the user, on values of their own; the last two look at ordinary tensors of a call that they make."""
TELLING = {"is_leaf", "grad_fn", "storage_offset", "untyped_storage", "data_ptr", "hint", "has_hint", "numel"}


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for room in ("sources", "actions/asking", "actions/comparing", "actions/debugger", "actions/edit")
        for path in (SOURCE / room).rglob("*.py")
    ),
    ids=relative,
)
def test_values_of_a_program_are_looked_at_in_one_place(path: Path) -> None:
    """What ``pure_access`` is for: the usual ways to read these specialise symbols, run code, or make autograd's nodes."""
    if path.name in (*ON_COPIES, "pure_tensors.py"):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            assert node.attr not in TELLING, f"{node.attr}, line {node.lineno}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            assert not ast.unparse(node.args[1]).startswith("torch."), f"isinstance, line {node.lineno}"
