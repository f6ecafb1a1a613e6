"""The grammar of conditions, by recursive descent.

condition   either { "or" either }
either      single { "and" single }
single      "not" single | "(" condition ")" | comparison
comparison  operand ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) operand
          | operand ( "contains" | "startswith" ) operand
          | operand "in" "[" operand { "," operand } "]"
operand     path | text | number | duration | "true" | "false" | "null"
path        ( "body" | "header" ) { step } | "reason" | "error" | "attempts" | "age"
step        "." name | "[" text "]" | "[" number "]"
"""

from __future__ import annotations

from mqkit.lots.where.conditions import (
    All,
    Any,
    Comparison,
    Condition,
    Literal,
    Not,
    Operand,
    Operator,
    Path,
)
from mqkit.lots.where.tokens import Kind, Token, fault, tokens

DEPTH_MAX = 32
"""Parentheses and ``not`` inside one another: nobody reads more, and a stack has an end."""

LIST_MAX = 256
STEPS_MAX = 32
INDEX_MAX = 2**31 - 1

_TREES = ("body", "header")
_PLAIN = ("reason", "error", "attempts", "age")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_OPERATORS = {str(each): each for each in Operator}


def parse(text: str) -> Condition:
    """The condition in ``text``. Raises :exc:`~mqkit.lots.where.tokens.WhereError`, and nothing
    else."""
    parser = _Parser(tokens(text))
    condition = parser.condition(0)
    parser.expect_end()
    return condition


def parse_path(text: str) -> Path:
    """A path alone, into the body or a header. Raises
    :exc:`~mqkit.lots.where.tokens.WhereError`."""
    parser = _Parser(tokens(text))
    return parser.path()


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._next = 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._token
        if token.kind is not Kind.END:
            self._next += 1
        return token

    def _takes(self, text: str) -> bool:
        """Take the token if it is this sign, or word."""
        token = self._token
        if token.kind in (Kind.SYMBOL, Kind.NAME) and token.text == text:
            self._next += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise fault(self._token.at, f"expected {text!r}, not {self._token}")

    def expect_end(self) -> None:
        if self._token.kind is not Kind.END:
            raise fault(self._token.at, f"expected 'and', 'or' or the end, not {self._token}")

    def path(self) -> Path:
        operand = self._operand()
        if not isinstance(operand, Path) or not operand.steps:
            raise fault(0, "expected a field such as body.to or header.NAME")
        if self._token.kind is not Kind.END:
            raise fault(self._token.at, f"expected the end of the field, not {self._token}")
        return operand

    def condition(self, depth: int) -> Condition:
        parts = [self._either(depth)]
        while self._takes("or"):
            parts.append(self._either(depth))
        return parts[0] if len(parts) == 1 else Any(tuple(parts))

    def _either(self, depth: int) -> Condition:
        parts = [self._single(depth)]
        while self._takes("and"):
            parts.append(self._single(depth))
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _single(self, depth: int) -> Condition:
        at = self._token.at
        if depth > DEPTH_MAX:
            raise fault(at, f"nested deeper than {DEPTH_MAX}")
        if self._takes("not"):
            return Not(self._single(depth + 1))
        if self._takes("("):
            inner = self.condition(depth + 1)
            self._expect(")")
            return inner
        return self._comparison()

    def _comparison(self) -> Comparison:
        at = self._token.at
        left = self._operand()
        token = self._take()
        operator = _OPERATORS.get(token.text)
        if operator is None or token.kind not in (Kind.SYMBOL, Kind.NAME):
            raise fault(token.at, f"expected a comparison ({', '.join(_OPERATORS)}), not {token}")
        right = self._list() if operator is Operator.IN else (self._operand(),)
        for each in right:
            _check_durations(left, each, operator, at)
        return Comparison(operator, left, right)

    def _list(self) -> tuple[Operand, ...]:
        self._expect("[")
        found = [self._operand()]
        while self._takes(","):
            if len(found) == LIST_MAX:
                raise fault(self._token.at, f"a list has at most {LIST_MAX} values")
            found.append(self._operand())
        self._expect("]")
        return tuple(found)

    def _operand(self) -> Operand:
        token = self._take()
        match token.kind:
            case Kind.TEXT | Kind.NUMBER:
                return Literal(token.value)
            case Kind.DURATION:
                return Literal(token.value, is_duration=True)
            case Kind.NAME if token.text in _WORDS:
                return Literal(_WORDS[token.text])
            case Kind.NAME if token.text in _PLAIN:
                return Path(token.text)
            case Kind.NAME if token.text in _TREES:
                return Path(token.text, self._steps(token))
        names = ", ".join((*_TREES, *_PLAIN))
        raise fault(token.at, f"expected a value, or one of {names}, not {token}")

    def _steps(self, tree: Token) -> tuple[str | int, ...]:
        steps: list[str | int] = []
        while self._token.kind is Kind.SYMBOL and self._token.text in (".", "["):
            if len(steps) == STEPS_MAX:
                raise fault(self._token.at, f"a path has at most {STEPS_MAX} steps")
            steps.append(self._name() if self._takes(".") else self._key())
        if tree.text == "header" and (not steps or not isinstance(steps[0], str)):
            raise fault(tree.end, 'expected the name of a header: header.NAME or header["NAME"]')
        return tuple(steps)

    def _name(self) -> str:
        token = self._take()
        if token.kind is not Kind.NAME:
            raise fault(token.at, f'expected a name after the dot, not {token}; ["..."] takes any')
        return token.text

    def _key(self) -> str | int:
        self._expect("[")
        token = self._take()
        if token.kind is Kind.TEXT:
            key: str | int = str(token.value)
        elif token.kind is Kind.NUMBER and isinstance(token.value, int):
            key = token.value
            if not 0 <= key <= INDEX_MAX:
                raise fault(token.at, f"an index is 0 to {INDEX_MAX}")
        else:
            raise fault(token.at, f"expected a text or an index, not {token}")
        self._expect("]")
        return key


def _check_durations(left: Operand, right: Operand, operator: Operator, at: int) -> None:
    """An age and a number are unlike, and would never match: a slip, and no condition."""
    ages = [isinstance(each, Path) and each.fact == "age" for each in (left, right)]
    durations = [isinstance(each, Literal) and each.is_duration for each in (left, right)]
    if not any(ages) and not any(durations):
        return
    if not all(age or duration for age, duration in zip(ages, durations, strict=True)):
        raise fault(
            at, "an age is compared with a duration such as 90s or 1h30m, and with nothing else"
        )
    if operator in (Operator.CONTAINS, Operator.STARTS_WITH):
        raise fault(at, f"an age has no {operator}")
