# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``python -m collision_monitor``: the command line."""

import sys

from collision_monitor.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
