# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load, save
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"

# Included by the file that CMakeDeps writes: the target zarrpoint::compiled.
COMPILED = "share/cmake/zarrpoint/zarrpoint-add-compiled.cmake"


class ZarrpointConan(ConanFile):
    name = "zarrpoint"
    description = "Header-only C++20 tensor checkpoints in Zarr v2 and v3"
    license = "Apache-2.0"
    topics = ("zarr", "tensor", "checkpoint", "serialization", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = (
        "include/*", "examples/*/my_*.hpp", "tools/cmake/zarrpoint-compiled.cmake", "LICENSE"
    )  # fmt: skip
    exports = "include/zarrpoint/version.hpp"
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include/zarrpoint/version.hpp"))
        self.version = ".".join(re.findall(r"#define ZARRPOINT_VERSION_\w+ (\d+)", header))

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("zstd/[>=1.5.4 <1.6]")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for pattern in ("*.hpp", "*.cpp"):  # the units of zarrpoint::compiled, built by its users
            copy(self, pattern, os.path.join(self.source_folder, "include"),
                 os.path.join(self.package_folder, "include"))  # fmt: skip
        copy(self, "*/my_*.hpp", os.path.join(self.source_folder, "examples"),
             os.path.join(self.package_folder, "share", "zarrpoint", "examples"))  # fmt: skip
        module = os.path.join(self.package_folder, COMPILED)
        copy(self, "zarrpoint-compiled.cmake", os.path.join(self.source_folder, "tools", "cmake"),
             os.path.dirname(module))  # fmt: skip
        save(self, module, "include(${CMAKE_CURRENT_LIST_DIR}/zarrpoint-compiled.cmake)\n"
             "zarrpoint_add_compiled(${CMAKE_CURRENT_LIST_DIR}/../../../include)\n")  # fmt: skip

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "zarrpoint")
        self.cpp_info.set_property("cmake_target_name", "zarrpoint::zarrpoint")
        self.cpp_info.set_property("pkg_config_name", "zarrpoint")
        self.cpp_info.set_property("cmake_build_modules", [COMPILED])
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
