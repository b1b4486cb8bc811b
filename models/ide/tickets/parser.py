"""A parser of sums: what binds first, from which side, and what is no sum at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("calculator", "expressions", "expressions"),
    ("sheets", "formulas", "formulas"),
    ("config", "settings", "sums in settings"),
    ("game", "scores", "scores"),
    ("rules", "terms", "terms of rules"),
)
FUNCTIONS = ("evaluate", "value_of", "calculate", "work_out", "result_of")
POWERS = {
    "right": "from the right, so 2 $pow 3 $pow 2 is 2 $pow 9",
    "left": "from the left, so 2 $pow 3 $pow 2 is 8 $pow 2",
}
TEMPLATE = '''"""Works out $topic."""


def $function(text):
    """Give the value of a sum in whole numbers, such as "2 + 3 * (4 - 1)".

    Numbers are written in digits. There are, from what binds first to what binds last: brackets;
    `$pow` (to the power of), taken $power_doc; a minus before a value, so -2 $pow 2 is -4, also
    behind another operator as in 2 * -3; `*`, `$div` (division rounded down) and `$mod` (the rest
    of that division), from the left; `+` and `-`, from the left. Spaces between them mean nothing.
    A minus before a value may not stand right behind `$pow`.

    Raises ValueError for a text that isn't such a sum, for a number of more than nine digits and
    for a division by 0.
    """
    return $Parser(text).whole()


class $Parser:
    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.at = 0

    def next(self):
        """Give the next token, "" behind the last one."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self):
        token = self.next()
        self.at += 1
        return token

    def whole(self):
        value = self.sum()
        $end
        return value

    def sum(self):
        value = self.product()
        $sum
        return value

    def product(self):
        value = self.signed()
        while self.next() in ("*", "$div", "$mod"):
            operator = self.take()
            $right = self.signed()
            $product
        return value

    def signed(self):
        $signed

    def power(self):
        base = self.single()
        $power

    def single(self):
        token = self.take()
        if token == "(":
            value = self.sum()
            $close
            return value
        if not token.isdigit():
            raise ValueError(f"{token!r} is no number")
        return int(token)


def tokens_of(text):
    """Cut a text into numbers and operators."""
    tokens = []
    $joined
    for char in text:
        $char
    return tokens
'''
SOLUTION = """import re

PATTERN = re.compile(r" *([0-9]+|[-+*()$classes])")
RANKS = {"+": 1, "-": 1, "*": 2, "$div": 2, "$mod": 2, "neg": 3, "$pow": 4}


def $function(text):
    rest, tokens = text.rstrip(" "), []
    while rest:
        match = PATTERN.match(rest)
        if match is None:
            raise ValueError(rest)
        tokens.append(match[1])
        rest = rest[match.end() :]
    values, operators = [], []

    def apply():
        sign = operators.pop()
        b = values.pop()
        if sign == "neg":
            values.append(-b)
            return
        a = values.pop()
        if sign in ("$div", "$mod") and b == 0:
            raise ValueError("division by 0")
        if sign == "$pow":
            values.append(a**b)
        elif sign == "$div":
            values.append(a // b)
        elif sign == "$mod":
            values.append(a % b)
        else:
            values.append({"+": a + b, "-": a - b, "*": a * b}[sign])

    before = "("
    for token in tokens:
        operand = before == ")" or before.isdigit()
        if token.isdigit():
            if operand or len(token) > 9:
                raise ValueError(token)
            values.append(int(token))
        elif token == "(":
            if operand:
                raise ValueError(token)
            operators.append(token)
        elif token == ")":
            if not operand:
                raise ValueError(token)
            while operators and operators[-1] != "(":
                apply()
            if not operators:
                raise ValueError(token)
            operators.pop()
        elif not operand:
            if token != "-" or before == "$pow":
                raise ValueError(token)
            operators.append("neg")
        else:
            rank = RANKS[token]
            while operators and operators[-1] != "(":
                other = RANKS[operators[-1]]
                if other < rank or (other == rank and token == "$pow" and $from_right):
                    break
                apply()
            operators.append(token)
        before = token
    if not (before == ")" or before.isdigit()):
        raise ValueError(text)
    while operators:
        if operators[-1] == "(":
            raise ValueError(text)
        apply()
    return values[0]
"""
END = (
    'if self.next():\n    raise ValueError("more than a sum")',
    'if self.at < len(self.tokens):\n    raise ValueError("more than a sum")',
)
SUM = (
    'while self.next() in ("+", "-"):\n    if self.take() == "+":\n'
    "        value += self.product()\n    else:\n        value -= self.product()",
    'while self.next() and self.next() in "+-":\n    sign = 1 if self.take() == "+" else -1\n'
    "    value += sign * self.product()",
)
SUM_RIGHT = (
    'if self.next() == "+":\n    self.take()\n    return value + self.sum()\n'
    'if self.next() == "-":\n    self.take()\n    return value - self.sum()'
)
SUM_ONCE = SUM[0].replace("while", "if", 1)
SUM_SIGNED = SUM[0].replace("self.product()", "self.signed()")
PRODUCT = (
    'if operator == "*":\n    value *= $right\nelif $right == 0:\n    '
    'raise ValueError("division by 0")\nelif operator == "$div":\n    value //= $right\n'
    "else:\n    value %= $right",
    'if operator != "*" and $right == 0:\n    raise ValueError("division by 0")\n'
    'if operator == "*":\n    value = value * $right\nelif operator == "$div":\n'
    "    value = value // $right\nelse:\n    value = value % $right",
)
TRUNCATED = PRODUCT[0].replace("value //= $right", "value = int(value / $right)")
REST = PRODUCT[0].replace("value %= $right", "value -= int(value / $right) * $right")
UNGUARDED = PRODUCT[0].replace('elif $right == 0:\n    raise ValueError("division by 0")\n', "")
HALF_GUARDED = PRODUCT[0].replace("elif $right == 0", 'elif operator == "$div" and $right == 0')
SIGNED = (
    'if self.next() == "-":\n    self.take()\n    return -self.signed()\nreturn self.power()',
    'sign = 1\nwhile self.next() == "-":\n    self.take()\n    sign = -sign\n'
    "return sign * self.power()",
)
POWER_LEFT = (
    'while self.next() == "$pow":\n    self.take()\n    base = base ** self.single()\nreturn base'
)
POWER_RIGHT = (
    'if self.next() == "$pow":\n    self.take()\n    return base ** self.power()\nreturn base'
)
POWER_ONCE = POWER_LEFT.replace("while", "if")
BINDS_SIGN = (
    'if self.next() == "-":\n    self.take()\n    base = -self.single()\nelse:\n'
    "    base = self.single()\n"
)
CLOSE = (
    'if self.take() != ")":\n    raise ValueError("a bracket isn\'t closed")',
    'if self.next() != ")":\n    raise ValueError("no closing bracket")\nself.take()',
)
CHAR = (
    "if char.isdigit() and char.isascii():\n    if joined and tokens:\n        tokens[-1] += char\n"
    "    else:\n        tokens.append(char)\n    if len(tokens[-1]) > 9:\n"
    '        raise ValueError("a number is too long")\n    joined = True\n    continue\n'
    'joined = False\nif char == " ":\n    continue\nif char not in "+-*()$div$mod$pow":\n'
    '    raise ValueError(f"{char!r} has no meaning")\ntokens.append(char)'
)
ANY_CHAR = CHAR.replace(
    'if char not in "+-*()$div$mod$pow":\n    raise ValueError(f"{char!r} has no meaning")\n',
    'if char not in "+-*()$div$mod$pow":\n    continue\n',
)
GLUED = CHAR.replace(
    'joined = False\nif char == " ":\n    continue\n',
    'if char == " ":\n    continue\njoined = False\n',
)


def parser(draw: Draw) -> Ticket:
    """Draw a ticket about a parser of sums."""
    package, module, topic = draw.pick("place", PLACES)
    function = draw.pick("function", FUNCTIONS)
    power = draw.pick("power", ("^", "^", "!"))
    div, mod = draw.pick("signs", (("/", "%"), (":", "%"), ("/", "@"), (":", "~")))
    right = draw.percent("from right", 60)
    power_doc = POWERS["right" if right else "left"]
    values: dict[str, object] = {
        "topic": topic,
        "function": function,
        "Parser": draw.pick("class", ("Parser", "Reader", "Sum", "Expression")),
        "right": draw.pick("right", ("other", "factor", "by", "right")),
        "pow": power,
        "div": div,
        "mod": mod,
        "classes": f"{div}{mod}{power}".replace("^", r"\^"),
        "power_doc": power_doc,
        "from_right": right,
        "joined": "joined = False",
    }
    powers = (POWER_RIGHT,) if right else (POWER_LEFT,)
    other_power = POWER_LEFT if right else POWER_RIGHT
    bugs = {
        "sum_right": Bug(
            {"sum": SUM_RIGHT},
            (
                {"sum": SUM_ONCE},
                {"sum": SUM_SIGNED},
                {"sum": SUM[0].replace("value -=", "value +=")},
            ),
            (
                "10 - 3 - 2 isn't 5 here.",
                "With several minus signs in a row the result is wrong.",
            ),
        ),
        "sum_first": Bug(
            {"sum": SUM_SIGNED},
            (
                {"sum": SUM_ONCE},
                {"sum": SUM_RIGHT},
                {"sum": SUM_SIGNED.replace("self.signed()", "self.single()")},
            ),
            (
                "A sum with a product behind its sign isn't taken, or comes out wrong.",
                "1 + 2 * 3 doesn't work any more.",
            ),
        ),
        "floor": Bug(
            {"product": TRUNCATED},
            (
                {"product": REST},
                {"product": UNGUARDED},
                {"product": TRUNCATED.replace("int(value / $right)", "-(-value // $right)")},
            ),
            (
                "Division of numbers below zero is off by one.",
                "The division isn't rounded down, for some numbers.",
            ),
        ),
        "rest": Bug(
            {"product": REST},
            (
                {"product": TRUNCATED},
                {"product": UNGUARDED},
                {"product": PRODUCT[0].replace("value %= $right", "value = abs(value) % $right")},
            ),
            (
                "Rests of divisions are wrong where there is a minus.",
                f"The rest that `{mod}` gives doesn't fit the division.",
            ),
        ),
        "zero": Bug(
            {"product": UNGUARDED},
            (
                {"product": HALF_GUARDED},
                {"product": PRODUCT[0].replace('raise ValueError("division by 0")', "value = 0")},
                {"product": PRODUCT[0].replace("$right == 0", "$right <= 0")},
            ),
            (
                "A division by 0 ends in the wrong error.",
                "Callers catch ValueError, and a division by 0 gets past them.",
            ),
        ),
        "power": Bug(
            {"power": other_power},
            ({"power": POWER_ONCE}, {"signed": "return self.power()"}, {"sum": SUM_RIGHT}),
            (
                "Powers of powers are taken from the wrong side.",
                f"Two `{power}` in a row give a wrong result.",
            ),
        ),
        "sign": Bug(
            {
                "signed": "return self.power()",
                "power": BINDS_SIGN.removesuffix("\n") + "\n" + powers[0],
            },
            (
                {"signed": "return self.power()"},
                {"signed": SIGNED[0].replace("-self.signed()", "-self.single()")},
                {"signed": SIGNED[0].replace("-self.signed()", "-self.product()")},
            ),
            (
                f"The minus in -3 {power} 2 is taken for a part of the 3.",
                "A minus before a power is treated in the wrong order.",
            ),
        ),
        "end": Bug(
            {"end": ""},
            (
                {"end": 'if self.next() == ")":\n    raise ValueError("a bracket too many")'},
                {"end": 'if self.next().isdigit():\n    raise ValueError("a number too many")'},
                {"close": 'if self.next() == ")":\n    self.take()'},
            ),
            (
                "Nonsense behind a sum is ignored.",
                "Texts are taken that are no sums: only their beginning is looked at.",
            ),
        ),
        "close": Bug(
            {"close": 'if self.next() == ")":\n    self.take()'},
            (
                {"close": "self.take()"},
                {"close": 'if self.next() and self.take() != ")":\n    raise ValueError("no")'},
                {"end": ""},
            ),
            (
                "Brackets that nobody has closed aren't noticed.",
                "A sum with a bracket missing gives a value instead of an error.",
            ),
        ),
        "chars": Bug(
            {"char": ANY_CHAR},
            (
                {"char": CHAR.replace('if char == " ":', "if char.isalpha() or char.isspace():")},
                {"char": CHAR.replace('if char == " ":', 'if char in " .,":')},
                {"char": GLUED},
            ),
            (
                "Letters within a sum are skipped as if they weren't there.",
                "Typing errors aren't noticed: odd characters are ignored.",
            ),
        ),
        "glued": Bug(
            {"char": GLUED},
            (
                {"char": ANY_CHAR},
                {
                    "char": CHAR.replace(
                        "if joined and tokens:", "if tokens and tokens[-1].isdigit():"
                    )
                },
                {"end": ""},
            ),
            (
                "Two numbers with a space between them are read as one.",
                "1 2 is taken for 12.",
            ),
        ),
    }
    target = f"{package}.{module}:{function}"

    def one(text: str) -> Probe:
        # Sums are told with the usual signs, and each family member has its own.
        return call(target, text.translate(str.maketrans("/%^", div + mod + power)))

    def number(high: int = 30) -> int:
        return draw.between("number", 1, high)

    def nested(depth: int) -> str:
        """Draw a sum; powers have small numbers, so that no value gets long."""
        form = draw.below("form", 7)
        if depth == 0 or form == 0:
            return str(number())
        if form == 1:
            return f"({nested(depth - 1)})"
        if form == 2:
            return f"-{nested(depth - 1)}"
        if form == 3:
            return f"{number(4)}^{number(3)}"
        sign = draw.pick("sign", ("+", "-", "-", "*", "/", "%"))
        space = draw.pick("space", ("", " "))
        return f"{nested(depth - 1)}{space}{sign}{space}{nested(depth - 1)}"

    probes = [one(nested(3)) for _ in range(14)] + [one(nested(4)) for _ in range(4)]
    for _ in range(2):
        n, m, k = number(), number(9) + 1, number(3) + 1
        texts = (
            f"{n} - {m} - {k}",
            f"{n}-{m}+{k}-1",
            f"-{n} / {m}",
            f"{n} / -{m}",
            f"-{n} % {m}",
            f"-{m * k + 1} % {m}",
            f"-{m * k + 1} / {m}",
            f"{m * k + 1} % -{m}",
            f"{n} % -{m}",
            f"{n} / 0",
            f"{n} % ({m} - {m})",
            f"{k}^{k}^2",
            f"2^{k}^2",
            f"-{m}^2",
            f"{n} - -{m}",
            f"{n} * -{m}",
            f"--{m}",
            f"(-{m})^2",
            f"{k}^-{m}",
            f"{n} {m}",
            f"{n} +",
            f"({n} + {m}",
            f"{n} + {m})",
            f"{n}({m})",
            f"{n} + x",
            f"{n}.{m}",
            f"({n} - {m}) * {k}",
            f"{n} + {m} * {k}",
            f"{n} - {m} * {k} - {m}",
            f"*{n}",
            f"{n} * / {m}",
            f"{n}, {m}",
            f"{n * 100 + m} - ({k}",
            f"1{n} 2",
            f"{n} - ({m} - ({k} - 1))",
            f"-({n} - {m})",
            f"{k}^2 * {m}",
            f"{m} * {k}^2",
            f"{n}\t+ {m}",
            f"({n}) ({m})",
            f"{n} a",
            f"-{n}^2^{k}",
            f"{n} - {m} % {k}",
            f"{n} / {m} / {k}",
            f"{n} * {m} / {k}",
            f"({n} + {m}]",
        )
        probes += [one(text) for text in texts]
    probes += [one(text) for text in ("3^2^3", "2^3^2", "(2^3)^2", "-2^3^2")]
    probes += [
        one(text) for text in ("", " ", "()", "0", "007", "1234567890", "123456789", "-", "(")
    ]
    cases: list[Case] = []
    for word in ("once", "again"):
        n, m, k = number(), number(9) + 1, number(3) + 1
        told = {
            "minus_twice": f"{n} - {m} - {k}",
            "product_in_a_sum": f"{n} + {m} * {k}",
            "division": f"{n + m} / {k}",
            "division_below_zero": f"-{n * k + 1} / {k}",
            "rest": f"{n} % {m}",
            "rest_below_zero": f"-{n * k + 1} % {k + 1}",
            "division_by_nothing": f"{n} / 0",
            "rest_by_nothing": f"{m} % 0",
            "power_of_power": f"2^{k}^2",
            "minus_before_power": f"-{m}^2",
            "brackets": f"({n} - {m}) * {k}",
            "open_bracket": f"({n} + {m}",
            "bracket_too_many": f"{n} + {m})",
            "number_too_many": f"{n} + {m} {k}",
            "two_numbers": f"{n} {m}",
            "letter": f"{n} + x{m}",
            "letter_inside": f"{n}k - {m}",
            "nothing_behind": f"{n} +",
            "single": f"{n}",
        }
        cases += [Case(f"{title}_{word}", (one(text),)) for title, text in told.items()]
    return make_ticket(
        draw,
        Sketch(
            family="parser",
            package=package,
            module=module,
            function=function,
            topic=topic,
            template=TEMPLATE,
            values=values,
            choices={
                "end": END,
                "sum": SUM,
                "product": PRODUCT,
                "signed": SIGNED,
                "power": powers,
                "close": CLOSE,
                "char": (CHAR,),
            },
            bugs=bugs,
            solution=SOLUTION,
            title=(
                "Wrong values of $topic",
                "`$function` gives a wrong value",
                "$package: $topic aren't worked out as described",
                "`$function` doesn't follow its own rules",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
        ),
    )
