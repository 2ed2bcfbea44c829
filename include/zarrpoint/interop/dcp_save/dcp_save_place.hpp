// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What lies where a checkpoint is going to be.

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

inline constexpr std::string_view metadata_file = ".metadata";

/// Whether a file is one of a checkpoint of PyTorch's, by its name.
bool is_own_file(std::string_view name);

/// Those of a directory, sorted; none where the store cannot list.
result<std::vector<std::string>> own_files(const any_store& root);

/// What a checkpoint of PyTorch replaces: another one, and what its files are called.
class state_rules final : public v0::detail::place_rules {
 public:
  v0::detail::replace_rule rule() const override {
    return {{}, true, "a PyTorch (DCP) checkpoint", v0::detail::directory_kind::dcp};
  }
  result<v0::detail::own_look> look(const any_store& root) const override;
  result<std::optional<std::vector<std::string>>> paths_of(const any_store& root) const override {
    return own_files(root).transform([](auto files) { return std::optional(std::move(files)); });
  }
  result<void> erase_document(const any_store& root) const override;
};

}}}}  // namespace zarrpoint::v0::dcp::detail
