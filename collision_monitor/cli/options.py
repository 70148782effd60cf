# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Common parts of commands: types of options, positions of joints, output, progress."""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from collision_monitor.common.settings import Setting
from collision_monitor.common.text import closest, named_numbers
from collision_monitor.errors import ConfigurationError, MotionError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.motion.bags import is_bag


class Exit(IntEnum):
    """Exit codes of commands besides 0."""

    FAILED = 1  # findings, no adjustment, or output that cannot be written
    USAGE = 2  # invalid input, as of argparse
    INTERRUPTED = 130  # 128 and the number of SIGINT, as of shells


class Parser(argparse.ArgumentParser):
    """Parser of which each option with a value may be given once, unless it takes several."""

    def __init__(self, *arguments: Any, **others: Any) -> None:
        """As of ``ArgumentParser``, whose default is to keep the last value without a word."""
        super().__init__(*arguments, **others)
        self.register("action", None, _Once)


class _Once(argparse._StoreAction):
    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        """Store the value."""
        if option and getattr(namespace, self.dest, self.default) is not self.default:
            raise argparse.ArgumentError(self, f"is given twice ({values!s}); it takes one value")
        super().__call__(parser, namespace, values, option)


# -- types of options, which raise argparse.ArgumentTypeError --


def value_of(setting: Setting) -> Callable[[str], Any]:
    """Type of an option: a value of a setting."""

    def convert(text: str) -> Any:
        try:
            value = type(setting.default)(text)
        except ValueError:
            value = text  # which has a problem
        if problem := setting.problem(value) or "a value is needed" * (value == ""):
            raise argparse.ArgumentTypeError(problem)
        return value

    return convert


def vector(lengths: Sequence[int], expected: str) -> Callable[[str], tuple[float, ...]]:
    """Type of an option: comma-separated finite numbers; ``lengths`` are the allowed counts."""

    def convert(text: str) -> tuple[float, ...]:
        try:
            values = tuple(float(part) for part in text.split(","))
        except ValueError:
            values = ()
        if len(values) not in lengths or not all(map(math.isfinite, values)):
            raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
        return values

    return convert


def timed_motion(text: str) -> tuple[Path, float]:
    """Type of an option: path and start, seconds, of ``MOTION[@START]``."""
    path, _, when = text.rpartition("@") if "@" in text else (text, "", "0")
    try:
        start = float(when)
        if not math.isfinite(start):
            raise ValueError
        return Path(input_path(path)), start
    except ValueError:
        hint = "; verify each start by itself" if ".." in when else ""
        raise argparse.ArgumentTypeError(
            f"{text!r}: {when!r} is not seconds, such as 2.5{hint}"
        ) from None


def input_path(text: str) -> str:
    """Type of an option: a file or folder to read, which an empty text does not name."""
    if not text:
        raise argparse.ArgumentTypeError("a path is needed")
    return text


def output_path(text: str) -> Path:
    """Type of an option: a file to write, in an existing folder.

    Raises:
        argparse.ArgumentTypeError: it cannot be written; the message has the reason.
    """
    path = Path(text)
    if not text or path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not the path of a file to write")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: there is no folder {path.parent}")
    return path


def png_path(text: str) -> Path:
    """As `output_path`, of a PNG."""
    path = output_path(text)
    if path.suffix.lower() != ".png":
        raise argparse.ArgumentTypeError(f"{text}: pictures are PNG, expected a name in .png")
    return path


# -- options --


def add_flag(parser: argparse._ActionsContainer, flag: str, text: str) -> None:
    """Add an option without a value; ``text`` is its help."""
    parser.add_argument(flag, action="store_true", help=text)


def add_option(
    parser: argparse._ActionsContainer, usage: str, text: str, many: bool = False, **others: Any
) -> None:
    """Add an option with a value.

    Args:
        parser: of the command, or a group.
        usage: ``--limits FILE``, the option and what its value is called in the help; ``--limits``
            alone calls it as the option.
        text: its help.
        many: it may be given several times; the result is a list.
        others: further arguments of ``add_argument``.
    """
    flag, _, metavar = usage.partition(" ")
    if many:
        others |= {"action": "append", "default": []}
    parser.add_argument(flag, metavar=metavar or None, help=text, **others)


def add_setting(
    parser: argparse._ActionsContainer, setting: Setting, metavar: str | None, flag: str = ""
) -> None:
    """Add the option of a setting; ``flag`` is its name if it differs from that of the setting."""
    flag = flag or f"--{setting.name.replace('_', '-')}"
    if setting.default is False:
        parser.add_argument(flag, dest=setting.name, action="store_true", help=setting.text)
        return
    has_default = setting.default != ""
    parser.add_argument(
        flag, dest=setting.name, type=value_of(setting), choices=setting.choices or None,
        default=setting.default if has_default else None, metavar=metavar,
        help=f"{setting.text}{' (default %(default)s)' * has_default}",
    )  # fmt: skip


def add_motion_arguments(parser: argparse._ActionsContainer) -> None:
    """Add ``--ignore``, ``--topic`` and ``--stamps``."""
    add_option(parser, "--ignore JOINT", "joint in the motion that the robot lacks, with "
               "wildcards; may be given several times", many=True)  # fmt: skip
    add_option(parser, "--topic", "topic of a bag; may be given several times", action="append")
    add_option(parser, "--stamps", "times of a bag: those in headers, or of recording (default "
               "%(default)s)", choices=("header", "receive"), default="header")  # fmt: skip


def topic_of(options: argparse.Namespace, path: Path) -> list[str] | None:
    """The ``--topic`` of one of several motions; only bags have topics."""
    return options.topic if is_bag(path) else None


def check_bag_arguments(options: argparse.Namespace, paths: Sequence[Path]) -> None:
    """Check that ``--topic`` and ``--stamps`` apply to one of the motions.

    Raises:
        MotionError: one of them is given, and no motion is a bag.
    """
    given = "--stamps receive" if options.stamps == "receive" else ""
    if options.topic:
        given = f"--topic {options.topic[0]}"
    if given and not any(map(is_bag, paths)):
        names = ", ".join(map(str, paths)) or "no motion"
        raise MotionError(f"{given}: is for ROS 2 bags, and no bag is given ({names})")


# -- positions of joints --


def add_positions_argument(parser: argparse._ActionsContainer, what: str) -> None:
    """Add ``--q``, described by ``what`` it sets; see `parse_configuration`."""
    add_option(parser, "--q JOINT=VALUE,...",
               f"{what}, radians or metres; joints not named are at zero, or at the nearer limit "
               "where zero is outside the limits", default="")  # fmt: skip


def parse_configuration(text: str, model: CollisionModel) -> np.ndarray:
    """The configuration (nq,) of ``joint=value,...``; see `parse_positions`.

    Standard error has a warning for each joint outside its limits: a value in degrees, for example.
    """
    q = np.clip(0.0, model.lower, model.upper)
    for name, value in parse_positions(text, model).items():
        q[model.joint_names.index(name)] = value
    lower, upper = model.position_limits
    for k in np.flatnonzero((q < lower) | (q > upper)):
        print(
            f"warning: {model.joint_names[k]} = {q[k]:g} is outside its limits "
            f"[{lower[k]:g}, {upper[k]:g}]",
            file=sys.stderr,
        )
    return q


def parse_positions(text: str, model: CollisionModel) -> dict[str, float]:
    """Positions by joint from ``joint=value,...``, radians or metres.

    Raises:
        ConfigurationError: an entry without ``=``, an unknown or repeated joint, or a
            value that is not a finite number.
    """
    example = ",".join(f"{joint}=0.5" for joint in model.joint_names[:2]) or "elbow=0.5"
    positions = named_numbers(text, "--q", example)
    for name in positions:
        if name not in model.joint_names:
            raise ConfigurationError(
                f"--q: '{model.name}' has no joint {name!r} to set; it has "
                f"{closest(name, model.joint_names, 20) or 'none'}"
            )
    return positions


# -- output --


def files_read(options: argparse.Namespace, names: Iterable[str]) -> dict[str, str]:
    """Real paths of the files that options name, each with the name of its option."""
    given = {name: getattr(options, name, None) for name in names}
    return {os.path.realpath(path): name.replace("_", "-") for name, path in given.items() if path}


def check_outputs(
    options: argparse.Namespace, names: Iterable[str], read: Mapping[str, str]
) -> None:
    """Check that no output overwrites an input, or another output.

    Args:
        options: of the command.
        names: options with paths of outputs.
        read: real paths of inputs, with a noun for each.

    Raises:
        MotionError: an output has the path of another file.
    """
    taken = dict(read)
    for name in names:
        if (path := getattr(options, name)) is None:
            continue
        if other := taken.get(os.path.realpath(path)):
            raise MotionError(f"--{name} {path}: is also the {other}; choose another file")
        taken[os.path.realpath(path)] = name


def print_json(result: Any) -> None:
    """Print a result as JSON; ValueError for a number that JSON does not support."""
    print(json.dumps(result, indent=2, allow_nan=False))


def discard_output() -> None:
    """Discard further output: flushing it at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- progress on standard error --

_TERMINAL, _LOG = 0.5, 10.0  # seconds before the first line, and between two lines


def _over_line(text: str) -> str:
    """What writes ``text`` over the line of a terminal; the last column would wrap it."""
    width = shutil.get_terminal_size().columns - 1
    return f"\r{text[:width]:{width}}"


class LiveProgress(logging.Handler):
    """Shows the current step, from a thread, until the context ends.

    Messages of the library are steps, too; a record of its log may have a ``share``, 0 to 1.

    On a terminal one line is overwritten, and erased at the end. Elsewhere, as in the log of a
    build server, a line is written every ten seconds.
    """

    def __init__(
        self, quiet: bool = False, out: TextIO | None = None, wait: float | None = None
    ) -> None:
        """``quiet``: write nothing into logs.

        ``wait``: seconds before the first line, and between two lines; by default 0.5 on a
        terminal, and 10 elsewhere.
        """
        super().__init__(logging.INFO)
        self._library = logging.getLogger("collision_monitor")
        self._library_level = self._library.level
        self._out = sys.stderr if out is None else out
        self._live = self._out.isatty()
        self._wait = wait or (_TERMINAL if self._live else _LOG)
        self._quiet = quiet and not self._live
        self._what, self._share = "", 0.0
        self._begin = time.monotonic()
        self._over = threading.Event()
        self._shown = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> LiveProgress:
        """Start."""
        self._library.addHandler(self)
        self._library.setLevel(logging.INFO)
        if not self._quiet:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End, and erase the line."""
        self._library.setLevel(self._library_level)
        self._library.removeHandler(self)
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._shown and self._live:
            self._write(_over_line("") + "\r")

    def update(self, what: str, share: float = 0.0) -> None:
        """Set the current step, and its fraction done, 0 to 1."""
        self._what, self._share = what, share

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message of the log."""
        if record.levelno == logging.INFO:
            self.update(record.getMessage(), getattr(record, "share", 0.0))

    def line(self) -> str:
        """The shown line."""
        share = f", {100.0 * self._share:.0f} %" if self._share > 0.0 else ""
        return f"{self._what}{share} ({time.monotonic() - self._begin:.0f} s)"

    def _run(self) -> None:
        while not self._over.wait(self._wait):
            if self._what:
                line = self.line()
                self._write(_over_line(line) if self._live else f"{line}\n")
                self._shown = True

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except (OSError, ValueError):  # the stream is closed
            self._over.set()
