// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_convert.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>

#include <cstddef>
#include <string>
#include <unordered_map>

// Any pickled value as a document: the form of `state_node.hpp`, so that `state_from_node` takes
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
// Of such an object "__args__" and "__kwargs__" are what the class would be called with,
// "__items__" the members and "__elements__" the elements that would be put into it, and
// "__state__" a state that is not a set of attributes. {"__persistent__": [...]} is something kept
// outside of the pickle; where it is a storage of no tensor that is known, its bytes stand beside
// it as "base64". {"__omitted__": "why"} is what lies within itself or too deep.

namespace zarrpoint { inline namespace v0 { namespace torch {

namespace detail {

/// What becomes of tensors in a document.
struct document_tensors {
  const file* elements = nullptr;  ///< gives their elements; without it they are told as calls
  /// The names of arrays that have the elements, by the number of the value in its pickle: such a
  /// value becomes {"__array__": "model/weight"}.
  const std::unordered_map<std::size_t, std::string>* arrays = nullptr;
};

result<node> pickle_to_document(const pickle_value& value, const pickle_node_limits& limits,
                                const document_tensors& tensors = {});

}  // namespace detail

/// What a file holds, as a document that every pickle has. Tensors take part of
/// `limits.max_text`. Errors: `resource_limit`; `corrupt` for a tensor that lies outside of its
/// storage; `io`.
result<node> to_document(const file& from, const pickle_node_limits& limits = {.max_depth = 48});

}}}  // namespace zarrpoint::v0::torch

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/torch/impl/torch_document_impl.hpp>
#endif
