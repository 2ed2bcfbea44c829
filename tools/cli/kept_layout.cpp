// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "kept_layout.hpp"

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include "output.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace cli {

namespace {

using codec_list = std::vector<zp::codec_spec>;

/// Whether encoding what was decoded gives the same values again, for any elements.
bool is_lossless(const zp::codec_spec& codec, const zp::dtype& type) {
  constexpr std::array<std::string_view, 26> always{"bytes",
                                                    "transpose",
                                                    "reshape",
                                                    "vlen-utf8",
                                                    "vlen-bytes",
                                                    "vlen-array",
                                                    "packbits",
                                                    "zstd",
                                                    "gzip",
                                                    "blosc",
                                                    "crc32c",
                                                    "lz4",
                                                    "bz2",
                                                    "lzma",
                                                    "zlib",
                                                    "shuffle",
                                                    "adler32",
                                                    "crc32",
                                                    "fletcher32",
                                                    "pcodec",
                                                    "jenkins_lookup3",
                                                    "json2",
                                                    "msgpack2",
                                                    "base64",
                                                    "delta",
                                                    zp::sharding_config::name};
  std::string_view name = codec.name;
  if (name.starts_with("numcodecs.")) name.remove_prefix(10);
  if (std::find(always.begin(), always.end(), name) == always.end()) return false;
  if (name == "delta") {
    // Differences of floats are rounded, and so are those of a narrower type.
    const zp::json* const as = codec.configuration.find("astype");
    const zp::json* const of = codec.configuration.find("dtype");
    return type.is_integer() && (as == nullptr || (of != nullptr && *as == *of));
  }
  if (name != zp::sharding_config::name) return true;
  const auto config = zp::sharding_config::from_configuration(codec.configuration);
  return config && std::all_of(config->codecs.begin(), config->codecs.end(),
                               [&](const auto& one) { return is_lossless(one, type); });
}

bool are_lossless(const codec_list& codecs, const zp::dtype& type) {
  return std::all_of(codecs.begin(), codecs.end(),
                     [&](const zp::codec_spec& one) { return is_lossless(one, type); });
}

/// Those that mean the same for elements of any size, told so that the size is found anew;
/// nothing where one does not.
std::optional<codec_list> for_any_type(codec_list codecs) {
  constexpr std::array<std::string_view, 8> known{"bytes", "transpose", "zstd", "gzip",
                                                  "blosc", "crc32c",    "lz4",  "zlib"};
  for (zp::codec_spec& codec : codecs) {
    std::string_view name = codec.name;
    if (name.starts_with("numcodecs.")) name.remove_prefix(10);
    if (std::find(known.begin(), known.end(), name) == known.end()) return {};
    if (zp::json::object* const members = codec.configuration.if_object();
        name == "blosc" && members)
      std::erase_if(*members, [](const auto& one) { return one.key == "typesize"; });
  }
  return codecs;
}

/// The fill value of an array as an element of another dtype; zero where there is no such.
zp::fill_value cast_fill(const zp::array_metadata& from, const zp::dtype& to) {
  if (from.fill.is_null() || from.type.is_variable() || to.is_variable())
    return zp::fill_value::zero(to);
  const auto cast = [&]() -> zp::result<zp::fill_value> {
    ZARRPOINT_TRY(before, zp::tensor::make({from.type, {}}));
    ZARRPOINT_TRY(after, zp::tensor::make({to, {}}));
    const zp::bytes_view bytes = from.fill.bytes();
    std::copy(bytes.begin(), bytes.end(), before.mutable_view().data);
    ZARRPOINT_CHECK(zarrpoint::detail::cast_elements(after.mutable_view(), before.view()));
    return zp::fill_value::of_bytes({after.view().data, to.size()});
  };
  return cast().value_or(zp::fill_value::zero(to));
}

bool is_zero(const zp::array_metadata& of) {
  return of.fill.is_null() || of.fill == zp::fill_value::zero(of.type);
}

/// What is read of an array, in the words of its chunks.
struct inner_layout {
  zp::dims chunk;
  std::optional<zp::dims> shard;
  codec_list codecs;
};

inner_layout inner_of(const zp::array_metadata& of) {
  for (const zp::codec_spec& codec : of.codecs) {
    if (codec.name != zp::sharding_config::name) continue;
    auto config = zp::sharding_config::from_configuration(codec.configuration);
    if (config) return {config->chunk_shape, of.chunk_shape, std::move(config->codecs)};
  }
  return {of.chunk_shape, {}, of.codecs};
}

bool same_codecs(const codec_list& a, const codec_list& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name; });
}

/// Whether elements are stored as they are.
bool is_raw(const codec_list& codecs) {
  return std::all_of(codecs.begin(), codecs.end(), [](const zp::codec_spec& one) {
    return one.name == "bytes" || one.name == "vlen-utf8" || one.name == "vlen-bytes";
  });
}

/// Whether TensorStore knows the codecs and the fill value.
bool is_of_tensorstore(const zp::array_metadata& of) {
  constexpr std::array<std::string_view, 8> known{
      "bytes", "transpose", "zstd", "gzip", "blosc", "crc32c", "numcodecs.zlib", "numcodecs.bz2"};
  const auto is_known = [&](const zp::codec_spec& codec) {
    return std::find(known.begin(), known.end(), codec.name) != known.end();
  };
  const inner_layout inner = inner_of(of);
  return of.edges.empty() && std::all_of(inner.codecs.begin(), inner.codecs.end(), is_known) &&
         (!inner.shard || of.codecs.size() == 1);
}

/// Whose file then lies beside its document, as `save` has it.
bool is_one_object(const zp::array_metadata& of) {
  for (std::size_t i = 0; i < of.shape.rank(); ++i)
    if (of.shape[i] > of.chunk_shape[i]) return false;
  return true;
}

/// Whether the format can say it, and this build write it.
bool fits(const zp::array_metadata& as) {
  const auto check = [&]() -> zp::result<void> {
    zp::array_metadata back;
    if (as.zarr_format == 2) {
      ZARRPOINT_TRY(documents, zp::to_v2(as));
      ZARRPOINT_TRY(parsed, zp::parse_array_v2(documents.document));
      back = std::move(parsed);
    } else {
      ZARRPOINT_TRY(document, zp::to_v3(as));
      ZARRPOINT_TRY(parsed, zp::parse_array_v3(document));
      back = std::move(parsed);
    }
    if (back.type != as.type)
      return zp::error{zp::errc::invalid_argument, "it would be read as another dtype"};
    return {};
  };
  return check().has_value();
}

}  // namespace

bool layout_keeper::can_encode(const codec_list& codecs, const zp::dtype& type) {
  for (const auto& [known, of] : encoded_)
    if (known == codecs && of == type) return true;
  zp::array_metadata one;
  one.type = type;
  one.shape = one.chunk_shape = zp::dims(1, 1);
  one.fill = zp::fill_value::zero(type);
  for (const zp::codec_spec& codec : codecs) {
    // What depends on the rank is known to be written.
    if (codec.name == "transpose" || codec.name == "reshape") continue;
    if (codec.name == zp::sharding_config::name) {
      auto config = zp::sharding_config::from_configuration(codec.configuration);
      return config && can_encode(config->codecs, type);
    }
    one.codecs.push_back(codec);
  }
  const auto write = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(array, zp::array::from_metadata(zp::any_store(zp::memory_store()),
                                                  zp::store_key::root(), one, what_.from.how()));
    ZARRPOINT_TRY(element, zp::tensor::make(one.spec()));
    return array.write(zp::box::whole(one.shape), element.view(), {.elide_fill = false});
  };
  if (!write()) return false;
  encoded_.emplace_back(codecs, type);
  return true;
}

std::optional<zp::leaf_layout> layout_keeper::keep(const converted& each, const asked_layout& asked,
                                                   const kept_format& to) {
  const entry& told = what_.from.entries()[each.index];
  const zp::array_metadata* const source = what_.from.stored_as(each.index);
  if (to.is_orbax && !told.typestr.empty() && told.typestr != "array" && told.typestr != "scalar" &&
      !each.type.is_variable())
    lose("kind", each.name);
  if (source == nullptr) return {};
  const int zarr_format = to.zarr_format;
  const zp::tensor_spec spec{each.type, source->shape};
  const inner_layout inner = inner_of(*source);
  const bool is_cast = each.type != source->type;
  const bool asks_grid = asked.chunk != nullptr || asked.shard != nullptr;

  const bool is_written =
      are_lossless(source->codecs, source->type) && can_encode(source->codecs, source->type);
  std::optional<codec_list> codecs;
  if (asked.codecs != nullptr) {
    codecs = *asked.codecs;
  } else if (is_written) {
    codecs = is_cast ? for_any_type(inner.codecs) : inner.codecs;
  }
  const auto finish = [&](zp::array_metadata& as) {
    as.fill = is_cast ? cast_fill(*source, each.type) : source->fill;
    if (zarr_format == 3 && as.fill.is_null()) as.fill = zp::fill_value::zero(each.type);
    as.attributes = {};
    as.dimension_names = zarr_format == 3 ? source->dimension_names : std::nullopt;
    if (!to.is_orbax) return;
    as.keys = zarr_format == 2 ? zp::chunk_key_encoding{zp::chunk_key_encoding::style::v2, '.'}
                               : zp::chunk_key_encoding{};
    // TensorStore knows no other for some types of Zarr v2.
    if (zarr_format == 2 && is_zero(as)) as.fill = zp::fill_value::undefined(each.type);
  };
  const auto is_good = [&](const zp::array_metadata& one) {
    return fits(one) && (!to.is_orbax || is_of_tensorstore(one));
  };
  const codec_list defaults = to.is_orbax ? zp::zstd_codecs() : zp::raw_codecs();
  /// By the rules, with chunks and codecs of the source or of the defaults.
  const auto planned = [&](bool keeps_grid,
                           const codec_list* use) -> std::optional<zp::array_metadata> {
    const zp::dims shard = inner.shard.value_or(inner.chunk);
    zp::detail::layout_rules rules{asked.chunk, asked.shard, nullptr, use};
    if (keeps_grid && !asks_grid && zarr_format == 3) {
      rules.chunk_shape = &inner.chunk;
      rules.shard_shape = &shard;
    }
    auto plan = zp::detail::plan_layout(rules, spec, zarr_format);
    if (!plan) return {};
    zp::array_metadata as = std::move(plan->metadata);
    if (keeps_grid && zarr_format == 2) as.chunk_shape = inner.chunk;
    if (zarr_format == 3 && is_one_object(as)) as.keys.separator = '.';
    finish(as);
    return is_good(as) ? std::optional(std::move(as)) : std::nullopt;
  };

  std::optional<zp::array_metadata> as;
  if (!asks_grid && asked.codecs == nullptr && !is_cast && is_written) {
    zp::array_metadata same = *source;
    if (zarr_format != source->zarr_format) {
      same.zarr_format = zarr_format;
      same.keys = zarr_format == 2 ? zp::chunk_key_encoding{zp::chunk_key_encoding::style::v2, '.'}
                                   : zp::chunk_key_encoding{};
      zp::detail::mend_levels(same.codecs);
    }
    if (zarr_format == 2) {
      same.chunk_shape = inner.chunk;
      same.edges.clear();
      same.codecs = inner.codecs;
      if (!same.codecs.empty() && same.codecs.back().name == "crc32c") same.codecs.pop_back();
    }
    finish(same);
    if (is_good(same)) as = std::move(same);
  }
  if (!as && codecs) as = planned(true, &*codecs);
  const codec_list* const use = asked.codecs != nullptr ? asked.codecs : &defaults;
  if (!as) as = planned(true, use);
  if (!as) as = planned(false, use);
  if (!as) {  // the save tells what is wrong
    lose_all(each);
    return {};
  }

  const inner_layout made = inner_of(*as);
  if (as->dimension_names != source->dimension_names) lose("dimension names", each.name);
  if (!is_cast && !(is_zero(*as) && is_zero(*source)) && as->fill != source->fill)
    lose("fill value", each.name);
  if (!asks_grid && (made.chunk != inner.chunk || as->edges != source->edges))
    lose("chunk shape", each.name);
  if (!asks_grid && made.shard != inner.shard) lose("shard shape", each.name);
  if (asked.codecs == nullptr && !same_codecs(made.codecs, inner.codecs)) lose("codecs", each.name);
  const std::optional<bool> is_sparse = what_.from.lacks_chunks(each.index);
  if (is_sparse.value_or(false) && to.is_orbax) lose("absent chunks", each.name);
  zp::leaf_layout out;
  out.name = each.name;
  out.as = *std::move(as);
  out.elide_fill = is_sparse.value_or(true);
  out.kind = told.typestr;
  return out;
}

void layout_keeper::lose_all(const converted& each) {
  const entry& told = what_.from.entries()[each.index];
  if (!told.typestr.empty() && told.typestr != "array") lose("kind", each.name);
  const zp::array_metadata* const source = what_.from.stored_as(each.index);
  if (source == nullptr) return;
  const inner_layout inner = inner_of(*source);
  if (source->dimension_names) lose("dimension names", each.name);
  if (!is_zero(*source)) lose("fill value", each.name);
  if (inner.shard || !is_one_object(*source)) lose("chunk shape", each.name);
  if (inner.shard) lose("shard shape", each.name);
  if (!is_raw(inner.codecs)) lose("codecs", each.name);
  if (what_.from.lacks_chunks(each.index).value_or(false)) lose("absent chunks", each.name);
}

void layout_keeper::lose_tree(const zp::json& orbax) {
  const zp::json* const leaves = orbax.find("leaves");
  if (leaves == nullptr || leaves->if_object() == nullptr) return;
  for (const zp::json::member& leaf : *leaves->if_object()) {
    const zp::json* const kind = leaf.value.find("kind");
    if (kind != nullptr && kind->if_string() != nullptr && *kind->if_string() != "np.ndarray")
      lose("kind", leaf.key);
    if (leaf.value.find("sharding") != nullptr) lose("sharding", leaf.key);
  }
  lose("the lists and tuples of Orbax's tree", "");
}

void layout_keeper::lose(const std::string& what, const std::string& name) {
  lost& of = lost_[what];
  if (of.count++ == 0) of.first = name;
}

void layout_keeper::tell(const std::string& target) const {
  if (lost_.empty()) return;
  std::string text;
  for (const auto& [what, of] : lost_) {
    text += (text.empty() ? "" : ", ") + what;
    if (of.first.empty()) continue;  // of the whole
    text += " of ";
    text += of.count == 1 ? '"' + escaped(of.first) + '"' : std::to_string(of.count) + " arrays";
  }
  note("not kept in " + target + ": " + text);
}

}  // namespace cli
