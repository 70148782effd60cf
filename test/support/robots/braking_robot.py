# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot that obeys a speed scale as well as real joints can, for tests of what is told it."""

import numpy as np

from collision_monitor.monitoring.monitor import Monitor, MonitorState

STEP = 0.001  # seconds between states of the simulation


class BrakingRobot:
    """Joints that follow a wanted velocity with an acceleration limit each.

    Every ``period`` a joint state goes to the monitor, and its speed scale comes into
    force ``latency`` later.
    """

    def __init__(
        self,
        monitor: Monitor,
        q: np.ndarray,
        accelerations: np.ndarray,
        period: float = 0.008,
        latency: float = 0.016,
        gives_velocities: bool = False,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.monitor, self.accelerations = monitor, accelerations
        self.q, self.v = np.array(q, dtype=float), np.zeros(len(q))
        self.time, self.scale = 100.0, 0.0
        self.period, self.latency = period, latency
        self.gives_velocities, self.noise = gives_velocities, noise
        self.path: list[np.ndarray] = [self.q.copy()]
        self.states: list[MonitorState] = []
        self._next, self._orders = self.time, []
        self._rng = np.random.default_rng(seed)

    def run(self, wanted: np.ndarray, seconds: float, obeys: bool = True) -> None:
        """Want these joint velocities (nq,) for a while; who does not obey just has them."""
        for _ in range(round(seconds / STEP)):
            if self.time >= self._next - 1e-9:
                self._next += self.period
                self._tell()
            while self._orders and self._orders[0][0] <= self.time:
                self.scale = self._orders.pop(0)[1]
            target = wanted * (self.scale if obeys else 1.0)
            change = np.clip(target - self.v, -self.accelerations * STEP, self.accelerations * STEP)
            before = self.v.copy()
            self.v += change
            self.q += 0.5 * (before + self.v) * STEP
            self.time += STEP
            self.path.append(self.q.copy())

    def _tell(self) -> None:
        seen = self.q + self._rng.normal(0.0, self.noise, len(self.q)) if self.noise else self.q
        state = self.monitor.update(
            list(self.monitor.model.joint_names), tuple(seen), self.time, self.time, 0.0,
            tuple(self.v) if self.gives_velocities else (),
        )  # fmt: skip
        self.states.append(state)
        self._orders.append((self.time + self.latency, state.speed_scale))
