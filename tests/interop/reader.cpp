// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// reader FOLDER: reads every array, group and safetensors file that the folder's index.json lists,
// and compares every bit. Exit status 1 if anything differs.

#include <zarrpoint/codec/blosc/blosc_zlib.hpp>
#include <zarrpoint/codec/bytes_to_bytes/gzip.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "exchange.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace zp = zarrpoint;

namespace {

zp::context with_gzip() {
  zp::context how = zp::default_context();
  how.codecs =
      zp::default_codecs::with<zp::gzip_codec, zp::zlib_codec, zp::blosc_zlib_codec>::table();
  return how;
}

std::string text(const zp::json& entry, std::string_view member) {
  return *entry.find(member)->if_string();
}

class reader {
 public:
  explicit reader(std::string folder)
      : folder_(std::move(folder)),
        index_(zp::parse_json(zp::as_bytes(exchange::read_file(folder_ + "/index.json"))).value()) {
  }

  int run() {
    for (const zp::json& entry : list(index_, "arrays")) check(text(entry, "path"), array(entry));
    for (const zp::json& entry : list(index_, "groups")) check(text(entry, "path"), group(entry));
    for (const zp::json& file : list(index_, "safetensors")) {
      for (const zp::json& entry : list(file, "tensors"))
        check(text(file, "path") + ": " + text(entry, "name"), safetensors(file, entry));
    }
    std::printf("zarrpoint read %d arrays, groups and tensors, %d wrong\n", checked_, wrong_);
    return wrong_ == 0 && checked_ > 0 ? 0 : 1;
  }

 private:
  static const zp::json::array& list(const zp::json& of, std::string_view member) {
    return *of.find(member)->if_array();
  }

  void check(const std::string& what, const zp::result<void>& outcome) {
    ++checked_;
    if (outcome) return;
    ++wrong_;
    std::printf("%s: %s\n", what.c_str(), to_string(outcome.failure()).c_str());
  }

  /// Compares with the data type, shape and contents that `entry` names.
  zp::result<void> compare(const zp::tensor& loaded, const zp::json& entry) const {
    if (to_string(loaded.type()) != text(entry, "dtype"))
      return zp::error{zp::errc::dtype_mismatch, std::string(to_string(loaded.type()))};
    zp::dims shape;
    for (const zp::json& extent : list(entry, "shape")) shape.push_back(extent.to_int64().value());
    if (loaded.shape() != shape)
      return zp::error{zp::errc::shape_mismatch, to_string(loaded.shape())};
    if (!exchange::same(loaded, folder_ + "/" + text(entry, "expected")))
      return zp::error{zp::errc::corrupt, "other contents"};
    return {};
  }

  zp::result<void> array(const zp::json& entry) const {
    ZARRPOINT_TRY(store, zp::file_store::open(folder_, {.read_only = true}));
    ZARRPOINT_TRY(key, zp::store_key::parse(text(entry, "path")));
    ZARRPOINT_TRY(opened, zp::array::open(store, key, with_gzip()));
    ZARRPOINT_TRY(loaded, opened.read(zp::box::whole(opened.spec().shape)));
    return compare(loaded, entry);
  }

  zp::result<void> group(const zp::json& entry) const {
    ZARRPOINT_TRY(opened, zp::open(folder_ + "/" + text(entry, "path"), with_gzip()));
    std::vector<std::string> wanted;
    for (const zp::json& leaf : list(entry, "leaves")) wanted.push_back(*leaf.if_string());
    std::sort(wanted.begin(), wanted.end());
    if (opened.names() != wanted) return zp::error{zp::errc::not_found, "other leaves"};
    const zp::json* best = opened.attributes().find("best");
    if (best == nullptr || best->to_double() != std::numeric_limits<double>::infinity())
      return zp::error{zp::errc::corrupt, "other attributes"};
    for (const std::string& name : wanted) {
      ZARRPOINT_TRY(leaf, opened.as_array(name));
      ZARRPOINT_CHECK(leaf.read(zp::box::whole(leaf.spec().shape)));
    }
    return {};
  }

  zp::result<void> safetensors(const zp::json& file, const zp::json& entry) const {
    ZARRPOINT_TRY(opened, zp::safetensors::open(folder_ + "/" + text(file, "path")));
    ZARRPOINT_TRY(spec, opened.spec(text(entry, "name")));
    ZARRPOINT_TRY(loaded, zp::tensor::make(spec));
    ZARRPOINT_CHECK(opened.read(text(entry, "name"), loaded.mutable_view()));
    return compare(loaded, entry);
  }

  std::string folder_;
  zp::json index_;
  int checked_ = 0;
  int wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: reader FOLDER\n", stderr), 2;
  try {
    return reader(argv[1]).run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "reader: %s\n", failure.what());
    return 1;
  }
}
