# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# Runs a portfile without vcpkg, which a test machine cannot download: what it calls is here in the
# least form that installs the same files. Dependencies are those of the system.
#
#   cmake -DPORT_FOLDER=... -DINSTALLED=... [-DARCHIVE=...] -P install_port.cmake
#
# ARCHIVE is what GitHub would send, for a port of the registry.
cmake_minimum_required(VERSION 3.24)

get_filename_component(PORT "${PORT_FOLDER}" NAME)
set(CURRENT_PACKAGES_DIR "${INSTALLED}")
set(_build "${INSTALLED}-build")

# A misspelt argument is not passed over in silence.
macro(parse options single multiple)
  cmake_parse_arguments(arg "${options}" "${single}" "${multiple}" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_from_github)
  parse("" "OUT_SOURCE_PATH;REPO;REF;SHA512;HEAD_REF" "" ${ARGN})
  file(SHA512 "${ARCHIVE}" sum)
  if(NOT sum STREQUAL arg_SHA512 OR NOT arg_REF STREQUAL "v${VERSION}")
    message(FATAL_ERROR "${arg_REPO} ${arg_REF}: SHA512 is ${sum}, not ${arg_SHA512}")
  endif()
  file(ARCHIVE_EXTRACT INPUT "${ARCHIVE}" DESTINATION "${INSTALLED}-source")
  set(${arg_OUT_SOURCE_PATH} "${INSTALLED}-source/zarrpoint" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  parse("" SOURCE_PATH OPTIONS ${ARGN})
  run(${CMAKE_COMMAND} -S "${arg_SOURCE_PATH}" -B "${_build}" -DCMAKE_BUILD_TYPE=Release
      "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" -DCMAKE_INSTALL_LIBDIR=lib
      ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build "${_build}")
  run(${CMAKE_COMMAND} --install "${_build}")
endfunction()

# To share/PORT, where vcpkg's find_package looks; the prefix is then two folders up, not three.
function(vcpkg_cmake_config_fixup)
  parse("" CONFIG_PATH "" ${ARGN})
  set(share "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(GLOB configs "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
  file(COPY ${configs} DESTINATION "${share}")
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/cmake")
  file(GLOB configs "${share}/*.cmake")
  foreach(config IN LISTS configs)
    file(READ "${config}" text)
    string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../../" "\${CMAKE_CURRENT_LIST_DIR}/../../" text
                   "${text}")
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nif" "if"
                   text "${text}")
    file(WRITE "${config}" "${text}")
  endforeach()
endfunction()

# Checks what the true one checks: that pkg-config accepts the files and what they require.
function(vcpkg_fixup_pkgconfig)
  file(GLOB packages "${CURRENT_PACKAGES_DIR}/share/pkgconfig/*.pc")
  run(pkg-config --print-errors --exists ${packages})
endfunction()

function(vcpkg_install_copyright)
  parse("" "" FILE_LIST ${ARGN})
  file(READ "${arg_FILE_LIST}" text)
  file(WRITE "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" "${text}")
endfunction()

# Each port begins with an empty folder.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}" "${_build}" "${INSTALLED}-source")
file(READ "${PORT_FOLDER}/vcpkg.json" VERSION)
string(JSON VERSION GET "${VERSION}" version-semver)
include("${PORT_FOLDER}/portfile.cmake")
