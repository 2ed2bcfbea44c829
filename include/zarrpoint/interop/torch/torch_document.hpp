// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/torch/torch_file.hpp>

#include <unordered_map>

namespace zarrpoint { inline namespace v0 { namespace torch {

// Any pickled value as a document: the form of `state_json.hpp`, so that `state_from_json` takes
// every one of them. Nothing is called; what Python would build is told as data:
//
//   None, bool, int, float, str              themselves
//   an int of more than 64 bits              its decimal digits as text (hexadecimal from 1 KiB on)
//   bytes, bytearray, io.BytesIO             {"$": "text", "base64": "/w=="}
//   list, tuple, set, frozenset, torch.Size  an array
//   dict, OrderedDict, defaultdict, Counter  an object; keys that are numbers, bools or None are
//                                            text as in JSON
//   a dict with other keys                   {"__class__": "builtins.dict", "__args__": [[[k, v]]]}
//   a class, a function, a torch.dtype       its name: "torch.bfloat16"
//   a tensor, a numpy array of numbers       {"$": "tensor", "dtype": "float32", "shape": [2],
//                                             "base64": "AACAPwAAAEA="}, row-major, little-endian
//   a numpy number                           a number
//   any other object                         {"__class__": "argparse.Namespace", "lr": 0.1}: its
//                                            class, or what would be called, and its attributes
//
// Of such an object "__args__" and "__kwargs__" are what the class would be called with.
// "__items__" are the members and "__elements__" the elements that would be put into it.
// "__state__" is a state that is not a set of attributes. "__persistent__" has something kept
// outside of the pickle. Where it is a storage of no tensor that is known, its bytes stand beside
// it as "base64". "__omitted__" says why something is left out that lies within itself or too deep.

namespace detail {

/// What becomes of tensors in a document.
struct document_tensors {
  const file* elements = nullptr;  ///< gives their elements; without it they are told as calls
  /// The names of arrays that have the elements, by the number of the value in its pickle: such a
  /// value becomes {"__array__": "model/weight"}.
  const std::unordered_map<std::size_t, std::string>* arrays = nullptr;
};

result<json> pickle_to_document(const pickle_value& value, const pickle_node_limits& limits,
                                const document_tensors& tensors = {});

}  // namespace detail

/// What a file holds, as a document that every pickle has. Tensors take part of
/// `limits.max_text`. Errors: `resource_limit`; `corrupt` for a tensor that lies outside of its
/// storage; `io`.
result<json> to_document(const file& from, const pickle_node_limits& limits = {.max_depth = 48});

}}}  // namespace zarrpoint::v0::torch

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

// The keys of dicts as those of a document.

/// What a document has taken of its limits.
struct document_budget {
  pickle_node_limits limits;
  std::size_t values = 0;
  std::size_t text = 0;  ///< and tensors, in bytes

  /// One text may be there any number of times. Errors: `resource_limit`.
  result<void> charge(std::uint64_t size);
};

/// Whether an object with the member "$" is one that `state_json.hpp` has, as our own saver writes
/// it; Python has such a dict by accident else.
bool is_document_word(const json& of);

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
