// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/gcs.md, which is compiled and not run: there is no such bucket.

#include <zarrpoint/curl.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/gcs.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <vector>

namespace zp = zarrpoint;

void by_url(const std::vector<float>& w) {
  const zp::context how{.stores = zp::formats<zp::gs_scheme_by<zp::curl_access>>()};
  zp::save("gs://bucket/run/step-100.zarr", {{"w", w}}, {}, how).value();
  const auto model = zp::open("gs://bucket/run/step-100.zarr", how).value();
  static_cast<void>(model);
}

void by_store(const std::vector<float>& w) {
  const auto store = zp::gcs_store::open("gs://bucket/model.zarr", zp::curl_transport(),
                                         {.login = zp::gcs_login::hmac("GOOG1E...", "secret")});
  zp::save(store.value(), {{"w", w}}).value();
}

int main(int count, char**) {
  if (count < 2) return 0;
  const std::vector<float> w(1000, 1.5F);
  by_url(w);
  by_store(w);
  return 0;
}
