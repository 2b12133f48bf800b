"""A coverage-guided attack on the reader of ``.pyc`` files: libFuzzer drives it, through atheris.

    python -m tools.proof.attack.reader FOLDER [libFuzzer options]        make attack-reader SECONDS=60

FOLDER collects the inputs that reach something new, and begins with small files of every version that is found.  Each input
is read and lowered; for every 16th the whole decompiler runs.  Whatever is wrong with a file, the error is one of depyf: any
other exception, more than ten seconds or more than two gigabytes end the attack, and libFuzzer keeps the input.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-print_final_stats=1")
EXAMPLES = (
    "def f(a, *b, c=1, **d):\n    for x in a:\n        try:\n            yield x + c\n        except E as e:\n            raise F from e\n",
    "class C(B, metaclass=M):\n    'doc'\n    x: int = 1\n    def m(self):\n        return [y for y in self.z if y], {1, 2}, f'{self!r:>{w}}'\n",
    "async def g(a):\n    async with a as b:\n        return await b, (-1, 2.5, 3j, 'x', b'y', None, ..., 10 ** 30)\n",
    "import os.path as p\nfrom a import *\nwith x as y:\n    del y.z, y[1:2]\nwhile a < b < c:\n    a += 1\nelse:\n    assert a, b\n",
)


def seed_corpus(folder: Path) -> None:
    """Compiled examples of every version on this machine, as ``.pyc`` files."""
    import subprocess

    from tools.env import interpreters

    program = (
        "import importlib.util as u, marshal, sys\n"
        "for i, text in enumerate(sys.argv[2:]):\n"
        "    data = u.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(text, 'x', 'exec'))\n"
        "    open('%s_%d.pyc' % (sys.argv[1], i), 'wb').write(data)\n"
    )
    folder.mkdir(parents=True, exist_ok=True)
    for version, python in interpreters.found().items():
        subprocess.run([python, "-I", "-c", program, str(folder / version), *EXAMPLES], check=True)


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        import atheris
    except ImportError:
        sys.exit("attack.reader: atheris is not installed for this Python: make attack-reader")
    with atheris.instrument_imports(include=["depyf.decompiler.bytecode"]):
        from depyf.decompiler.bytecode.files.pyc import unit_of_pyc
        from depyf.decompiler.bytecode.lower import lower
    from depyf.decompiler.driver.pipeline import decompile_unit, units
    from depyf.errors import DepyfError

    def one_input(data: bytes) -> None:
        try:
            unit = unit_of_pyc(data)
        except DepyfError:
            return
        for inner in units(unit):
            try:
                lower(inner)
            except DepyfError:
                pass
        if zlib.crc32(data) % 16 == 0:
            try:
                decompile_unit(unit)
            except DepyfError:
                pass

    seed_corpus(Path(sys.argv[1]))
    atheris.Setup([sys.argv[0], *LIMITS, *sys.argv[1:]], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
