// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <zstd.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace zarrpoint_test {

/// A frame by libzstd without any matches: its lowest level skips so far that it finds none, but
/// leaves literals alone unless told.
inline std::vector<std::byte> literals_by_libzstd(const std::vector<std::byte>& from) {
  struct deleter {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  const std::unique_ptr<ZSTD_CCtx, deleter> context(ZSTD_createCCtx());
  const auto set = [&](ZSTD_cParameter what, int value) {
    REQUIRE_FALSE(ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), what, value)));
  };
  set(ZSTD_c_compressionLevel, ZSTD_minCLevel());
  set(ZSTD_c_experimentalParam5, 1);  // ZSTD_c_literalCompressionMode, ZSTD_ps_enable
  std::vector<std::byte> out(ZSTD_compressBound(from.size()));
  const std::size_t written =
      ZSTD_compress2(context.get(), out.data(), out.size(), from.data(), from.size());
  REQUIRE_FALSE(ZSTD_isError(written));
  out.resize(written);
  return out;
}

}  // namespace zarrpoint_test
