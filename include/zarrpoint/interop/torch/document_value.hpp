// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>

// The way back from `torch_document.hpp`: a document as the values that Python has.

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

/// Whether a document of `state_node.hpp` has a word for it that Python has a value for: bytes, and
/// numbers that are not finite.
bool is_value_word(const node& of);

/// Takes the "$" from keys of an object of a document that were given one, unless the document
/// would have it for a word.
void unescape_keys(node::object& members);

/// A document as values of Python: `{"$": "text", ...}` as `bytes`, `{"$": "float64", ...}` as the
/// `float`, and keys with the `$` less that `to_document` would give them again, so that it makes
/// the same document of what this makes. All else is what it looks like, a hole too. Errors:
/// `unsupported`, with its keys, for `{"$": "tensor", ...}`, whose elements nobody would hold.
result<value> document_value(node from);

}}}}  // namespace zarrpoint::v0::torch::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/torch/impl/document_value_impl.hpp>
#endif
