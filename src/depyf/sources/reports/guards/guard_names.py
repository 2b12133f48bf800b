"""Replaces torch's internal names in the text of a guard by names that a person reads and a page can evaluate.

Input: a guard as an expression.  Output: the same in names that a page has (``L``, ``G``, ``torch``, the builtins and
the functions of ``CHECKS``), or None where it uses another one.

    not ___dict_contains('k', L['d'])             ->  'k' not in L['d']
    ___tuple_iterator_len(L['it']) == 2           ->  iterator_length(L['it']) == 2
    list(L['d'].keys())[0] == 'k'                 ->  list(dict.keys(L['d']))[0] == 'k'     (torch 2.6)
    L['device'] == device(type='cpu')             ->  L['device'] == torch.device(type='cpu')
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re

from depyf.run.guard_vocabulary import CHECKS
from depyf.safety.unheard import parse

_RENAMED = {
    "___tuple_iterator_len": "iterator_length",
    "___tuple_iterator_getitem": "iterator_item",
    "___list_reverseiterator_len": "reversed_length",
    "___list_reverseiterator_backing_list": "reversed_list",
    "___normalize_range_iter": "iterator_range",
    "___normalize_count_iter": "iterator_count",
    "___dataclass_fields": "dataclass_fields",
    "___get_torch_function_mode_stack_at": "torch_function_mode",
    "___get_current_stream": "current_stream",
    "___from_numpy": "from_numpy",
    "___as_tensor": "as_tensor",
    "__math_isnan": "is_nan",
    "math.isnan": "is_nan",
    "__numpy_isnan": "is_nan",
    "__load_module": "__import__",
}
_IN_TORCH = ("device", "dtype")
"""Classes that the repr of a value names without their module."""
_CONTAINS = ("___dict_contains", "___set_contains")
_UNBOUND = ("set.__contains__", "frozenset.__contains__", "dict.__contains__")


def in_python(text: str, any_names: bool = False) -> str | None:
    """``text`` in names that a page has; None where it is no expression or there is no such name (``any_names``: where
    the name is one of torch's own)."""
    if _EASY.fullmatch(text):
        return text
    if (lacks := _LACKS.fullmatch(text)) is not None:
        return f"{lacks[1]} not in {lacks[2]}"
    tree = _parsed(text)
    if tree is None:
        return None
    if _stands_for_itself(text):
        return text.strip()
    rewriter = _Rewriter()
    tree = rewriter.visit(tree)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - _bound(tree) - _KNOWN
    if any(name.startswith("__") or not any_names for name in names):
        return None
    return ast.unparse(tree) if rewriter.changed else text.strip()


def is_expression(text: str) -> bool:
    return _parsed(text) is not None


def _parsed(text: str) -> ast.expr | None:
    try:
        return parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_KNOWN = {"L", "G", "torch", "math", *vars(builtins), *CHECKS}
"""``math``: torch prints what it knows of sizes with it (``torch/utils/_sympy/printers.py``)."""


_VALUE = rf"[LG](?:\.(?!(?:{'|'.join(keyword.kwlist)})\b)[A-Za-z_]\w*|\['[^'\\\n]*'\]|\[\d+\])*"
_SIZES = r"(?:(?:None|0|[1-9]\d*)(?:, |(?=\])))*"
_FLOAT = r"(?!0\.0000)(?:0|[1-9]\d{0,7})\.(?:0|\d{0,6}[1-9])"
"""Written as ``repr`` writes it."""
_LITERAL = rf"(?:True|False|None|-?(?:{_FLOAT}|0|[1-9]\d*)|'[^'\\\n]*')"
_LACKS = re.compile(rf"not ___dict_contains\(('[^'\\\n]*'), ({_VALUE})\)", re.A)
_EASY = re.compile(
    rf"(?:type_is|same_object|unchanged)\({_VALUE}(?:, '[^'\\\n]*')?\)"
    rf"|hasattr\({_VALUE}, '[^'\\\n]*'\)(?: == (?:True|False))?"
    rf"|same_value\({_VALUE}, {_LITERAL}\)"
    rf"|check_tensor\({_VALUE}, '[\w.]+', torch\.\w+, size=\[{_SIZES}\], stride=\[{_SIZES}\], "
    rf"requires_grad=(?:True|False), device_index=(?:None|\d+), keys='[\w, ]*'\)"
    rf"|{_VALUE} is (?:None|True|False)|(?:{_VALUE}|len\({_VALUE}\)) == (?:0|[1-9]\d*)|(?:not )?{_VALUE}",
    re.A,
)
"""Matches most guards by their text: they need no renaming, and parsing them takes most of the time of a page."""


_TOKEN = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?<![\w.])(?P<name>[^\W\d]\w*\b)(?! *=(?!=))""", re.S)
_UNLIKE = re.compile(r"\'\'\'|\"\"\"|[#{]|\b(?:lambda|for)\b|:=|__contains__|\.keys\(\)|\bnot (?!in\b).* in ", re.S)
"""Texts that ``_TOKEN`` does not read correctly, or that the rewriter may change although all names are known."""


def _stands_for_itself(text: str) -> bool:
    """Whether ``text``, an expression, uses only names that a page has, and none that is shown in another way; False
    where it takes the syntax tree to tell.  Walking over that takes ten times as long as making it."""
    if _UNLIKE.search(text):
        return False
    names = {token["name"] for token in _TOKEN.finditer(text)}
    return names <= _ALLOWED


_ALLOWED = {None, *(_KNOWN - {*_RENAMED, *_IN_TORCH, "inf", "nan", "math"}), *keyword.kwlist}


def _bound(tree: ast.AST) -> set[str]:
    """Names that the expression itself binds: the variables of lambdas and comprehensions."""
    found = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return found | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.changed = False

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        inner = node.operand
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.In):
            self.changed = True
            return ast.Compare(inner.left, [ast.NotIn()], inner.comparators)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if len(node.args) == 2 and name in (*_CONTAINS, *_UNBOUND):
            container, item = node.args if name in _UNBOUND else reversed(node.args)
            self.changed = True
            return ast.Compare(item, [ast.In()], [container])
        if len(node.args) == 2 and name == "___odict_getitem":
            self.changed = True
            return ast.Subscript(node.args[0], node.args[1], ast.Load())
        if len(node.args) == 1 and name == "___namedtuple_fields":
            self.changed = True
            return ast.Attribute(node.args[0], "_fields", ast.Load())
        if isinstance(node.func, ast.Attribute) and node.func.attr == "keys" and not node.args and name != "dict.keys":
            owner = ast.Attribute(ast.Name("dict", ast.Load()), "keys", ast.Load())
            self.changed = True
            return ast.Call(owner, [node.func.value], [])
        if name in _IN_TORCH:
            return self._replaced(node, ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load()))
        if name in _RENAMED:
            return self._replaced(node, ast.Name(_RENAMED[name], ast.Load()))
        return node

    def _replaced(self, node: ast.Call, function: ast.expr) -> ast.Call:
        self.changed = True
        return ast.Call(function, node.args, node.keywords)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in ("inf", "nan"):  # the repr of a float that has no literal
            return node
        self.changed = True
        return ast.Call(ast.Name("float", ast.Load()), [ast.Constant(node.id)], [])

    def visit_Set(self, node: ast.Set) -> ast.AST:
        """Hash order is another one in each process."""
        self.generic_visit(node)
        ordered = sorted(node.elts, key=ast.unparse)
        self.changed = self.changed or ordered != node.elts
        return ast.Set(ordered)
