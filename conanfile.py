# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class ZarrpointConan(ConanFile):
    name = "zarrpoint"
    description = "Header-only C++20 tensor checkpoints in Zarr v2 and v3"
    license = "Apache-2.0"
    topics = ("zarr", "tensor", "checkpoint", "serialization", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = "include/*", "LICENSE"
    exports = "include/zarrpoint/version.hpp"
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include/zarrpoint/version.hpp"))
        self.version = ".".join(re.findall(r"#define ZARRPOINT_VERSION_\w+ (\d+)", header))

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("nlohmann_json/[>=3.11.2 <4]")
        self.requires("zstd/[>=1.5.4 <1.6]")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"),
             os.path.join(self.package_folder, "include"))  # fmt: skip

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "zarrpoint")
        self.cpp_info.set_property("cmake_target_name", "zarrpoint::zarrpoint")
        self.cpp_info.set_property("pkg_config_name", "zarrpoint")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
