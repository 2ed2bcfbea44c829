// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// The safetensors files in a directory that together are one checkpoint: those that
/// `model.safetensors.index.json` names, or `shard-00001-model-00001-of-00004.safetensors` and its
/// like, which torch.distributed.checkpoint wrote. Empty where there are none. Errors: `corrupt`.
result<std::vector<std::string>> safetensors_files(const any_store& store, const store_key& at);

/// What is in them. An index decides which tensors there are, and in which file each lies. A tensor
/// that the `DCP_SHARDING_INFO` of files names has a box in each of them, which begins where that
/// says; the shape is what all of them reach. Errors: `not_found` for a file that is gone;
/// `corrupt` for two dtypes or ranks of one tensor, for an offset that does not fit; `corrupt` for
/// a tensor in two files where neither settles it, and for one that the file of the index does not
/// have; those of `safetensors::open`.
result<metadata> read_safetensors(const any_store& store, const store_key& at,
                                  const std::vector<std::string>& files);

}}}}  // namespace zarrpoint::v0::dcp::detail
