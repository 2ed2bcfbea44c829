// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of a state as a JSON document, and back.
//
// Maps are objects and lists are arrays; null, bools, integers, finite floating-point numbers and
// text in UTF-8 are themselves. What JSON has no word for is an object with the member "$":
//
//   {"$": "hole"}                                  a hole
//   {"$": "float64", "bits": "7ff8000000000000"}   a NaN or an infinity, as 16 hexadecimal digits
//   {"$": "text", "base64": "/w=="}                text that is not UTF-8
//   {"$": "tensor", "dtype": "float32", "shape": [1], "base64": "AACAPw=="}
//                                                  a tensor's elements in row-major order,
//                                                  little-endian; only read, never written
//
// A key of a map that begins with '$' has one more '$' in the document, so that no map is mistaken
// for one of these. Any other JSON document is read as the state it looks like.

#include <zarrpoint/distributed/state/state.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

json escaped(std::string kind);

}  // namespace detail

/// The common part of a state as a document: everything but local values, which are left out of
/// maps and are holes in lists. Empty maps, empty lists and holes are told apart, integers are
/// exact and floating-point numbers keep their bits. Errors, naming the path: `invalid_argument`
/// for what is sharded and for a key that is not UTF-8, `resource_limit` for a state nested deeper
/// than `max_state_depth`.
result<json> to_json(const state& of);

namespace detail {

/// The state that `to_json` made the document of. A tensor in it is a `sharded_tensor` of a
/// `tensor`, whole, whose key is its path (of the root: "tensor"). Errors, naming the path:
/// `corrupt` for an object with a member "$" that it does not know and for a key that is there
/// twice; `resource_limit` for a document nested deeper than `max_state_depth`.
result<state> state_from_json(const json& from);

}  // namespace detail

}}  // namespace zarrpoint::v0
