# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Package collision_monitor: a ROS 2 package (ament_python) and a plain Python library."""

from pathlib import Path

from setuptools import find_packages, setup

NAME = "collision_monitor"
SHARE = f"share/{NAME}"
# colcon build --symlink-install runs this file through a symlink, from another folder.
ROOT = Path(__file__).resolve().parent

# rclpy and the message packages as wheels; a sourced ROS 2 installation has its own.
ROS = [
    f"{package}; platform_system == 'Linux' and platform_machine == 'x86_64'"
    for package in ("ros-jazzy-rclpy[fastrtps]", "ros-jazzy-common-interfaces")
]
PICTURE = ["pyvista>=0.43", "matplotlib>=3.7"]
ADJUST = ["daqp>=0.7", "piqp>=0.5", "toppra>=0.6", "matplotlib>=3.7"]
VERIFY = ["pin>=3.4", "rosbags>=0.11", "jinja2>=3.0", "distributed>=2023.1", *PICTURE]
SIMULATION = ["mujoco>=3.3"]
VIEW = ["viser>=1.1"]
RECORD = ["mcap>=1.2"]
PEERS = ["pin>=3.4", "example-robot-data>=4.3"]
FOLLOWERS = ["pin-pink>=4.0", "qpsolvers>=4.3"]
PLANNERS = ["ompl>=2.0; platform_system == 'Linux'"]


def data_files(*folders: str) -> list[tuple[str, list[str]]]:
    """Every file of the folders, for share/; hidden files and Python caches stay out."""
    return [
        (
            f"{SHARE}/{folder}",
            [
                path.relative_to(ROOT).as_posix()
                for path in sorted((ROOT / folder).iterdir())
                if path.is_file() and not path.name.startswith(".")
            ],
        )
        for folder in folders
    ]


setup(
    name=NAME,
    version="0.1.0",
    description="Clearance of robot arms while they move: a ROS 2 node and a library",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="collision_monitor developers",
    author_email="maintainers@users.noreply.github.com",
    maintainer="collision_monitor developers",
    maintainer_email="maintainers@users.noreply.github.com",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={f"{NAME}.verification.report": ["*.html", "*.css"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (SHARE, ["package.xml"]),
        *data_files(
            "launch", "config", "config/drivers", "config/probe_arm", "config/space_arm",
            "config/space_arm/motions", "rviz", "urdf", "urdf/meshes",
        ),  # fmt: skip
    ],
    zip_safe=False,  # common/compiled.py reads the files beside it
    install_requires=[
        "setuptools",
        "numpy>=1.23",
        "scipy>=1.9",
        "numba>=0.57,<0.69",  # tested with these (docs/troubleshooting.md)
        "trimesh>=3.20",
        "networkx>=2.8",
        "coal>=3.0",
        "urdf-parser-py>=0.0.4",
        "lxml>=4.8",
        "pyyaml>=5.4",
    ],
    extras_require={
        "ros": ROS,
        "demo": [*ROS, *VIEW, *RECORD],
        "picture": PICTURE,
        "adjust": ADJUST,
        "verify": VERIFY,
        "simulation": [*ROS, *SIMULATION],
        "view": VIEW,
        "record": RECORD,
        "bench": [*ROS, *PEERS, *ADJUST, *FOLLOWERS, *PLANNERS],
        "test": [
            *ROS,
            *PICTURE,
            *ADJUST,
            *VERIFY,
            *SIMULATION,
            *VIEW,
            *RECORD,
            *PEERS,
            "playwright>=1.40",  # drives a Chromium that is there, and downloads none
            "pytest>=7",
            "pytest-timeout>=2.1",
            "pytest-xdist>=3.7",  # --no-loadscope-reorder
            "hypothesis>=6.80",
            "pycollada>=0.7",
            "python-fcl>=0.7",
            "griffe2md>=1.5,<1.6",  # writes docs/api.md; another version may format differently
            "ruff>=0.6",
            "colcon-common-extensions>=0.3",
        ],
    },
    entry_points={
        "console_scripts": [
            f"{NAME} = {NAME}.nodes.collision_monitor:main",
            f"{NAME}_lifecycle = {NAME}.nodes.collision_monitor:lifecycle_main",
            f"self_collision = {NAME}.nodes.self_collision:main",
            f"simulation = {NAME}.nodes.simulation:main",
        ],
    },
)
