"""Text that is called silent is compiled by no version with a warning; the other way only sometimes."""

from __future__ import annotations

import ast
import subprocess
import warnings
from pathlib import Path

import pytest

from depyf.safety import silent as silent_module
from depyf.safety import unheard
from depyf.safety.silent import silent
from needs import need
from tools.env.interpreters import VERSIONS

SILENT = [
    "x is None; x is not True; f(1)[0]; assert f(x), (1, 2); ~x; x[1:2]; 'a' + x; x()()",
    "if f(a, (1, 2), [3])[0] is None and b['x'](1) is not c.d:\n    '%s' % x\n    '%s' % (x, 1)\n",
    "x = (1, 2)\n(a, b) = x\n[c] = y\n",
    "f'{x!r:>{width}} {{}} {a[b]} {f(x)}'; rf'\\d{x}'; b'%'; f'''{\nx}'''\n",
    "# 1 is 1\nx = '1 is 1'  # (1)(2)\n'''assert (1, 2)'''\n",
    "print1(x); a.match(x)[0]; is_in[0]; x.None_(1)",
    "def f():\n    try:\n        return 1\n    finally:\n        g(a,\nb)\n        h()\n    return 2\n",
    "try:\n    pass\nfinally:\n    pass\nfor x in y:\n    break\n",
    "(x or y)(1); (x := f()) is None; [1, x][0] + [1, x][y] + {1: 2}[x]; x is ...; '%s' % ('%d' % x, b'y')",
    "x = 1\n(a, b) = y\nz = (\n    x\n    and (y)\n)\n",
]


@pytest.mark.parametrize("text", SILENT)
def test_known_without_a_tree(text: str) -> None:
    ast.parse(text)
    assert silent(text)


@pytest.mark.parametrize(
    "text",
    [
        "x is 1", "1 is not x", "x is ()", "x is -1", "'a' is x", "assert (x, 'message')", "1()", "'a'(x)", "[](1)", "(x,)()",
        "{}()", "f'{x}'(1)", "(lambda: 1)[0]", "1[0]", "(1, 2)['a']", "[1]['a']", "'abc'[x, 1]", "~True", "{1}[0]", "f'{x is 1}'",
        "f'{y}{(1, 2)(x)}'", "[1][key,]", "{x := 1}['a']", "(1 or 2)(x)", "[x, 1\n(2)]", "[x, 'a'\n[2]]", "x is False - 1", "None(1)", "...(1)", "[(1, 2)\n(3, 4)]", "[(1, 2)  # comma\n(3, 4)]", "x is not(1)",
        "if(1, 2)(x): pass", "y = not(1, 2)[x]", "assert{1}(x)", "(1, 2) is x", "1.5 is x", "x is b'a'", "'%s' % b'a'", "1jif x else 2",
        "0x1ffor x in y", "'\\(' 'b'", "x = '''a''' \"b\" is c", "[x for x in y](1)", "(x for x in y)(1)", "f'{f\"{x is 1}\"}'",
        "def f():\n    try:\n        pass\n    finally:\n        return 1",
        "for x in y:\n    try:\n        pass\n    finally:\n        g(\n)\n        break",
        "for x in y:\n    try:\n        pass\n    finally: continue",
    ],
)  # fmt: skip
def test_what_compilers_warn_of(text: str) -> None:
    assert not silent(text) or unheard.spelled_out(text) != text


def test_what_is_no_python() -> None:
    for text in ("f'{'", "f'{x'", "(", ")", "x\\\n", "é", "{", "f'}'", "x\r1 is 1", "[" * 100_000):
        assert not silent(text), text
    for text in ("'", '"', "'\\", "'" + "\\'" * 300_000, "Q" * 30_003, "Q" + "\\Q" * 100_000):
        silent(text.replace("Q", "'" * 3))  # there is nothing to warn of; in time that grows with the text


CHILD = """
import ast, importlib.util, pathlib, random, re, sys, sysconfig, warnings

def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made

silent = module("silent", sys.argv[1]).silent
spelled_out = module("unheard", sys.argv[2]).spelled_out
rng = random.Random(sys.argv[3])
LEAVES = '''x|1|'a'|b'b'|f'{x}'|f'{x is 1}'|f"{x['a']}"|f'{(1)(2)}'|f'{x:{w}}'|None|True|...|()|(1, 2)|[1]|{1}|{1: 2}|(x)|(x, y)
[y for x in y]|(x for x in y)|lambda: x|f(x)|a[i]|x.y|-1|~x|~True|not x|1.5e3|0x1f|rb'\\\\''|'it\\\\'s'|match|1j|.5|_1|f'{{}}'|f'}}{x}{{'
rf'{x}\\\\d'|(yield)|'%s'|"a" 'b'|f(*a, **k)|f(\\n 1)|[\\n1,\\n2]|f(x)(y)|a[0][1]|'a'[0]|f\\'\\'\\'{\\nx}\\'\\'\\''''
LEAVES = [leaf.replace("\\\\n", "\\n") for line in LEAVES.split("\\n") for leaf in line.split("|")]
JOINTS = ''' is | is not | % |(|)|[|]| + | and | if | else |, |.y| in | == |~|assert |assert(|return | # c\\n| |not |-|lambda: | or |(1|'|"|\\'\\'\\'
f'|{|}|f'{|}'|yield | is|is |if(|in(|is(|not(|x(|x[|1(|None(|True[|...(|'a'(|'a' (|[0]|(y)|['a']| (y)| [0]|is not(1)|is -1|is 1|; |: |\\n
\\n    |finally:\\n    |break|while x:\\n    break\\n|\\n(x)|\\n[x]'''
JOINTS = [joint.replace("\\\\n", "\\n") for line in JOINTS.split("\\n") for joint in line.split("|")]
FINAL = "for q in r:\\n  try:\\n    pass\\n  finally:\\n    "

def program():
    text = "".join(rng.choice(LEAVES) + rng.choice(JOINTS) for _ in range(rng.randint(1, 4))) + rng.choice(LEAVES + [""] * 30)
    if rng.random() < 0.2:
        return FINAL + text.replace("\\n", "\\n    ") + "\\n" + rng.choice(["    return", "    break", "x", "  y", "    x"])
    return text

def spoiled(lines):
    tokens = re.findall(r"\\w+|\\s+|.", rng.choice(lines))
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(tokens) + 1)
        tokens[at : at + rng.randint(0, 2)] = [rng.choice(LEAVES + JOINTS)]
    return "".join(tokens)

library = [path for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py")) if path.is_file()]
files = [path.read_text("utf-8", "replace") for path in rng.sample(library, 25)]
lines = [line.strip() for text in files for line in text.splitlines() if line.strip()]
texts = files + [program() for _ in range(20_000)] + [spoiled(lines) for _ in range(20_000)]
quiet = 0
for text in texts:
    if not silent(text) or spelled_out(text) != text:
        continue
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            compile(text, "text", "exec", 0, True)
        except (SyntaxError, ValueError):
            continue
    quiet += 1
    for warning in heard:
        print(warning.message, repr(text) if len(text) < 500 else text.splitlines()[warning.lineno - 1])
print(quiet)
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_no_compiler_warns_of_what_is_silent(version: str) -> None:
    """Files, expressions put together at random, and lines with random tokens in them; ``-b`` lets bytes be heard, too."""
    paths = [str(Path(str(module.__file__)).with_suffix(".py")) for module in (silent_module, unheard)]
    command = [str(need(version)), "-b", "-c", CHILD, *paths, f"silent {version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    *heard, quiet = done.stdout.splitlines()
    assert not heard and int(quiet) > 3000


def test_most_files_are_known_without_a_tree() -> None:
    library = [path for path in sorted(Path(ast.__file__).parent.glob("*.py"))[::4] if path.is_file()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [ast.unparse(ast.parse(path.read_bytes())) for path in library]
    assert sum(map(silent, texts)) > 0.75 * len(texts)
