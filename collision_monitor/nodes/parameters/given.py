# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Warnings of parameters that were given to a node and have no effect: misspelt, or for another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rclpy.node import Node

from collision_monitor.common.safe_files import read_document
from collision_monitor.common.text import did_you_mean, shortened
from collision_monitor.errors import ConfigurationError

_PARAMETERS = "ros__parameters"
# Parameters that the middleware declares where it uses them.
_OF_ROS = re.compile(r"qos_overrides\.|start_type_description_service$")


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
