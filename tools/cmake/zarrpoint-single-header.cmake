# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# Target single_header: writes single_include/zarrpoint.hpp, the library as one file. Beside it, for
# the tests: zarrpoint_single_header, which has the names of all headers, and that file behind them.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(_single_include ${PROJECT_BINARY_DIR}/single_include)
  set(_forwarding ${PROJECT_BINARY_DIR}/single_include_forwarding)
  add_custom_command(
    OUTPUT ${PROJECT_BINARY_DIR}/single_header.stamp
    BYPRODUCTS ${_single_include}/zarrpoint.hpp
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/single_header.py ${_single_include}
            ${_forwarding}
    COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/single_header.stamp
    DEPENDS ${PROJECT_SOURCE_DIR}/tools/single_header.py ${_headers}
    COMMENT "Writing single_include/zarrpoint.hpp"
    VERBATIM)
  add_custom_target(single_header DEPENDS ${PROJECT_BINARY_DIR}/single_header.stamp)

  add_library(zarrpoint_single_header INTERFACE)
  add_dependencies(zarrpoint_single_header single_header)
  target_include_directories(zarrpoint_single_header INTERFACE ${_forwarding})
  target_compile_features(zarrpoint_single_header INTERFACE cxx_std_20)
  target_link_libraries(zarrpoint_single_header INTERFACE zarrpoint::zstd Threads::Threads)
elseif(ZARRPOINT_TEST_SINGLE_HEADER)
  message(FATAL_ERROR "ZARRPOINT_TEST_SINGLE_HEADER needs Python 3")
endif()
