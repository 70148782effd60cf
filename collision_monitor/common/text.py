# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Names and numbers in messages, options and tables: shortened lists, misspelt names, plurals."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable, Sequence

from collision_monitor.errors import ConfigurationError

MOST_LOGGED = 20  # of one kind in a log or state: different problems, or pairs of links
MOST_NAMED = 8  # where a message lists more names than `shortened` usually does


def shortened(names: Iterable[str], most: int = 4, separator: str = ", ") -> str:
    """The first ``most`` names, and the number of the others: ``a, b and 3 more``."""
    names = list(names)
    rest = len(names) - most
    return separator.join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def did_you_mean(name: object, known: Collection[str]) -> str:
    """``did you mean 'x'?`` with the most similar known name; empty if none is similar."""
    close = difflib.get_close_matches(str(name), known, 1)
    return f"did you mean {close[0]!r}?" if close else ""


def closest(name: str, known: Collection[str], most: int = MOST_NAMED) -> str:
    """Up to three known names that are similar, else the first ``most``; and how many others."""
    similar = difflib.get_close_matches(name, known, 3, 0.4)
    others = [one for one in known if one not in similar]
    return shortened([*similar, *others], len(similar) or most)


def six_digits(values: Iterable[float]) -> tuple[float, ...]:
    """Numbers rounded to six significant digits, for messages."""
    return tuple(float(f"{value:.6g}") for value in values)


def metres(value: float) -> str:
    """A length in metres, to the millimetre or with six digits: ``0.123 m``, ``12345.7 m``."""
    return f"{value:.3f} m" if abs(value) < 999.9995 else f"{value:.6g} m"


def time_text(value: float) -> str:
    """A time with six digits, but no fewer than milliseconds: ``1.5 s``, ``1700000012.25 s``."""
    text = f"{value:g}" if abs(value) < 1e3 else f"{value:.3f}".rstrip("0").rstrip(".")
    return f"{text} s"


def told_apart(a: float, b: float, text: str, form: str = "f") -> str:
    """``text`` with two numbers for its ``{}``: four decimals, or as many as make them differ.

    With the ``form`` ``g``, significant digits instead of decimals.
    """
    digits = next((k for k in range(4, 9) if f"{a:.{k}{form}}" != f"{b:.{k}{form}}"), 4)
    return text.format(f"{a:.{digits}{form}}", f"{b:.{digits}{form}}")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, such as ``1 pair`` or ``2 pairs``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def one_line(error: Exception) -> str:
    """The beginning of a foreign message, in one line; the type of the error if it has none."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def without_place(text: str) -> str:
    """A message of ROS's C library without the place in its source: ``..., at /src/x.c:73``."""
    return re.sub(r",? at /\S+:\d+", "", text)


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Text table; the first ``left`` columns are aligned to the left, others to the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def json_number(value: float) -> float | None:
    """Return None for a number that JSON does not support: infinity, or NaN."""
    return float(value) if math.isfinite(value) else None


def named_numbers(text: str, source: str, example: str = "elbow=0.5") -> dict[str, float]:
    """Finite numbers by name, out of ``name=value,...``.

    Raises:
        ConfigurationError: an entry of another form, a name twice, or no finite number; the message
            begins with ``source``.
    """
    numbers: dict[str, float] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not (name and equals):
            raise ConfigurationError(
                f"{source}: {entry!r} is not of the form joint=value, such as {example}"
            )
        if name in numbers:
            raise ConfigurationError(f"{source}: joint {name!r} is given twice")
        try:
            numbers[name] = float(value)
        except ValueError:
            numbers[name] = math.nan
        if not math.isfinite(numbers[name]):
            raise ConfigurationError(
                f"{source}: {value!r} for joint {name!r} is not a finite number (radians or metres)"
            )
    return numbers
