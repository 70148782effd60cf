# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Requested objects of a scene, independent of the robot, and faults of those not monitored."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from collision_monitor.errors import CollisionMonitorError, LiveSceneError
from collision_monitor.model.live.lifetime_clock import LifetimeClock
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.robot.description import Shape

_LISTED = 3  # reasons listed in the message; further ones are counted
_MAX_REFUSED = 1000
_MAX_REQUESTS = 5000  # more than any scene can hold


@dataclass(frozen=True, eq=False)
class ObjectRequest:
    """A requested object; fields as in `LiveScene.add`.

    ``link`` may be any frame that `DesiredScene.find` knows. ``shape`` is None while its mesh is
    being loaded. ``source`` is the original request. ``is_attached``: whether `DesiredScene.attach`
    has attached the object to a link; `DesiredScene.place` has put it back into the world.
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
    Until then the previous object of that name remains, for the next robot as well.

    Attributes:
        clock: by which requested objects expire; those of the live scene do not expire by another.
        live: the scene of the monitored robot; None before there is one.
        changed: called when `fault` may have changed.
        find: returns the link that a frame is fixed to, and its pose (4, 4) there; None if frames
            are links.
        requests: requested objects by name.
        refused: by name, why an object is not monitored, and until when this counts (seconds).
    """

    def __init__(self, find: Callable[[str], tuple[str, np.ndarray]] | None = None) -> None:
        """Start without objects."""
        self.find = find
        self.changed: Callable[[], None] = _nothing
        self.clock = LifetimeClock()
        self.live: LiveScene | None = None
        self.requests: dict[str, ObjectRequest] = {}
        self.refused: dict[str, tuple[str, float]] = {}
        self._still_present: dict[str, ObjectRequest] = {}  # present although replaced by a request
        # Objects still to be attached: the link, None for the world, and what they may touch.
        self._waiting: dict[str, tuple[str | None, Collection[str]]] = {}
        # Refusals that another robot, or a loaded mesh, may resolve; and those of attaching.
        self._resolvable: set[str] = set()
        self._attach_refusals: set[str] = set()
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
            was_there = name in before and self._still_present.get(name, request) is request
            return not was_there, name in self.refused

        for request in sorted([*self._still_present.values(), *self.requests.values()], key=order):
            self._add_to_scene(request, False)

    def request(self, request: ObjectRequest) -> bool:
        """Add or replace an object; return whether that was possible."""
        name = request.name
        if name not in self.requests and len(self.requests) >= _MAX_REQUESTS:
            self.refuse(name, f"more than {_MAX_REQUESTS} objects are requested", request.expires)
            return False
        before = self.requests.get(name)
        if before is not None:  # a request to attach a new object still counts
            self._waiting.pop(name, None)
        if before is not None and self._is_present(before):
            self._still_present.setdefault(name, before)
        self.requests[name] = request
        return self._add_to_scene(request, True)

    def _is_present(self, request: ObjectRequest) -> bool:
        if request.shape is None or request.name in self._resolvable:
            return False
        return self.live is None or request.name in self.live.objects

    def fill(self, name: str, shape: ObjectGeometry | np.ndarray) -> bool:
        """Set the shape of an object that was loading; return whether it could be added."""
        if name not in self.requests:
            return False
        self.requests[name] = replace(self.requests[name], shape=shape)
        return self._add_to_scene(self.requests[name], False)

    def _add_to_scene(self, request: ObjectRequest, is_new: bool) -> bool:
        """``is_new``: whether the object was just requested, which clears an earlier fault."""
        name = request.name
        if request.shape is None:
            self._refuse_by_robot(name, "its mesh is being loaded", request.expires, is_new)
            return False
        if self.live is None:
            return True
        try:
            link, pose = request.link, request.pose
            if self.find is not None:
                link, frame = self.find(link)
                pose = frame @ pose
            self.live.add(name, request.shape, link, pose, request.touch)
        except LiveSceneError as error:
            why = str(error).removeprefix(f"{name}: ")
            self._refuse_by_robot(name, why, request.expires, is_new)
            return False
        if request is not self.requests.get(name):
            return True  # a different object of this name is requested
        self._still_present.pop(name, None)
        if is_new or name in self._resolvable:
            self.clear_refusal(name)
        if name in self._waiting:
            self._attach_later(name, *self._waiting[name])
        return True

    def _refuse_by_robot(self, name: str, why: str, expires: float, is_new: bool) -> None:
        is_resolvable = name in self._resolvable or name in self._attach_refusals
        if is_new or name not in self.refused or is_resolvable:
            self.refuse(name, why, expires)
            self._resolvable.add(name)

    def refuse(self, name: str, why: str, expires: float = math.inf) -> None:
        """Record that an object is not monitored; an earlier one of that name still is."""
        if name not in self.refused and len(self.refused) >= _MAX_REFUSED:
            name, why, expires = "...", f"more than {_MAX_REFUSED} objects", math.inf
        self._resolvable.discard(name)
        self._attach_refusals.discard(name)
        self.refused[name] = why, expires
        self._next_expiry = min(self._next_expiry, expires)
        self._update_fault()

    def refuse_attaching(self, name: str, why: str, expires: float = math.inf) -> None:
        """Record that an object could not be attached; other faults of the object are kept."""
        if name not in self.refused or name in self._attach_refusals:
            self.refuse(name, why, expires)
            self._attach_refusals.add(name)

    def clear_refusal(self, name: str) -> None:
        """Clear the fault of an object."""
        self._resolvable.discard(name)
        self._attach_refusals.discard(name)
        if self.refused.pop(name, None) is not None:
            self._update_fault()

    def drop(self, name: str) -> None:
        """Remove an object and clear its fault."""
        self.requests.pop(name, None)
        self._still_present.pop(name, None)
        self._waiting.pop(name, None)
        self.clear_refusal(name)
        if self.refused.keys() == {"..."}:
            self.clear_refusal("...")
        self._remove_object(name)

    def attach(
        self, name: str, link: str, q: np.ndarray | None, touch: Collection[str] = ()
    ) -> bool:
        """Attach an object to a link at its pose at ``q`` (nq,); return whether that was possible.

        ``q``: None if the joint positions are unknown; `retry` attaches the object once they are
        known and its mesh is loaded.
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
        if name not in self.requests:
            self._attach_later(name, link, touch)
            return False
        request = self._still_present.get(name, self.requests[name])
        if self.live is None or q is None or self.requests[name].shape is None:
            self._attach_later(name, link, touch)
            return False
        try:
            self.live.attach(name, self.live.model.root if link is None else link, q, touch)
        except CollisionMonitorError as error:
            self.refuse_attaching(name, str(error).removeprefix(f"{name}: "), request.expires)
            return False
        obj = self.live.objects[name]
        carried = replace(
            request, shape=obj.geometry, link=obj.link, pose=obj.pose, touch=frozenset(touch),
            is_attached=link is not None,
        )  # fmt: skip
        if name in self._still_present:
            self._still_present[name] = carried
        else:
            self.requests[name] = carried
        if name in self._attach_refusals:
            self.clear_refusal(name)
        return True

    def _attach_later(self, name: str, link: str | None, touch: Collection[str]) -> None:
        what, expires = "there is no such object", math.inf
        if (request := self.requests.get(name)) is not None:
            what = "the pose of the robot is unknown"
            if request.shape is None:
                what = "its mesh is being loaded"
            expires = request.expires
        where = "placed in the world" if link is None else f"attached to {link!r}"
        self.refuse_attaching(name, f"to be {where}, but {what}", expires)
        if name in self.refused:  # otherwise there are too many refusals
            self._waiting[name] = link, touch

    def retry(self, q: np.ndarray | None) -> None:
        """Attach objects that could not be attached while the joint positions were unknown."""
        if self.live is not None and q is not None:
            for name, (link, touch) in list(self._waiting.items()):
                self._attach(name, link, q, touch)

    def detach(self, name: str, q: np.ndarray | None) -> bool:
        """Detach an object at its pose at ``q`` (nq,); return whether that was possible.

        An object that is not attached yet stays in place.
        """
        request = self.requests.get(name)
        is_attached = name in self.carried() or (request is not None and request.is_attached)
        if self._waiting.pop(name, None) is not None and not is_attached:
            if name in self._attach_refusals:
                self.clear_refusal(name)
            return True
        return self.place(name, q)

    def is_carried(self, name: str) -> bool:
        """Whether an object is on a moving link, or is to be attached to one."""
        return name in self._waiting or name in self.carried()

    def attached_to(self, name: str) -> str | None:
        """Link that an object is attached to, or is to be attached to; None for others."""
        request = self.requests.get(name)
        if request is None:
            return None
        if name in self._waiting:
            return self._waiting[name][0]
        return request.link if request.is_attached else None

    def detach_all(self, q: np.ndarray | None) -> None:
        """Detach all attached objects at their poses at ``q`` (nq,)."""
        for name in {*self.carried(), *self._waiting}:
            self.detach(name, q)

    def carried(self) -> list[str]:
        """Return the names of all objects on moving links."""
        things: Iterable = () if self.live is None else self.live.objects.values()
        return [obj.name for obj in things if obj.body > 0]

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
                self._recheck(name, now)
            else:
                self._remove_object(name)

    def _remove_object(self, name: str) -> None:
        if self.live is not None:
            self.live.remove(name)

    def _expire_refusals(self, now: float) -> None:
        if now >= self._next_expiry:
            self._next_expiry = math.inf  # who is told of changes may ask for the fault
            for name in [name for name, (_, end) in self.refused.items() if end <= now]:
                self.clear_refusal(name)
                self._recheck(name, now)
            self._next_expiry = min((end for _, end in self.refused.values()), default=math.inf)
            self._update_fault()

    def withdraw_refusal(self, name: str) -> None:
        """Clear the fault of an object, unless the one that is requested is not present either."""
        self.clear_refusal(name)
        self._recheck(name, self.clock.now)

    def _recheck(self, name: str, now: float) -> None:
        """After a refusal has expired, check whether the requested object is present."""
        request = self.requests.get(name)
        if request is not None and request.expires <= now:
            return
        present = self.live is None or name in self.live.objects
        is_replaced = name in self._still_present
        if request is not None and (is_replaced or request.shape is None or not present):
            self._add_to_scene(request, True)
        elif name in self._waiting:
            self._attach_later(name, *self._waiting[name])

    def fault(self, now: float) -> str:
        """Return the requested objects that are not monitored, as a sentence; empty without any."""
        self._expire_refusals(now)
        return self._fault

    def _update_fault(self) -> None:
        shown = [f"{name}: {why}" for name, (why, _) in islice(self.refused.items(), _LISTED)]
        more = len(self.refused) - len(shown)
        text = f"scene refused: {'; '.join(shown)}" + (f"; {more} more" if more else "")
        self._fault = text if self.refused else ""
        self.changed()


def _nothing() -> None:
    pass
