"""Only what control reaches is decoded: every shape is put together by an interpreter of its version, and run there, as the text is."""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import replace
from functools import cache

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit, nested_units
from depyf.decompiler.bytecode.decode import decode, reached
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.qualnames import with_qualnames
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.errors import BytecodeError
from foreign import VERSIONS, compiled_text
from needs import need
from tools.env.interpreters import number

MAKE = r"""
import base64, json, marshal, opcode, sys
V = sys.version_info[:2]
caches = getattr(opcode, "_inline_cache_entries", {})
def width(name):
    return 1 + (caches.get(name, 0) if hasattr(caches, "get") else caches[opcode.opmap[name]])
def op(name, arg=0):
    return bytes([opcode.opmap[name], arg]) + bytes(2 * (width(name) - 1))
ext = op("EXTENDED_ARG", 1)
step = 1 if V >= (3, 10) else 2
unknown = bytes([next(n for n in range(233, 0, -1) if n not in ALL), 7])
def over(junk):
    return op("JUMP_FORWARD", len(junk) // 2 * step) + junk
def source(end):
    named = ", ".join(map(repr, range(1000, 1300)))
    return "def f(a):\n    if a is NotImplemented: return [%s]\n    return %s\n" % (named, end)
def made(head, tail=b"", end="a * 2 + 1000"):
    space = {}
    exec(source(end), space)
    f = space["f"]
    code = f.__code__.co_code
    consts = (None, *range(1000, 1300))
    start = 2 * width("RESUME") if V >= (3, 11) else 0
    load = op("LOAD_FAST", 0) if V < (3, 14) else op("LOAD_FAST_BORROW", 0)
    body = op("LOAD_CONST", 3) + op("RETURN_VALUE") if head is None else head
    co = f.__code__.replace(co_code=code[:start] + body + tail, co_consts=consts, co_stacksize=6, **EXTRA)
    f.__code__ = co
    return f
EXTRA = {"co_exceptiontable": b""} if V >= (3, 11) else {}
load = op("LOAD_FAST", 0)
rest = op("LOAD_CONST", 3) + op("RETURN_VALUE")
test = op("LOAD_FAST", 0) + (op("TO_BOOL") if V >= (3, 13) else b"")
branch = "POP_JUMP_FORWARD_IF_FALSE" if V == (3, 11) else "POP_JUMP_IF_FALSE"
start = 2 * width("RESUME") if V >= (3, 11) else 0
def conditional(skipped, name=None):
    at = start + len(test) + 2 * width(branch)
    target = at + len(skipped)
    arg = len(skipped) // 2 if V >= (3, 11) else target // 2 if V == (3, 10) else target
    return test + op(branch, arg)
shapes = {
    "unknown opcode": over(unknown) + rest,
    # 3.14 looks up the constants of all code when it makes the object, and dies of a number that is too large
    "out of range": over(op("LOAD_CONST" if V < (3, 14) else "LOAD_NAME", 250) + ext + op("LOAD_NAME", 250)) + rest,
    "prefix behind a jump": over(ext) + rest,
    "prefixes behind a jump": over(op("EXTENDED_ARG", 0) * 2 + ext) + rest,
    "jump to nowhere": over(op("JUMP_FORWARD", 240)) + rest,
    "name out of range": over(op("LOAD_GLOBAL", 240)) + op("NOP") * 9 + rest,
    "two arguments": conditional(ext) + ext + rest,
    "three arguments": conditional(op("EXTENDED_ARG", 0) + ext) + op("EXTENDED_ARG", 0) + ext + rest,
    "ends in a prefix": rest + ext,
    "unknown at the end": rest + unknown * 3,
    "makes a cell": over(op("MAKE_CELL", 0) if V >= (3, 11) else op("LOAD_CLOSURE", 99)) + rest,
    "keywords": over(op("CALL_FUNCTION_KW", 3) if V < (3, 11) else op("CALL_KW", 3) if V >= (3, 13) else op("KW_NAMES", 1)) + op("NOP") * 5 + rest,
}
out = {}
for name, head in shapes.items():
    f = made(head)
    out[name] = (base64.b64encode(marshal.dumps(f.__code__)).decode(), repr([f(0), f(5)]))
print(json.dumps(out))
"""


@cache
def shapes(version: str) -> dict[str, tuple[CodeUnit, str]]:
    """Each shape with what a call with 0 and one with 5 give in ``version``."""
    known = {opcode for opcode, name in enumerate(spec_for(number(version)).opnames) if name}
    program = f"ALL = {known!r}\n{MAKE}"
    done = subprocess.run([need(version), "-I", "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {name: (loads(base64.b64decode(data), number(version)), gives) for name, (data, gives) in found.items()}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_reached_may_be_anything(version: str) -> None:
    texts = []
    for name, (unit, gives) in shapes(version).items():
        result = decompile_unit(unit)
        assert result.proven, (name, result.verdicts)
        texts.append(f"{result.source}\nif repr([f(0), f(5)]) != {gives!r}: print({name!r}, f(0), f(5))")
    done = subprocess.run([need(version), "-I", "-c", "\n".join(texts)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("version", VERSIONS)
def test_an_instruction_with_two_arguments(version: str) -> None:
    """A jump over the prefix executes it with the argument that it has itself."""
    unit, gives = shapes(version)["two arguments"]
    assert gives == "[1002, 1258]"
    raw = decode(unit, spec_for(unit.version))
    loads = [i for i, name in enumerate(raw.names) if name == "LOAD_CONST"]
    assert [raw.args[i] for i in loads] == [256 + 3, 3]
    assert len({raw.offsets[i] for i in loads}) == 1
    assert raw.names[loads[0] + 1] == "JUMP_FORWARD" and raw.targets[loads[0] + 1] == loads[1] + 1


def plain(version: str) -> tuple[CodeUnit, dict[str, int], int]:
    """A function without junk, the opcodes by name, and where its body begins."""
    unit, _ = shapes(version)["ends in a prefix"]
    spec = spec_for(unit.version)
    opcodes = {name: opcode for opcode, name in reversed(list(enumerate(spec.opnames))) if name}
    begin = 2 + spec.caches[opcodes["RESUME"]] if unit.version >= (3, 11) else 0
    return unit, opcodes, begin


@pytest.mark.parametrize("version", VERSIONS[3:])
def test_a_jump_into_a_cache(version: str) -> None:
    unit, opcodes, begin = plain(version)
    cached = bytes((opcodes["LOAD_GLOBAL"], 0)) + bytes(spec_for(unit.version).caches[opcodes["LOAD_GLOBAL"]])
    into = bytes((opcodes["JUMP_FORWARD"], 2)) + cached + unit.code[begin:]
    with pytest.raises(BytecodeError, match="it is no instruction"):
        lower(replace(unit, code=unit.code[:begin] + into))


@pytest.mark.parametrize("version", VERSIONS[3:])
def test_code_in_a_cache(version: str) -> None:
    """Before it runs anything, the interpreter (3.12+) writes counters behind what looks like an instruction, reached or not."""
    unit, opcodes, begin = plain(version)
    junk = bytes((opcodes["LOAD_GLOBAL"], 0))
    code = unit.code[:begin] + bytes((opcodes["JUMP_FORWARD"], 1)) + junk + unit.code[begin:]
    if unit.version < (3, 12):
        assert lower(replace(unit, code=code)).instrs[-1].op == "RETURN"
        return
    with pytest.raises(BytecodeError, match="lies in the cache of another one"):
        lower(replace(unit, code=code))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_interpreter_remembers_has_one_argument(version: str) -> None:
    """It keeps what a global was by the place of the instruction: the second argument would give the first one's value."""
    unit, _ = shapes(version)["two arguments"]
    opcodes = plain(version)[1]
    raw = decode(unit, spec_for(unit.version))
    at = raw.offsets[raw.names.index("LOAD_CONST")]
    caches = spec_for(unit.version).caches[opcodes["LOAD_GLOBAL"]]
    code = unit.code[:at] + bytes((opcodes["LOAD_GLOBAL"], 0)) + bytes(caches) + unit.code[at + 2 :]
    with pytest.raises(BytecodeError, match="has two arguments"):
        lower(replace(unit, code=code, names=tuple(f"n{k}" for k in range(999))))


@pytest.mark.parametrize("version", ["3.8", "3.9"])
def test_half_an_instruction(version: str) -> None:
    """A jump by an odd number of bytes leads to the instruction that it points into."""
    unit, opcodes, _ = plain(version)
    lowered = [
        lower(replace(unit, code=bytes((opcodes["JUMP_ABSOLUTE"], to, opcodes["NOP"], 0)) + unit.code)) for to in (4, 5)
    ]
    assert lowered[0].instrs == lowered[1].instrs


def entry(start: int, length: int, target: int) -> bytes:
    return bytes((0x80 | start, length, target, 0))


@pytest.mark.parametrize("version", VERSIONS[3:])
def test_handlers_of_what_is_not_reached(version: str) -> None:
    unit, _ = shapes(version)["unknown opcode"]
    _, opcodes, begin = plain(version)
    plainly = lower(unit)
    at = begin // 2
    for table in (entry(at + 1, 1, at + 1), entry(at + 1, 1, 60), entry(at, 2, 60)):  # the jump over it never raises
        assert lower(replace(unit, exctable=table)).instrs == plainly.instrs
    nothing = bytes((opcodes["LOAD_NAME"], 0, opcodes["POP_TOP"], 0))
    code = unit.code[: begin + 4] + nothing + unit.code[begin + 4 :]
    with pytest.raises(BytecodeError, match="exception handler at offset 120 is no instruction"):
        lower(replace(unit, code=code, names=("a",), exctable=entry(at + 2, 1, 60)))


@pytest.mark.parametrize("version", VERSIONS)
def test_many_prefixes_that_jumps_lead_into(version: str) -> None:
    """Each of them may begin an instruction: all of them end in the same one, with one argument."""
    unit, opcodes, begin = plain(version)
    spec = spec_for(unit.version)
    scale = 2 // spec.jump_scale
    heads = b""
    for k in range(60):
        heads += bytes((opcodes["LOAD_FAST"], 0))
        if unit.version >= (3, 13):
            heads += bytes((opcodes["TO_BOOL"], 0)) + bytes(spec.caches[opcodes["TO_BOOL"]])
        name = "POP_JUMP_IF_TRUE" if unit.version != (3, 11) else "POP_JUMP_FORWARD_IF_TRUE"
        heads += bytes((spec.extended_arg, k, opcodes[name], k)) + bytes(spec.caches[opcodes[name]])
    size = len(heads) // 60
    code = bytearray(unit.code[:begin] + heads + bytes((spec.extended_arg, 0)) * 60 + unit.code[begin:])
    for k in range(60):
        behind = begin + size * (k + 1)
        target = begin + len(heads) + 2 * k
        arg = (target - (behind if unit.version >= (3, 11) else 0)) // 2 * scale
        at = behind - 4 - (spec.caches[code[behind - 2]] if unit.version < (3, 12) else spec.caches[opcodes[name]])
        code[at + 1], code[at + 3] = arg >> 8, arg & 255
    found = reached(replace(unit, code=bytes(code)), spec)
    loads = [i for i, name in enumerate(found.names) if name == "LOAD_CONST"]
    assert len(loads) == 60 and {found.args[i] for i in loads} == {3}
    assert "JUMP_FORWARD" in found.names and found.names.count("RETURN_VALUE") == 1


@pytest.mark.parametrize("version", VERSIONS[4:])
def test_the_end_of_a_loop_with_a_prefix(version: str) -> None:
    """The interpreter steps over one pair of bytes, and would run what the prefix belongs to."""
    unit = next(iter(nested_units(compiled_text(version, "def f(a):\n    for b in a: b()\n"))))
    spec = spec_for(unit.version)
    raw = decode(unit, spec)
    at = raw.offsets[raw.names.index("END_FOR")]
    code = unit.code[:at] + bytes((spec.extended_arg, 0)) + unit.code[at:]
    table = unit.exctable
    with pytest.raises(BytecodeError, match="no END_FOR"):
        lower(replace(unit, code=code, exctable=table))


@pytest.mark.parametrize("version", VERSIONS[:3])
def test_a_function_has_the_name_that_it_is_made_with(version: str) -> None:
    """Up to 3.10 the qualified name is told by the instruction that makes the function, and by any that nothing reaches."""
    module = compiled_text(version, "def f(): pass\nx = 'g'\n")
    lower(module)
    spec = spec_for(module.version)
    opcodes = {name: opcode for opcode, name in enumerate(spec.opnames) if name}
    code, g = (k for k, const in enumerate(module.consts) if isinstance(const, CodeUnit) or const == "g")
    never = bytes((opcodes["LOAD_CONST"], code, opcodes["LOAD_CONST"], g, opcodes["MAKE_FUNCTION"], 0))
    changed = replace(module, code=module.code + never)
    consts = with_qualnames(changed.code, changed.consts)
    assert consts[code].qualname == "g"
    with pytest.raises(BytecodeError, match="is made with the name 'f'"):
        lower(replace(changed, consts=consts))
