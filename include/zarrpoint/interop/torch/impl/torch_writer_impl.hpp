// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace torch {

ZARRPOINT_INLINE value::value() = default;

ZARRPOINT_INLINE value::value(const value&) = default;

ZARRPOINT_INLINE value::value(value&&) noexcept = default;

ZARRPOINT_INLINE value& value::operator=(const value&) = default;

ZARRPOINT_INLINE value& value::operator=(value&&) noexcept = default;

ZARRPOINT_INLINE value::~value() = default;

ZARRPOINT_INLINE value::value(node from) : content_(std::move(from)) {}

ZARRPOINT_INLINE value::value(bytes from) : content_(std::move(from)) {}

ZARRPOINT_INLINE value::value(host_view from) : content_(std::move(from)) {}

ZARRPOINT_INLINE value::value(list from) : content_(std::move(from)) {}

ZARRPOINT_INLINE value::value(dict from) : content_(std::move(from)) {}

}  // namespace torch

namespace torch { namespace detail {

/// The pickle of a value; the tensors in it get storages in the order in which they come.
class torch_pickler {
 public:
  result<void> write(const value& from, std::size_t levels = 100) {
    if (levels == 0) return error{errc::invalid_argument, "nested deeper than 100 levels"};
    if (const node* plain = std::get_if<node>(&from.content())) return to_.value(*plain, levels);
    if (const auto* bytes = std::get_if<value::bytes>(&from.content())) return to_.bytes(*bytes);
    if (const host_view* tensor = std::get_if<host_view>(&from.content())) return write(*tensor);
    if (const auto* elements = std::get_if<value::list>(&from.content()))
      return to_.list(elements->size(), [&](std::size_t i) {
        return write((*elements)[i], levels - 1).at("[" + std::to_string(i) + "]");
      });
    const auto& members = std::get<value::dict>(from.content());
    return to_.dict(members.size(), [&](std::size_t i) -> result<void> {
      ZARRPOINT_CHECK(to_.string(members[i].key));
      return write(members[i].to, levels - 1).at(members[i].key);
    });
  }

  std::string finish() && { return std::move(to_).finish(); }
  const std::vector<host_view>& storages() const noexcept { return storages_; }

 private:
  /// A call of `_rebuild_tensor_v2`; of `_rebuild_tensor_v3` for types whose storages have no
  /// class.
  result<void> write(const host_view& tensor) {
    const auto name = dtype_name(tensor.type.kind());
    if (!name)
      return error{errc::unsupported,
                   "PyTorch has no tensors of " + std::string(to_string(tensor.type))};
    ZARRPOINT_CHECK(byte_count(tensor.spec()));
    const auto typed = storage_name(tensor.type.kind());
    to_.global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    ZARRPOINT_CHECK(to_.tuple(typed ? 6 : 7, [&](std::size_t part) -> result<void> {
      switch (part) {
        case 0: return write_storage(tensor);
        case 1: return to_.integer(0), result<void>();
        case 2: return write(tensor.shape);
        case 3: return write(row_major_strides(tensor.shape, 1));
        case 4: return to_.boolean(false), result<void>();
        case 5:
          to_.global("collections", "OrderedDict");
          ZARRPOINT_CHECK(write(dims()));
          return to_.reduce(), result<void>();
        default: return to_.global("torch", *name), result<void>();
      }
    }));
    to_.reduce();
    return {};
  }

  result<void> write(const dims& numbers) {
    return to_.tuple(numbers.rank(),
                     [&](std::size_t i) { return to_.integer(numbers[i]), result<void>(); });
  }

  result<void> write_storage(const host_view& tensor) {
    const auto typed = storage_name(tensor.type.kind());
    const std::uint64_t count = static_cast<std::uint64_t>(element_count(tensor.shape).value_or(0));
    ZARRPOINT_CHECK(to_.tuple(5, [&](std::size_t part) -> result<void> {
      switch (part) {
        case 0: return to_.string("storage");
        case 1:
          if (typed) return to_.global("torch", *typed), result<void>();
          return to_.global("torch.storage", "UntypedStorage"), result<void>();
        case 2: return to_.string(std::to_string(storages_.size()));
        case 3: return to_.string("cpu");
        default: to_.unsigned_integer(typed ? count : count * tensor.type.size()); return {};
      }
    }));
    to_.persistent();
    storages_.push_back(tensor);
    return {};
  }

  pickle_writer to_;
  std::vector<host_view> storages_;
};

ZARRPOINT_INLINE result<value_pickle> pickle_value_of(const value& what) {
  torch_pickler pickle;
  ZARRPOINT_CHECK(pickle.write(what));
  std::vector<host_view> storages = pickle.storages();
  return value_pickle{std::move(pickle).finish(), std::move(storages)};
}

/// The elements in row-major order as a member of the archive.
ZARRPOINT_INLINE result<void> write_torch_storage(const zip_writer& archive, const store_key& key,
                                                  const host_view& tensor) {
  ZARRPOINT_TRY(bytes, byte_count(tensor.spec()));
  if (is_dense(tensor)) return archive.put(key, {tensor.data, bytes});
  ZARRPOINT_TRY(scratch, buffer::allocate(bytes));
  copy_elements(dense_view(scratch.data(), tensor.spec()), tensor);
  return archive.put(key, scratch.bytes());
}

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE result<void> save(const any_store& store, const store_key& key, const value& what,
                                   std::string_view prefix) {
  const std::string called = "save " + store.describe(key);
  ZARRPOINT_TRY(root, store_key::parse(prefix).at(called));
  if (root.is_root() || root.str() != root.name())
    return error{errc::invalid_argument,
                 called + ": the prefix must be one path segment, without \"/\""};
  ZARRPOINT_TRY(pickle, detail::pickle_value_of(what).at(called));
  const std::vector<host_view>& storages = pickle.storages;
  ZARRPOINT_TRY(archive, zip_writer::begin(store, key));
  const auto put = [&](const std::string& name, std::string_view text) -> result<void> {
    ZARRPOINT_TRY(member, root.child(name));
    return archive.put(member, as_bytes(text));
  };
  ZARRPOINT_CHECK(put("data.pkl", pickle.bytes));
  ZARRPOINT_CHECK(put("byteorder", native_endian == endian::little ? "little" : "big"));
  for (std::size_t i = 0; i < storages.size(); ++i) {
    ZARRPOINT_TRY(member, root.child("data/" + std::to_string(i)));
    ZARRPOINT_CHECK(detail::write_torch_storage(archive, member, storages[i]).at(called));
  }
  ZARRPOINT_CHECK(put("version", "3\n"));
  return archive.finish();
}

}  // namespace torch

}}  // namespace zarrpoint::v0
