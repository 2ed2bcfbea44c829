# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# Target zarrpoint::compiled: the library's bodies, compiled once for a program, and the macro that
# makes the headers declarations only. It is built from the installed sources in the consumer's own
# build, so that exceptions, sanitizers, the standard and the ABI are the consumer's; it is built
# only where something links it. `include_dir` holds the headers.
function(zarrpoint_add_compiled include_dir)
  if(TARGET zarrpoint::compiled)
    return()
  endif()
  file(GLOB _sources CONFIGURE_DEPENDS ${include_dir}/zarrpoint/compiled/*.cpp)
  add_library(zarrpoint_compiled STATIC EXCLUDE_FROM_ALL ${_sources})
  add_library(zarrpoint::compiled ALIAS zarrpoint_compiled)
  target_compile_definitions(zarrpoint_compiled PUBLIC ZARRPOINT_COMPILED)
  target_link_libraries(zarrpoint_compiled PUBLIC zarrpoint::zarrpoint)
  # A program may put it into a shared library, such as a module for Python.
  set_target_properties(zarrpoint_compiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
