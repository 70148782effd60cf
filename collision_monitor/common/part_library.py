# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Code of kernels that are only ever parts of others, kept as it is for those.

Numba optimises every kernel with all that it calls linked in, and makes machine code of
that: in a tower of ten calls the lowest is made ten times over. A kernel that nobody can call from
outside needs no machine code of its own; what calls it is optimised as a whole, once.
"""

from __future__ import annotations

from llvmlite import binding, ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class PartLibrary(JITCodeLibrary):
    """Numba's code of a part: linked into what calls it, and run nowhere else."""

    def _optimize_final_module(self) -> None:
        """Leave that to the callers."""

    def _finalize_final_module(self) -> None:
        """Go without machine code, but for what numba wants to set after compiling."""
        self._finalize_dynamic_globals()
        self._codegen._add_module(binding.parse_assembly(str(self._environments())))
        self._finalized = True

    def _environments(self) -> ir.Module:
        """A module with the global variables that numba sets in every kernel."""
        stub = ir.Module(name=self.name)
        stub.triple = binding.get_process_triple()
        for variable in self._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                kind = ir.PointerType(ir.IntType(8))
                place = ir.GlobalVariable(stub, kind, variable.name)
                place.linkage, place.initializer = "common", ir.Constant(kind, None)
        return stub

    def serialize_using_object_code(self) -> tuple:
        """What numba's cache keeps: the code to link, and machine code of nothing."""
        self._ensure_finalized()
        stub = binding.parse_assembly(str(self._environments()))
        code = self._get_module_for_linking().as_bitcode()
        return self.name, "object", (self._codegen._tm.emit_object(stub), code)

    def get_pointer_to_function(self, name: str) -> int:
        """0, as there is none."""
        self._ensure_finalized()
        return 0


class PartCompiler(Compiler):
    """Numba's compiler, with a `PartLibrary` for the code."""

    def __init__(self, typing, target, library, *others: object) -> None:
        """As numba's."""
        super().__init__(typing, target, library or PartLibrary(target.codegen(), "part"), *others)
