"""Test only: the host's ``ast`` and code objects -> our trees, as if a decompiler had produced them.

``global`` and ``nonlocal`` statements are dropped and every name gets the scope its code object says, so that printing
and compiling again shows whether the printer puts them back where they are needed.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.ir import expr as e
from depyf.decompiler.ir import stmt as n

BIN = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.MatMult: "@",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&",
}  # fmt: skip
CMP = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
UN = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}


def unit_of(code: types.CodeType, version: tuple[int, int]) -> CodeUnit:
    consts = tuple(unit_of(c, version) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return CodeUnit(
        version, code.co_name, getattr(code, "co_qualname", code.co_name), code.co_filename, code.co_firstlineno,
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_nlocals, code.co_stacksize,
        code.co_flags, code.co_code, consts, code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars,
        b"", b"", code,
    )  # fmt: skip


def module(source: str, version: tuple[int, int], filename: str = "<test>") -> tuple[CodeUnit, n.Body]:
    """The unit and the body of a module, claimed to be of ``version``."""
    tree = ast.parse(source)
    unit = unit_of(compile(source, filename, "exec", dont_inherit=True), version)
    return unit, Converter(unit).module(tree)


def mangle(name: str, class_name: str) -> str:
    stripped = class_name.lstrip("_")
    if not stripped or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    return f"_{stripped}{name}"


class Converter:
    def __init__(self, unit: CodeUnit) -> None:
        self.unit = unit
        self.kind = "module"
        self.class_name = ""
        self.comp: list[set[str]] = []
        self.taken: dict[tuple[int, str, int], int] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.bound: set[str] | None = set()  # None inside the code object of a comprehension
        self.futures = bool(unit.flags & 0x1000000)

    def module(self, tree: ast.Module) -> n.Body:
        # A ``global`` statement anywhere makes the module's own accesses explicit too.
        self.globals = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
        body = list(tree.body)
        doc = self.docstring(body)
        return doc + self.body(body)

    def docstring(self, body: list[ast.stmt]) -> n.Body:
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            if isinstance(body[0].value.value, str):
                value = body[0].value.value
                if value not in self.unit.consts:  # 3.13+ stores it without its indentation
                    value = next(c for c in self.unit.consts if isinstance(c, str) and cleaned(c) == cleaned(value))
                del body[0]
                return (n.Assign((e.Name("__doc__", "name"),), e.Const(value)),)
        return ()

    # Scopes.

    def child(self, name: str, node: ast.AST) -> CodeUnit:
        """The code object of a definition; generic ones are wrapped in one for their type parameters."""
        line = node.decorator_list[0].lineno if getattr(node, "decorator_list", None) else node.lineno
        unit = self.unit
        found = [c for c in unit.consts if isinstance(c, CodeUnit) and c.name == name and c.firstlineno == line]
        if not found:
            found = [c for c in walk(unit) if c is not unit and c.name == name and c.firstlineno == line]
        key = id(unit), name, line
        index = self.taken.get(key, 0)
        self.taken[key] = index + 1
        return found[min(index, len(found) - 1)]

    def scope(self, name: str) -> str:
        unit = self.unit
        if any(name in names for names in self.comp):
            return "fast"
        if self.kind == "function":
            if name in unit.cellvars or name in unit.freevars:
                return "cell"
            return "fast" if name in unit.varnames and not self.hidden(name) else "global"
        if self.kind == "class" and not self.comp and name in self.bound and name not in self.nonlocals:
            return "name"
        if name in unit.freevars or (name in unit.cellvars and name not in ("__class__", "__classdict__")):
            return "cell"
        inlined = self.kind == "module" and unit.version >= (
            3,
            12,
        )  # there it reads the module's names as the module does
        return "global" if self.comp and not inlined or name in self.globals else "name"

    def hidden(self, name: str) -> bool:
        """In varnames only because an inlined comprehension (3.12+) has it."""
        return self.bound is not None and name not in self.bound and name not in self.unit.params

    def name(self, ident: str) -> e.Name:
        ident = mangle(ident, self.class_name)
        return e.Name(ident, self.scope(ident))

    def inside(self, unit: CodeUnit, kind: str, body: list[ast.stmt], class_name: str | None = None) -> n.Body:
        state = self.unit, self.kind, self.class_name, self.comp, self.globals, self.nonlocals, self.bound
        self.unit, self.kind, self.comp = unit, kind, []
        if class_name is not None:
            self.class_name = class_name
        self.globals = {mangle(name, self.class_name) for name in declared(body, ast.Global)}
        self.nonlocals = {mangle(name, self.class_name) for name in declared(body, ast.Nonlocal)}
        self.bound = {mangle(name, self.class_name) for name in bound(body)} - self.globals
        body = list(body)
        doc: n.Body = ()
        if kind == "class":
            doc = self.docstring(body)
        elif body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            del body[0]
        result = doc + self.body(body)
        self.unit, self.kind, self.class_name, self.comp, self.globals, self.nonlocals, self.bound = state
        return result

    # Statements.

    def body(self, body: list[ast.stmt]) -> n.Body:
        out = []
        for stmt in body:
            if isinstance(stmt, (ast.Global, ast.Nonlocal, ast.Pass)):
                continue
            if isinstance(stmt, ast.AnnAssign) and stmt.value is None and self.kind == "function":
                continue  # leaves no trace in the bytecode
            out.append(getattr(self, "s_" + type(stmt).__name__)(stmt))
        return tuple(out)

    def func(self, node: Any, body: list[ast.stmt]) -> e.Func:
        args = node.args
        futures = self.futures
        note = (lambda x: e.Const(ast.unparse(x))) if futures else self.expr
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        notes = []
        every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
        for arg in every:
            if arg is not None and arg.annotation is not None:
                notes.append((mangle(arg.arg, self.class_name), note(arg.annotation)))
        if getattr(node, "returns", None) is not None:
            notes.append(("return", note(node.returns)))
        defaults = tuple(self.expr(d) for d in args.defaults)
        kwdefaults = tuple(
            (mangle(a.arg, self.class_name), self.expr(d)) for a, d in zip(args.kwonlyargs, args.kw_defaults) if d
        )
        unit = self.child(name, node)
        inner = self.inside(unit, "function", body)
        return e.Func(unit, inner, defaults, kwdefaults, tuple(notes), self.type_params(node))

    def type_params(self, node: Any) -> tuple[e.TypeParam, ...]:
        out = []
        for param in getattr(node, "type_params", ()):
            bound = getattr(param, "bound", None)
            default = getattr(param, "default_value", None)
            out.append(
                e.TypeParam(
                    type(param).__name__, param.name, bound and self.expr(bound), default and self.expr(default)
                )
            )
        return tuple(out)

    def s_FunctionDef(self, node: Any) -> n.Stmt:
        decorators = tuple(self.expr(d) for d in node.decorator_list)
        return n.FuncDef(self.name(node.name), self.func(node, node.body), decorators, node.lineno)

    s_AsyncFunctionDef = s_FunctionDef

    def s_ClassDef(self, node: ast.ClassDef) -> n.Stmt:
        unit = self.child(node.name, node)
        decorators = tuple(self.expr(d) for d in node.decorator_list)
        bases = tuple(self.expr(b) for b in node.bases)
        keywords = tuple((k.arg, self.expr(k.value)) for k in node.keywords)
        func = e.Func(unit, self.inside(unit, "class", node.body, node.name))
        return n.ClassDef(self.name(node.name), func, bases, keywords, decorators, self.type_params(node), node.lineno)

    def s_TypeAlias(self, node: Any) -> n.Stmt:
        return n.TypeAlias(self.name(node.name.id), self.type_params(node), self.expr(node.value), node.lineno)

    def s_Return(self, node: ast.Return) -> n.Stmt:
        return n.Return(node.value and self.expr(node.value), node.lineno)

    def s_Delete(self, node: ast.Delete) -> n.Stmt:
        return n.Delete(tuple(self.expr(t) for t in node.targets), node.lineno)

    def s_Assign(self, node: ast.Assign) -> n.Stmt:
        return n.Assign(tuple(self.expr(t) for t in node.targets), self.expr(node.value), node.lineno)

    def s_AugAssign(self, node: ast.AugAssign) -> n.Stmt:
        op = BIN[type(node.op)] + "="
        return n.AugAssign(self.expr(node.target), op, self.expr(node.value), node.lineno)

    def s_AnnAssign(self, node: ast.AnnAssign) -> n.Stmt:
        note = e.Const(ast.unparse(node.annotation)) if self.futures else self.expr(node.annotation)
        return n.AnnAssign(self.expr(node.target), note, node.value and self.expr(node.value), node.lineno)

    def s_For(self, node: Any) -> n.Stmt:
        parts = self.expr(node.target), self.expr(node.iter), self.body(node.body), self.body(node.orelse)
        return n.For(*parts, isinstance(node, ast.AsyncFor), node.lineno)

    s_AsyncFor = s_For

    def s_While(self, node: ast.While) -> n.Stmt:
        return n.While(self.expr(node.test), self.body(node.body), self.body(node.orelse), node.lineno)

    def s_If(self, node: ast.If) -> n.Stmt:
        return n.If(self.expr(node.test), self.body(node.body), self.body(node.orelse), node.lineno)

    def s_With(self, node: Any) -> n.Stmt:
        items = tuple((self.expr(i.context_expr), i.optional_vars and self.expr(i.optional_vars)) for i in node.items)
        return n.With(items, self.body(node.body), isinstance(node, ast.AsyncWith), node.lineno)

    s_AsyncWith = s_With

    def s_Raise(self, node: ast.Raise) -> n.Stmt:
        return n.Raise(node.exc and self.expr(node.exc), node.cause and self.expr(node.cause), node.lineno)

    def s_Try(self, node: Any) -> n.Stmt:
        handlers = tuple(
            n.ExceptClause(
                h.type and self.expr(h.type), self.name(h.name) if h.name else None, self.body(h.body), h.lineno
            )
            for h in node.handlers
        )
        rest = self.body(node.orelse), self.body(node.finalbody)
        return n.Try(self.body(node.body), handlers, *rest, type(node).__name__ == "TryStar", node.lineno)

    s_TryStar = s_Try

    def s_Assert(self, node: ast.Assert) -> n.Stmt:
        return n.Assert(self.expr(node.test), node.msg and self.expr(node.msg), node.lineno)

    def s_Import(self, node: ast.Import) -> n.Stmt:
        return n.Import(tuple((a.name, a.asname) for a in node.names), node.lineno)

    def s_ImportFrom(self, node: ast.ImportFrom) -> n.Stmt:
        return n.ImportFrom(node.module or "", tuple((a.name, a.asname) for a in node.names), node.level, node.lineno)

    def s_Expr(self, node: ast.Expr) -> n.Stmt:
        return n.ExprStmt(self.expr(node.value), node.lineno)

    def s_Break(self, node: ast.Break) -> n.Stmt:
        return n.Break(node.lineno)

    def s_Continue(self, node: ast.Continue) -> n.Stmt:
        return n.Continue(node.lineno)

    def s_Match(self, node: ast.Match) -> n.Stmt:
        cases = tuple(
            n.MatchCase(self.pattern(c.pattern), c.guard and self.expr(c.guard), self.body(c.body)) for c in node.cases
        )
        return n.Match(self.expr(node.subject), cases, node.lineno)

    def pattern(self, node: Any) -> n.Pattern:
        match node:
            case ast.MatchValue(value):
                return n.MatchValue(self.expr(value))
            case ast.MatchSingleton(value):
                return n.MatchValue(e.Const(value))
            case ast.MatchSequence(items):
                return n.MatchSequence(tuple(map(self.pattern, items)))
            case ast.MatchMapping(keys, items, rest):
                return n.MatchMapping(tuple(map(self.expr, keys)), tuple(map(self.pattern, items)), rest)
            case ast.MatchClass(cls, items, names, values):
                pairs = tuple(zip(names, map(self.pattern, values)))
                return n.MatchClass(self.expr(cls), tuple(map(self.pattern, items)), pairs)
            case ast.MatchStar(name):
                return n.MatchStar(name)
            case ast.MatchAs(inner, name):
                return n.MatchAs(inner and self.pattern(inner), name)
            case ast.MatchOr(items):
                return n.MatchOr(tuple(map(self.pattern, items)))
        raise TypeError(node)

    # Expressions.

    def expr(self, node: Any) -> Any:
        return getattr(self, "e_" + type(node).__name__)(node)

    def e_Constant(self, node: ast.Constant) -> e.Expr:
        return e.Const(node.value)

    def e_Name(self, node: ast.Name) -> e.Expr:
        if node.id == "__debug__":
            return e.Const(True)
        return self.name(node.id)

    def e_Attribute(self, node: ast.Attribute) -> e.Expr:
        return e.Attr(self.expr(node.value), mangle(node.attr, self.class_name))

    def e_Subscript(self, node: ast.Subscript) -> e.Expr:
        return e.Sub(self.expr(node.value), self.expr(node.slice))

    def e_Slice(self, node: ast.Slice) -> e.Expr:
        none = e.Const(None)
        lower = self.expr(node.lower) if node.lower else none
        upper = self.expr(node.upper) if node.upper else none
        return e.SliceOf(lower, upper, node.step and self.expr(node.step))

    def e_BinOp(self, node: ast.BinOp) -> e.Expr:
        return e.Bin(BIN[type(node.op)], self.expr(node.left), self.expr(node.right))

    def e_UnaryOp(self, node: ast.UnaryOp) -> e.Expr:
        return e.Un(UN[type(node.op)], self.expr(node.operand))

    def e_BoolOp(self, node: ast.BoolOp) -> e.Expr:
        return e.BoolOf("and" if isinstance(node.op, ast.And) else "or", tuple(map(self.expr, node.values)))

    def e_Compare(self, node: ast.Compare) -> e.Expr:
        ops = tuple(CMP[type(op)] for op in node.ops)
        return e.Cmp(self.expr(node.left), ops, tuple(map(self.expr, node.comparators)))

    def e_IfExp(self, node: ast.IfExp) -> e.Expr:
        return e.Cond(self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def e_Starred(self, node: ast.Starred) -> e.Expr:
        return e.Star(self.expr(node.value))

    def e_Call(self, node: ast.Call) -> e.Expr:
        keywords = tuple((k.arg, self.expr(k.value)) for k in node.keywords)
        return e.Invoke(self.expr(node.func), tuple(map(self.expr, node.args)), keywords)

    def e_Tuple(self, node: ast.Tuple) -> e.Expr:
        return e.Display("tuple", tuple(map(self.expr, node.elts)))

    def e_List(self, node: ast.List) -> e.Expr:
        return e.Display("list", tuple(map(self.expr, node.elts)))

    def e_Set(self, node: ast.Set) -> e.Expr:
        return e.Display("set", tuple(map(self.expr, node.elts)))

    def e_Dict(self, node: ast.Dict) -> e.Expr:
        return e.DictOf(tuple((k and self.expr(k), self.expr(v)) for k, v in zip(node.keys, node.values)))

    def e_JoinedStr(self, node: ast.JoinedStr) -> e.Expr:
        parts = [p.value if isinstance(p, ast.Constant) else self.field(p) for p in node.values]
        return e.FStr(tuple(parts))

    def e_FormattedValue(self, node: ast.FormattedValue) -> e.Expr:
        return self.field(node)

    def e_TemplateStr(self, node: Any) -> e.Expr:
        parts = [p.value if isinstance(p, ast.Constant) else self.field(p) for p in node.values]
        return e.FStr(tuple(parts), True)

    def field(self, node: Any) -> e.Fmt:
        conversion = "" if node.conversion < 0 else chr(node.conversion)
        spec = node.format_spec and self.expr(node.format_spec)
        return e.Fmt(self.expr(node.value), conversion, spec, getattr(node, "str", None))

    def e_Lambda(self, node: ast.Lambda) -> e.Expr:
        return self.func(node, [ast.Return(node.body, lineno=node.lineno)])

    def e_Await(self, node: ast.Await) -> e.Expr:
        return e.AwaitOf(self.expr(node.value))

    def e_Yield(self, node: ast.Yield) -> e.Expr:
        return e.YieldOf(self.expr(node.value) if node.value else e.Const(None))

    def e_YieldFrom(self, node: ast.YieldFrom) -> e.Expr:
        return e.YieldFrom(self.expr(node.value))

    def e_NamedExpr(self, node: ast.NamedExpr) -> e.Expr:
        comp, self.comp = self.comp, []
        target = self.name(node.target.id)
        if comp and self.kind == "module":
            target = e.Name(target.id, "global")
        self.comp = comp
        return e.Walrus(target, self.expr(node.value))

    def comprehension(self, node: Any, kind: str, elt: ast.expr, key: ast.expr | None) -> e.Expr:
        first = self.expr(node.generators[0].iter)
        bound = {
            mangle(x.id, self.class_name)
            for g in node.generators
            for x in ast.walk(g.target)
            if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
        }
        unit, self_kind = self.unit, self.kind
        self.comp.append(bound)
        nested = self.nested_code(node, kind)
        if nested is not None:
            # The code object of the comprehension knows the scopes of its names.
            self.unit, self.kind = nested, "function"
            self.comp, outer = [], self.comp
            state, self.bound = self.bound, None
        clauses = []
        for index, g in enumerate(node.generators):
            source = first if index == 0 else self.expr(g.iter)
            ifs = tuple(map(self.expr, g.ifs))
            clauses.append(e.Generator(self.expr(g.target), source, ifs, bool(g.is_async)))
        result = e.Comp(kind, self.expr(elt), key and self.expr(key), tuple(clauses))
        if nested is not None:
            self.comp, self.bound = outer, state
        self.unit, self.kind = unit, self_kind
        self.comp.pop()
        return result

    def nested_code(self, node: Any, kind: str) -> CodeUnit | None:
        name = {"list": "<listcomp>", "set": "<setcomp>", "dict": "<dictcomp>", "generator": "<genexpr>"}[kind]
        try:
            return self.child(name, node)
        except (IndexError, ValueError):
            return None

    def e_ListComp(self, node: ast.ListComp) -> e.Expr:
        return self.comprehension(node, "list", node.elt, None)

    def e_SetComp(self, node: ast.SetComp) -> e.Expr:
        return self.comprehension(node, "set", node.elt, None)

    def e_GeneratorExp(self, node: ast.GeneratorExp) -> e.Expr:
        return self.comprehension(node, "generator", node.elt, None)

    def e_DictComp(self, node: ast.DictComp) -> e.Expr:
        return self.comprehension(node, "dict", node.value, node.key)


def declared(body: list[ast.stmt], kind: Any) -> set[str]:
    """Names in the ``global`` or ``nonlocal`` statements of a block."""
    return {name for node in own(body) if isinstance(node, kind) for name in node.names}


NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


def bound(body: list[ast.stmt]) -> set[str]:
    """Names a block binds, not counting the targets of comprehensions."""
    found: set[str] = set()
    for node in own(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, NAMED):
            found.add(node.name or "")
        elif isinstance(node, ast.MatchMapping):
            found.add(node.rest or "")
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
    return found


def own(body: list[ast.stmt]) -> Any:
    """The nodes of a block without those of nested blocks and comprehension targets."""
    pending: list[Any] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.comprehension):
            pending += [node.iter, *node.ifs]
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))


def cleaned(text: str) -> list[str]:
    return [line.strip() for line in text.expandtabs().split("\n")]


def walk(unit: CodeUnit) -> Any:
    yield unit
    for const in unit.consts:
        if isinstance(const, CodeUnit):
            yield from walk(const)
