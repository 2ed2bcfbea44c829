# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
from conan import ConanFile

TARGETS = {
    "zstd": "zstd::libzstd_static",
}


class Stub(ConanFile):
    """A package of the public index, with Debian's files and the index's CMake targets."""

    def package_info(self):
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
        part = self.cpp_info
        if self.name == "zstd":
            part = self.cpp_info.components["zstdlib"]
            part.includedirs = part.libdirs = part.bindirs = []
            part.system_libs = ["zstd"]
        part.set_property("cmake_target_name", TARGETS[self.name])
