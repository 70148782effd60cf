# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of the last minutes: none changed, the oldest dropped, never more than there is room."""

from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.recording.stop_recorder import HEAD, MessageRing
from collision_monitor.recording.write_mcap import messages_of


class Clock:
    """Seconds, as told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def held(ring):
    """All messages in it."""
    return [m for segment in ring.segments() for m in messages_of(bytes(segment))]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 60_000), st.binary(max_size=300), st.floats(0.0, 3.0)),
        max_size=200,
    ),
    st.integers(1500, 20_000),
    st.floats(0.5, 100.0),
)
def test_what_is_held_is_the_end_of_what_came(messages, most, seconds):
    clock = Clock()
    ring = MessageRing(seconds, most, clock)
    came, times = [], []
    for k, (channel, data, wait) in enumerate(messages):
        clock.now += wait
        ring.add(channel, k - 50, data)
        if len(data) + HEAD.size <= most // 2:
            came.append((k - 50, channel, data))
            times.append(clock.now)
        assert ring.bytes <= most
    found = held(ring)
    assert found == came[len(came) - len(found) :]
    assert ring.left_out == len(messages) - len(came)
    if came:
        assert found, "the newest is always there"
    # Nothing young is dropped where there is room for all.
    if sum(len(data) + HEAD.size for _, _, data in came) <= most:
        young = [m for m, at in zip(came, times, strict=True) if clock.now - at <= seconds]
        assert found[len(found) - len(young) :] == young


def test_old_messages_go_although_there_is_room():
    clock = Clock()
    ring = MessageRing(10.0, 1 << 22, clock)
    for k in range(5000):
        clock.now += 0.01
        ring.add(0, k, bytes(1000))
    first = held(ring)[0][0]
    assert 10.0 <= (4999 - first) * 0.01 + 0.01 < 10.0 + 0.01 * 2 * (1 << 18) / 1000
    assert 10.0 <= ring.seconds < 16.0


def test_what_was_handed_out_does_not_change():
    ring = MessageRing(10.0, 1 << 20, Clock())
    ring.add(1, 7, b"one")
    segments = ring.segments()
    copy = [bytes(segment) for segment in segments]
    for k in range(100):
        ring.add(1, k, b"two" * 100)
    assert [bytes(segment) for segment in segments] == copy


def test_the_scene_is_that_before_the_oldest_message_that_is_held():
    clock, now = Clock(), [0, 0]

    def scene():
        return now[0], now[1]

    ring = MessageRing(10.0, 1 << 22, clock, scene)
    assert ring.scene is None, "nothing has come"
    for k in range(5000):
        clock.now += 0.01
        now[:] = k, 7  # a change that the message tells of: k is known before it
        ring.add(0, k, bytes(1000))
    first = held(ring)[0][0]
    assert ring.scene == first > 0


def test_what_a_scene_takes_counts():
    clock = Clock()
    small, large = (MessageRing(1e9, 1 << 20, clock, lambda n=n: (None, n)) for n in (0, 100_000))
    for k in range(5000):
        small.add(0, k, bytes(1000))
        large.add(0, k, bytes(1000))
        assert large.bytes <= 1 << 20
    assert len(held(large)) < 0.7 * len(held(small))
