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
  static result<lzma_filter_chain> make(const json& filters, std::uint32_t preset, bool is_lzma1) {
    lzma_filter_chain out;
    out.self_ = detail::make_counted<state>();
    if (filters.is_null()) {
      json one{json::object{}};
      one.set("id", static_cast<std::int64_t>(is_lzma1 ? LZMA_FILTER_LZMA1 : LZMA_FILTER_LZMA2));
      one.set("preset", static_cast<std::int64_t>(preset));
      ZARRPOINT_CHECK(out.self_->add(one));
    } else {
      const json::array* const list = filters.if_array();
      if (list == nullptr || list->empty() || list->size() > LZMA_FILTERS_MAX)
        return error{errc::invalid_argument, "\"filters\" is not a list of 1 to 4 filters"};
      for (const json& one : *list) ZARRPOINT_CHECK(out.self_->add(one).at("filters"));
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

    result<void> add(const json& one) {
      const json* const id_node = one.find("id");
      const auto id = id_node == nullptr ? std::nullopt : id_node->to_int64();
      if (!id) return error{errc::invalid_argument, "a filter has no \"id\""};
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
        default: return error{errc::unsupported, "filter " + std::to_string(*id) + " is not known"};
      }
    }

    static result<void> read_lzma(const json& from, lzma_options_lzma& to) {
      configuration_fields all(from);
      all.find("id");
      std::uint32_t preset = LZMA_PRESET_DEFAULT;
      all.integer("preset", preset, 0, UINT32_MAX);
      to = {};
      if (lzma_lzma_preset(&to, preset)) all.fail("\"preset\" is not an integer from 0 to 9");
      constexpr std::int64_t most_dictionary = std::int64_t{3} << 29;  // the encoder's limit
      all.integer("dict_size", to.dict_size, LZMA_DICT_SIZE_MIN, most_dictionary);
      all.integer("lc", to.lc, 0, 4);
      all.integer("lp", to.lp, 0, 4);
      all.integer("pb", to.pb, 0, 4);
      if (to.lc + to.lp > LZMA_LCLP_MAX) all.fail("the sum of \"lc\" and \"lp\" is above 4");
      all.integer("nice_len", to.nice_len, 2, 273);
      all.integer("depth", to.depth, 0, UINT32_MAX);
      all.integer("mode", to.mode, 1, 2);
      all.integer("mf", to.mf, 3, 20);
      if (!lzma_mf_is_supported(to.mf)) all.fail("\"mf\" is not a match finder");
      return all.end();
    }
    static result<void> read_delta(const json& from, lzma_options_delta& to) {
      configuration_fields all(from);
      all.find("id");
      to = {};
      to.type = LZMA_DELTA_TYPE_BYTE;
      to.dist = 1;
      all.integer("dist", to.dist, LZMA_DELTA_DIST_MIN, LZMA_DELTA_DIST_MAX);
      return all.end();
    }
    static result<void> read_bcj(const json& from, lzma_options_bcj& to) {
      configuration_fields all(from);
      all.find("id");
      to = {};
      all.integer("start_offset", to.start_offset, 0, UINT32_MAX);
      return all.end();
    }
  };

  std::shared_ptr<state> self_;
};

}}}  // namespace zarrpoint::v0::detail
