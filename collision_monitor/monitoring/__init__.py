# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Online monitoring: joint states in, `monitor.MonitorState` out, without ROS.

`monitor.Monitor` merges joint states (`joint_state_buffer`), computes minimum distances, lets a
policy decide about action and speed (speed_policy/), and reports invalid or missing data
(`watchdogs`).
"""
