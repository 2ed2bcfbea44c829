// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_convert.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The keys of dicts as those of a document.

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

/// What a document has taken of its limits.
struct document_budget {
  pickle_node_limits limits;
  std::size_t values = 0;
  std::size_t text = 0;  ///< and tensors, in bytes

  /// One text may be there any number of times. Errors: `resource_limit`.
  result<void> charge(std::uint64_t size);
};

/// Whether an object with the member "$" is one that `state_node.hpp` has, as our own saver writes
/// it; Python has such a dict by accident else.
bool is_document_word(const node& of);

/// The text of a key, as Python's json has it; nothing for keys that it refuses.
std::optional<std::string> key_text(const pickle_value& key);

/// Whether a key gets another "$" unless it is that of a word of our documents.
bool is_escaped(const std::string& name);

/// The keys of a dict that can be an object.
struct document_keys {
  std::vector<std::string> texts;
  std::vector<std::size_t> members;  ///< which member has the value: the last of that key
  bool are_text = true;              ///< each key has a text of its own

  /// Walks the keys only. They decide the form in which the values are converted, and to convert
  /// values for both forms would double the time at each level.
  static result<document_keys> of(const pickle_value& value, document_budget& budget);
};

}}}}  // namespace zarrpoint::v0::torch::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/torch/impl/document_keys_impl.hpp>
#endif
