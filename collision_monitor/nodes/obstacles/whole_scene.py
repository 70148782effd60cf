# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Asks publishers of planning scenes for the whole one, as RViz does.

move_group publishes its scene as a whole at its start, and later only what changes. A node that is
started after it would not learn of what does not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.nodes.common.graph_watch import NAMES_SECONDS, node_of
from collision_monitor.nodes.common.messages import type_name

_ANSWER_SECONDS = 5.0  # until an answer counts as lost, and is asked for again


class _Call(NamedTuple):
    """A request that is under way."""

    publisher: tuple[int, ...]  # its gid
    future: Any
    since: float


class WholeScene:
    """Asks each publisher of a topic once, if its node offers a service of this type.

    Its node tells the service, not a name: the topic may be of another namespace, and the scene of
    a move_group that does not publish here is none of this topic. That an answer has not come yet
    is the fault "whole_scene", a remark.
    """

    def __init__(
        self, node: Node, topic: str, kind: Any, request: Any, asking: Callable[[bool], None],
        received: Callable[[Any], None], faults: FaultRegister,
    ) -> None:  # fmt: skip
        """Start without a publisher; call `update` regularly.

        Args:
            node: the node.
            topic: of planning scenes.
            kind: type of the service.
            request: what is sent.
            asking: called with True before it is sent; the answer to an earlier request does not
                count then. With False if none will come any more.
            received: called with the response.
            faults: the register of the node.
        """
        self._node, self._kind, self._request = node, kind, request
        self._asking, self._received, self._faults = asking, received, faults
        self._topic = node.resolve_topic_name(topic)
        self._answered: set[tuple[int, ...]] = set()  # gids of publishers
        self._client: Any = None
        self._call: _Call | None = None
        self._next = -math.inf

    def update(self, now: float) -> None:
        """Look at the graph, and ask, if it is time; ``now``: of the steady clock, seconds."""
        if now < self._next:
            return
        self._next = now + NAMES_SECONDS
        for publisher in self._node.get_publishers_info_by_topic(self._topic):
            gid = tuple(publisher.endpoint_gid)
            if gid not in self._answered and (name := self._service_of(publisher)):
                text = (
                    f"the planning scene of {node_of(publisher)} has been asked for on {name}: "
                    "what is in it already is not monitored until it comes"
                )
                self._ask(gid, name, now)
                self._faults.put("whole_scene", Level.WARN, "", text)
                return
        self.close()  # all have answered, or are gone

    def _service_of(self, publisher: TopicEndpointInfo) -> str:
        """The service of this type that the node of a publisher offers; empty if there is none."""
        names_of = self._node.get_service_names_and_types_by_node
        try:
            services = names_of(publisher.node_name, publisher.node_namespace)
        except RuntimeError:  # the graph does not know the node, or not yet
            return ""
        kind = type_name(self._kind)
        return next((name for name, kinds in services if kind in kinds), "")

    def _ask(self, gid: tuple[int, ...], name: str, now: float) -> None:
        if self._client is None or self._client.srv_name != name:
            self.close()
            # It is called at a later look: an answer is lost if the server has not discovered it.
            self._client = self._node.create_client(self._kind, name)
            return
        call = self._call
        waits = call is not None and call.publisher == gid and now - call.since < _ANSWER_SECONDS
        if waits or not self._client.service_is_ready():
            return
        self._drop()
        self._asking(True)
        self._call = _Call(gid, self._client.call_async(self._request), now)
        self._call.future.add_done_callback(self._on_answer)

    def ask_again(self, now: float) -> None:
        """Ask all again, since messages were lost: an answer under way may be older than these."""
        self._drop()
        self._answered.clear()
        self._next = now + NAMES_SECONDS

    def _on_answer(self, future: Any) -> None:
        call = self._call
        if call is None or future is not call.future or future.exception() is not None:
            return
        self._call = None
        self._answered.add(call.publisher)
        self._next = -math.inf  # the fault ends at once
        self._received(future.result())

    def _drop(self) -> None:
        if self._call is not None:
            self._client.remove_pending_request(self._call.future)
            self._call = None
            self._asking(False)

    def close(self) -> None:
        """Destroy the client, and clear the fault."""
        self._drop()
        if self._client is not None:
            self._node.destroy_client(self._client)
            self._client = None
        self._faults.clear("whole_scene")
