# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Base of all nodes: parameters, robot descriptions, joint states, faults, heartbeat, end."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from std_msgs.msg import String

from collision_monitor.common.files import any_changed_since
from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.errors import CollisionMonitorError, reason_of
from collision_monitor.model.loading import RobotSource
from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.monitoring.watchdogs import Watchdogs
from collision_monitor.nodes.common.executor import Sentinel, bridge_logs, steady_timer
from collision_monitor.nodes.common.messages import DESCRIPTIONS, LATCHED
from collision_monitor.nodes.common.node_state import NodeState, Report
from collision_monitor.nodes.parameters.monitor_parameters import RobotPort
from collision_monitor.nodes.parameters.parameter import (
    Check,
    Parameter,
    changed_values,
    declare_parameters,
    package_dirs_of,
)

_ANSWER_SECONDS = 2.0  # publishers on another machine are discovered within a second
T = TypeVar("T")
LOADING = "loading the robot (the first load fits leaves and compiles kernels)"


class _Poll:
    """The last message of each publisher of a topic, which latched ones send to a new subscription.

    What comes later than ``until`` may be from a publisher that has answered already.

    Attributes:
        count: number of publishers that are asked.
        until: when answers end, seconds of a steady clock.
        texts: different ones that were received, the newest last.
    """

    def __init__(self, node: Node, topic: str, count: int, now: float) -> None:
        self.count, self.until = count, now + _ANSWER_SECONDS
        self.texts: list[ReceivedText] = []
        self._node = node
        self._subscription = node.create_subscription(String, topic, self._on_answer, DESCRIPTIONS)

    def _on_answer(self, message: String) -> None:
        if (text := ReceivedText(message.data)) not in self.texts:
            self.texts.append(text)

    def close(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


class RobotDescriptions:
    """The descriptions of all robots, from parameters or topics.

    Publishers of a topic that contradict each other are the fault "descriptions". A message does
    not tell its publisher, so several are polled: otherwise one that corrects what it has sent, or
    repeats it, could not be told from two that differ.

    Attributes:
        ports: topics of each robot.
    """

    def __init__(
        self,
        node: Node,
        ports: Sequence[RobotPort],
        received: Callable[[], None],
        faults: FaultRegister,
    ) -> None:
        """Start without subscriptions; ``received`` is called for each received description."""
        self._node, self.ports, self._received = node, ports, received
        self._faults = faults
        self._urdfs: dict[str, ReceivedText] = {}  # by name of the robot, as all that follow
        self._subscriptions: dict[str, Subscription] = {}
        self._polls: dict[str, _Poll] = {}
        self._contradictions: dict[str, str] = {}

    def subscribe(self) -> None:
        """Subscribe to descriptions that are not given by parameters."""
        self._urdfs.clear()
        for port in self.ports:
            if not port.source.urdf:
                listener = partial(self._on_description, port.source.name)
                self._subscriptions[port.source.name] = self._node.create_subscription(
                    String, port.description_topic, listener, LATCHED
                )

    def _on_description(self, name: str, message: String) -> None:
        self._urdfs[name] = ReceivedText(message.data)
        self._received()

    def watch(self, now: float) -> None:
        """Compare publishers, raise or clear the fault; ``now``: seconds of a steady clock."""
        for name, subscription in self._subscriptions.items():
            self._compare(name, subscription.topic_name, now)
        text = "; ".join(self._contradictions.values())
        self._faults.put("descriptions", Level.WARN, "", text)

    def _compare(self, name: str, topic: str, now: float) -> None:
        count, poll = self._node.count_publishers(topic), self._polls.get(name)
        is_over = poll is not None and now >= poll.until
        if poll is None or poll.count != count or (is_over and len(poll.texts) > 1):
            if poll is not None:
                self._polls.pop(name).close()
            if count > 1 or name in self._contradictions:
                self._polls[name] = _Poll(self._node, topic, count, now)
        elif count > 1 and len(poll.texts) > 1:
            self._contradictions[name] = (
                f"{count} publishers of {topic} have sent different descriptions, and the last one "
                "received is used: end the wrong ones"
            )
        elif (is_over or (poll.texts and count < 2)) and self._contradictions.pop(name, ""):
            # What is left is not always what was received last.
            if poll.texts and self._urdfs.get(name) not in poll.texts:
                self._urdfs[name] = poll.texts[-1]
                self._received()

    @property
    def sources(self) -> tuple[RobotSource, ...]:
        """The robots; a URDF that was not received is empty."""
        return tuple(
            port.source if port.source.urdf
            else replace(port.source, urdf=self._urdfs.get(port.source.name, ""))
            for port in self.ports
        )  # fmt: skip

    def topic_of(self, name: str) -> str:
        """Topic of the description of a robot."""
        return next(p.description_topic for p in self.ports if p.source.name == name)

    @property
    def missing(self) -> list[str]:
        """Topics of descriptions that were not received."""
        return [
            port.description_topic
            for port in self.ports
            if not port.source.urdf and port.source.name not in self._urdfs
        ]

    def destroy(self) -> None:
        """End all subscriptions."""
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        for poll in self._polls.values():
            poll.close()
        self._subscriptions.clear()
        self._polls.clear()
        self._contradictions.clear()
        self._faults.clear("descriptions")


class NodeCore(ABC):
    """What a node does; the node itself may be a lifecycle node.

    A subclass sets ``state`` and ``_robots``, and calls `_accept_parameters` once it can use new
    ones.
    """

    state: NodeState
    _robots: RobotDescriptions

    def __init__(self, node: Node, parameters: Sequence[Parameter], check: Check) -> None:
        """Declare parameters.

        Raises:
            CollisionMonitorError: inconsistent parameters.
        """
        bridge_logs(node)
        self._node, self._table, self._check = node, parameters, check
        self._watchdogs = Watchdogs()
        self._faults = self._watchdogs.faults
        self._values = declare_parameters(node, parameters, check)
        self._is_refused = False  # a received description

    @abstractmethod
    def _use_values(self, changed: Mapping[str, Any]) -> None:
        """Use parameters that were set, which are in ``_values``.

        Raises:
            CollisionMonitorError: they cannot be used; none was.
        """

    @abstractmethod
    def _set_watchdog(self) -> None:
        """Restart the timer of the heartbeat: its period may be another one."""

    @abstractmethod
    def _on_description(self) -> None:
        """Use the descriptions that were received, unless they are in use."""

    @abstractmethod
    def end(self) -> None:
        """Publish a last state."""

    def _accept_parameters(self) -> None:
        self._node.add_on_set_parameters_callback(self._on_parameters)

    def _on_parameters(self, parameters: list[RosParameter]) -> SetParametersResult:
        before = dict(self._values)
        try:
            changed = changed_values(before, parameters, self._table, self._check)
            self._values.update(changed)
            self._use_values(changed)
        except CollisionMonitorError as error:
            self._values.update(before)
            return SetParametersResult(successful=False, reason=str(error))
        if "state_rate" in changed:
            self._set_watchdog()
        if self._has_refused():
            self._on_description()
        return SetParametersResult(successful=True)

    def _has_refused(self) -> bool:
        """Whether a description that was received is not used, perhaps because of a parameter."""
        return self._is_refused

    def _load_reporting(self, load: Callable[[], T], text: str) -> T:
        """Load in this thread; another one repeats ``text`` as a state, so that all hear of it."""
        with closing(Sentinel(lambda reason: self.state.publish_stale(text))):
            return load()

    def _refusal(self, load: Callable[[], None]) -> str:
        """Load a received description; returns why it cannot be used, empty if it is."""
        self._is_refused = True
        try:
            load()
        except Exception as error:
            if not isinstance(error, CollisionMonitorError):
                self.state.failures.add(error)
            return reason_of(error)
        self._is_refused = False
        return ""


class SingleRobotCore(NodeCore):
    """The core of a node with one robot, from the parameter or topic ``robot_description``.

    A subclass calls `_start` after it has created its publishers.
    """

    def __init__(self, node: Node, parameters: Sequence[Parameter], check: Check) -> None:
        """See `NodeCore`."""
        super().__init__(node, parameters, check)
        port = RobotPort(RobotSource(self._values["robot_description"]))
        self._robots = RobotDescriptions(node, (port,), self._on_description, self._faults)
        self._description: str | ReceivedText = ""  # the last one, if it could be used
        self._mesh_files, self._began = frozenset[str](), 0.0  # of it, and when it was loaded
        self._has_robot = False
        self._watchdog: Timer | None = None

    @abstractmethod
    def _load(self, description: str | ReceivedText) -> frozenset[str]:
        """Use a robot; returns the paths of its meshes.

        Raises:
            CollisionMonitorError: it cannot be used; the previous one stays.
        """

    @abstractmethod
    def _refuse_description(self, reason: str) -> None:
        """Publish that a received description cannot be used."""

    @abstractmethod
    def _watch(self) -> None:
        """Called by a timer."""

    def _start(self) -> None:
        """Load the robot given by parameter, or wait for one; start the watchdog.

        Raises:
            CollisionMonitorError: the robot given by parameter cannot be used.
        """
        self._accept_parameters()
        self._robots.subscribe()
        if not self._robots.missing:
            self._load_received()
        self._set_watchdog()

    def _set_watchdog(self) -> None:
        if self._watchdog is not None:
            self._node.destroy_timer(self._watchdog)
        self._watchdog = steady_timer(self._node, self.state.watch_period, self._watch)

    def _load_received(self) -> None:
        (source,) = self._robots.sources
        if not self._has_robot:
            self.state.publish(Report(Level.STALE, "loading", LOADING))
        began = time.time()
        self._mesh_files = self._load_reporting(lambda: self._load(source.urdf), LOADING)
        self._has_robot, self._description, self._began = True, source.urdf, began

    def _on_description(self) -> None:
        """See `NodeCore`; a robot is in use if its meshes are as they were, too."""
        is_known = self._robots.sources[0].urdf == self._description
        if is_known and not any_changed_since(self._mesh_files, self._began):
            return
        if reason := self._refusal(self._load_received):
            self._refuse_description(f"robot_description cannot be used: {reason}")

    def _sources(self) -> dict[str, Any]:
        """SRDF, packages and scene, as arguments of ``from_urdf``."""
        return {
            "srdf": self._values["robot_description_semantic"] or None,
            "package_dirs": package_dirs_of(self._values),
            "scene": self._values["scene"] or None,
        }


class CoreNode:
    """The part of a node that `run_node` calls: its core does it."""

    _core: NodeCore

    def failed(self, error: Exception) -> None:
        """Publish that a callback has failed."""
        self._core.state.failed(error)

    def publish_stale(self, reason: str) -> None:
        """Publish that the node does nothing now."""
        self._core.state.publish_stale(reason)

    def close(self) -> None:
        """Publish a last state."""
        self._core.end()


class RobotNode(CoreNode, Node):
    """A node that does its work from its start."""

    def __init__(self, name: str, make_core: Callable[[Node], NodeCore], **options: Any) -> None:
        """Create the node and its core.

        Raises:
            CollisionMonitorError: inconsistent parameters, or a robot given by parameter cannot be
                used.
        """
        super().__init__(name, **options)
        try:
            self._core = make_core(self)
        except BaseException:
            # The process ends without it. Other nodes would take it for alive until the middleware
            # gives it up: 20 s with Fast DDS.
            self.destroy_node()
            raise
