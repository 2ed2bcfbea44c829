// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/chunk_edges.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// The metadata of an array of uncompressed chunks, in the byte order of this machine. `edges`: of
/// a rectilinear grid, else none.
array_metadata raw_metadata(const tensor_spec& spec, const dims& chunk_shape,
                            std::vector<axis_edges> edges = {});

/// Its `zarr.json`.
result<std::string> document_of(const array_metadata& of);

/// An array of one chunk: its `zarr.json`, and the bytes of the chunk.
struct value_array {
  std::string document;
  std::vector<std::byte> chunk;
  std::size_t rank = 0;
};

/// What a file of torch.save holds as such an array: a tensor or an array of numpy as one, a number
/// or a text as an array of rank 0, other values as the text of their document. `name`: that of the
/// value; where it is the unique key of an object of Megatron-Core, the list of that one object is
/// the object. Errors: those of `torch::to_document` and `torch::file::read`; `unsupported` for a
/// tensor that this library has no elements for.
result<value_array> to_array(const torch::file& from, std::string_view name);

/// What a file of torch.save holds as a document, an object of Megatron-Core as in `to_array`.
result<node> to_node(const torch::file& from, std::string_view name);

/// Puts a value at a path of a document. Errors: `corrupt` where another value is on the way;
/// `resource_limit` for places in lists beyond `most_gaps`, which counts those that are left empty.
result<void> put_at(node& document, std::span<const path_step> path, node value,
                    std::size_t& most_gaps);

}}}}  // namespace zarrpoint::v0::dcp::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp/impl/dcp_value_impl.hpp>
#endif
