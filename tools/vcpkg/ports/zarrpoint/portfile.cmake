# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# An overlay port: it installs the checkout that it lies in. In a registry vcpkg_from_github takes
# the place of this line.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." REALPATH)
if(NOT EXISTS "${SOURCE_PATH}/include/zarrpoint/version.hpp")
  message(FATAL_ERROR "the port zarrpoint is used where it lies, in a checkout of zarrpoint")
endif()

set(VCPKG_BUILD_TYPE release) # header-only
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DZARRPOINT_BUILD_TESTS=OFF -DZARRPOINT_BUILD_EXAMPLES=OFF
          -DZARRPOINT_BUILD_BENCHMARKS=OFF -DZARRPOINT_BUILD_TOOLS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/zarrpoint)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib" "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
