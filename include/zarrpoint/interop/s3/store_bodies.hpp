// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/s3/s3_store.hpp>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------------ s3_store.hpp

ZARRPOINT_INLINE result<s3_store> s3_store::open(std::string_view address, any_transport by,
                                                 s3_options how) {
  ZARRPOINT_TRY(at, detail::parse_bucket_address("s3", address));
  ZARRPOINT_TRY(client, detail::s3_client::open(at.bucket, std::move(by), std::move(how)));
  return s3_store(std::move(client), at.key);
}

ZARRPOINT_INLINE result<std::string> s3_store::presign(const store_key& key,
                                                       std::chrono::seconds valid) const {
  if (client_->options().login.is_anonymous() || valid.count() < 1 || valid.count() > 604800)
    return error{
        errc::invalid_argument,
        "sign a URL of " + describe(key) + ": that takes keys, and a time of 1 to 604,800 seconds"};
  ZARRPOINT_TRY(in_bucket, key_in_bucket(key));
  return client_->presign(in_bucket, valid.count());
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/s3/bucket_store_bodies.hpp>
#include <zarrpoint/interop/s3/client_bodies.hpp>
#endif
