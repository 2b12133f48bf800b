"""Source of others is parsed without a warning, and means the same; what the compiler would warn of is known."""

from __future__ import annotations

import ast
import random
import sys
import sysconfig
import warnings
from pathlib import Path

import pytest

from depyf.decompiler.verify.recompiling import interpreters
from depyf.safety.unheard import parse, spelled_lines, spelled_out, warns

TEXTS = [
    r"x = '\(', '\d+\.', b'\d\N\u', u'\.'",
    'x = """\n\\( \\\n " \\" \\d"""\n',
    r"x = r'\(', R'\'', rb'\d', bR'\''",
    r"x = '\\(' '\\\('",
    r"# it's \( in here",
    r"x = '\N{DIGIT ONE}\u0041\U00000041\x41\101\0\7'",
    r"x = f'\({a}\d{b!r:\d}{{\.}}' rf'\{a}\d'",
    r"""x = f"{a['b']:>{c}}\d" """,
    r"""x = f'{a:{b}\(}' f'{ {1: 2}[1] }\(' f'{(lambda x: x)(1)}\('""",
    r"""x = f'''{
    a}\('''""",
    r"x = '\477', b'\477', '\377'",
    "x = 1if 2else 3; y = 0x1for x in y",
    "x = [1for x in 0xfor y]; a.if_ = 1.5if 2 else .5or 1jor 0b1and 1_0in x",
    "x1if = a1or = 3",
    "x = 1..is_integer() or 1.0.is_integer()",
    "x = 0x1ffor x in y; z = 0xfin y; w = 1jif x else 2.jor 1_0jand 0XaFor b",
    "x = a if'\\('in'\\)'else'\\.'",
]


@pytest.mark.parametrize("text", TEXTS)
def test_same_tree_without_a_warning(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = ast.dump(ast.parse(text))
        except SyntaxError:
            with pytest.raises(SyntaxError):
                ast.parse(spelled_out(text))
            return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ast.dump(parse(text)) == expected
    assert spelled_out(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("text", ["x = 0inside'", "x = 1orange", "x = 0xfora", "x = 1.is_integer()", "x = 2jifs"])
def test_a_word_that_only_begins_as_an_operator_is_an_error_without_a_warning(text: str) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(SyntaxError):
            parse(text)
    assert not heard


def test_files_of_the_standard_library() -> None:
    """Every file, the tests of regular expressions and f-strings among them: the same tree, no warning."""
    root = Path(sysconfig.get_paths()["stdlib"])
    paths = [path for path in sorted(root.glob("**/*.py")) if "site-packages" not in path.parts]
    wanted = {"test_fstring.py", "test_re.py", "test_string_literals.py", "test_grammar.py"}
    picked = [path for path in paths if path.name in wanted] + random.Random(3).sample(paths, min(15, len(paths)))
    for path in picked:
        try:
            text = path.read_text(encoding="utf-8")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = ast.parse(text)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        spoiled = text.replace("\\\\", "\\(").replace("\\n", "\\q")
        for source in (text, spoiled):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = ast.parse(source)
                except SyntaxError:
                    continue
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert ast.dump(parse(source)) == ast.dump(expected), path
                if not warns(expected):
                    compile(spelled_out(source), str(path), "exec", dont_inherit=True)


@pytest.mark.parametrize(
    "text",
    [
        "x is 1", "1 is not x", "x is ()", "x is -1", "'a' is x", "assert (x, 'message')", "1()", "'a'(x)", "[](1)", "(x,)()",
        "{}()", "f'{x}'(1)", "(lambda: 1)[0]", "1[0]", "(1, 2)['a']", "[1]['a']", "'abc'[x, 1]", "~True", "{1}[0]",
        "def f():\n    try:\n        pass\n    finally:\n        return 1",
        "for x in y:\n    try:\n        pass\n    finally:\n        break",
    ],
)  # fmt: skip
def test_what_compilers_warn_of(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert warns(ast.parse(text))


def test_what_they_do_not_warn_of() -> None:
    assert not warns(ast.parse("x is None; x is not True; f(1)[0]; assert f(x), (1, 2); ~x; x[1:2]; 'a' + x; x()()"))


def test_another_interpreter_of_this_version_compiles_where_the_running_one_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = sys.executable
    interpreters.find_interpreter.cache_clear()
    monkeypatch.setattr(interpreters, "_candidates", lambda version: iter([known]))
    try:
        for path in ("", "/nowhere/python3", "/bin/true"):
            monkeypatch.setattr(sys, "executable", path)
            assert interpreters.own_interpreter() == known
        interpreters.find_interpreter.cache_clear()
        monkeypatch.setattr(interpreters, "_candidates", lambda version: iter([]))
        assert interpreters.own_interpreter() is None
    finally:
        interpreters.find_interpreter.cache_clear()


def test_line_by_line_it_is_the_same_text() -> None:
    folder = Path(sysconfig.get_paths()["stdlib"])
    for path in [*sorted(folder.glob("*.py"))[::12], *sorted(folder.glob("test/test_str*.py")), folder / "tokenize.py"]:
        text = path.read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines(keepends=True)
        assert "".join(spelled_lines(lines)) == spelled_out(text), path
    strings = "a = r'\\d' + f'{x!r:\\d}' + '''\n\\d {y}\n\\\n\\8'''\nb = 1if x else 0\n# it's \\d\nc = '\\777'\n"
    lines = strings.splitlines(keepends=True)
    assert "".join(spelled_lines(lines)) == spelled_out(strings) != strings


def test_a_line_is_spelled_out_when_it_is_asked_for() -> None:
    read: list[str] = []
    lines = (read.append(line) or line for line in ("a = 1\n", "b = '\\d'\n", "c = '\\d'\n"))
    found = spelled_lines(lines)
    assert [next(found), next(found)] == ["a = 1\n", "b = '\\\\d'\n"]
    assert len(read) == 2
