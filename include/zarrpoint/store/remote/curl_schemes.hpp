// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/remote/curl_transport.hpp>
#include <zarrpoint/store/remote/web_schemes.hpp>

namespace zarrpoint { inline namespace v0 {

/// The transport that all URLs of a process share where nothing else is said.
struct curl_access {
  static curl_transport transport() {
    static const curl_transport shared;
    return shared;
  }
};

/// `http://` by libcurl, to read: `open(url, formats<http_scheme, https_scheme>())`.
using http_scheme = http_scheme_by<curl_access>;
/// `https://` by libcurl, to read.
using https_scheme = https_scheme_by<curl_access>;

}}  // namespace zarrpoint::v0
