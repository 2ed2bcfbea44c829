// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/s3.md, which is compiled and not run: there is no such bucket.

#include <zarrpoint/curl.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/s3.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <vector>

namespace zp = zarrpoint;

void by_url(const std::vector<float>& w) {
  const zp::context how{.stores = zp::formats<zp::s3_scheme_by<zp::curl_access>>()};
  zp::save("s3://bucket/run/step-100.zarr", {{"w", w}}, {}, how).value();
  const auto model = zp::open("s3://bucket/run/step-100.zarr", how).value();
  static_cast<void>(model);
}

void by_store(const std::vector<float>& w) {
  const auto store =
      zp::s3_store::open("s3://bucket/model.zarr", zp::curl_transport(),
                         {.endpoint = "https://ceph.example:7480", .region = "us-east-1"});
  zp::save(store.value(), {{"w", w}}).value();
}

void steps_of_a_run() {
  const zp::context how{.stores = zp::formats<zp::s3_scheme_by<zp::curl_access>>()};
  zp::manager_options options{.keep = zp::keep_policy::newest(3), .how = how};
  auto manager = zp::checkpoint_manager::open("s3://bucket/run", options).value();
  manager.close().value();
}

int main(int count, char**) {
  if (count < 2) return 0;
  const std::vector<float> w(1000, 1.5F);
  by_url(w);
  by_store(w);
  steps_of_a_run();
  return 0;
}
