// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>

#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE codec_spec::codec_spec(std::string called, node configured, bool needed)
    : name(std::move(called)), configuration(std::move(configured)), must_understand(needed) {
  if (!configuration.is_integer()) return;
  node level = std::move(configuration);
  if (name == "blosc") {
    configuration = node::object{
        {"cname", "zstd"}, {"clevel", std::move(level)}, {"shuffle", "shuffle"}, {"blocksize", 0}};
  } else {
    configuration = node::object{{"level", std::move(level)}};
    if (name == "zstd") configuration.set("checksum", false);
  }
}

}}  // namespace zarrpoint::v0
