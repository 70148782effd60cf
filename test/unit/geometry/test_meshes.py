# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes are read whole or not at all."""

from __future__ import annotations

import struct

import coal
import numpy as np
import pytest
import trimesh
from support.robots.robots import require

from collision_monitor.errors import MeshError, SceneError
from collision_monitor.geometry.meshes import MeshLoader

TETRAHEDRON = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])  # normals point outwards


def binary_stl(triangles=TETRAHEDRON[FACES], header=b"solid in spite of being binary") -> bytes:
    data = header.ljust(80) + struct.pack("<I", len(triangles))
    for triangle in triangles:
        data += struct.pack("<12fH", 0, 0, 0, *np.ravel(triangle), 0)
    return data


def ascii_stl(triangles=TETRAHEDRON[FACES], name="part") -> str:
    facets = "".join(
        "  facet normal 0 0 0\n    outer loop\n"
        + "".join("      vertex {:.9e} {:.9e} {:.9e}\n".format(*v) for v in triangle)
        + "    endloop\n  endfacet\n"
        for triangle in triangles
    )
    return f"solid {name}\n{facets}endsolid {name}\n"


OBJ = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"

DAE = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset>{asset}</asset>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array>
<technique_common><accessor source="#a" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
{primitives}
</mesh></geometry></library_geometries>
<library_nodes><node id="part"><translate>0 0 5</translate><instance_geometry url="#g"/></node>
</library_nodes>
<library_visual_scenes><visual_scene id="vs">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#vs"/></scene></COLLADA>"""
INPUT = '<input semantic="VERTEX" source="#v" offset="0"/>'
TRIANGLES = f'<triangles count="4">{INPUT}<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>'
NODE = '<node id="n">{}<instance_geometry url="#g"/></node>'
PLAIN_NODE = NODE.format("")


def dae(asset="", primitives=TRIANGLES, nodes=PLAIN_NODE) -> str:
    return DAE.format(asset=asset, primitives=primitives, nodes=nodes)


def load(tmp_path, name, data, **arguments):
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return MeshLoader().load(path, "link 'arm'", **arguments)


def refused(tmp_path, name, data, **arguments) -> str:
    with pytest.raises(MeshError) as caught:
        load(tmp_path, name, data, **arguments)
    message = str(caught.value)
    assert "link 'arm'" in message
    assert name in message
    return message


def volume(vertices, triangles) -> float:
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def sorted_rows(points) -> np.ndarray:
    return np.unique(np.round(points, 6) + 0.0, axis=0)


GOOD = {
    "binary.stl": binary_stl(),
    "BINARY.STL": binary_stl(header=b""),
    "ascii.stl": ascii_stl(),
    "windows.stl": ascii_stl().replace("\n", "\r\n"),
    "shouting.stl": ascii_stl().upper(),
    "words.stl": ascii_stl(name="facet vertex endsolid"),
    "names.stl": ascii_stl(name="Åsgård \x85 \u2028 arm"),  # some end a line of a str
    "latin.stl": ascii_stl(name="Teil \x85 Fuß").encode("latin-1"),
    "names.obj": "o Åsgård \x85 arm\n# a \u2028 b \x0c c\n" + OBJ,
    "halves.stl": ascii_stl(TETRAHEDRON[FACES][:2]) + ascii_stl(TETRAHEDRON[FACES][2:], "b"),
    "plain.obj": OBJ,
    "windows.obj": OBJ.replace("\n", "\r\n"),
    "relative.obj": OBJ.replace("f 1 3 2", "f -4 -2 -3"),
    "early.obj": "v 0 0 0\nv 1 0 0\nv 0 2 0\nf -3 -1 -2\nv 0 0 3\nf -4 -3 -1\nf 1 4 3\nf 2 3 4\n",
    "slashes.obj": "mtllib no.mtl\nusemtl red\nvt 0 0\nvn 0 0 1\ns off\no part\ng a\n"
    + OBJ.replace("f 1 3 2", "f 1/1/1 3//1 2/1"),
    "comments.obj": "# made by hand\n" + OBJ.replace("f 1 3 2", "f 1 3 \\\n 2 # first"),
    "unused.obj": "v 9 9 9\n"
    + OBJ.replace("f 1 3 2", "f 2 4 3")
    .replace("f 1 2 4", "f 2 3 5")
    .replace("f 1 4 3", "f 2 5 4")
    .replace("f 2 3 4", "f 3 4 5"),
    "old.obj": OBJ.replace("f 1 3 2", "fo 1 3 2"),
    "colours.obj": OBJ.replace("v 1 0 0", "v 1 0 0 0.5 0.5 0.5"),
    "plain.dae": dae(),
    "strips.dae": dae(primitives=f"<tristrips count='1'>{INPUT}<p>0 2 1 3 0 2</p></tristrips>"),
    "fans.dae": dae(primitives=f"<trifans count='1'>{INPUT}<p>0 2 1 3 2</p><p>1 2 3</p></trifans>"),
    "list.dae": dae(
        primitives=f"<polylist count='4'>{INPUT}<vcount>3 3 3 3</vcount>"
        "<p>0 2 1 0 1 3 0 3 2 1 2 3</p></polylist>"
    ),
    "polygons.dae": dae(
        primitives=f"<polygons count='4'>{INPUT}<p>0 2 1</p><p>0 1 3</p><p>0 3 2</p>"
        "<ph><p>1 2 3</p><h>0 0 0</h></ph></polygons><lines count='1'><p>0 1</p></lines>"
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_the_same_tetrahedron_from_every_format(tmp_path, name):
    vertices, triangles = load(tmp_path, name, GOOD[name])
    assert vertices.dtype == np.float64
    assert vertices.flags.c_contiguous and triangles.flags.c_contiguous
    assert triangles.shape == (4, 3)
    np.testing.assert_array_equal(sorted_rows(vertices), sorted_rows(TETRAHEDRON))
    assert len(vertices) == 4  # merged, and the unused one dropped
    assert volume(vertices, triangles) == pytest.approx(1.0)


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 104284\n"


@pytest.mark.parametrize("name", ["a.stl", "a.obj", "a.dae"])
def test_a_pointer_of_git_lfs_names_the_remedy(tmp_path, name):
    assert "a Git LFS pointer, not the mesh: run 'git lfs pull'" in refused(tmp_path, name, LFS)


def test_byte_order_marks_are_no_part_of_a_mesh(tmp_path):
    for name, text in (("a.stl", ascii_stl()), ("a.obj", OBJ), ("a.dae", dae())):
        vertices, triangles = load(tmp_path, name, b"\xef\xbb\xbf" + text.encode())
        assert (len(vertices), len(triangles)) == (4, 4)
    assert "in UTF-16; save" in refused(tmp_path, "b.stl", ascii_stl().encode("utf-16"))
    assert "UTF-16, not an OBJ file" in refused(tmp_path, "b.obj", OBJ.encode("utf-16"))


def test_polygons_become_triangles_that_cover_them(tmp_path):
    square = "v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nv 1 3 0\nf 1 2 3 4\nf 4 3 5\nf 1 2 3 5 4\n"
    vertices, triangles = load(tmp_path, "a.obj", square)
    assert len(triangles) == 2 + 1 + 3
    corners = vertices[triangles]
    areas = np.linalg.norm(np.cross(*np.moveaxis(corners[:, 1:] - corners[:, :1], 1, 0)), axis=1)
    assert areas.sum() / 2 == pytest.approx(4 + 1 + 5)


@pytest.mark.parametrize("name", ["binary.stl", "plain.obj", "plain.dae"])
def test_scale_and_mirror(tmp_path, name):
    for scale, size in (((2, 3, 4), 24), ((-1, 1, 1), 1), ((-1, -1, 1), 1), ((-1, -2, -3), 6)):
        vertices, triangles = load(tmp_path, name, GOOD[name], scale=scale)
        np.testing.assert_allclose(sorted_rows(vertices), sorted_rows(TETRAHEDRON * scale))
        assert volume(vertices, triangles) == pytest.approx(size)  # not inside out


@pytest.mark.parametrize("scale", [(0, 1, 1), (1, np.nan, 1), (1, 1, np.inf), (1, 1)])
def test_bad_scale(tmp_path, scale):
    assert "scale" in refused(tmp_path, "a.stl", binary_stl(), scale=scale)


def test_scale_that_overflows(tmp_path):
    far = OBJ.replace("3", "1e200", 1)
    assert "not finite" in refused(tmp_path, "a.obj", far, scale=[1e300] * 3)


def test_one_file_is_read_once(tmp_path):
    path = tmp_path / "a.stl"
    path.write_bytes(binary_stl())
    loader = MeshLoader()
    first, _ = loader.load(path, "x")
    path.unlink()
    again, _ = loader.load(path, "x", (2.0, 2.0, 2.0))
    np.testing.assert_array_equal(again, 2 * first)
    again[:] = 0.0  # what the caller does with it stays with the caller
    np.testing.assert_array_equal(loader.load(path, "x")[0], first)


# Files with a hole in them.


@pytest.mark.parametrize("cut", [1, 49, 50, 51, 100, 150, 200])
def test_cut_binary_stl_is_refused(tmp_path, cut):
    assert "truncated" in refused(tmp_path, "a.stl", binary_stl()[:-cut])


def test_binary_stl_with_more_or_fewer_triangles_than_announced(tmp_path):
    for count in (0, 3, 5, 2**32 - 1):
        data = bytearray(binary_stl())
        data[80:84] = struct.pack("<I", count)
        assert f"{count} triangles" in refused(tmp_path, "a.stl", bytes(data))


def test_every_cut_of_an_ascii_stl_is_refused(tmp_path):
    text = ascii_stl().rstrip()
    whole = text.index("endsolid") + len("endsolid")
    for end in range(0, whole, 7):
        refused(tmp_path, "a.stl", text[:end])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("endfacet", "", "unexpected 'facet'"),
        ("outer loop", "outer lop\n vertx 1 2 3", "unknown word 'vertx'"),
        ("    endloop", "vertex 1 1 1\n  endloop", "3 vertices, not 4"),
        ("vertex 0.000000000e+00 ", "vertex ", "expected 'vertex x y z'"),
        ("vertex 0.000000000e+00 ", "vertex zero ", "'zero' is not a number"),
        ("endsolid part", "", "no 'endsolid'"),
        ("endsolid part", "endsolid part\nendsolid", "unexpected 'endsolid'"),
        ("vertex 0.000000000e+00 ", "vertex nan ", "not finite"),
    ],
)
def test_damaged_ascii_stl(tmp_path, old, new, reason):
    assert reason in refused(tmp_path, "a.stl", ascii_stl().replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("v 0 2 0", "v 0 2", "line 3: expected 'v x y z'"),
        ("v 0 2 0", "v 0 two 0", "line 3: expected 'v x y z'"),
        ("v 0 2 0", "v 0 nan 0", "not finite"),
        ("f 1 3 2", "f 1 3", "line 5: a face of 2 vertices"),
        ("f 1 3 2", "f 1 3 0", "line 5: a face names vertex 0"),
        ("f 1 3 2", "f 1 3 5", "a face names vertex 5 of 4"),
        ("f 1 3 2", "f 1 3 x", "line 5: 'x' is not a vertex"),
        ("f 1 3 2", "f 1 3 " + "9" * 30, "unreadable mesh"),
        ("f 1 3 2", "surf 0 1 0 1 1 2 3", "line 5: 'surf' is not supported"),
        ("f 1 3 2", "F 1 3 2", "line 5: 'F' is not supported"),
        ("f 1 3 2", "f 1 3 2\0", "binary data"),
    ],
)
def test_damaged_obj(tmp_path, old, new, reason):
    assert reason in refused(tmp_path, "a.obj", OBJ.replace(old, new, 1))


BAD_DAE = {
    "not XML": ("<COLLADA", "not XML"),
    "no scene": ("<COLLADA/>", "0 visual scenes"),
    "too few triangles": (dae().replace('count="4">' + INPUT, 'count="5">' + INPUT), "5 triangles"),
    "index too large": (dae().replace("1 2 3</p>", "1 2 4</p>"), "of 4"),
    "index no number": (dae().replace("1 2 3</p>", "1 2 x</p>"), "<p> on line"),
    "short array": (dae().replace("0 0 3</float_array>", "0 0</float_array>"), "do not fit"),
    "word in array": (dae().replace("0 0 3</float_array>", "0 0 x</float_array>"), "float_array"),
    "nan": (dae().replace("0 0 3</float_array>", "0 0 nan</float_array>"), "not finite"),
    "unknown primitive": (dae(primitives="<patches/>"), "unknown primitive <patches>"),
    "no vertices": (dae(primitives="<triangles count='0'/>"), "no vertex positions"),
    "stride": (dae(primitives=TRIANGLES.replace('"0"/>', '"1"/>')[:-30] + "</p></triangles>"), ""),
    "dangling geometry": (dae(nodes="<node><instance_geometry url='#h'/></node>"), "'#h'"),
    "other file": (dae(nodes="<node><instance_geometry url='b.dae#g'/></node>"), "'b.dae#g'"),
    "skin": (dae(nodes="<node><instance_controller url='#c'/></node>"), "skinned"),
    "skew": (dae(nodes=NODE.format("<skew>1 2 3 4 5 6 7</skew>")), "<skew>"),
    "short matrix": (dae(nodes=NODE.format("<matrix>1 2 3</matrix>")), "16 numbers"),
    "infinite": (dae(nodes=NODE.format("<translate>1 inf 3</translate>")), "3 numbers"),
    "unit": (dae("<unit meter='0'/>"), "<unit meter='0'>"),
    "vcount": (
        dae(primitives=f"<polylist>{INPUT}<vcount>3</vcount><p>0 1 2 3</p></polylist>"),
        "declares 3 corners, 4",
    ),
    "node in itself": (dae(nodes="<node id='n'><instance_node url='#n'/></node>"), "itself"),
    "deep": (dae(nodes="<node>" * 150 + NODE.format("") + "</node>" * 150), "100 nodes"),
}


@pytest.mark.parametrize("name", BAD_DAE)
def test_damaged_dae(tmp_path, name):
    text, reason = BAD_DAE[name]
    assert reason in refused(tmp_path, "a.dae", text)


def test_dae_that_asks_for_billions_of_nodes(tmp_path):
    chain = "".join(
        f"<node id='n{i}'>" + f"<instance_node url='#n{i + 1}'/>" * 10 + "</node>"
        for i in range(12)
    )
    text = dae(nodes=NODE.replace('"n"', '"n12"').format("")).replace(
        "<library_nodes>", "<library_nodes>" + chain
    )
    text = text.replace("<visual_scene id", "<!-- --><visual_scene id").replace(
        '<node id="n12">', '<node><instance_node url="#n0"/></node><node id="n12">'
    )
    assert "100000 in all" in refused(tmp_path, "a.dae", text)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.stl", binary_stl(())),
        ("a.stl", "solid a\nfacet_free\nendsolid a"),
        ("a.obj", "v 0 0 0\nv 1 0 0\nl 1 2\n"),
        ("a.obj", ""),
        ("a.dae", dae(nodes="")),
        ("a.dae", dae(primitives=f"<lines count='1'>{INPUT}<p>0 1</p></lines>")),
    ],
)
def test_no_triangles(tmp_path, name, data):
    message = refused(tmp_path, name, data)
    assert "empty" in message or "unknown word" in message


@pytest.mark.parametrize("data", [b"", b"x", b"\0" * 83, b"not a mesh at all" * 20])
@pytest.mark.parametrize("extension", ["stl", "obj", "dae"])
def test_garbage(tmp_path, extension, data):
    refused(tmp_path, f"a.{extension}", data)


def test_unsupported_extension_lists_the_good_ones(tmp_path):
    assert "'.step'; use .stl, .obj, .dae" in refused(tmp_path, "a.step", b"x")
    assert "no extension" in refused(tmp_path, "mesh", b"x")


def test_files_that_are_not_there_are_named_with_the_error_of_the_caller(tmp_path):
    (tmp_path / "a.stl").mkdir()
    for path, reason in ((tmp_path / "a.stl", "is a folder"), (tmp_path / "b.stl", "no file")):
        with pytest.raises(SceneError, match=f"link 'arm'.*{path.name}.*{reason}"):
            MeshLoader().load(path, "link 'arm'", error=SceneError)


# COLLADA's transforms, units and axes.


def test_dae_unit_is_applied(tmp_path):
    nodes = NODE.format("<translate>10 0 0</translate>")
    vertices, _ = load(tmp_path, "a.dae", dae("<unit name='mm' meter='0.001'/>", nodes=nodes))
    np.testing.assert_allclose(sorted_rows(1000 * vertices), sorted_rows(TETRAHEDRON + [10, 0, 0]))


def test_dae_ids_may_be_local_to_their_mesh(tmp_path):
    """As trimesh and FreeCAD write them, the same in each geometry."""
    text = dae(nodes=PLAIN_NODE + NODE.format("").replace('"n"', '"n2"').replace("#g", "#h"))
    start, end = text.index("<geometry"), text.index("</library_geometries>")
    again = text[start:end].replace('"g"', '"h"').replace("0 0 0 1 0 0", "7 0 0 8 0 0")
    vertices, triangles = load(tmp_path, "a.dae", text[:end] + again + text[end:])
    assert len(triangles) == 8
    moved = TETRAHEDRON.copy()
    moved[:2, 0] += 7.0
    expected = np.unique(np.vstack([TETRAHEDRON, moved]), axis=0)
    np.testing.assert_array_equal(sorted_rows(vertices), sorted_rows(expected))
    twice = text[:end] + again.replace('"h"', '"g"') + text[end:]
    assert "'#g', which is more than one <geometry>" in refused(tmp_path, "b.dae", twice)


def test_dae_nodes_transforms_and_instances(tmp_path):
    nodes = (
        "<node><lookat>0 0 0 1 0 0 0 0 1</lookat><instance_camera url='#c'/></node>"
        "<node><translate>10 0 0</translate><rotate>0 0 2 90</rotate>"
        "<node><scale>1 1 2</scale><instance_geometry url='#g'/></node>"
        "<instance_node url='#part'/></node>"
        "<node><matrix>1 0 0 0 0 -1 0 0 0 0 1 -7 0 0 0 1</matrix>"
        "<instance_geometry url='#g'/></node>"
    )
    vertices, triangles = load(tmp_path, "a.dae", dae(nodes=nodes))
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    expected = [
        (TETRAHEDRON * [1, 1, 2]) @ turn.T + [10, 0, 0],
        (TETRAHEDRON + [0, 0, 5]) @ turn.T + [10, 0, 0],
        TETRAHEDRON * [1, -1, 1] + [0, 0, -7],
    ]
    np.testing.assert_allclose(sorted_rows(vertices), sorted_rows(np.concatenate(expected)))
    assert volume(vertices, triangles) == pytest.approx(2 + 1 + 1)  # the mirrored one counts too


def test_dae_interleaved_inputs_and_unnamed_parameters(tmp_path):
    text = dae(
        primitives='<triangles count="4"><input semantic="NORMAL" source="#x" offset="0"/>'
        '<input semantic="VERTEX" source="#v" offset="1"/>'
        "<p>9 0 9 2 9 1 9 0 9 1 9 3 9 0 9 3 9 2 9 1 9 2 9 3</p></triangles>"
    )
    text = (
        text.replace('stride="3"', 'stride="4" offset="1"')
        .replace("0 0 0 1 0 0 0 2 0 0 0 3<", "7 0 8 0 0 1 8 0 0 0 8 2 0 0 8 0 3<")
        .replace('<param name="Y"', '<param type="float"/><param name="Y"')
    )
    vertices, triangles = load(tmp_path, "a.dae", text)
    np.testing.assert_allclose(sorted_rows(vertices), sorted_rows(TETRAHEDRON))
    assert volume(vertices, triangles) == pytest.approx(1.0)


@pytest.mark.parametrize("up", ["X_UP", "Y_UP", "Z_UP"])
def test_dae_axes_and_nodes_agree_with_coal(tmp_path, up):
    nodes = (
        "<node id='o'><translate>10 0 0</translate><node id='n'><rotate>0 0 1 90</rotate>"
        "<instance_geometry url='#g'/></node></node><node id='p'><translate>0 0 50</translate>"
        "<instance_geometry url='#g'/></node>"
    )
    vertices, _ = load(tmp_path, "a.dae", dae(f"<up_axis>{up}</up_axis>", nodes=nodes))
    other = coal.MeshLoader().load(str(tmp_path / "a.dae"), np.ones(3)).vertices()
    np.testing.assert_allclose(sorted_rows(vertices), sorted_rows(other), atol=1e-6)


# Real meshes, against trimesh's reader.


def _meshes_of(name):
    files = require(name)
    folder = next(p for p in files.urdf.parents if p.parent.name == "robots")
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".stl", ".obj", ".dae"))


@pytest.mark.parametrize("name", ["ur5", "panda", "baxter", "pr2"])
def test_triangles_agree_with_trimesh(name):
    """The same triangles, the same way round; coal mixes up the parts of DAE files."""
    pytest.importorskip("collada")
    for path in [p for p in _meshes_of(name) if p.stat().st_size < 300_000][:20]:
        vertices, triangles = MeshLoader().load(path, "x")
        scene = trimesh.load(path, process=False, force="scene", skip_materials=True)
        parts = [
            trimesh.transform_points(scene.geometry[geometry].triangles.reshape(-1, 3), transform)
            for transform, geometry in (scene.graph[node] for node in scene.graph.nodes_geometry)
        ]
        theirs = np.concatenate(parts).reshape(-1, 3, 3)
        assert len(theirs) == len(triangles), path
        assert _moments(vertices[triangles]) == pytest.approx(_moments(theirs), rel=1e-6), path


def _moments(corners) -> tuple[float, ...]:
    """Area, and the flux of two fields through the surface: its shape, place and orientation."""
    edges = corners[:, 1:] - corners[:, :1]
    normals = np.cross(edges[:, 0], edges[:, 1])
    areas = np.linalg.norm(normals, axis=1)
    middles = corners.mean(axis=1)
    return (
        float(areas.sum()),
        float(areas @ (middles**2).sum(axis=1)),
        1.0 + float((normals * middles).sum()),
        1.0 + float((normals * middles[:, [1, 2, 0]]).sum()),
    )
