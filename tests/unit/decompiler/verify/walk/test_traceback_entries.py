"""``raise e`` adds an entry to the traceback, ``raise`` and the end of a handler add none: none of them stands for another.

CPython 3.8 to 3.15: ``RAISE_VARARGS 1`` goes on at ``error``, which adds an entry; ``RAISE_VARARGS 0`` and ``RERAISE`` go on at
``exception_unwind``.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import Verdict, verify
from depyf.decompiler.verify.assumptions import AGAIN_NOTE
from depyf.decompiler.verify.recompiling.worker import worker_for
from needs import need

VERSIONS = [(3, minor) for minor in range(8, 16)]

HANDLERS = {
    "the handled exception by its name": (
        "try: g()\n    except ValueError as e: raise",
        "try: g()\n    except ValueError as e: raise e",
    ),
    "the same after a call": (
        "try: g()\n    except ValueError as e:\n        print(1)\n        raise",
        "try: g()\n    except ValueError as e:\n        print(1)\n        raise e",
    ),
    "from a temporary": (
        "try: g()\n    except ValueError as e:\n        print(1)\n        raise",
        "try: g()\n    except ValueError as e:\n        __temp_1 = e\n        print(1)\n        raise __temp_1",
    ),
    "in a handler of everything": (
        "try: g()\n    except BaseException as e:\n        raise",
        "try: g()\n    except BaseException as e:\n        raise e",
    ),
    "in a loop": (
        "for x in y:\n        try: g()\n        except ValueError as e:\n            if x: raise\n            print(e)",
        "for x in y:\n        try: g()\n        except ValueError as e:\n            if x: raise e\n            print(e)",
    ),
    "caught again": (
        "try:\n        try: g()\n        except ValueError as e: raise\n    except ValueError as z: print(z)",
        "try:\n        try: g()\n        except ValueError as e: raise e\n    except ValueError as z: print(z)",
    ),
    "in a finally": (
        "try:\n        try: g()\n        except ValueError as e: raise\n    finally: print(1)",
        "try:\n        try: g()\n        except ValueError as e: raise e\n    finally: print(1)",
    ),
    "in a with": (
        "with y:\n        try: g()\n        except ValueError as e: raise",
        "with y:\n        try: g()\n        except ValueError as e: raise e",
    ),
    "what no clause takes": (
        "try: g()\n    except ValueError: print(1)",
        "try: g()\n    except ValueError: print(1)\n    except BaseException as e: raise e",
    ),
    "at the end of a finally": (
        "try: g()\n    except BaseException as e:\n        print(1)\n        raise",
        "try: g()\n    except BaseException as e:\n        __temp_1 = e\n        print(1)\n        raise __temp_1",
    ),
}


def compiled(version: tuple[int, int], body: str) -> CodeUnit:
    need(version)
    found = loads(worker_for(version).compile(f"def f(g, x, y):\n    {body}\n"), version)
    return next(const for const in found.consts if isinstance(const, CodeUnit))


def verdict(version: tuple[int, int], original: str, text: str) -> Verdict:
    return verify(compiled(version, original), compiled(version, text))[0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", HANDLERS)
def test_neither_stands_for_the_other(name: str, version: tuple[int, int]) -> None:
    bare, named = HANDLERS[name]
    assert not verdict(version, bare, named).proven
    assert not verdict(version, named, bare).proven
    assert verdict(version, named, named).proven


@pytest.mark.parametrize("version", VERSIONS)
def test_where_text_has_no_other_way_the_verdict_says_so(version: tuple[int, int]) -> None:
    """An exception raised again after its handler is no longer the handled one."""
    original = "try: g()\n    except ValueError as e:\n        x = e\n        raise"
    text = (
        "__temp_1 = None\n    try: g()\n    except ValueError as e:\n        x = e\n        __temp_1 = e\n"
        "    if __temp_1 is not None: raise __temp_1"
    )
    found = verdict(version, original, text)
    assert not found.proven or AGAIN_NOTE in found.reason


RUN = """
def g(): raise ValueError(1)
class Many:
    def __enter__(self): return self
    def __exit__(self, *found): return False
    def __iter__(self): return iter((1,))
def names(text):
    space = {}
    exec(text, space)
    try: space["f"](g, 1, Many())
    except BaseException as error:
        found, at = [], error.__traceback__
        while at is not None:
            found.append(at.tb_frame.f_code.co_name)
            at = at.tb_next
        return found
for text in TEXTS: print(names(text))
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_decompiled_text_has_the_same_entries(version: tuple[int, int]) -> None:
    """Each handler runs in the interpreter of its version, as it is and as it is decompiled."""
    bodies = [body for pair in HANDLERS.values() for body in pair]
    texts = [decompile_unit(compiled(version, body)).source for body in bodies]
    found = entries(need(version), texts)
    assert found == entries(need(version), [f"def f(g, x, y):\n    {body}\n" for body in bodies])
    assert any(line.count("'f'") == 2 for line in found) and any(line.count("'f'") == 1 for line in found)


def entries(python: Path, texts: list[str]) -> list[str]:
    program = f"TEXTS = {texts!r}{RUN}"
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.splitlines()
