# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# What zarrpoint needs, found the same way by its own build and by its installed package.
include(CMakeFindDependencyMacro)
set(_zarrpoint_targets_global ${CMAKE_FIND_PACKAGE_TARGETS_GLOBAL})
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # a parent project links to them through zarrpoint

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
if(NOT TARGET nlohmann_json::nlohmann_json)
  find_dependency(nlohmann_json 3.11)
endif()

# zstd names its target differently in each distribution: Debian and upstream _shared and _static,
# Conan either of them, vcpkg libzstd; some ship only libzstd.pc. zarrpoint::zstd is whichever it is.
if(NOT TARGET zarrpoint::zstd)
  if(NOT TARGET zstd::libzstd AND NOT TARGET zstd::libzstd_shared AND NOT TARGET
                                                                      zstd::libzstd_static)
    find_package(zstd CONFIG QUIET)
  endif()
  foreach(_zarrpoint_name zstd::libzstd zstd::libzstd_shared zstd::libzstd_static)
    if(TARGET ${_zarrpoint_name})
      set(_zarrpoint_zstd ${_zarrpoint_name})
      break()
    endif()
  endforeach()
  if(NOT _zarrpoint_zstd)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(zarrpoint_libzstd QUIET IMPORTED_TARGET GLOBAL libzstd)
      if(zarrpoint_libzstd_FOUND)
        set(_zarrpoint_zstd PkgConfig::zarrpoint_libzstd)
      endif()
    endif()
  endif()
  if(_zarrpoint_zstd)
    add_library(zarrpoint::zstd INTERFACE IMPORTED GLOBAL)
    target_link_libraries(zarrpoint::zstd INTERFACE ${_zarrpoint_zstd})
  elseif(CMAKE_FIND_PACKAGE_NAME STREQUAL "zarrpoint")
    set(zarrpoint_FOUND FALSE)
    set(zarrpoint_NOT_FOUND_MESSAGE "zstd was not found")
  else()
    message(FATAL_ERROR "zstd was not found (Debian: libzstd-dev)")
  endif()
endif()

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ${_zarrpoint_targets_global})
foreach(_zarrpoint_name targets_global name zstd)
  unset(_zarrpoint_${_zarrpoint_name})
endforeach()
