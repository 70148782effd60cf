# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Requested objects of a scene, independent of the robot, and faults of those not monitored."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from collision_monitor.errors import CollisionMonitorError, LiveSceneError
from collision_monitor.model.live.lifetime_clock import LifetimeClock
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.robot.description import Shape

# Why an object is not monitored as requested; of several reasons, the first is reported.
_KINDS = _MESSAGE, _ROBOT, _ATTACHING = range(3)
_LISTED = 3  # reasons listed in the message; further ones are counted
_MAX_REFUSED = 1000
_MAX_REQUESTS = 5000  # more than any scene can hold


@dataclass(frozen=True, eq=False)
class ObjectRequest:
    """A requested object; fields as in `LiveScene.add`.

    ``link`` may be any frame that `DesiredScene.find` knows. ``shape`` is None while its mesh is
    being loaded. ``source`` is the original request. ``is_attached``: whether it is attached to the
    link, by the request or by `DesiredScene.attach`; `DesiredScene.place` puts it into the world.
    """

    name: str
    shape: Shape | ObjectGeometry | np.ndarray | None
    link: str
    pose: np.ndarray
    touch: frozenset[str] = frozenset()
    expires: float = math.inf
    source: Any = None
    is_attached: bool = False


class DesiredScene:
    """Stores requested objects and adds them to the live scene of the current robot.

    An object that cannot be added is a fault until it is requested again, removed, or expires.
    Until then the previous object of that name remains, for the next robot as well. Reasons do not
    replace each other: an object that is there again is still not attached as requested.

    Attributes:
        clock: by which requested objects expire; those of the live scene do not expire by another.
        live: the scene of the monitored robot; None before there is one.
        changed: called when `fault` may have changed.
        find: returns the link that a frame is fixed to, and its pose (4, 4) there; None if frames
            are links.
        requests: requested objects by name.
    """

    def __init__(self, find: Callable[[str], tuple[str, np.ndarray]] | None = None) -> None:
        """Start without objects."""
        self.find = find
        self.changed: Callable[[], None] = _nothing
        self.clock = LifetimeClock()
        self.live: LiveScene | None = None
        self.requests: dict[str, ObjectRequest] = {}
        self._still_present: dict[str, ObjectRequest] = {}  # present although replaced by a request
        # Objects still to be attached: the link, None for the world, what they may touch, and why
        # they are not attached later by themselves, if they are not.
        self._waiting: dict[str, tuple[str | None, Collection[str], str]] = {}
        # By name and kind: why an object is not monitored as requested, and until when this counts.
        self._refusals: dict[str, dict[int, tuple[str, float]]] = {}
        self._fault = ""
        self._next_expiry = math.inf  # earliest expiry of a refusal

    def use_scene(self, live: LiveScene | None) -> None:
        """Use another live scene and add all requested objects to it."""
        before = set() if self.live is None else set(self.live.objects)
        self.live = live
        if live is None:
            return

        def order(request: ObjectRequest) -> tuple[bool, bool]:
            """Sort objects that were present first: new ones must not take their slots."""
            name = request.name
            was_there = name in before and self._present(name) is request
            return not was_there, name in self._refusals

        for request in sorted([*self._still_present.values(), *self.requests.values()], key=order):
            self._add_to_scene(request)

    def request(self, request: ObjectRequest) -> bool:
        """Add or replace an object; return whether that was possible."""
        name = request.name
        before = self.requests.get(name)
        if before is None and len(self.requests) >= _MAX_REQUESTS:
            self.refuse(name, f"more than {_MAX_REQUESTS} objects are requested", request.expires)
            return False
        if before is not None:
            if self.is_monitored(name):
                self._still_present[name] = before
            self._waiting.pop(name, None)
        self.requests[name] = request
        self._clear(name)
        if name in self._waiting:  # a request to attach a new object still counts
            self._attach_later(name, *self._waiting[name])
        return self._add_to_scene(request)

    def is_monitored(self, name: str) -> bool:
        """Whether the requested object is present, not only a previous one of that name."""
        if name not in self.requests or name in self._still_present:
            return False
        if self.live is None:
            return _ROBOT not in self._refusals.get(name, {})
        return name in self.live.objects

    def fill(self, name: str, shape: ObjectGeometry | np.ndarray) -> bool:
        """Set the shape of an object that was loading; return whether it could be added."""
        if name not in self.requests:
            return False
        self.requests[name] = replace(self.requests[name], shape=shape)
        return self._add_to_scene(self.requests[name])

    def _present(self, name: str) -> ObjectRequest | None:
        """The object that is present if any is: the previous one until the requested one is."""
        return self._still_present.get(name, self.requests.get(name))

    def _add_to_scene(self, request: ObjectRequest) -> bool:
        name, is_requested = request.name, request is self.requests.get(request.name)
        try:
            if request.shape is None:
                raise LiveSceneError("its mesh is being loaded")
            if self.live is None:
                return True
            self.live.add(name, request.shape, *self._located(request), request.touch)
        except LiveSceneError as error:
            if is_requested:
                why = str(error).removeprefix(f"{name}: ")
                self._refuse(name, _ROBOT, why, request.expires)
            return False
        if is_requested:
            self._still_present.pop(name, None)
            self._clear(name, _ROBOT)
        return True

    def _located(self, request: ObjectRequest) -> tuple[str, np.ndarray]:
        """Return the link that a requested object is on, and its pose (4, 4) there."""
        if self.find is None:
            return request.link, request.pose
        link, frame = self.find(request.link)
        return link, frame @ request.pose

    # -- attached objects --

    def attach(
        self, name: str, link: str, q: np.ndarray | None, touch: Collection[str] = ()
    ) -> bool:
        """Attach an object to a link at its pose at ``q`` (nq,); return whether that was possible.

        ``q``: None if the joint positions are unknown; `retry` attaches the object once they are
        known and it is present. If there is no room for it on the link, it is requested there, at
        the pose at ``q``. A previous object of that name is attached meanwhile.
        """
        return self._attach(name, link, q, touch)

    def place(self, name: str, q: np.ndarray | None) -> bool:
        """Put an object into the world, fixed to the root link, at its pose at ``q`` (nq,).

        As `attach`, also for an object whose frame moves.
        """
        return self._attach(name, None, q, ())

    def _attach(
        self, name: str, link: str | None, q: np.ndarray | None, touch: Collection[str]
    ) -> bool:
        """``link``: None for the world."""
        self._waiting.pop(name, None)
        request = self.requests.get(name)
        if request is None or self.live is None or q is None:
            self._attach_later(name, link, touch)
            return False
        was_monitored, is_previous_moved = self.is_monitored(name), False
        try:
            if name in self._still_present:
                previous = self._moved(self._still_present[name], link, q, touch)
                is_previous_moved = self._add_to_scene(previous)
                if is_previous_moved:
                    self._still_present[name] = previous
            moved = self._moved(request, link, q, touch)
        except CollisionMonitorError as error:
            why = str(error).removeprefix(f"{name}: ") if was_monitored else ""
            self._attach_later(name, link, touch, why)
            return is_previous_moved
        if was_monitored:
            self._still_present[name] = request
        self.requests[name] = moved
        is_added = self._add_to_scene(moved)
        self._clear(name, _ATTACHING)
        return is_added or is_previous_moved

    def _moved(
        self, request: ObjectRequest, link: str | None, q: np.ndarray, touch: Collection[str]
    ) -> ObjectRequest:
        """Return the request for an object on another link, at its pose at ``q`` (nq,)."""
        name, live = request.name, self.live
        obj = live.objects.get(name) if self._present(name) is request else None
        frame, pose = self._located(request) if obj is None else (obj.link, obj.pose)
        to = live.model.root if link is None else link
        return replace(
            request, link=to, pose=live.pose_on(name, to, frame, pose, q), touch=frozenset(touch),
            is_attached=link is not None,
        )  # fmt: skip

    def _attach_later(
        self, name: str, link: str | None, touch: Collection[str], why: str = ""
    ) -> None:
        """``why``: why it was refused; empty if `retry` is to do it."""
        what, expires = "there is no such object", math.inf
        if (request := self.requests.get(name)) is not None:
            what, expires = why or "the pose of the robot is unknown", request.expires
        where = "placed in the world" if link is None else f"attached to {link!r}"
        self.refuse_attaching(name, f"to be {where}, but {what}", expires)
        if name in self._refusals:  # otherwise there are too many refusals
            self._waiting[name] = link, touch, why

    def retry(self, q: np.ndarray | None) -> None:
        """Attach objects that could not be attached while they or joint positions were missing."""
        if self.live is None or q is None:
            return
        for name, (link, touch, refused) in list(self._waiting.items()):
            request = self.requests.get(name)
            # The pose of what a link has no room for is known, too.
            has_pose = request is not None and (request.is_attached or self.is_monitored(name))
            if has_pose and not refused:
                self._attach(name, link, q, touch)

    def detach(self, name: str, q: np.ndarray | None) -> bool:
        """Detach an object at its pose at ``q`` (nq,); return whether that was possible.

        An object that is not attached yet stays in place.
        """
        if self._waiting.pop(name, None) is not None:
            self._clear(name, _ATTACHING)
            if not self.is_attached(name):
                return True
        return self.place(name, q)

    def is_attached(self, name: str) -> bool:
        """Whether an object is attached to a link, is to be, or moves with one."""
        return name in self._waiting or name in self.carried() or self.attachment(name) is not None

    def attachment(self, name: str) -> tuple[str, Collection[str]] | None:
        """Link that an object is attached to, or is to be, and what it may touch; else None."""
        if name not in self.requests:
            return None
        if name in self._waiting:
            link, touch, _ = self._waiting[name]
            return None if link is None else (link, touch)
        for each in (self.requests[name], self._still_present.get(name)):
            if each is not None and each.is_attached:
                return each.link, each.touch
        return None

    def detach_all(self, q: np.ndarray | None) -> None:
        """Detach all attached objects at their poses at ``q`` (nq,)."""
        for name in {*self.requests, *self._waiting, *self.carried()}:
            if self.is_attached(name):
                self.detach(name, q)

    def carried(self) -> list[str]:
        """Return the names of all objects on moving links."""
        things = () if self.live is None else self.live.objects.values()
        return [obj.name for obj in things if obj.body > 0]

    # -- objects that go --

    def drop(self, name: str) -> None:
        """Remove an object and clear its fault."""
        self.requests.pop(name, None)
        self._still_present.pop(name, None)
        self._waiting.pop(name, None)
        self._clear(name)
        if self._refusals.keys() == {"..."}:
            self._clear("...")
        self._remove_object(name)

    def expire(self, now: float) -> None:
        """Remove requests, their objects, and faults that have expired at ``now`` (seconds)."""
        self._expire_refusals(now)
        for name in [name for name, old in self._still_present.items() if old.expires <= now]:
            del self._still_present[name]
            self._remove_object(name)
        for name in [name for name, request in self.requests.items() if request.expires <= now]:
            del self.requests[name]
            self._waiting.pop(name, None)
            if name in self._still_present:  # the object that is still present becomes the request
                self.requests[name] = self._still_present.pop(name)
                self._add_to_scene(self.requests[name])
            else:
                self._remove_object(name)

    def _remove_object(self, name: str) -> None:
        if self.live is not None:
            self.live.remove(name)

    # -- faults --

    @property
    def refused(self) -> dict[str, tuple[str, float]]:
        """By name, why an object is not monitored, and until when this counts (seconds)."""
        return {name: reasons[min(reasons)] for name, reasons in self._refusals.items()}

    def refuse(self, name: str, why: str, expires: float = math.inf) -> None:
        """Record that an object is not monitored; an earlier one of that name still is."""
        self._refuse(name, _MESSAGE, why, expires)

    def refuse_attaching(self, name: str, why: str, expires: float = math.inf) -> None:
        """Record that an object could not be attached; other faults of the object are kept."""
        self._refuse(name, _ATTACHING, why, expires)

    def withdraw_refusal(self, name: str) -> None:
        """Clear the fault of an object, unless it is not present or not attached as requested."""
        self._clear(name, _MESSAGE)
        if name not in self._waiting:
            self._clear(name, _ATTACHING)

    def _refuse(self, name: str, kind: int, why: str, expires: float) -> None:
        if name not in self._refusals and len(self._refusals) >= _MAX_REFUSED:
            name, why, expires = "...", f"more than {_MAX_REFUSED} objects", math.inf
        self._refusals.setdefault(name, {})[kind] = why, expires
        self._next_expiry = min(self._next_expiry, expires)
        self._update_fault()

    def _clear(self, name: str, *kinds: int) -> None:
        """Clear reasons of these kinds, by default all."""
        reasons = self._refusals.get(name, {})
        found = reasons.keys() & (kinds or _KINDS)
        if not found:
            return
        for kind in found:
            del reasons[kind]
        if not reasons:
            del self._refusals[name]
        self._update_fault()

    def fault(self, now: float) -> str:
        """Return the requested objects that are not monitored, as a sentence; empty without any."""
        self._expire_refusals(now)
        return self._fault

    def _expire_refusals(self, now: float) -> None:
        if now >= self._next_expiry:
            self._next_expiry = math.inf  # who is told of changes may ask for the fault
            all_of = [(name, *each) for name, r in self._refusals.items() for each in r.items()]
            for name, kind, (_, end) in all_of:
                if end <= now:
                    self._clear(name, kind)
            ends = [end for reasons in self._refusals.values() for _, end in reasons.values()]
            self._next_expiry = min(ends, default=math.inf)

    def _update_fault(self) -> None:
        shown = [
            f"{name}: {reasons[min(reasons)][0]}"
            for name, reasons in islice(self._refusals.items(), _LISTED)
        ]
        more = len(self._refusals) - len(shown)
        text = f"scene refused: {'; '.join(shown)}" + (f"; {more} more" if more else "")
        self._fault = text if self._refusals else ""
        self.changed()


def _nothing() -> None:
    pass
