// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one place that states the version: CMake, Conan and vcpkg read it from here.
#define ZARRPOINT_VERSION_MAJOR 0
#define ZARRPOINT_VERSION_MINOR 2
#define ZARRPOINT_VERSION_PATCH 0
