# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page: its server, contents and loop.

Actions in a browser arrive in threads of the server. They are queued and run by the loop, the only
user of the model, so no locks are needed.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.near_by_design import MinimumDistance, near_by_design
from collision_monitor.motion.trajectory import Motion
from collision_monitor.viewer.clearance_display import (
    SECONDS,
    ClearanceCurve,
    NodeReport,
    add_chart,
    chart_data,
    status_html,
)
from collision_monitor.viewer.controls import JointSliders, MotionPanel, Playback, slider_specs
from collision_monitor.viewer.scene_editor import SceneEditor
from collision_monitor.viewer.scene_nodes import ObstacleNodes, RobotNodes
from collision_monitor.viewer.server import (
    LOOPBACK,
    Address,
    aim_camera,
    free_address,
    start_server,
    stop_server,
)

logger = logging.getLogger(__name__)

_PERIOD = 1.0 / 30.0  # period of poses, seconds
_SLOW_PERIOD = 0.2  # of text, charts and followed sliders, seconds
# A browser redraws for a quarter of a second after each message: without changes, send few.
_IDLE_PERIOD = 2.0
_ACTIVE = 1.0  # seconds after an action or a move; then motions are measured in a new scene
_LAST_TURN = 5.0  # maximum time in seconds for the loop to end


class Page:
    """A robot in the browser, moved by sliders, by motions, or by calls of `follow`.

    Attributes that any thread may read:
        by_hand: whether a user controls the robot, by a slider or by playing a motion.
        joint_names: joints in the order of ``configuration``.
        configuration: the shown one (nq,).
        playback: of the active motion.
    """

    def __init__(
        self,
        model: CollisionModel,
        q: np.ndarray,
        *,
        warn: float,
        stop: float,
        host: str = LOOPBACK,
        port: int | None = None,
        motions: Sequence[tuple[str, Motion]] = (),
        camera_around: Sequence[np.ndarray] = (),
        speed: float = 1.0,
        shadows: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the server.

        Args:
            model: used only by the page from now on.
            q: (nq,) initial configuration.
            warn: distance in metres below which colours change.
            stop: distance in metres at which they are red.
            host: name or address of this machine; other machines can connect unless it is a
                loopback address.
            port: 0 for any, None for 8080 or any.
            motions: motions that can be played, with labels.
            camera_around: further configurations that the initial camera shows.
            speed: initial speed of motions.
            shadows: whether they are shown initially; slow without a graphics card.
            clock: seconds of a steady clock, by which motions are played.

        Raises:
            MissingDependencyError: viser is not installed.
            ViewError: host or port is not available.
            MotionError: a motion names an unknown joint.
            ConfigurationError: a joint has no finite limits.
        """
        self.joint_names, self.configuration = model.joint_names, np.array(q, dtype=float)
        self._clock = clock
        self._warn, self._stop = warn, stop
        # Pairs near by design, and their warning distances: measured once, before objects move.
        self._near = {model.pairs[k]: warn for k in model.sampled_distances(exact=False).constant}
        near_pairs = near_by_design(model, stop, warn, exact=False)
        self._near |= {pair.links: pair.warn for pair in near_pairs.values()}
        self._use(model)
        whole = [
            (label, motion.of_joints(model.joint_names, q, f"{label}: '{model.name}'"))
            for label, motion in motions
        ]
        specs = slider_specs(model)
        self.address: Address = free_address(host, port)
        self._todo: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.playback = Playback(speed)
        self._curve = ClearanceCurve()
        self._ticks: deque[float] = deque(maxlen=60)
        self._followed: np.ndarray | None = None
        self.by_hand = False
        self._shows_boxes = False
        self._node: NodeReport | None = None
        self._note = ""
        self._shown_q: np.ndarray | None = None
        self._last_good: tuple[CollisionModel, np.ndarray] | None = None
        self._updated_at = self._active_until = -np.inf
        self._shown_state: tuple = ()
        self._changed_at: float | None = clock()
        self._end, self._idle = threading.Event(), threading.Event()
        self._idle.set()
        self._clearance, self._microseconds = None, 0.0

        self._server = server = start_server(self.address, model.name)
        try:
            self._build(specs, whole, shadows)
            aim_camera(server, self._seen([self.configuration, *camera_around]))
            self.tick()
        except BaseException:
            self.close()
            raise

    def _build(self, specs: list, motions: list, shadows: bool) -> None:
        server, gui, q = self._server, self._server.gui, self.configuration
        self._robot = RobotNodes(server.scene, self._model)
        self._obstacles = ObstacleNodes(
            server.scene, lambda name: self._todo.put(lambda: self._editor.choose(name))
        )
        self._status = gui.add_html("")
        empty = chart_data(np.array([-SECONDS, 0.0]), self._warn, self._stop, np.zeros(2))
        self._chart = add_chart(gui, empty, ["distance"])
        tabs = gui.add_tab_group()
        self._motions: MotionPanel | None = None
        if motions:  # first, so that the page opens with them
            with tabs.add_tab("Motions"):
                self._motions = MotionPanel(
                    gui, motions, self.playback, self._clock, self._by_user, self._take_over
                )
        with tabs.add_tab("Joints"):
            gui.add_button("Back to the start").on_click(
                lambda event: self._todo.put(lambda: self._take_over(q.copy()))
            )
            self._sliders = JointSliders(gui, specs, q, self._slider_moved, self._clock)
            if not specs:
                gui.add_markdown("This robot has no joint that moves.")
        with tabs.add_tab("Scene"):
            self._editor = SceneEditor(
                server, self._model, self._obstacles.choose, self._todo.put, self._set_note
            )
        with tabs.add_tab("Show"):
            self._show = {
                name: gui.add_checkbox(name, on)
                for name, on in (
                    ("shapes", True), ("leaves", True), ("leaves of obstacles", False),
                    ("boxes of meshes", False),
                    ("grid", True), ("shadows", shadows),
                )
            }  # fmt: skip
            for box in self._show.values():
                box.on_update(lambda event: self._todo.put(self._apply_show))
        points = self._seen([q])
        self._grid = server.scene.add_grid(
            "/grid", infinite_grid=True, cell_size=0.1, section_size=1.0, fade_distance=15.0,
            position=(0.0, 0.0, min(0.0, float(points[:, 2].min()))),
        )  # fmt: skip
        self._editor.put_new_ones_at(0.5 * (points.min(axis=0) + points.max(axis=0)))
        self._obstacles.draw(self._model)
        self._apply_show()

    def _seen(self, configurations: Sequence[np.ndarray]) -> np.ndarray:
        """Points that the camera should see: the ends of the robot's leaves."""
        obstacles = {obstacle.name for obstacle in self._model.scene.obstacles}
        own = [k for k, leaf in enumerate(self._model.leaves) if leaf.link not in obstacles]
        if not own:
            own = list(range(len(self._model.leaves)))
        ends = [self._model.leaf_segments(q)[own].reshape(-1, 3) for q in configurations]
        return np.vstack(ends)

    # -- methods for any thread --

    def follow(self, q: np.ndarray) -> None:
        """Show the configuration ``q`` (nq,), unless a user controls the robot."""
        self._followed = np.array(q, dtype=float)

    def show_report(self, report: NodeReport) -> None:
        """Show the report of a monitor node."""
        self._node = report

    def run(self) -> None:
        """Serve until `close` is called."""
        self._idle.clear()
        try:
            due = time.monotonic()
            while not self._end.is_set():
                self.tick()
                due = max(due + _PERIOD, time.monotonic())
                self._end.wait(due - time.monotonic())
        finally:
            self._idle.set()

    def close(self) -> None:
        """End the loop, in whichever thread it runs, and the server."""
        self._end.set()
        self._idle.wait(_LAST_TURN)
        stop_server(self._server)

    # -- actions in a browser --

    def _by_user(self, action: Callable[[], None]) -> None:
        def taken() -> None:
            self.by_hand = True
            action()

        self._todo.put(taken)

    def _slider_moved(self, joint: int, value: float) -> None:
        def move() -> None:
            q = self.configuration.copy()
            q[joint] = value
            self._take_over(q)

        self._todo.put(move)

    def _take_over(self, q: np.ndarray) -> None:
        self.by_hand = True
        self.playback.pause()
        self.configuration = q

    def _set_note(self, text: str) -> None:
        self._note = text

    def _apply_show(self) -> None:
        shown = {name: box.value for name, box in self._show.items()}
        self._robot.show_shapes(shown["shapes"])
        self._robot.show_leaves(shown["leaves"])
        self._obstacles.show_leaves(shown["leaves of obstacles"])
        if shown["boxes of meshes"] != self._shows_boxes:
            self._shows_boxes = shown["boxes of meshes"]
            self._robot.show_boxes(self._model if self._shows_boxes else None)
            self._robot.show_meeting(self._model, self.configuration)
        self._grid.visible = shown["grid"]
        self._server.scene.configure_default_lights(cast_shadow=shown["shadows"])

    # -- loop --

    def tick(self) -> None:
        """One iteration of the loop: run actions, move the robot, update the page."""
        now = self._clock()
        self._ticks.append(now)
        try:
            if _run_all(self._todo, self._set_note):
                self._active_until = now + _ACTIVE
            self._update(now)
        except Exception as problem:  # a client may send any values
            if self._last_good is None:
                raise
            self._restore_last_good(problem)

    def _restore_last_good(self, problem: Exception) -> None:
        """Return to the last valid scene and configuration, with a note."""
        if not isinstance(problem, CollisionMonitorError):
            logger.error("values from a browser cannot be shown", exc_info=problem)
        self._model, self.configuration = self._last_good
        self.playback.pause()
        self.by_hand = True
        self._editor.show(self._model.scene)
        self._note = f"cannot be shown: {problem}"

    def _update(self, now: float) -> None:
        played = self.playback.configuration(now)
        if played is not None:
            self.configuration = played
        elif self._followed is not None and not self.by_hand:
            self.configuration = self._followed
        with self._server.atomic():
            if self._editor.changed:
                self._editor.changed = False
                self._use(self._model.with_scene(self._editor.scene))
                self._obstacles.draw(self._model)
                self._shown_q, self._changed_at = None, now
            if self._shown_q is None or not np.array_equal(self._shown_q, self.configuration):
                self._measure()
                self._active_until = now + _ACTIVE
            if self._clearance is not None:
                self._curve.add(now, self._clearance.distance)
            state = (self._clearance, self._note, self._node and self._node.level)
            is_active = now < self._active_until or state != self._shown_state
            if now - self._updated_at >= (_SLOW_PERIOD if is_active else _IDLE_PERIOD):
                self._updated_at, self._shown_state = now, state
                self._update_text(now)
                self._update_slowly(now)

    def _use(self, model: CollisionModel) -> None:
        self._model = model
        warn = np.array([self._near.get(pair, self._warn) for pair in model.pairs])
        near = [k for k, pair in enumerate(model.pairs) if pair in self._near]
        self._minimum = MinimumDistance(model, near, warn)

    def _measure(self) -> None:
        model, q = self._model, self.configuration
        if model.pairs:
            began = time.perf_counter()
            self._clearance = self._minimum.of(q)
            self._microseconds = 1e6 * (time.perf_counter() - began)
        else:
            self._clearance = None
        distances = model.nearest_of_links(model.distances(q))
        self._robot.place(model.link_poses(q))
        self._robot.colour(distances, self._warn, self._stop)
        self._obstacles.colour(distances, self._warn, self._stop)
        self._robot.nearest(self._clearance)
        if self._shows_boxes:
            self._robot.show_meeting(model, q)
        self._shown_q = q
        self._last_good = model, q

    def _update_text(self, now: float) -> None:
        rate, note = _rate(self._ticks, now), self._note
        if not note and self._node is not None and self._editor.edited:
            note = "the monitor node monitors the scene as it was loaded"
        self._status.content = status_html(
            self._clearance, self._warn, self._stop, rate, self._microseconds, self._node, note
        )

    def _update_slowly(self, now: float) -> None:
        self._sliders.show(self.configuration)
        self._chart.visible = self._clearance is not None
        if self._clearance is not None:
            curve = self._curve.arrays(now)
            self._chart.data = chart_data(curve[0], self._warn, self._stop, curve[1])
        if self._motions is not None:
            if self._changed_at is not None and now - self._changed_at >= _ACTIVE:
                self._changed_at = None
                self._motions.measure(self._model, self._warn, self._stop)
            self._motions.show()


def _run_all(todo: queue.Queue[Callable[[], None]], note: Callable[[str], None]) -> int:
    """Run what browsers asked for; return the number of actions. ``note`` gets problems."""
    count = 0
    while True:
        try:
            action = todo.get_nowait()
        except queue.Empty:
            return count
        count += 1
        note("")
        try:
            action()
        except CollisionMonitorError as problem:
            note(str(problem))


def _rate(ticks: Iterable[float], now: float) -> float:
    """Ticks per second in the last second."""
    recent = [tick for tick in ticks if now - tick <= 1.0]
    return (len(recent) - 1) / (now - recent[0]) if len(recent) > 1 else 0.0
