// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/make_owner.hpp>

#include <lzma.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The filters of an LZMA stream with their options, as liblzma wants them: in the same place as
/// long as they are in use.
class lzma_filter_chain {
 public:
  /// `filters` is a list of objects as Python's `lzma` has them, or null: then LZMA2, or with
  /// `is_lzma1` LZMA1, at `preset`. Errors: `invalid_argument`, `unsupported`.
  static result<lzma_filter_chain> make(const node& filters, std::uint32_t preset, bool is_lzma1) {
    lzma_filter_chain out;
    out.self_ = detail::make_counted<state>();
    if (filters.is_null()) {
      node one{node::object{}};
      one.set("id", static_cast<std::int64_t>(is_lzma1 ? LZMA_FILTER_LZMA1 : LZMA_FILTER_LZMA2));
      one.set("preset", static_cast<std::int64_t>(preset));
      ZARRPOINT_CHECK(out.self_->add(one));
    } else {
      const node::array* const list = filters.if_array();
      if (list == nullptr || list->empty() || list->size() > LZMA_FILTERS_MAX)
        return error{errc::invalid_argument, "\"filters\" is not a list of 1 to 4 filters"};
      for (const node& one : *list) ZARRPOINT_CHECK(out.self_->add(one).at("filters"));
    }
    out.self_->filters[out.self_->count].id = LZMA_VLI_UNKNOWN;
    return out;
  }

  /// The format .lzma has one filter, which is LZMA1.
  result<void> check_alone() const {
    if (self_->count == 1 && self_->filters[0].id == LZMA_FILTER_LZMA1) return {};
    return error{errc::invalid_argument, "\"format\" 2 takes the filter LZMA1 alone"};
  }

  const lzma_filter* filters() const { return self_->filters.data(); }
  /// Of the first filter, which is LZMA1 or LZMA2.
  const lzma_options_lzma& options() const { return self_->options[0].lzma; }

 private:
  union any_options {
    lzma_options_lzma lzma;
    lzma_options_delta delta;
    lzma_options_bcj bcj;
  };

  struct state {
    std::array<lzma_filter, LZMA_FILTERS_MAX + 1> filters{};
    std::array<any_options, LZMA_FILTERS_MAX> options{};
    std::size_t count = 0;

    result<void> add(const node& one) {
      const node* const id_node = one.find("id");
      const auto id = id_node == nullptr ? std::nullopt : id_node->to_int64();
      if (!id) return error{errc::invalid_argument, "a filter without an id"};
      any_options& chosen = options[count];
      lzma_filter& filter = filters[count];
      filter.id = static_cast<lzma_vli>(*id);
      filter.options = &chosen;
      ++count;
      switch (filter.id) {
        case LZMA_FILTER_LZMA1:
        case LZMA_FILTER_LZMA2: return read_lzma(one, chosen.lzma);
        case LZMA_FILTER_DELTA: return read_delta(one, chosen.delta);
        case LZMA_FILTER_X86:
        case LZMA_FILTER_POWERPC:
        case LZMA_FILTER_IA64:
        case LZMA_FILTER_ARM:
        case LZMA_FILTER_ARMTHUMB:
        case LZMA_FILTER_SPARC: return read_bcj(one, chosen.bcj);
        default: return error{errc::unsupported, "filter " + std::to_string(*id)};
      }
    }

    static result<void> read_lzma(const node& from, lzma_options_lzma& to) {
      ZARRPOINT_TRY(reader,
                    configuration_reader::open(from, {"id", "preset", "dict_size", "lc", "lp", "pb",
                                                      "mode", "nice_len", "mf", "depth"}));
      ZARRPOINT_TRY(preset, reader.integer("preset", 0, UINT32_MAX));
      to = {};
      if (lzma_lzma_preset(&to, static_cast<std::uint32_t>(preset.value_or(LZMA_PRESET_DEFAULT))))
        return error{errc::invalid_argument, "\"preset\" is not an integer from 0 to 9"};
      constexpr std::int64_t most_dictionary = std::int64_t{3} << 29;  // the encoder's limit
      ZARRPOINT_TRY(size, reader.integer("dict_size", LZMA_DICT_SIZE_MIN, most_dictionary));
      if (size) to.dict_size = static_cast<std::uint32_t>(*size);
      const std::pair<const char*, std::uint32_t*> small[] = {
          {"lc", &to.lc}, {"lp", &to.lp}, {"pb", &to.pb}};
      for (const auto& [key, value] : small) {
        ZARRPOINT_TRY(given, reader.integer(key, 0, 4));
        if (given) *value = static_cast<std::uint32_t>(*given);
      }
      if (to.lc + to.lp > LZMA_LCLP_MAX)
        return error{errc::invalid_argument, "the sum of \"lc\" and \"lp\" is above 4"};
      ZARRPOINT_TRY(length, reader.integer("nice_len", 2, 273));
      if (length) to.nice_len = static_cast<std::uint32_t>(*length);
      ZARRPOINT_TRY(depth, reader.integer("depth", 0, UINT32_MAX));
      if (depth) to.depth = static_cast<std::uint32_t>(*depth);
      ZARRPOINT_TRY(mode, reader.integer("mode", 1, 2));
      if (mode) to.mode = static_cast<lzma_mode>(*mode);
      ZARRPOINT_TRY(finder, reader.integer("mf", 3, 20));
      if (finder) to.mf = static_cast<lzma_match_finder>(*finder);
      if (!lzma_mf_is_supported(to.mf))
        return error{errc::invalid_argument, "\"mf\" is not a match finder"};
      return {};
    }
    static result<void> read_delta(const node& from, lzma_options_delta& to) {
      ZARRPOINT_TRY(reader, configuration_reader::open(from, {"id", "dist"}));
      ZARRPOINT_TRY(distance, reader.integer("dist", LZMA_DELTA_DIST_MIN, LZMA_DELTA_DIST_MAX));
      to = {};
      to.type = LZMA_DELTA_TYPE_BYTE;
      to.dist = static_cast<std::uint32_t>(distance.value_or(1));
      return {};
    }
    static result<void> read_bcj(const node& from, lzma_options_bcj& to) {
      ZARRPOINT_TRY(reader, configuration_reader::open(from, {"id", "start_offset"}));
      ZARRPOINT_TRY(offset, reader.integer("start_offset", 0, UINT32_MAX));
      to = {};
      to.start_offset = static_cast<std::uint32_t>(offset.value_or(0));
      return {};
    }
  };

  std::shared_ptr<state> self_;
};

}}}  // namespace zarrpoint::v0::detail
