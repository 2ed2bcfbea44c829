// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// HTTP by libcurl, and with it the schemes http:// and https://. Link libcurl (-lcurl).
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/remote/curl_schemes.hpp>
#include <zarrpoint/store/remote/curl_transport.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/store/remote/store_bodies.hpp>
#endif
