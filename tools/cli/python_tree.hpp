// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dicts of Python, as the names of values make them.

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>

#include "text.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cli {

namespace zp = zarrpoint;

/// Dicts of dicts, as the parts of names make them.
struct python_tree {
  std::map<std::string, python_tree, std::less<>> members;
  std::optional<zp::torch::value> leaf;

  /// Puts a value where the parts of its name lead. Errors: `invalid_argument` where another one is
  /// in the way.
  zp::result<void> put(std::string_view name, zp::torch::value value) {
    const std::size_t slash = name.find('/');
    if (slash == name.npos) return put_at(name, std::move(value));
    python_tree& child = members[std::string(name.substr(0, slash))];
    if (child.leaf) return in_the_way(name);
    return child.put(name.substr(slash + 1), std::move(value));
  }

  /// The same, by a name that is taken as it is.
  zp::result<void> put_at(std::string_view name, zp::torch::value value) {
    python_tree& child = members[std::string(name)];
    if (child.leaf || !child.members.empty()) return in_the_way(name);
    child.leaf = std::move(value);
    return {};
  }

  /// The members of a document. Errors: as `put`, and `unsupported` for one that is not of values
  /// of Python.
  zp::result<void> put_members(zp::json::object from) {
    zp::torch::detail::unescape_keys(from);
    for (zp::json::member& one : from) {
      ZARRPOINT_TRY(value, zp::torch::detail::document_value(std::move(one.value))
                               .at(zp::detail::in_quotes(one.key)));
      ZARRPOINT_CHECK(put_at(one.key, std::move(value)));
    }
    return {};
  }

  zp::torch::value::dict dict() && {
    zp::torch::value::dict out;
    for (auto& [key, each] : members)
      out.push_back(
          {key, each.leaf ? *std::move(each.leaf) : zp::torch::value(std::move(each).dict())});
    return out;
  }

 private:
  static zp::error in_the_way(std::string_view name) {
    return {zp::errc::invalid_argument, "the common state has another value in the place of \"" +
                                            escaped(std::string(name)) +
                                            "\"; --rename or --skip makes room"};
  }
};

}  // namespace cli
