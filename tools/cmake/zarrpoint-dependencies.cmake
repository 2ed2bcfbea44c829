# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# What zarrpoint needs, found the same way by its own build and by its installed package. A function,
# so that it sets nothing where it is included; what is missing is said in `missing`.
function(zarrpoint_find_dependencies missing)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # a parent project links to them through zarrpoint
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  set(${missing} "" PARENT_SCOPE)

  find_package(Threads QUIET)
  if(NOT TARGET Threads::Threads)
    set(${missing} "threads" PARENT_SCOPE)
    return()
  endif()

  # zstd names its target differently in each distribution: Debian and upstream _shared and _static,
  # Conan either of them, vcpkg libzstd; some ship only libzstd.pc. zarrpoint::zstd is whichever.
  set(names zstd::libzstd zstd::libzstd_shared zstd::libzstd_static)
  if(TARGET zarrpoint::zstd)
    return()
  endif()
  foreach(attempt 1 2)
    foreach(name IN LISTS names)
      if(TARGET ${name})
        add_library(zarrpoint::zstd INTERFACE IMPORTED GLOBAL)
        target_link_libraries(zarrpoint::zstd INTERFACE ${name})
        return()
      endif()
    endforeach()
    find_package(zstd 1.5.4 CONFIG QUIET)
  endforeach()

  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(zarrpoint_libzstd QUIET IMPORTED_TARGET GLOBAL libzstd>=1.5.4)
  endif()
  if(TARGET PkgConfig::zarrpoint_libzstd)
    add_library(zarrpoint::zstd INTERFACE IMPORTED GLOBAL)
    target_link_libraries(zarrpoint::zstd INTERFACE PkgConfig::zarrpoint_libzstd)
  else()
    set(${missing} "zstd 1.5.4 or later (Debian: libzstd-dev)" PARENT_SCOPE)
  endif()
endfunction()
