# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
r"""Take the picture of docs/view.md in RViz 1.14 of ROS 1, which Debian has.

ROS 1 has the same messages. ``record FOLDER`` runs with this package and writes a MarkerArray, the
URDF, the transforms and the configuration of RViz; ``replay FOLDER`` runs with Debian's Python and
publishes them in ROS 1. The steps, in the folder of the package:

    apt-get install rviz xvfb python3-rosmaster python3-rospy python3-visualization-msgs \
        python3-tf2-msgs imagemagick
    PYTHONPATH=.:test:docs .venv/bin/python docs/make_rviz_picture.py record recorded
    xvfb-run -s "-screen 0 1400x900x24" sh -c '
      export ROS_MASTER_URI=http://127.0.0.1:11311 ROS_HOSTNAME=127.0.0.1 LIBGL_ALWAYS_SOFTWARE=1
      rosmaster --core & sleep 3
      /usr/bin/python3 docs/make_rviz_picture.py replay recorded & sleep 3
      rviz -d recorded/view.rviz & sleep 60; import -window root docs/rviz.png; kill $(jobs -p)'
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
INSTANT = 41.0  # of the motion: the hands approach each other


def record(folder: Path) -> None:
    """Write what the monitor publishes at one instant of the shipped motion."""
    from make_marker_picture import shown
    from scipy.spatial.transform import Rotation

    from collision_monitor import CollisionModel
    from collision_monitor.motion import read_motion
    from collision_monitor.robot.packages import publishable

    urdf = ROOT / "urdf/dual_arm.urdf"
    model = CollisionModel.from_urdf(
        urdf, srdf=ROOT / "urdf/dual_arm.srdf", scene=ROOT / "urdf/dual_arm_scene.yaml"
    )
    motion = read_motion(ROOT / "config/dual_arm_motion.csv")
    q = motion.at(INSTANT)[[motion.joint_names.index(name) for name in model.joint_names]]
    markers = [_plain(marker) for marker in shown(model, q).shown.values()]
    transforms = {}
    for link, pose in model.link_poses(q).items():
        turn = Rotation.from_matrix(pose[:3, :3]).as_quat()
        transforms[link] = [*pose[:3, 3].tolist(), *turn.tolist()]
    text = publishable(urdf, (ROOT.parent,))[0]
    config = (ROOT / "rviz/collision_monitor.rviz").read_text()
    config = config.replace("rviz_default_plugins/", "rviz/").replace("rviz_common/", "rviz/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "robot.urdf").write_text(text)
    (folder / "markers.json").write_text(json.dumps(markers))
    (folder / "transforms.json").write_text(json.dumps([model.root, transforms]))
    (folder / "view.rviz").write_text(_topics_as_names(config))


def _plain(message: Any) -> Any:
    """A message of ROS 2 as numbers, texts, lists and dictionaries."""
    if hasattr(message, "get_fields_and_field_types"):
        names = message.get_fields_and_field_types()
        return {name: _plain(getattr(message, name)) for name in names}
    if isinstance(message, (list, tuple)):
        return [_plain(each) for each in message]
    return message if isinstance(message, (str, int, float)) else None


def _topics_as_names(config: str) -> str:
    """The configuration with topics as plain names, as RViz of ROS 1 has them."""
    import yaml

    tree = yaml.safe_load(config)
    for display in tree["Visualization Manager"]["Displays"]:
        topic = display.pop("Topic", None)
        if topic is not None:
            display["Marker Topic"] = "/" + topic["Value"]
        if display["Class"] == "rviz/RobotModel":
            display["Robot Description"] = "robot_description"
    return yaml.safe_dump(tree, sort_keys=False)


def replay(folder: Path) -> None:
    """Publish the recorded messages in ROS 1 until it is ended."""
    import rospy
    from geometry_msgs.msg import TransformStamped
    from tf2_msgs.msg import TFMessage
    from visualization_msgs.msg import MarkerArray

    rospy.init_node("replay")
    rospy.set_param("robot_description", (folder / "robot.urdf").read_text())
    markers = MarkerArray()
    for values in json.loads((folder / "markers.json").read_text()):
        markers.markers.append(_marker(values))
    root, transforms = json.loads((folder / "transforms.json").read_text())
    moved = TFMessage()
    for link, (x, y, z, qx, qy, qz, qw) in transforms.items():
        if link == root:
            continue
        each = TransformStamped(child_frame_id=link)
        each.header.frame_id = root
        t, r = each.transform.translation, each.transform.rotation
        t.x, t.y, t.z, r.x, r.y, r.z, r.w = x, y, z, qx, qy, qz, qw
        moved.transforms.append(each)
    shows = rospy.Publisher("/collision_monitor/markers", MarkerArray, queue_size=10)
    places = rospy.Publisher("/tf", TFMessage, queue_size=10)
    rate = rospy.Rate(10)
    while not rospy.is_shutdown():
        now = rospy.Time.now()
        for each in moved.transforms:
            each.header.stamp = now
        places.publish(moved)
        shows.publish(markers)
        rate.sleep()


def _marker(values: dict[str, Any]) -> Any:
    """A marker of ROS 1; its stamp is zero, which is the latest transform, and it stays."""
    import rospy
    from geometry_msgs.msg import Point
    from std_msgs.msg import ColorRGBA
    from visualization_msgs.msg import Marker

    marker = Marker(
        ns=values["ns"], id=values["id"], type=values["type"], action=values["action"],
        text=values["text"], lifetime=rospy.Duration(0),
    )  # fmt: skip
    marker.header.frame_id = values["header"]["frame_id"]
    for name in ("position", "orientation"):
        for key, value in values["pose"][name].items():
            setattr(getattr(marker.pose, name), key, value)
    for key, value in values["scale"].items():
        setattr(marker.scale, key, value)
    marker.color = ColorRGBA(**values["color"])
    marker.points = [Point(**point) for point in values["points"]]
    return marker


if __name__ == "__main__":
    {"record": record, "replay": replay}[sys.argv[1]](Path(sys.argv[2]))
