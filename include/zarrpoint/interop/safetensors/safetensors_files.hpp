// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/interop/hierarchy/weight_index.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>

#include <functional>

// A model in several files, as Hugging Face publishes them: `model-00001-of-00003.safetensors` and
// on, and `model.safetensors.index.json`, which says what tensor is in which.
// https://huggingface.co/docs/huggingface_hub/package_reference/serialization

namespace zarrpoint { inline namespace v0 { namespace safetensors {

/// Writes a new directory of files that hold the tensors in their order, and their index, as
/// `safetensors::format` of the options says: `{.format = safetensors::format{.max_file_bytes =
/// n}}`. Of the report `files` are their names, and `bytes` what the index calls `total_size`. It
/// appears in one step, once all of it is on the disk; after an error nothing is there that was not
/// there before. Errors: `already_exists` for what is there and is not such a model, or must not be
/// replaced; `invalid_argument` for two tensors of one name, for none, and for files of no bytes;
/// `io`, for a link too; those of `save`, naming the file.
result<save_report> save_files(const location& where, std::span<const named_view> tensors,
                               const save_options& options = {});

namespace detail {

/// The index of a model in several files.
inline constexpr std::string_view files_index = "model.safetensors.index.json";

/// A tensor that is written, whose elements are there from when its turn comes until the next.
struct tensor_to_write {
  std::string name;
  tensor_spec spec;
  std::function<result<staged>()> stage;
};

/// Writes a file. One tensor after another: elements that are copied from a device are there of one
/// at a time. Errors: those of `dump_header`, of the stages and of the store.
result<void> write_tensors(const any_store& store, const store_key& key,
                           std::span<const tensor_to_write> tensors, const metadata_map& metadata);

/// The text of the index: of each tensor the name and its file, and the bytes of all.
std::string index_document(json::object file_of, std::uint64_t total);

/// The files of a model, and its index, sorted; none where there is no index.
result<std::vector<std::string>> files_of(const any_store& root);
/// Whether that is a whole model in several files, or what else is there.
result<v0::detail::own_look> look_for_model(const any_store& root);

/// The index in the directory `at`; nothing where there is none.
result<std::optional<v0::detail::weight_index>> index_in(const any_store& store,
                                                         const store_key& at);

/// The number of the file that each tensor comes to, from 0, in their order: the next file begins
/// where one would have more than `most` bytes.
std::vector<std::size_t> divide_by_size(std::span<const std::uint64_t> bytes, std::uint64_t most);

/// Some of the tensors, in their order.
struct tensor_range {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Writes the file `key` with those tensors.
using file_writer_function =
    std::function<result<void>(const any_store&, const store_key&, tensor_range)>;

/// What is to be written: the names of the tensors and their bytes, one for one.
struct files_plan {
  std::vector<std::string> names;
  std::vector<std::uint64_t> bytes;
  std::uint64_t max_file_bytes = 5'000'000'000;
};

/// Divides, has each file written, and writes the index, as `save_files` says. Errors name the
/// file; callers add the directory.
result<save_report> write_files(const location& where, const files_plan& plan,
                                const save_options& how, const file_writer_function& write);

}  // namespace detail

}}}  // namespace zarrpoint::v0::safetensors
