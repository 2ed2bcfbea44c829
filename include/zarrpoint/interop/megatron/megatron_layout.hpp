// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace megatron {

// The directory that Megatron-Core 0.13 writes with its backends ("zarr", 1) and ("torch", 1), file
// by file. The root of the store is the directory of the checkpoint.

/// What wrote the parts of a checkpoint.
struct backends {
  std::string sharded = "zarr";
  std::int64_t sharded_version = 1;
  std::string common = "torch";
  std::int64_t common_version = 1;

  friend bool operator==(const backends&, const backends&) = default;
};

namespace detail {

/// What says that a directory is a checkpoint.
inline constexpr std::string_view metadata_file = "metadata.json";
/// What holds the state that no process shards.
inline constexpr std::string_view common_file = "common.pt";

/// `metadata.json`, byte for byte.
std::string to_json(const backends& from);

/// Writes `metadata.json`. It comes last: a directory without it is not a checkpoint.
result<void> write_metadata(const any_store& store, const backends& what = {});

/// What `metadata.json` says, whichever backends wrote. Errors: `not_found` when it is not there;
/// `corrupt`.
result<backends> read_metadata(const any_store& store);

/// A tensor of a checkpoint: its type, its shape and that of its chunks. A chunk is a cell of the
/// grid of shards; prepended axes have chunks of one.
struct tensor_layout {
  tensor_spec spec;
  dims chunk_shape;

  friend bool operator==(const tensor_layout&, const tensor_layout&) = default;
};

/// Whether Megatron-Core stores tensors of that type in this layout: bool, int8 to int64, uint8,
/// float16 to float64, bfloat16 and complex numbers.
constexpr bool can_store(const dtype& type) noexcept {
  switch (type.kind()) {
    case dtype_kind::bool_:
    case dtype_kind::uint8:
    case dtype_kind::int8:
    case dtype_kind::int16:
    case dtype_kind::int32:
    case dtype_kind::int64:
    case dtype_kind::float16:
    case dtype_kind::bfloat16:
    case dtype_kind::float32:
    case dtype_kind::float64:
    case dtype_kind::complex64:
    case dtype_kind::complex128: return true;
    default: return false;
  }
}

/// The `.zarray` of a tensor, byte for byte as zarr 2 writes it for Megatron-Core. Errors:
/// `unsupported` for types that it does not store; `invalid_argument` for chunks that do not fit.
result<std::string> array_document(const tensor_layout& of);

/// The same as the metadata of an array, for `array::from_metadata`: what is written through it,
/// with `write_options::elide_fill` off, are the chunks of the tensor. Errors: as `array_document`.
result<array_metadata> to_metadata(const tensor_layout& of);

/// The key of a tensor or object in the store.
result<store_key> tensor_key(std::string_view key);

std::string joined(const dims& numbers);

/// Writes the `.zarray` of a new tensor. Errors: `already_exists`; those of `array_document` and of
/// the store.
result<void> put_array_document(const any_store& store, std::string_view key,
                                const tensor_layout& of);

/// The name of a chunk in the folder of its tensor: `i.j.k`, and `0` without axes.
std::string chunk_name(const dims& index);

}  // namespace detail

/// One object of a checkpoint: a piece of a grid of objects that are not resharded.
struct object_id {
  std::string key;
  dims offset;
  dims shape;

  friend bool operator==(const object_id&, const object_id&) = default;
};

/// Megatron-Core's unique key of an object, such as `ObjB/shard_0.3_1.8`; its file is that and
/// `.pt`.
std::string unique_key(const object_id& of);

/// The object of a unique key. The shape has one axis less than the offset where an old version of
/// Megatron-Core took the last one for the ending of the file's name. Nothing when it is none.
std::optional<object_id> parse_unique_key(std::string_view text);

namespace detail {

/// Writes the file of an object: `what` as torch.save does. Errors: `invalid_argument` for what is
/// not a unique key; those of `torch::save`.
result<void> put_object(const any_store& store, std::string_view unique, const torch::value& what);

/// Writes `common.pt`, without which Megatron-Core loads nothing. Errors: those of `torch::save`.
result<void> write_common(const any_store& store, const torch::value& state);

}  // namespace detail

}}}  // namespace zarrpoint::v0::megatron

namespace zarrpoint { inline namespace v0 { namespace megatron { namespace detail {

// Which of the options of a save the layouts of Megatron-Core have: what they have not is refused,
// rather than left out.

/// Of which type a tensor is stored: its own, or that of the last rule with a `cast`. Errors: those
/// of the cast.
result<dtype> stored_type(const save_job& job, const planned_tensor& tensor);

/// Errors: `invalid_argument` where there are attributes.
result<void> check_attributes(const save_job& job);

/// `cell`: the type and the shape of a cell of the tensor `key`. Errors: `invalid_argument` for a
/// rule that asks for other chunks, or for codecs.
result<void> check_rules(const save_job& job, const tensor_spec& cell, std::string_view key);

}}}}  // namespace zarrpoint::v0::megatron::detail
