# SPDX-License-Identifier: BSD-3-Clause
"""What the file of a paper says of a measured value: expressions, and texts that hold them.

An expression is arithmetic of numbers, names and the functions below; what was not measured is
None, and so is all that is computed of it. A text has expressions in braces, as `{size:size}` and
`{half('warm', 'tcp', 8):time}`. Pure.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from beowire.apps.record import IDLE
from beowire.record.lines import Result, Summary
from beowire.reproduce.steps import Found
from beowire.units import rate_text, significant, size_text, time_text

ABSENT = "-"


@dataclass(frozen=True)
class Value:
    """A measured quantity: its median, and the 95 % interval of that if there is one."""

    median: float
    ci95: tuple[float, float] | None = None


def number(value: Any) -> float | None:
    """What is computed with: the median of a value."""
    return value.median if isinstance(value, Value) else value


# -- functions of expressions: the first argument is what was found -------------------------------


def cell(found: Found, step: str, driver: str | None, *of: Any) -> Result | None:
    """The record's result of a driver, a pattern, a size and perhaps a load."""
    comparison = found.comparisons.get(step)
    return None if comparison is None or driver is None else comparison.cell(driver, *of)


def _value(summary: Summary | None) -> Value | None:
    return None if summary is None else Value(summary.median, summary.ci95)


def time(found: Found, step: str, *where: Any) -> Value | None:
    """What a pattern of times reports, in ns."""
    one = cell(found, step, *where)
    return None if one is None else _value(one.time())


def rate(found: Found, step: str, *where: Any) -> Value | None:
    """Bytes per second of any pattern."""
    one = cell(found, step, *where)
    return None if one is None else _value(one.rate_bytes_per_s)


def system_rate(found: Found, step: str, *where: Any) -> float | None:
    """Payload to a second of system time of both ends together, in bytes per second."""
    one = cell(found, step, *where)
    if one is None or not one.bytes_per_system_s or not all(one.bytes_per_system_s):
        return None
    return 1 / sum(1 / each for each in one.bytes_per_system_s if each)


def _half(found: Found, step: str, driver: str | None, size: float) -> Value | None:
    """Half a round trip, in ns."""
    one = cell(found, step, driver, "pingpong", size)
    return None if one is None else _value(one.half_rtt_ns)


def _cpu(found: Found, step: str, driver: str, size: float, load: str) -> float | None:
    """CPU time of a message, in ns."""
    one = cell(found, step, driver, "pingpong", size, load)
    return None if one is None else one.cpu_ns_per_message


def _cpu_percent(found: Found, step: str, driver: str, size: float) -> float | None:
    """CPU time of the initiator to the time that passed, in %: user, system and softirq."""
    one = cell(found, step, driver, "pingpong", size)
    if one is None or not one.cpu or not one.elapsed_ns:
        return None
    cost = one.cpu[0]
    used = cost.user_ns + cost.system_ns + (cost.softirq_ns or 0.0)
    return 100 * used * one.n / one.elapsed_ns


def _interrupts(found: Found, step: str, driver: str, size: float, end: int = 0) -> Value | None:
    """Of an end's machine (0: initiator), per second, the timer's among them."""
    one = cell(found, step, driver, "pingpong", size)
    value = None if one is None else one.figures(end).get("interrupts")
    if one is None or value is None:
        return None
    return Value(value, one.probes_ci95[end].get("interrupts") if one.probes_ci95 else None)


def _best(found: Found, step: str, driver: str, pattern: str) -> float | None:
    """The highest median rate of all sizes."""
    known = [rate(found, step, driver, pattern, size) for size in _sizes(found, step, pattern)]
    return max((one.median for one in known if one is not None), default=None)


def _sizes(found: Found, step: str, pattern: str) -> list[int]:
    """Sizes that were measured."""
    comparison = found.comparisons.get(step)
    return [] if comparison is None else comparison.sizes(pattern)


def _drivers(found: Found, step: str, pattern: str, like: str = "*") -> list[str]:
    """Drivers with a result whose names are like `mpi:*`; a name without `*` is itself, measured or
    not."""
    if "*" not in like:
        return [like]
    comparison = found.comparisons.get(step)
    known = [] if comparison is None else comparison.drivers(pattern)
    return [driver for driver in known if fnmatchcase(driver, like)]


def _odd(found: Found, step: str, driver: str) -> tuple[float | None, float | None]:
    """The largest ratio of the time of a copy whose size 4 does not divide to that of the size
    beside it which 4 divides, and the former size."""
    ratios = []
    for size in _sizes(found, step, "pingpong"):
        for beside in (size - 3, size + 3):
            odd, even = (_half(found, step, driver, one) for one in (beside, size))
            if size % 4 == 0 and odd and even and even.median:
                ratios.append((odd.median / even.median, beside))
    return max(ratios, default=(None, None))


def _lost(found: Found, step: str, driver: str) -> str | None:
    """`12 % at 64 B`, of streams of idle nodes; None: nothing was lost."""
    words = []
    for size in _sizes(found, step, "stream"):
        one = cell(found, step, driver, "stream", size)
        if one is not None and one.lost:
            words.append(
                f"{significant(100 * one.lost / (one.n + one.lost), 2)} % at {size_text(size)}"
            )
    return ", ".join(words) or None


def _explained(found: Found, driver: str, parts: Sequence[str]) -> float | None:
    """ns of half a round trip that are in these parts, in the `rest`, in the `whole`."""
    one = cell(found, f"explain-{driver}", driver, "pingpong", 8)
    known = None if one is None else one.explained
    if known is None:
        return None
    every = {**known.parts_ns, "rest": known.rest_ns, "whole": known.half_rtt_ns}
    return sum(every.get(part, 0.0) for part in parts)


def _explained_drivers(found: Found) -> list[str]:
    """Those whose half round trip was divided."""
    names = (name.removeprefix("explain-") for name in found.comparisons)
    return [name for name in names if _explained(found, name, ()) is not None]


def _figure(found: Found, step: str, app: str, over: str, load: str = IDLE) -> float | None:
    """The best figure of a program's launches, as the papers have it."""
    record = found.programs.get(step)
    figures = [
        one.figure
        for one in (record.launches if record else ())
        if (one.app, one.over, one.load) == (app, over, load)
        and one.round > 0
        and one.figure is not None
        and one.status == "ok"
    ]
    return max(figures, default=None)


def _speedup(found: Found, step: str, over: str) -> Value | None:
    """How much faster a program is than over TCP."""
    record = found.programs.get(step)
    known = (one.speedup for one in (record.results if record else ()) if one.over == over)
    ratio = next(known, None)
    return None if ratio is None else Value(ratio.median, ratio.ci95)


def _launches(found: Found, *steps: str) -> str | None:
    """How many there were of each program."""
    known = [found.programs[step] for step in steps if step in found.programs]
    return str(known[0].meta.options.get("launches")) if known else None


def _spread(found: Found, *steps: str) -> float | None:
    """By how much launches of one program over one way differ, at most: largest to least."""
    known = [found.programs[step] for step in steps if step in found.programs]
    figures: dict[tuple[str, str, str, str], list[float]] = {}
    for one in known[0].launches if known else ():
        if one.round > 0 and one.figure:
            figures.setdefault(one.key, []).append(one.figure)
    return max((max(each) / min(each) for each in figures.values()), default=1.0)


def _ratio(_: Found, one: Value | None, other: Value | None) -> str | None:
    """`1.47 × (1.20 to 1.81)`: of the medians, and how far apart both intervals let it be, which is
    wider than an interval of the ratio itself."""
    if one is None or other is None or not other.median:
        return None
    shown = times_text(one.median / other.median)
    if one.ci95 is None or other.ci95 is None or not other.ci95[0]:
        return f"{shown} (?)"
    low, high = one.ci95[0] / other.ci95[1], one.ci95[1] / other.ci95[0]
    return f"{shown} ({significant(low)} to {significant(high)})"


def _share(_: Found, one: float | Value | None, of: float | Value | None) -> str | None:
    """`1.60 µs, 4 %`."""
    value, whole = number(one), number(of)
    if not value or not whole:
        return None
    sign = "−" if value < 0 else ""
    return f"{sign}{time_text(abs(value))}, {100 * abs(value) / whole:.0f} %"


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{
        f.__name__.lstrip("_"): f
        for f in (
            time,
            rate,
            system_rate,
            _half,
            _cpu,
            _cpu_percent,
            _interrupts,
            _best,
            _sizes,
            _drivers,
            _lost,
            _explained,
            _explained_drivers,
            _figure,
            _speedup,
            _launches,
            _spread,
            _ratio,
            _share,
        )
    },
    "odd": lambda found, step, driver: _odd(found, step, driver)[0],
    "odd_size": lambda found, step, driver: _odd(found, step, driver)[1],
    "first": lambda _, known: next(iter(known), None),
    "positive": lambda _, value: None if value is None else max(0.0, number(value) or 0.0),
}
_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: one / other if other else None,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
}


# -- formats --------------------------------------------------------------------------------------


def times_text(value: float) -> str:
    """`1.25 ×`."""
    return f"{significant(value)} ×"


def _bits(bytes_per_s: float) -> str:
    """As networks are sold: `941 Mbit/s`."""
    return f"{significant(8 * bytes_per_s / 1e6)} Mbit/s"


def _with_interval(
    text: Callable[[float], str], unit: str = "", unknown: str = ""
) -> Callable[[Value], str]:
    def shown(value: Value) -> str:
        if value.ci95 is None:
            return text(value.median) + unit + unknown
        low, high = value.ci95
        return f"{text(value.median)}{unit} ({text(low)} to {text(high)})"

    return shown


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "time": time_text,
    "rate": rate_text,
    "bits": _bits,
    "times": times_text,
    "size": lambda value: size_text(int(value)),
    "percent": lambda value: f"{significant(value, 2)} %",
    "whole": lambda value: f"{value:.0f}",
    "signed": lambda value: f"{value:+.2f}",
    "text": str,
    "2": lambda value: significant(value, 2),
    "3": significant,
}
_FORMATS_95: Mapping[str, Callable[[Any], str]] = {
    "time95": _with_interval(time_text),
    "count95": _with_interval(lambda value: f"{value:,.0f}"),
    "times95": _with_interval(significant, " ×", " (?)"),
}
_FIELD = re.compile(r"\{([^{}]+?)(?::(\w+))?\}")


@dataclass(frozen=True)
class Scope:
    """What was found, and the names that expressions may use."""

    found: Found
    names: Mapping[str, Any]

    def value(self, expression: str) -> Any:
        """What an expression comes to; None: something in it was not measured."""
        return self._of(ast.parse(expression, mode="eval").body)

    def text(self, template: str) -> str:
        """A text with its values, and a dash for each that was not measured."""
        return _FIELD.sub(lambda one: self._shown(one[1], one[2]), template)

    def known(self, *templates: str) -> list[bool]:
        """Of each value in these texts that a function gives, whether there is one."""
        fields = [expression for text in templates for expression, _ in _FIELD.findall(text)]
        return [self.value(one) is not None for one in fields if "(" in one]

    def bind(self, names: Mapping[str, Any]) -> "Scope":
        """With these names besides."""
        return replace(self, names={**self.names, **names})

    def each(self, loops: Mapping[str, Any]) -> Iterator["Scope"]:
        """One for each combination of what the names go through: a list, or an expression that
        comes to one. A table in a list is the names in it."""
        if not loops:
            yield self
            return
        (name, over), *others = loops.items()
        for item in self.value(over) if isinstance(over, str) else over:
            names = item if isinstance(item, Mapping) else {name: item}
            yield from self.bind(names).each(dict(others))

    def _shown(self, expression: str, form: str | None) -> str:
        value = self.value(expression)
        if value is None:
            return ABSENT
        if form is None:
            return str(value)
        return _FORMATS_95[form](value) if form in _FORMATS_95 else _FORMATS[form](number(value))

    def _of(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.names[name]
            case ast.List(elts=items):
                return [self._of(item) for item in items]
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _FUNCTIONS[name](self.found, *(self._of(one) for one in arguments))
            case ast.BinOp(left=one, op=sign, right=other):
                return self._both(sign, one, other)
            case ast.Compare(left=one, ops=[sign], comparators=[other]):
                return self._both(sign, one, other)
        raise ValueError(ast.unparse(node))

    def _both(self, sign: ast.AST, one: ast.AST, other: ast.AST) -> Any:
        values = [number(self._of(side)) for side in (one, other)]
        return None if None in values else _OPERATORS[type(sign)](*values)
