// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// zarrpoint among the peers of run.py.
// Usage: zarrpoint_remote make FOLDER MIB           model.zarr, small.zarr, small.zip there
//        zarrpoint_remote load|open URL             all of it; its document and names
//        zarrpoint_remote part URL ROWS             so many rows of a tensor
//        zarrpoint_remote first URL                 one element
//        zarrpoint_remote save URL MIB              the model, as one save
// Prints the seconds, and for `part` and `load` the bytes. URLs are of http and s3; the server of
// the latter is that of AWS_ENDPOINT_URL, asked without keys.

#include <zarrpoint/curl.hpp>
#include <zarrpoint/s3.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "../harness.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

namespace zp = zarrpoint;

namespace {

struct access {
  static zp::curl_transport transport() { return zp::curl_access::transport(); }
  static zp::s3_options s3() { return {.login = zp::aws_login::anonymous()}; }
};

zp::context remote() {
  zp::context out = zp::default_context();
  out.stores = zp::formats<zp::http_scheme, zp::s3_scheme_by<access>>();
  return out;
}

constexpr std::size_t layers = 23, columns = 1024, small_count = 5000, small_size = 3145;

/// 69 tensors of 16, 4 and 1 parts of a layer, all of memory of their own.
class model {
 public:
  explicit model(std::size_t mib) {
    const std::size_t unit = (mib << 20) / 2 / columns / layers / 21;  // rows
    const std::vector<std::uint16_t> some = bench::weights(4096, columns);
    bits_.resize(layers * 21 * unit * columns);
    for (std::size_t at = 0; at < bits_.size(); at += some.size() - columns / 2)
      std::memcpy(bits_.data() + at, some.data(), std::min(some.size(), bits_.size() - at) * 2);
    const std::uint16_t* at = bits_.data();
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const auto add = [&](const char* name, std::size_t rows) {
        const zp::host_view view =
            zp::dense_view(reinterpret_cast<const std::byte*>(at),
                           {zp::dtype_kind::bfloat16, {static_cast<zp::index_t>(rows), columns}});
        leaves_.emplace_back("layer" + std::to_string(layer) + '/' + name, view);
        at += rows * columns;
      };
      add("mlp", 16 * unit);
      add("attention", 4 * unit);
      add("norm", unit);
    }
  }
  const std::vector<zp::leaf>& leaves() const { return leaves_; }

 private:
  std::vector<std::uint16_t> bits_;
  std::vector<zp::leaf> leaves_;
};

int make(const std::string& folder, std::size_t mib) {
  const model large(mib);
  zp::save(folder + "/model.zarr", large.leaves(), {.sync = false}).value();
  const std::vector<std::uint16_t> bits = bench::weights(2 * small_count, small_size);
  std::vector<zp::leaf> leaves;
  for (std::size_t i = 0; i < small_count; ++i) {
    const zp::host_view view =
        zp::dense_view(reinterpret_cast<const std::byte*>(bits.data() + 2 * i * small_size),
                       {zp::dtype_kind::float32, {static_cast<zp::index_t>(small_size)}});
    leaves.emplace_back("layer" + std::to_string(i / 50) + "/w" + std::to_string(i % 50), view);
  }
  zp::save(folder + "/small.zarr", leaves, {.sync = false}).value();
  zp::save(folder + "/small.zip", leaves, {.sync = false}).value();
  return 0;
}

double load(const std::string& url, std::size_t& bytes) {
  decltype(zp::load_all(zp::open(url).value()).value()) loaded;
  const double seconds =
      bench::seconds_of([&] { loaded = zp::load_all(zp::open(url, remote()).value()).value(); });
  for (const auto& [name, value] : loaded) {
    const auto* tensor = std::get_if<zp::tensor>(&value);
    if (tensor != nullptr) bytes += tensor->size() * tensor->type().size();
  }
  return seconds;
}

/// Of a box of one tensor, from the opening on.
double read(const std::string& url, const zp::box& part, std::size_t& bytes) {
  return bench::seconds_of([&] {
    const auto array = zp::open(url, remote()).value().as_array("layer1/mlp").value();
    const zp::tensor loaded = array.read(part).value();
    bytes = loaded.size() * loaded.type().size();
  });
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  const std::string what = words[1], url = words[2];
  const std::size_t mib = count > 3 ? std::stoul(words[3]) : 0;
  if (what == "make") return make(url, mib);
  double seconds = 0;
  std::size_t bytes = 0;
  if (what == "load") {
    seconds = load(url, bytes);
  } else if (what == "open") {
    seconds = bench::seconds_of([&] { zp::open(url, remote()).value().names(); });
  } else if (what == "part") {
    const auto rows = static_cast<zp::index_t>(mib);
    seconds = read(url, zp::box({rows, 0}, {rows, columns}), bytes);
  } else if (what == "first") {
    seconds = read(url, zp::box({0, 0}, {1, 1}), bytes);
  } else if (what == "save") {
    const model large(mib);
    seconds = bench::seconds_of([&] { zp::save(url, large.leaves(), {}, remote()).value(); });
  } else {
    return 2;
  }
  std::printf("%.6f %zu\n", seconds, bytes);
  return 0;
}
