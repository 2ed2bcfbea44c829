// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/hierarchy/virtual_store.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/store/format.hpp>

#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// A file of torch.save (`pytorch_model.bin`, `model.pt`), as a store to read and list in which it
/// is a Zarr hierarchy. Each tensor is an array at the keys and places that lead to it, as
/// `state/0/exp_avg` or `layer.weight`, of one chunk. Its elements are viewed in the file where the
/// store can map and they lie row by row; others are put together when they are asked for. A tensor
/// that is the whole of the file is at `value`.
///
/// Arrays of numpy and storages are arrays as well. A tensor that this library has no elements for
/// is listed and not read, as `unread_entry` says. It is quantised, sparse, nested, or of a class
/// that keeps them in a way of its own. Of an object, such as a module, the tensors are arrays at
/// the names of its attributes, those of a `torch.nn.Module` as in its `state_dict`. The rest is
/// the document `@object` beside them, in which `{"__array__": name}` stands for each.
///
/// What holds no tensor is an array of rank 0: numbers and bools of that type, texts of the data
/// type `string`. Anything else is the text of the document that `to_document` makes of it, which
/// is made when it is read. Its attribute `content_type` is `application/json`.
class archive_store : public v0::detail::virtual_store {
 public:
  using virtual_store::open;
  /// The file at `at`, or the model in several files whose index that is: a file whose name ends in
  /// `.json`. The index decides which arrays there are; what it leaves out is told by the attribute
  /// `weight_map` of the root. Errors: those of `torch::open`; `resource_limit` for what is nested
  /// deeper than 48 levels, or more than two million values or half of those that `limits` allows;
  /// the same for names that take more than half of its bytes.
  static result<archive_store> open(any_store base, store_key at, const pickle_limits& limits = {});
  static result<archive_store> open(std::unique_ptr<blob> from, const pickle_limits& limits = {});

 private:
  static result<archive_store> open_model(const any_store& base, const store_key& at,
                                          const pickle_limits& limits);
  using virtual_store::virtual_store;
};

/// Files of torch.save, as a format of `formats<...>`: zip archives with `data.pkl` in their one
/// folder, and what PyTorch wrote before 1.6. `torch://m.pt/w` is `w` of `m.pt`.
struct format {
  static constexpr std::string_view name = "torch";
  static result<claim> sniff(const place_look& at);
  static result<stored_place> open(const place_look& at, const place_use& use);
};

}}}  // namespace zarrpoint::v0::torch

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

// Names for the members of a dict of any keys.

/// That names take more than the limits allow.
error names_too_long();

struct named_member {
  std::string name;
  std::size_t member;
};

/// The members of a dict with names for them; the last of equal keys counts. Keys that are not text
/// are told as JSON has them, and by their type where a text is like them: `0 (int)`. Keys without
/// a text of their own, as tensors, may have one name.
/// What the documents of keys take goes off `left`. Errors: `resource_limit`.
result<std::vector<named_member>> named_members(const pickle_value& dict, std::uint64_t& left);

/// An object whose size is known when it is opened and whose bytes are made when they are first
/// read: a listing that asks for sizes makes nothing.
class delayed_blob final : public blob {
 public:
  using blob::read;
  /// Called once, under a lock. Its errors are those of `read` and `map`.
  using maker = std::function<result<mapping>()>;

  delayed_blob(std::uint64_t size, maker make, std::string name)
      : size_(size), make_(std::move(make)), name_(std::move(name)) {}

  std::uint64_t size() const noexcept override { return size_; }
  std::string name() const override { return name_; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    ZARRPOINT_TRY(made, map());
    if (!into.empty()) std::memcpy(into.data(), made.bytes().data() + offset, into.size());
    return {};
  }
  result<mapping> map() const override {
    const std::lock_guard lock(mutex_);
    if (made_) return *made_;
    ZARRPOINT_TRY(made, make_());
    if (made.bytes().size() != size_)
      return error{errc::corrupt, name_ + ": it has " + std::to_string(made.bytes().size()) +
                                      " bytes, and not " + std::to_string(size_)};
    made_ = made;
    return made;
  }

 private:
  const std::uint64_t size_;
  const maker make_;
  const std::string name_;
  mutable std::mutex mutex_;
  mutable std::optional<mapping> made_;
};

}}}}  // namespace zarrpoint::v0::torch::detail
