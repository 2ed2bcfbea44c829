# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# What adding a library might change of the project that adds it: the settings of CMake and of the
# compiler in scope and in the cache, and the properties of the folder. Not what find_package notes
# down about the dependencies. By -DCMAKE_PROJECT_app_INCLUDE the project includes this file at its
# beginning, and needs no line for it.

set(_noted "^CMAKE_(MATCH|HAVE|THREAD|USE|HP|PROJECT|INSTALL|CURRENT_LIST|PARENT_LIST)_|^CMAKE_FIND_PACKAGE_NAME$")

function(current_state result)
  set(state "")
  get_cmake_property(names VARIABLES)
  foreach(name IN LISTS names)
    if(name MATCHES "^(CMAKE|BUILD|THREADS|CTEST|FETCHCONTENT)_" AND NOT name MATCHES "${_noted}")
      list(APPEND state "${name}=${${name}}")
    endif()
  endforeach()
  foreach(name COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_OPTIONS
               LINK_DIRECTORIES TESTS)
    get_directory_property(value ${name})
    list(APPEND state "directory property ${name}=${value}")
  endforeach()
  foreach(name RULE_LAUNCH_COMPILE RULE_LAUNCH_LINK USE_FOLDERS)
    get_property(value GLOBAL PROPERTY ${name})
    list(APPEND state "global property ${name}=${value}")
  endforeach()
  list(FILTER state EXCLUDE REGEX "^(state|names)=")
  set(${result} "${state}" PARENT_SCOPE)
endfunction()

function(check_state)
  current_state(after)
  set(changed ${after})
  list(REMOVE_ITEM changed ${_state_before})
  set(gone ${_state_before})
  list(REMOVE_ITEM gone ${after})
  if(changed OR gone)
    message(FATAL_ERROR "zarrpoint changed the project: new ${changed}; before ${gone}")
  endif()
  foreach(name TESTS EXAMPLES BENCHMARKS TOOLS FUZZERS)
    if(ZARRPOINT_BUILD_${name})
      message(FATAL_ERROR "ZARRPOINT_BUILD_${name} is on in another project")
    endif()
  endforeach()
endfunction()

current_state(_state_before)
cmake_language(DEFER CALL check_state)
