// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The transport of one's own in docs/remote.md. It needs neither libcurl nor a network.

#include <zarrpoint/remote.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace zp = zarrpoint;

// A transport of one's own: of `http://anything/path` it has the file of that path.
struct folder_transport {
  zp::result<zp::http_response> send(const zp::http_request& request) const {
    zp::http_receiver receiver(request);
    const auto at = zp::web_url::parse(request.url);
    if (!at) return at.failure();
    std::FILE* file = std::fopen(at->path.substr(1).c_str(), "rb");
    if (file == nullptr) {
      receiver.begin(404);
      return receiver.finish();
    }
    std::fseek(file, 0, SEEK_END);
    const unsigned long size = static_cast<unsigned long>(std::ftell(file));
    unsigned long first = 0, last = size - 1;
    const std::string* range = zp::find_header(request.headers, "Range");
    if (range != nullptr && range->starts_with("bytes=-")) {  // so many of the last ones
      first = size - std::min(size, std::strtoul(range->c_str() + 7, nullptr, 10));
    } else if (range != nullptr) {
      std::sscanf(range->c_str(), "bytes=%lu-%lu", &first, &last);
    }
    last = std::min(last, size - 1);
    receiver.begin(range != nullptr ? 206 : 200);
    receiver.header("Content-Range", "bytes " + std::to_string(first) + '-' + std::to_string(last) +
                                         '/' + std::to_string(size));
    std::vector<std::byte> bytes(last - first + 1);
    std::fseek(file, static_cast<long>(first), SEEK_SET);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    std::fclose(file);
    receiver.body(bytes);
    return receiver.finish();
  }
};

struct folder_access {
  static folder_transport transport() { return {}; }
};

int main() {
  const std::vector<float> w(100'000, 1.5F);
  zp::save("model.zarr", {{"w", w}}).value();
  using scheme = zp::http_scheme_by<folder_access>;
  const auto model = zp::open("http://any/model.zarr", {.stores = zp::formats<scheme>()}).value();
  return model.load<std::vector<float>>("w").value() == w ? 0 : 1;
}
