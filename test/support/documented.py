# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Commands that the documentation shows."""

import re
import shlex
from collections.abc import Mapping, Sequence

_FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(text: str) -> dict[str, list[str]]:
    """The words of all commands ``python ...`` in blocks of ``text``.

    The key is the command and the file of ``python -m collision_monitor``, else the program and its
    first option; of a second such command, ``again`` follows.
    """
    found: dict[str, list[str]] = {}
    for block in _FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("python "):
                _, *words = shlex.split(line)
                is_ours = words[:2] == ["-m", "collision_monitor"]
                key = " ".join(words[2:4] if is_ours else words[:2])
                key += " again" if key in found else ""
                if key in found:
                    raise ValueError(f"three commands begin with {key}")
                found[key] = words
    return found


def with_options(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """A command with these values of options, in place of its own or besides."""
    words = list(words)
    for option, value in values.items():
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
    return words
