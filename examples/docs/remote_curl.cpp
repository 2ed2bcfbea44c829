// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The first program of docs/remote.md: what a URL holds.

#include <zarrpoint/cache.hpp>
#include <zarrpoint/curl.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace zp = zarrpoint;

std::string hub() {
  const char* named = std::getenv("HF_ENDPOINT");
  return named == nullptr ? "https://huggingface.co" : named;
}

// The token of Hugging Face's hub, which goes to the hub alone.
struct hub_access : zp::curl_access {
  static zp::http_store_options options(const zp::url& at) {
    const char* token = std::getenv("HF_TOKEN");
    if (token == nullptr || !at.str().starts_with(hub() + '/')) return {};
    return {.headers = {{"Authorization", std::string("Bearer ") + token}}};
  }
};
using hub_scheme = zp::https_scheme_by<hub_access>;
static_assert(zp::store_scheme<hub_scheme>);

// What differs from how libcurl connects by itself.
struct house_access {
  static zp::curl_transport transport() {
    static const zp::curl_transport shared(
        {.proxy = "http://proxy.house:3128", .ca_file = "/etc/ssl/certs/house.pem"});
    return shared;
  }
};
static_assert(zp::store_scheme<zp::https_scheme_by<house_access>>);

// A list of the tensors in the hub, with the token of the environment.
int from_hub(const std::string& url) {
  const auto stores = zp::all_formats<hub_scheme>();
  const auto model = zp::open(url, {.stores = stores}).value();
  for (const std::string& name : model.names()) std::printf("%s\n", name.c_str());
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 2) return std::puts("remote_curl URL [URL of a directory [folder of a cache]]"), 0;
  if (std::string_view(argv[1]).starts_with(hub() + "/")) return from_hub(argv[1]);
  const auto stores = zp::all_formats<zp::http_scheme, zp::https_scheme>();
  const auto model = zp::open(argv[1], {.stores = stores}).value();
  for (const std::string& name : model.names()) std::printf("%s\n", name.c_str());
  if (argc < 3) return 0;
  const auto store = zp::http_store::open(argv[2], zp::curl_transport()).value();
  const auto same = zp::open(store).value();
  if (same.names() != model.names()) return 1;
  if (argc < 4) return 0;
  const auto cache = zp::read_cache::open({.folder = argv[3]}).value();
  const auto kept = zp::http_store::open(argv[2], zp::curl_transport(), {.cache = cache}).value();
  const auto again = zp::open(kept).value();
  return again.names() == model.names() ? 0 : 1;
}
