# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of query times in README.md and the report are what one command writes."""

import sys

from support.paths import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from common import distance_tables  # noqa: E402
from common.distance_tables import block_in, for_readme  # noqa: E402


def test_the_readme_has_columns_of_the_table_in_the_docs():
    full, short = (block_in(page) for page in distance_tables.PAGES)
    assert short == for_readme(full)
