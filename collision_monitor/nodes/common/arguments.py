# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the process of a node: checked, split, and parameters among them without effect."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from collision_monitor.common.safe_files import read_document
from collision_monitor.common.text import did_you_mean, shortened, without_place
from collision_monitor.errors import ConfigurationError, RosArgumentsError

_PARAMETERS = "ros__parameters"
# Parameters that the middleware declares where it uses them.
_OF_ROS = re.compile(r"qos_overrides\.|start_type_description_service$")


@contextmanager
def _rcl_errors() -> Iterator[None]:
    """Raise errors of rcl as RosArgumentsError, without their source location."""
    try:
        yield
    except RuntimeError as error:
        text = without_place(" ".join(str(error).split()))
        text = re.sub(r"^(failed to initialize rcl|Failed to parse ROS arguments): ", "", text)
        raise RosArgumentsError(text) from None


def init(args: list[str] | None) -> None:
    """Call ``rclpy.init``, without signal handlers.

    Raises:
        RosArgumentsError: invalid arguments, such as an unknown log level or a missing file.
    """
    args = sys.argv if args is None else args
    if problem := _log_folder_problem():
        print(f"no log files: {problem}; set ROS_LOG_DIR", file=sys.stderr)
        args = [*args, "--ros-args", "--disable-external-lib-logs"]
    with _rcl_errors():
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)


def _log_folder_problem() -> str:
    """Why log files cannot be written, which would end rclpy; empty if they can."""
    variables = os.environ
    base = variables.get("ROS_HOME") or os.path.join(variables.get("HOME", ""), ".ros")
    folder = variables.get("ROS_LOG_DIR") or os.path.join(base, "log")
    if not folder.startswith(("/", "~")) and not variables.get("HOME"):
        return "HOME is not set"
    try:
        folder = os.path.expanduser(folder)
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"{folder}: {error.strerror}"


def own_arguments(args: list[str]) -> list[str]:
    """Arguments that are not for ROS, without the program name.

    Raises:
        RosArgumentsError: those for ROS are invalid.
    """
    with _rcl_errors():
        return remove_ros_args(args)[1:]


def split_arguments(args: list[str] | None) -> tuple[dict[str, Any], list[str]]:
    """(options for the node, arguments for rclpy); ``args`` with the program name, or sys.argv.

    An unknown option ends the program with code 2.
    """
    args = sys.argv if args is None else args
    parser = argparse.ArgumentParser(
        prog="collision_monitor",
        description="Monitor the clearance of a robot; parameters: --ros-args -p name:=value.",
    )
    parser.add_argument(
        "--record",
        metavar="FILE.mcap",
        help=(
            "record the last minutes before every stop to this file (same as the parameter record)"
        ),
    )
    try:
        own = own_arguments(args)
    except RosArgumentsError as error:
        sys.exit(f"collision_monitor: error: {error}")  # exit code 1, as for parameters
    found = parser.parse_args(own)
    if found.record is None:
        return {}, args
    return {"parameter_overrides": [Parameter("record", value=found.record)]}, args


class Given(NamedTuple):
    """Parameters given for the nodes that match a name; nested ones are joined by dots."""

    node: str
    values: dict[str, Any]


def unused_parameters(node: Node, arguments: Sequence[str]) -> list[str]:
    """Warnings of parameters among ROS arguments that do not reach a node, or do not exist.

    ``arguments``: of the process, with those after ``--ros-args``. Files that cannot be read are
    left to ROS.
    """
    known = list(node.get_parameters_by_prefix(""))
    full_name = node.get_fully_qualified_name()
    warnings = []
    for source, given in _sources(arguments):
        matching = [entry for entry in given if _matches(entry.node, full_name)]
        if given and not matching:
            others = shortened(sorted({entry.node for entry in given}))
            warnings.append(
                f"{source} has no parameters for {full_name}, only for {others}: none is used; "
                f"name the section {full_name} or /**"
            )
        for entry in matching:
            for name in entry.values:
                if name not in known and not _OF_ROS.match(name):
                    hint = did_you_mean(name, known)
                    warnings.append(
                        f"parameter {name!r} of {source} does not exist and has no effect"
                        + (f"; {hint}" if hint else "")
                    )
    return warnings


def _sources(arguments: Sequence[str]) -> Iterator[tuple[str, list[Given]]]:
    """Each option or file of parameters, with what it gives."""
    is_for_ros = False
    for argument, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument in ("--ros-args", "--"):
            is_for_ros = argument == "--ros-args"
        elif is_for_ros and argument in ("-p", "--param"):
            target, is_for_node, name = value.partition(":=")[0].rpartition(":")
            yield f"-p {value}", [Given(target if is_for_node else "/**", {name: value})]
        elif is_for_ros and argument == "--params-file":
            with suppress(ConfigurationError):
                yield value, given_in_file(value)


def given_in_file(path: str) -> list[Given]:
    """The sections of a file of parameters.

    Raises:
        ConfigurationError: it cannot be read.
    """
    content = read_document(Path(path), ConfigurationError, "parameters")
    return list(_sections(content, ""))


def _sections(content: Any, name: str) -> Iterator[Given]:
    """The sections of a file of parameters; namespaces may be nested."""
    if not isinstance(content, Mapping):
        return
    for key, value in content.items():
        if key == _PARAMETERS:
            yield Given(name, dict(_flat(value, "")))
        else:
            yield from _sections(value, f"{name}/{str(key).strip('/')}")


def _flat(values: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _matches(pattern: str, full_name: str) -> bool:
    """Whether the name of a section, with wildcards, is that of a node."""
    parts = [part for part in pattern.split("/") if part]
    wild = {"**": r"(/\w+)*", "*": r"/\w+"}
    return bool(re.fullmatch("".join(wild.get(p, f"/{re.escape(p)}") for p in parts), full_name))
