// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// What a file of torch.save can hold: values of JSON, bytes, tensors of the caller's, and lists
/// and dicts of them.
class value {
 public:
  struct member;
  using bytes = std::vector<std::byte>;
  using list = std::vector<value>;
  using dict = std::vector<member>;
  using storage = std::variant<json, bytes, host_view, list, dict>;

  // Defined below, where `member` is complete.
  value();
  value(const value&);
  value(value&&) noexcept;
  value& operator=(const value&);
  value& operator=(value&&) noexcept;
  ~value();

  value(json from);
  value(bytes from);
  /// The elements stay the caller's, and must live until they are saved.
  value(host_view from);
  value(list from);
  value(dict from);

  const storage& content() const noexcept { return content_; }

 private:
  storage content_;
};

/// One member of a dict.
struct value::member {
  std::string key;
  value to;
};

/// Writes `what` as torch.save does, so that `torch.load(weights_only=True)` reads it: bytes since
/// PyTorch 2.1. The object appears under its key in one step, and the same value makes the same
/// file. `prefix` is the directory in the archive, of which PyTorch wants one: torch.save takes the
/// name of the file. Errors: `invalid_argument` for text that is not UTF-8 and a prefix that is not
/// a key; `unsupported` for dtypes that PyTorch does not have; those of the store.
result<void> save(const any_store& store, const store_key& key, const value& what,
                  std::string_view prefix = "archive");

namespace detail {

/// What `data.pkl` says of a value, and the tensors in it, in the order of their storages.
struct value_pickle {
  std::string bytes;
  std::vector<host_view> storages;
};

/// Touches no element. Errors: those of `save` that are not the store's.
result<value_pickle> pickle_value_of(const value& what);

}  // namespace detail

}}}  // namespace zarrpoint::v0::torch

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

// The way back from `torch_document.hpp`: a document as the values that Python has.

/// Whether a document of `state_json.hpp` has a word for it that Python has a value for: bytes, and
/// numbers that are not finite.
bool is_value_word(const json& of);

/// Takes the "$" from keys of an object of a document that were given one, unless the document
/// would have it for a word.
void unescape_keys(json::object& members);

/// A document as values of Python: `{"$": "text", ...}` as `bytes`, `{"$": "float64", ...}` as the
/// `float`. Keys lose the `$` that `to_document` would give them again, so that it makes the same
/// document of what this makes. All else is what it looks like, a hole too. Errors: `unsupported`,
/// with its keys, for `{"$": "tensor", ...}`, whose elements nobody would hold.
result<value> document_value(json from);

}}}}  // namespace zarrpoint::v0::torch::detail
