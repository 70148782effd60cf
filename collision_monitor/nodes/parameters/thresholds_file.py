# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The file of thresholds, read in a thread while a robot is monitored: its disk may hang."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

from collision_monitor.errors import ThresholdsError
from collision_monitor.model.thresholds import Rule, Thresholds, load_thresholds
from collision_monitor.nodes.parameters.parameter import MOST_ENTRIES

# Joint states wait meanwhile: well below joint_state_timeout.
_READ_SECONDS = 0.2


class ThresholdsFile:
    """Reads one file after another, in bounded time."""

    def __init__(self) -> None:
        """Start without a file."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="thresholds")
        self._reading: tuple[str, Future[Thresholds]] | None = None

    def read(self, path: str) -> tuple[Rule, ...]:
        """The rules of a file; empty without a path.

        If it takes too long, the next call returns what was read meanwhile.

        Raises:
            ThresholdsError: it cannot be used, has too many rules, or takes too long.
        """
        if not path:
            return ()
        if self._reading is None or (self._reading[0] != path and self._reading[1].done()):
            self._reading = path, self._pool.submit(load_thresholds, path)
        reading, future = self._reading
        try:
            rules = future.result(_READ_SECONDS if reading == path else 0.0).rules
        except FutureTimeoutError:
            raise ThresholdsError(
                f"{reading} takes longer than {_READ_SECONDS:g} s to read; the previous thresholds "
                "stay: set thresholds_file again later"
            ) from None
        except Exception as error:
            self._reading = None
            is_said = isinstance(error, ThresholdsError)
            raise error if is_said else ThresholdsError(f"{path}: {error}") from None
        self._reading = None
        if len(rules) > MOST_ENTRIES:
            raise ThresholdsError(
                f"{path}: {len(rules)} pairs; at most {MOST_ENTRIES} can be set at run time: "
                "give the file when the node starts"
            )
        return rules
