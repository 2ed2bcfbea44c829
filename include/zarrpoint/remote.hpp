// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stores over HTTP, by any transport. That of libcurl has a door of its own: curl.hpp.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/remote/http_client.hpp>
#include <zarrpoint/store/remote/http_store.hpp>
#include <zarrpoint/store/remote/transport.hpp>
#include <zarrpoint/store/remote/web_schemes.hpp>
#include <zarrpoint/store/remote/web_url.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/store/remote/bodies.hpp>
#include <zarrpoint/store/remote/client_bodies.hpp>
#include <zarrpoint/store/remote/store_bodies.hpp>
#endif
