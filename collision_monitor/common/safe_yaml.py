# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Untrusted YAML files: no objects, no duplicate keys, limited size and depth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from collision_monitor.common.magnitudes import read_bounded
from collision_monitor.errors import CollisionMonitorError

# Nested lists: libyaml parses them recursively, and a stack overflow kills the process.
_DEEPEST = 100
_MOST_MERGED = 100_000  # keys, in all mappings together
_LONGEST_NUMBER = 4000  # characters: Python reads 4300 digits at most
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """The safe loader, except that duplicate keys are an error.

    libyaml's, if available: it is three times as fast.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Return the mapping of a node after checking for duplicate keys."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key.value, str) or key.tag == _MERGE:
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is there twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge what '<<' refers to, up to a limit: nested merges grow exponentially."""
        for key, value in node.value:
            if key.tag != _MERGE:
                continue
            for part in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(part, yaml.MappingNode):
                    continue  # refused by the library
                self.flatten_mapping(part)
                self._merged = getattr(self, "_merged", 0) + len(part.value)
                if self._merged > _MOST_MERGED:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"'<<' merges more than {_MOST_MERGED} keys", key.start_mark
                    )
        super().flatten_mapping(node)


def _number(construct: Any) -> Any:
    """The library's constructor of numbers, for texts of limited length.

    The time for a number in base 60, which YAML 1.1 allows, grows with the square of its length.
    """

    def of_reasonable_length(loader: _Loader, node: yaml.ScalarNode) -> Any:
        if len(node.value) > _LONGEST_NUMBER:
            raise yaml.constructor.ConstructorError(
                None, None, f"a number of {len(node.value)} characters", node.start_mark
            )
        return construct(loader, node)

    return of_reasonable_length


for _kind in ("int", "float"):
    _tag = f"tag:yaml.org,2002:{_kind}"
    _Loader.add_constructor(_tag, _number(_Loader.yaml_constructors[_tag]))

# As YAML 1.2 has it: 1e5 and 1.0e5 are numbers. In 1.1, which the library reads, they are text.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def _refuse_deep(text: bytes) -> None:
    """Raise YAMLError if the text is nested too deeply."""
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise yaml.MarkedYAMLError(
                    None, None, f"nested deeper than {_DEEPEST} levels", event.start_mark
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def read_documents(
    path: Path, error: type[CollisionMonitorError], largest: int, what: str
) -> list[Any]:
    """The documents of a YAML file of at most ``largest`` bytes, [] for an empty one.

    Raises ``error``, which names the file, ``what`` was looked for in it, and, where it is
    no YAML, the line.
    """
    try:
        text = read_bounded(path, largest)
        if text is None:
            raise error(f"{path}: larger than {largest} bytes, no {what} is")
    except FileNotFoundError:
        raise error(f"{path}: no such file (looked for the {what} there)") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"{path}: cannot read the {what}: {reason}") from None
    try:
        _refuse_deep(text)
        return list(yaml.load_all(text, _Loader))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        reason = getattr(problem, "problem", None) or " ".join(str(problem).split())
        raise error(f"{path.name}{line}: not YAML: {reason}") from None
    except Exception as problem:  # tags with wrong values make PyYAML raise any exception
        raise error(f"{path.name}: not YAML: {type(problem).__name__}: {problem}") from None


def read_document(path: Path, error: type[CollisionMonitorError], largest: int, what: str) -> Any:
    """The only document of a YAML file, None for an empty one; see `read_documents`."""
    documents = read_documents(path, error, largest, what)
    if len(documents) > 1:
        raise error(f"{path.name}: {len(documents)} documents (---); one is right")
    return documents[0] if documents else None
