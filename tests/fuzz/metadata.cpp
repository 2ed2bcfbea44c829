// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarr.json`, `.zarray` and `.zgroup`: what is parsed is written, parsed again, and the same.

#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/nlohmann.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include "fuzz.hpp"

namespace {

using namespace fuzz;

zp::json reparsed(const zp::json& document) {
  const auto again =
      zp::parse_json(zp::as_bytes(zp::dump_json(document)), {.max_bytes = std::size_t{64} << 20});
  require(again.has_value(), "what was written is parsed");
  return *again;
}

/// `parse` reads what `write` made of what it had read. Compared as text, since NaN is not itself.
template <class Parse, class Write>
void round_trip(const zp::json& document, const Parse& parse, const Write& write) {
  const auto first = parse(document);
  if (!first) return;
  const auto written = write(*first);
  if (!written) return;  // more than we write, such as attributes nested beyond our own limit
  const auto second = parse(reparsed(*written));
  require(second.has_value(), "metadata that were written are read");
  const auto again = write(*second);
  require(again.has_value() && zp::dump_json(*again) == zp::dump_json(*written),
          "metadata survive being written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const zp::bytes_view text(reinterpret_cast<const std::byte*>(data), size);
  const zp::json_limits limits{.max_bytes = std::size_t{1} << 20};
  const auto document = zp::parse_json(text, limits);
  if (const auto strict =
          zp::parse_json(text, {.max_bytes = limits.max_bytes, .allow_nan_literals = false})) {
    const std::string_view same = zp::as_text(text);
    const auto theirs = nlohmann::ordered_json::parse(same.begin(), same.end(), nullptr, false);
    require(!theirs.is_discarded() && zp::to_nlohmann(*strict) == theirs, "nlohmann/json agrees");
  }
  if (!document) return 0;
  require(zp::dump_json(reparsed(*document)) == zp::dump_json(*document), "JSON survives");

  const zp::context how = bounded();
  for (const auto& parsed : {zp::parse_array_v3(*document), zp::parse_array_v2(*document)}) {
    if (parsed) static_cast<void>(zp::array_layout::resolve(*parsed, how.codecs, how.limit));
  }
  round_trip(
      *document, [](const zp::json& one) { return zp::parse_array_v3(one); },
      [](const zp::array_metadata& one) { return zp::to_v3(one); });
  round_trip(
      *document, [](const zp::json& one) { return zp::parse_group_v3(one); },
      [](const zp::group_metadata& one) { return zp::to_v3(one); });
  round_trip(
      *document, [](const zp::json& one) { return zp::parse_array_v2(one); },
      [](const zp::array_metadata& one) {
        return zp::to_v2(one).transform([](zp::v2_documents all) { return all.document; });
      });
  return 0;
}
