# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``python -m collision_monitor``: commands, their arguments, and reports of errors."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib import import_module

from collision_monitor.cli.options import Exit, Parser, discard_output
from collision_monitor.errors import CollisionMonitorError

_COMMANDS = ("fit", "distance", "thresholds", "adjust", "verify", "acm", "view", "demo", "warm-up")


def parser(names: Sequence[str] = _COMMANDS) -> argparse.ArgumentParser:
    """Parser of some commands, by default of all; imports their modules."""
    top = Parser(
        prog="python -m collision_monitor",
        description="Clearance of robot arms: leaves fitted to links, distances, motions "
        "verified, motions of two arms made safe, a live demo.",
    )
    top.add_argument("--verbose", action="store_true", help="log what is loaded and left out")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    for name in names:
        import_module(f"collision_monitor.cli.{name.replace('-', '_')}").add_parser(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code: 2 for invalid input, 1 for failed output."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    # Importing all commands takes as long as loading a small robot. Only --verbose may come before
    # the command; for anything else, the error names all commands.
    first = [text for text in given if text != "--verbose"][:1]
    options = parser(first if first and first[0] in _COMMANDS else _COMMANDS).parse_args(given)
    console = logging.StreamHandler()
    # Also of the handler: progress on the terminal lowers the level of the library logger.
    console.setLevel(logging.INFO if options.verbose else logging.WARNING)
    logging.basicConfig(
        level=console.level, format="%(levelname)s: %(message)s", handlers=[console]
    )
    try:
        code = options.run(options)
        sys.stdout.flush()  # so that errors of writing are found before exit
        return code
    except CollisionMonitorError as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.USAGE
    except BrokenPipeError:  # the reader has closed the pipe: `... | head`
        discard_output()
        return Exit.FAILED
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        discard_output()
        return Exit.FAILED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return Exit.INTERRUPTED


if __name__ == "__main__":
    if sys.stdout is not None:  # as of stderr: names of files may have bytes that are not UTF-8
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main())
