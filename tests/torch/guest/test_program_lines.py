"""What the program tells of its own lines is as without depyf, columns included: outside of ``depyf.debug()`` always, inside it
names the dump, and afterwards the program again."""

from __future__ import annotations

import json
import re
import textwrap

import pytest
from dumps import NOT_FOLLOWED, followed, run_python

pytestmark = pytest.mark.torch

PROGRAM = """
import contextlib, inspect, io, json, logging, sys, traceback, warnings
import torch
import depyf

told = []

@torch._dynamo.disable  # else torch would compile again for each length of the list
def tell(text):
    told.append(text)

class Told(logging.Handler):
    def emit(self, record):
        tell(f"{record.filename}:{record.lineno} {record.funcName} {record.getMessage()}")

logging.getLogger("program").addHandler(Told())
logging.getLogger("program").propagate = False
warnings.simplefilter("default")
warnings.showwarning = lambda text, kind, file, line, *_: tell(f"{file}:{line} {text}")

@torch._dynamo.disable(recursive=False)
def look(what, *_):
    frame = sys._getframe(1)
    while frame.f_code.co_filename != __file__ and "transformed_code" not in frame.f_code.co_filename:
        frame = frame.f_back
    tell(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name} {frame.f_code.co_firstlineno}")
    return what

def logs(x):
    y = x + 1
    logging.getLogger("program").warning("logged")
    return y * 2

def warns(x):
    y = x + 1
    warnings.warn("the same text")
    return y * 2

def warns_too(x):
    y = x + 2
    warnings.warn("the same text")
    return y * 2

def stack(x):
    y = x + 1
    frames = traceback.format_stack(
    )
    tell(str(frames))
    return y * 2

def inspects(x):
    y = x + 1
    tell(str(inspect.getframeinfo(inspect.currentframe())))
    return y * 2

def own_line(x):
    y = x + 1
    tell(str(sys._getframe().f_lineno))
    z = y * 2
    tell(str((sys._getframe().f_lineno,
                     sys._getframe().f_code.co_filename)))
    return z

def over_several_lines(x, y):
    a = x + 1
    b = look(
        look(a),
        look(y,
             [look(i) for i in range(2)])
    )
    return b * 2

def makes_functions(x):
    free = x + 3
    first = lambda z: look(z,
                           "lambda") + free
    def inner(q):
        q = q + 1
        return look(q)
    a = look(first(x))
    b = inner(a)
    if b.sum() > 0:
        b = b * 2
    return [look(part) for part in (b,
                                    a)][0]

def fails(x):
    y = x + 1
    torch._dynamo.graph_break()
    z = y * 2
    raise_it(z,
             at=1)
    return z

@torch._dynamo.disable(recursive=False)
def raise_it(z, at):
    raise ValueError("for the test")

def handles(x):
    y = x + 1
    try:
        raise_it(y, 2)
    except ValueError as error:
        tell("".join(traceback.format_exception(error)))
    return look(y * 3)

CALLS = [
    (logs, 1), (warns, 1), (warns_too, 1), (stack, 1), (inspects, 1), (own_line, 1), (over_several_lines, 2), (makes_functions, 1),
    (fails, 1), (handles, 1),
]
COMPILED = [(torch.compile(fn, backend="eager"), count) for fn, count in CALLS]

def main(times):
    globals().pop("__warningregistry__", None)
    for compiled, count in COMPILED:
        for _ in range(times):
            try:
                compiled(*[torch.ones(2)] * count)
            except ValueError:
                told.append(traceback.format_exc())

rounds = {}
def one_round(name, block, times=2):
    with block:
        main(times)
    rounds[name] = list(told)
    told.clear()

mode, directory = sys.argv[1:]
nothing = contextlib.nullcontext()
one_round("first", depyf.prepare_debug(directory) if mode == "depyf" else nothing)
one_round("second", nothing)
one_round("inside", depyf.debug() if mode == "depyf" else nothing, 1)
one_round("after", nothing)
for _ in range(20 if mode == "depyf" else 0):  # without depyf Python 3.11 tells the line of the def in the end
    globals().pop("__warningregistry__", None)
    COMPILED[1][0](torch.ones(2))
rounds["warm"] = told
from torch._dynamo.utils import counters
left = {}
if hasattr(torch._C._dynamo.eval_frame, "_debug_get_precompile_entries"):
    left = {fn.__name__: len(torch._C._dynamo.eval_frame._debug_get_precompile_entries(fn.__code__)) for fn, _ in CALLS}
json.dump({"rounds": rounds, "left": left}, open(directory + ".json", "w"))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Mode -> what the program told, one process each."""
    folder = tmp_path_factory.mktemp("lines")
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    found = {}
    for mode in ("plain", "depyf"):
        done = run_python(str(folder / "program.py"), mode, str(folder / mode), env={"DEPYF_NO_PAUSE": "1"})
        assert done.returncode == 0, done.stderr
        found[mode] = json.loads((folder / f"{mode}.json").read_text())
    return found


@pytest.mark.parametrize("name", ["first", "second", "after"])
def test_outside_the_program_tells_its_own_lines(told, name):
    plain, recorded = told["plain"]["rounds"][name], told["depyf"]["rounds"][name]
    assert recorded == plain
    text = "\n".join(plain)
    for part in ("program.py:", "logged", "the same text", "in stack", "Traceback(filename=", "<lambda>", "in fails"):
        assert part in text, f"the program does not tell of {part}"
    assert text.count("the same text") == 2, "each line warns once"


def test_most_of_it_is_text_of_depyf(told):
    """Else nothing is tested here."""
    names = re.findall(r"__transformed_code_\w+\.py", "\n".join(told["depyf"]["rounds"]["inside"]))
    assert not followed() or len(set(names)) > 10


@pytest.mark.skipif(not followed(), reason=NOT_FOLLOWED)
def test_inside_the_dump_is_told(told):
    inside = "\n".join(told["depyf"]["rounds"]["inside"])
    for name in (r"torch_dynamo_resume_in_logs_at_\d+", "warns", "fails", r"torch_dynamo_resume_in_fails_at_\d+"):
        assert re.search(rf"__transformed_code_\d+_\d+_for_{name}\.py\D+\d", inside), name


def test_lines_stay_when_the_interpreter_has_specialised_the_code(told):
    warm = told["depyf"]["rounds"]["warm"]
    assert len(warm) == 20 and set(warm) <= set(told["plain"]["rounds"]["second"])


def test_nothing_is_left(told):
    assert not any(told["depyf"]["left"].values())
