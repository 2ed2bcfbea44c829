// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

// Objects in the layout torch_dist: files of torch.save, each of a list that holds the one object.
// Nothing of their pickles is run: the list is put around an object, and taken from it, by the
// opcodes that say so.

namespace zarrpoint { inline namespace v0 { namespace megatron { namespace detail {

/// Whether bytes are a file of torch.save, and not another archive. Errors: those of `zip_store`
/// for what begins as an archive and is none.
result<bool> is_torch_file(bytes_view bytes);

/// The bytes of an object that is a `bytes` of Python, for which a save would pickle them again.
/// Nothing for any other, and where the bytes are themselves a file of torch.save: only in a file
/// of its own such an object stays what it is.
std::optional<message> bare_bytes(const torch::pickle_value& object);

/// The file of the list of an object, whose bytes are a file of torch.save, or else are pickled as
/// `bytes`. `name` is what messages call it. Errors: `corrupt` for a damaged file; those of
/// `torch::open`.
result<std::string> list_object(bytes_view object, std::string_view name);

/// The object of such a file: its `bare_bytes`, or else a file of it alone. Errors:
/// `corrupt` for anything but the list of one object; those of `torch::open`.
result<message> unlist_object(std::unique_ptr<blob> file);

}}}}  // namespace zarrpoint::v0::megatron::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/megatron/impl/listed_object_impl.hpp>
#endif
