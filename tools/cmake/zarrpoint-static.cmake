# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# For the command as one static binary, as tools/package.sh builds it: included at the end of project().
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -static -Wl,--gc-sections -Wl,-s")
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -ffunction-sections -fdata-sections")
set(CMAKE_DISABLE_FIND_PACKAGE_zstd ON) # whose target is the shared library; pkg-config's file has both
set(ZARRPOINT_CURL_LIBRARY OFF) # Debian's static libcurl needs twelve libraries more: this command opens no URLs of servers
