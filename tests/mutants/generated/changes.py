"""Small changes of a module, made from its syntax tree: what a slip of the pen or of the mind would write.

Nothing is changed that no test could or should notice: documentation, annotations, decorators, text, what an error or a
warning says, and numbers that only pick one stream of random numbers among equals.
"""

import ast
import bisect
import re
from collections import Counter
from typing import NamedTuple

__all__ = ["OPERATORS", "Change", "changed_text", "changes_of"]

OPERATORS = {
    "arithmetic": "a sum for a difference, a product for a quotient, `&` for `|`, and the other way round",
    "sign": "a minus, `not` or `~` is left out",
    "comparison": "the opposite comparison, or, of counts, one with the boundary on the other side",
    "logic": "`and` for `or`, and the other way round",
    "number": "a number one larger, a truth value the opposite",
    "function": "a function for its sibling (`sum` for `mean`, `minimum` for `maximum`), or its argument unchanged",
    "branches": "both branches of a choice exchanged, or its condition reversed",
    "left out": "a statement, a replaced field or an axis is left out",
}
"""Kinds of changes."""


class Change(NamedTuple):
    """One change of one module.

    Attributes:
        module: path from the root of the project.
        function: qualified name of the innermost function or class around it; empty at the top of the module.
        line: number of its first line.
        operator: a key of OPERATORS.
        before: its line as it stands.
        after: the line with the change.
        number: of the change among those that look the same in the same function, from 0.
        start: first byte that is replaced.
        end: the byte after the last one that is replaced.
        text: what takes their place, with as many lines.
    """

    module: str
    function: str
    line: int
    operator: str
    before: str
    after: str
    number: int
    start: int
    end: int
    text: str

    @property
    def name(self) -> str:
        """What stays the same when other lines of the module change."""
        return "|".join(
            (self.module, self.function, self.operator, self.before, self.after, str(self.number))
        )


def changed_text(text: str, change: Change) -> str:
    """The text of the module with the change made."""
    data = text.encode()
    return (data[: change.start] + change.text.encode() + data[change.end :]).decode()


def changes_of(module: str, text: str) -> list[Change]:
    """All changes of a module, in the order of its text.

    Args:
        module: path from the root of the project.
        text: its text.
    """
    finder = _Finder(text)
    finder.visit(ast.parse(text))
    data, starts = finder.data, finder.starts
    found: list[Change] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for function, operator, start, end, new in sorted(set(finder.found), key=lambda edit: edit[2:]):
        new += "\n" * (data[start:end].count(b"\n") - new.count("\n"))
        first = starts[bisect.bisect_right(starts, start) - 1]
        last = data.find(b"\n", end)
        before = _one_line(data[first:last].decode())
        after = _one_line((data[first:start] + new.encode() + data[end:last]).decode())
        look = (function, operator, before, after)
        line = bisect.bisect_right(starts, start)
        found.append(Change(module, function, line, operator, before, after, seen[look], start, end, new))
        seen[look] += 1
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())


_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
_PAIRS = (
    ("sum", "mean"),
    ("nansum", "nanmean"),
    ("max", "min"),
    ("maximum", "minimum"),
    ("fmax", "fmin"),
    ("amax", "amin"),
    ("argmax", "argmin"),
    ("any", "all"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("floor", "ceil"),
    ("cos", "sin"),
    ("logical_and", "logical_or"),
    ("median", "mean"),
    ("var", "std"),
    ("cumsum", "cumprod"),
    ("hstack", "vstack"),
)
_SIBLINGS = {one: other for pair in reversed(_PAIRS) for one, other in (pair, pair[::-1])}
_UNCHANGED = re.compile(
    "abs|exp|expm1|log|log1p|log2|log10|sqrt|square|negative|reciprocal|tanh|arctan|sin|cos|cumsum|"
    "sort|flip|isfinite|isnan|logical_not|stop_gradient|diff|ravel|tril|triu|sign"
)
_CHOICES = {"where": 1, "cond": 1, "select": 1}
_LEFT_OUT = {"axis", "keepdims", "ddof", "side", "initial", "reverse", "trans", "transpose_a", "minlength"}

# Their arguments are text for a reader, or say which of many equal streams of random numbers is meant.
_QUIET_CALLS = {
    "warn",
    "print",
    "debug",
    "info",
    "warning",
    "getLogger",
    "TypeVar",
    "default_rng",
    "key",
    "PRNGKey",
}
_QUIET_KEYWORDS = re.compile(
    "strict|stacklevel|dtype|note|maxsize|unroll|inline|static_argnums|static_argnames|"
    "donate_argnums|seed|help|unique_indices|indices_are_sorted|message|exact_type|indent|width|"
    "check_finite"
)


def _is_count(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    names = [
        part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in ast.walk(node)
    ]
    return any(name in {"len", "size", "shape", "ndim", "length"} or name.startswith("n_") for name in names)


class _Finder(ast.NodeVisitor):
    """Collects (function, operator, start, end, text)."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.starts = [0, *(match.end() for match in re.finditer(b"\n", self.data))]
        self.found: list[tuple[str, str, int, int, str]] = []
        self.scope: list[str] = []
        self.bound: list[set[str]] = [set()]

    def _at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self._at(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self._at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _add(self, operator: str, start: int, end: int, text: str) -> None:
        self.found.append((".".join(self.scope), operator, start, end, text))

    def _between(self, left: ast.AST, right: ast.AST, token: str) -> tuple[int, int] | None:
        """Where an operator stands between two operands, if that is the only place that it can be."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment.group()), self.data[start:end])
        places = list(re.finditer(token.encode(), gap))
        return (start + places[0].start(), start + places[0].end()) if len(places) == 1 else None

    def _replace_token(
        self, operator: str, left: ast.AST, right: ast.AST, token: str, texts: tuple[str, ...]
    ) -> None:
        place = self._between(left, right, token)
        if place is not None:
            for text in texts:
                self._add(operator, *place, text)

    def _exchange(self, first: ast.expr, second: ast.expr) -> None:
        (a, b), (c, d) = self._span(first), self._span(second)
        if self.data[a:b] != self.data[c:d]:
            text = self.data[c:d] + self.data[b:c] + self.data[a:b]
            self._add("branches", a, d, text.decode())

    # What is not changed.

    def visit_Raise(self, node: ast.Raise) -> None:
        """What an error says."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """What is asserted is for the reader of the module."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """The value alone, not the annotation."""
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Annotations."""
        self.bound[-1].add(node.arg)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Values of keywords."""
        if not _QUIET_KEYWORDS.fullmatch(node.arg or ""):
            self.visit(node.value)

    # Scopes.

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Neither decorators nor bases."""
        self.scope.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.scope.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Defaults and the body."""
        self.scope.append(node.name)
        self.bound.append(set())
        self.visit(node.args)
        for statement in node.body:
            self.visit(statement)
        self.bound.pop()
        self.scope.pop()

    # Expressions.

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Arithmetic."""
        is_text = any(
            isinstance(side, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple)
            or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
            for side in (node.left, node.right)
        )
        # At the top of a module a bar joins types.
        of_types = isinstance(node.op, ast.BitOr) and not self.scope
        if type(node.op) in _ARITHMETIC and not is_text and not of_types:
            token, text = _ARITHMETIC[type(node.op)]
            self._replace_token("arithmetic", node.left, node.right, re.escape(token), (text,))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Minus, not and complement."""
        start, _ = self._span(node)
        length = {ast.USub: 1, ast.Invert: 1, ast.Not: 3}.get(type(node.op))
        if length is not None:
            self._add("sign", start, start + length, "")
        self.visit(node.operand)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Comparisons."""
        sides = [node.left, *node.comparators]
        for left, right, op in zip(sides, sides[1:], node.ops, strict=False):
            token, texts = _COMPARISONS[type(op)]
            # Two random numbers are never equal: there the boundary is on neither side.
            if len(texts) > 1 and not (_is_count(left) or _is_count(right)):
                texts = texts[1:]
            self._replace_token("comparison", left, right, token, texts)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """And, or."""
        token, text = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._replace_token("logic", left, right, rf"\b{token}\b", (text,))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Numbers and truth values."""
        value = node.value
        if isinstance(value, bool):
            self._add("number", *self._span(node), str(not value))
        elif isinstance(value, int):
            self._add("number", *self._span(node), str(value + 1))
        elif isinstance(value, float) and value + 1.0 != value:
            self._add("number", *self._span(node), repr(value + 1.0))

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Both values of a conditional expression."""
        self._exchange(node.body, node.orelse)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Functions for their siblings or for nothing, exchanged branches, keywords left out."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _QUIET_CALLS or name.endswith(("Error", "Warning")):
            return
        start, end = self._span(node.func)
        is_builtin = isinstance(node.func, ast.Name) and name in {"min", "max", "any", "all"}
        if name in _SIBLINGS and (isinstance(node.func, ast.Attribute) or is_builtin):
            self._add("function", end - len(name), end, _SIBLINGS[name])
        is_whole = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
        if _UNCHANGED.fullmatch(name) and is_whole and isinstance(node.func, ast.Attribute):
            self._add("function", start, end, "")
        first = _CHOICES.get(name)
        if first is not None and len(node.args) >= first + 2:
            self._exchange(node.args[first], node.args[first + 1])
        for keyword in node.keywords:
            if name == "_replace" or keyword.arg in _LEFT_OUT:
                self._leave_out(node, keyword)
        self.visit(node.func)
        stream = name in ("fold_in", "split")
        for argument in node.args[: 1 if stream else None]:
            self.visit(argument)
        for keyword in node.keywords:
            self.visit(keyword)

    def _leave_out(self, call: ast.Call, keyword: ast.keyword) -> None:
        """A keyword and the comma before it, or after it where it is the first argument."""
        parts: list[ast.AST] = sorted([*call.args, *call.keywords], key=lambda part: self._span(part))
        index = parts.index(keyword)
        start, end = self._span(keyword)
        if index > 0:
            start = self._span(parts[index - 1])[1]
            start = self.data.index(b",", start)
        elif len(parts) > 1:
            end = self._span(parts[1])[0]
        self._add("left out", start, end, "")

    # Statements.

    def visit_If(self, node: ast.If) -> None:
        """The condition reversed."""
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self._reverse(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """What goes on for ever is found by its time: the condition is not reversed."""
        self.generic_visit(node)

    def _reverse(self, test: ast.expr) -> None:
        if isinstance(test, ast.Name | ast.Attribute | ast.Call):
            start, end = self._span(test)
            self._add("branches", start, end, f"not ({self.data[start:end].decode()})")

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """The other operation, or nothing."""
        if type(node.op) in _ARITHMETIC:
            token, text = _ARITHMETIC[type(node.op)]
            self._replace_token("arithmetic", node.target, node.value, re.escape(token) + "=", (f"{text}=",))
        self._add("left out", *self._span(node), "pass")
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """A name that keeps the value that it had."""
        names = {
            name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
        }
        if "__all__" in names:
            return
        if names and names <= self.bound[-1] and len(self.bound) > 1:
            self._add("left out", *self._span(node), "pass")
        self.generic_visit(node)
        self.bound[-1] |= names

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call for its effect."""
        if isinstance(node.value, ast.Call) and self.scope:
            func = node.value.func
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if name not in _QUIET_CALLS:
                self._add("left out", *self._span(node), "pass")
        self.generic_visit(node)
