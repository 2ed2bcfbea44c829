// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/torch/legacy_file.hpp>
#include <zarrpoint/interop/torch/pickled_numpy.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------- torch_tensor.hpp

namespace torch { namespace detail {

ZARRPOINT_INLINE error tensor_corrupt(std::string what) {
  return {errc::corrupt, "tensor: " + std::move(what)};
}

ZARRPOINT_INLINE std::optional<storage_id> storage_id_of(const pickle_value& value) {
  if (value.kind() != pickle_kind::persistent) return std::nullopt;
  const pickle_value id = value.element(0);
  if (id.kind() != pickle_kind::tuple || id.element_count() < 5) return std::nullopt;
  const std::string* const kind = id.element(0).if_string();
  const std::string* const name = id.element(2).if_string();
  const auto count = id.element(4).to_uint64();
  if (kind == nullptr || *kind != "storage" || name == nullptr || !count ||
      id.element(1).kind() != pickle_kind::global)
    return std::nullopt;
  storage_id out{*name, id.element(1), *count, 0, *count};
  if (id.element_count() < 6 || id.element(5).is_none()) return out;
  const pickle_value view = id.element(5);  // name, offset, count
  const auto first = view.element_count() == 3 ? view.element(1).to_uint64() : std::nullopt;
  const auto part = view.element_count() == 3 ? view.element(2).to_uint64() : std::nullopt;
  if (!first || !part || *first > *count || *part > *count - *first) return std::nullopt;
  out.first = *first;
  out.part = *part;
  return out;
}

ZARRPOINT_INLINE std::optional<std::uint64_t> storage_element_size(const pickle_value& type) {
  if (type.name() == "UntypedStorage") return 1;
  if (type.module() != "torch") return std::nullopt;
  if (const auto known = storage_named(type.name())) return known->size();
  if (type.name() == "QInt32Storage") return 4;
  for (const char* const name : {"QInt8", "QUInt8", "QUInt4x2", "QUInt2x4"})
    if (type.name() == std::string(name) + "Storage") return 1;
  return std::nullopt;
}

ZARRPOINT_INLINE result<void> read_torch_storage(const pickle_value& value, tensor_info& out) {
  if (value.kind() != pickle_kind::persistent) return tensor_corrupt("it has no storage");
  const auto id = storage_id_of(value);
  if (!id) return tensor_corrupt("its storage has no name");
  const bool is_untyped = id->type.name() == "UntypedStorage";
  if (!is_untyped) {
    const auto found = storage_named(id->type.name());
    if (!found || id->type.module() != "torch")
      return error{
          errc::unsupported,
          "tensor of a " + zarrpoint::detail::in_quotes(id->type.name()) + " is not known"};
    if (out.spec.type.valid() && out.spec.type != *found)
      return tensor_corrupt("its type differs from the type of its storage");
    out.spec.type = *found;
  }
  if (!out.spec.type.valid()) return tensor_corrupt("it has no type");
  const std::uint64_t size = is_untyped ? 1 : out.spec.type.size();
  ZARRPOINT_TRY(bytes, checked_mul<std::uint64_t>(id->count, size).at("tensor: its storage"));
  out.storage = id->name;
  out.storage_bytes = bytes;
  out.part_begin = id->first * size;  // no more than all
  out.part_end = out.part_begin + id->part * size;
  return {};
}

/// Strides and offset from elements to bytes; all elements must lie in the storage.
ZARRPOINT_INLINE result<void> place_torch_elements(std::uint64_t offset, const dims& strides,
                                                   tensor_info& out) {
  ZARRPOINT_TRY(count, element_count(out.spec.shape).at("tensor"));
  const std::size_t size = out.spec.type.size();
  out.strides = row_major_strides(out.spec.shape, size);
  if (count == 0) return {};  // PyTorch lets nothing lie anywhere
  ZARRPOINT_TRY(first, checked_mul<std::uint64_t>(offset, size).at("tensor: its offset"));
  const std::uint64_t part = out.part_end - out.part_begin;
  if (first > part) return tensor_corrupt("it lies outside its storage");
  out.offset = out.end = out.part_begin + first;
  for (std::size_t i = 0; i < strides.rank(); ++i) {
    if (out.spec.shape[i] == 1) continue;  // such a step is never made, and may be of any size
    ZARRPOINT_TRY(step, checked_mul<std::uint64_t>(static_cast<std::uint64_t>(strides[i]), size)
                            .at("tensor: its strides"));
    ZARRPOINT_TRY(
        reach, checked_mul<std::uint64_t>(step, static_cast<std::uint64_t>(out.spec.shape[i] - 1))
                   .at("tensor: its strides"));
    ZARRPOINT_TRY(end, checked_add<std::uint64_t>(out.end, reach).at("tensor: its strides"));
    if (end > out.part_end) return tensor_corrupt("it lies outside its storage");
    out.end = end;
    out.strides[i] = static_cast<index_t>(step);
  }
  if (size > out.part_end - out.end) return tensor_corrupt("it lies outside its storage");
  out.end += size;
  return {};
}

/// The last argument of a tensor, which PyTorch 1.13 and later write: `{"conj": True}`.
ZARRPOINT_INLINE result<void> read_torch_signs(const pickle_value& value, tensor_info& out) {
  if (value.is_none()) return {};
  if (value.kind() != pickle_kind::dict) return tensor_corrupt("its metadata are not a dict");
  for (std::size_t i = 0; i < value.member_count(); ++i) {
    const std::string* const key = value.key(i).if_string();
    // PyTorch asks whether the key is there, not for its value.
    if (key != nullptr && *key == "conj") {
      out.signs.conjugate = true;
    } else if (key != nullptr && *key == "neg") {
      out.signs.negative = true;
    } else {
      return error{errc::unsupported,
                   "tensor with metadata " + (key == nullptr ? "that are not known"
                                                             : zarrpoint::detail::in_quotes(*key))};
    }
  }
  const dtype type = out.spec.type;
  const bool has_signs =
      type.is_complex() || type.is_integer() || (type.is_floating() && type.scalar_size() > 1);
  if (out.signs.conjugate && !type.is_complex())
    return tensor_corrupt("it is the conjugate of elements that are not complex");
  if (out.signs.negative && !has_signs)
    return error{errc::unsupported,
                 "tensor that is a negative view of " + std::string(to_string(type))};
  return {};
}

/// Turns the sign of one scalar.
template <class T>
void negate(std::byte* at, bool is_integer) {
  T bits{};
  std::memcpy(&bits, at, sizeof(T));
  constexpr T sign = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  bits = is_integer ? static_cast<T>(T{0} - bits) : static_cast<T>(bits ^ sign);
  std::memcpy(at, &bits, sizeof(T));
}

ZARRPOINT_INLINE void negate_scalar(std::byte* at, dtype type) {
  switch (type.scalar_size()) {
    case 1: return negate<std::uint8_t>(at, type.is_integer());
    case 2: return negate<std::uint16_t>(at, type.is_integer());
    case 4: return negate<std::uint32_t>(at, type.is_integer());
    default: return negate<std::uint64_t>(at, type.is_integer());
  }
}

ZARRPOINT_INLINE void apply_signs_along(const element_signs& signs, const mutable_host_view& to,
                                        std::size_t axis, std::byte* at) {
  if (axis < to.shape.rank()) {
    for (index_t i = 0; i < to.shape[axis]; ++i, at += to.strides[axis])
      apply_signs_along(signs, to, axis + 1, at);
    return;
  }
  if (signs.negative) negate_scalar(at, to.type);
  if (to.type.is_complex() && signs.negative != signs.conjugate)
    negate_scalar(at + to.type.scalar_size(), to.type);
}

ZARRPOINT_INLINE std::string global_name(const pickle_value& global) {
  std::string out(global.module());
  if (!out.empty()) out += '.';
  return out.append(global.name());
}

ZARRPOINT_INLINE std::optional<tensor_call> tensor_call_of(const pickle_value& value) {
  if (value.kind() != pickle_kind::call) return std::nullopt;
  tensor_call out{value.callable(), value.arguments()};
  const auto is_one = [&] {
    return out.function.name().starts_with("_rebuild_") &&
           (out.function.module() == "torch._utils" || out.function.module() == "torch._tensor");
  };
  if (!is_one()) return std::nullopt;
  constexpr int most_levels = 8;
  for (int level = 0; level < most_levels && is_one(); ++level) {
    const std::string_view name = out.function.name();
    const pickle_value given = out.arguments;
    const std::size_t count = given.element_count();
    if (name.starts_with("_rebuild_from_type") && count >= 4) {
      const pickle_value type = given.element(1);
      if (type.name() != "Parameter" && type.name() != "Tensor") out.subclass = type;
      out.states.push_back(given.element(3));
      out.function = given.element(0);
      out.arguments = given.element(2);
      continue;
    }
    const bool is_parameter = name.starts_with("_rebuild_parameter") && count >= 2;
    const bool is_copy = name == "_rebuild_device_tensor_from_cpu_tensor" && count == 4;
    if ((!is_parameter && !is_copy) || given.element(0).kind() != pickle_kind::call) break;
    if (is_parameter) out.requires_grad = given.element(1).to_bool().value_or(false);
    if (is_parameter && count > 3) out.states.push_back(given.element(3));
    if (is_copy) out.dtype = given.element(1);
    out.function = given.element(0).callable();
    out.arguments = given.element(0).arguments();
  }
  return out;
}

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE void apply_signs(const element_signs& signs, const mutable_host_view& to) {
  if (signs.any()) detail::apply_signs_along(signs, to, 0, to.data);
}

ZARRPOINT_INLINE bool is_tensor(const pickle_value& value) {
  const auto call = detail::tensor_call_of(value);
  return call && call->is_plain();
}

ZARRPOINT_INLINE result<tensor_info> describe_tensor(const pickle_value& value) {
  const auto call = detail::tensor_call_of(value);
  if (!call || !call->is_plain())
    return error{errc::invalid_argument, "the pickled value is not a tensor"};
  const pickle_value arguments = call->arguments;
  const std::size_t count = arguments.element_count();
  const bool has_type = call->is_of("_rebuild_tensor_v3");
  if (count < (has_type ? 7U : 4U)) return detail::tensor_corrupt("its description is incomplete");
  tensor_info out;
  if (has_type) {
    const pickle_value type = arguments.element(6);
    const auto found = type.module() == "torch" ? dtype_named(type.name()) : std::nullopt;
    if (!found)
      return error{
          errc::unsupported,
          "tensors of type " + zarrpoint::detail::in_quotes(type.name()) + " are not read"};
    out.spec.type = *found;
  }
  ZARRPOINT_CHECK(detail::read_torch_storage(arguments.element(0), out));
  const auto offset = arguments.element(1).to_uint64();
  if (!offset) return detail::tensor_corrupt("it has no offset");
  ZARRPOINT_TRY(shape, detail::read_extents(arguments.element(2), "its shape").at("tensor"));
  ZARRPOINT_TRY(strides, detail::read_extents(arguments.element(3), "its stride").at("tensor"));
  if (strides.rank() != shape.rank())
    return detail::tensor_corrupt("its shape and its strides differ in rank");
  out.spec.shape = shape;
  out.requires_grad =
      call->requires_grad || (count > 4 && arguments.element(4).to_bool().value_or(false));
  if (call->dtype && (call->dtype->module() != "torch" ||
                      dtype_named(call->dtype->name()) != std::optional(out.spec.type)))
    return error{errc::unsupported,
                 "tensor that is converted to " +
                     zarrpoint::detail::in_quotes(detail::global_name(*call->dtype))};
  ZARRPOINT_CHECK(detail::place_torch_elements(*offset, strides, out));
  const std::size_t metadata = has_type ? 7 : 6;
  if (count > metadata) ZARRPOINT_CHECK(detail::read_torch_signs(arguments.element(metadata), out));
  return out;
}

// --------------------------------------------------------------------------------- legacy_file.hpp

namespace detail {

/// The number that such a file begins with: 0x1950a86a20f9469cfc6c.
inline constexpr std::string_view legacy_magic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

/// The storages of such a file, one behind the other.
class legacy_storages final : public storage_files {
 public:
  struct range {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };

  legacy_storages(std::shared_ptr<const v0::detail::container_file> file,
                  std::map<std::string, range> ranges)
      : file_(std::move(file)), ranges_(std::move(ranges)) {}

  result<std::unique_ptr<blob>> open(const std::string& name) const override {
    const auto at = ranges_.find(name);
    if (at == ranges_.end()) return std::unique_ptr<blob>();
    return v0::detail::make_owned<blob, v0::detail::range_blob>(file_, at->second.begin,
                                                                at->second.size, describe(name));
  }
  std::string describe(const std::string& name) const override {
    return name.empty() ? file_->file().name() : file_->file().name() + ':' + name;
  }

 private:
  std::shared_ptr<const v0::detail::container_file> file_;
  std::map<std::string, range> ranges_;  // not hashed: the file chooses the names
};

}  // namespace detail

ZARRPOINT_INLINE bool is_legacy_file(bytes_view first_bytes) {
  // Behind the protocol, and from protocol 4 on behind the size of a frame, it is a long of 10.
  const std::string_view text = as_text(first_bytes).substr(0, 32);
  const std::size_t at = text.find(std::string("\x8a\x0a").append(detail::legacy_magic));
  return text.starts_with('\x80') && (at == 2 || at == 11);
}

namespace detail {

class legacy_reader {
 public:
  legacy_reader(std::unique_ptr<blob> from, const pickle_limits& limits)
      : file_(v0::detail::make_counted<const v0::detail::container_file>(std::move(from))),
        limits_(limits) {}

  result<legacy_content> read() {
    ZARRPOINT_CHECK(check_kind());
    ZARRPOINT_CHECK(next().at("its magic number"));
    ZARRPOINT_TRY(version, next().at("its version"));
    constexpr std::int64_t known = 1001;
    if (version.to_int64() != known)
      return error{errc::unsupported,
                   "it is of another version of torch.save than 1001; save it again with "
                   "PyTorch 1.6 or later"};
    ZARRPOINT_CHECK(next().at("its facts of the machine"));
    ZARRPOINT_TRY(root, next());
    ZARRPOINT_TRY(names, next().at("the names of its storages"));
    ZARRPOINT_TRY(ranges, place(root, names));
    return legacy_content{
        std::move(root), v0::detail::make_counted<const legacy_storages>(file_, std::move(ranges))};
  }

 private:
  const blob& file() const { return file_->file(); }

  result<void> check_kind() const {
    std::array<std::byte, 512> head{};
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(file().size(), head.size()));
    ZARRPOINT_CHECK(file().read(0, mutable_bytes(head).first(size)));
    const std::string_view text = as_text(bytes_view(head).first(size));
    if (is_legacy_file(bytes_view(head).first(size))) return {};
    if (text.size() > 262 && text.substr(257, 5) == "ustar")
      return error{errc::unsupported,
                   "it is a tar archive, as torch.save wrote before PyTorch 0.2; load it there and "
                   "save it again"};
    if (text.starts_with('\x80') && text.size() > 1 && text[1] >= 2 && text[1] <= 5)
      return error{errc::unsupported,
                   "it is a pickle of Python that torch.save did not write; load it there and save "
                   "its arrays with numpy or PyTorch"};
    return error{errc::corrupt, "it is not a file of torch.save"};
  }

  /// The next pickle. Nobody knows its size: more is read until it ends.
  result<pickle_value> next() {
    constexpr std::uint64_t first_step = std::uint64_t{64} << 10;
    const std::uint64_t rest = file().size() - at_;
    for (std::uint64_t step = first_step;; step *= 4) {
      const std::uint64_t size = std::min({step, rest, limits_.max_bytes});
      if (bytes_at_ != at_ || bytes_.size() < size) {
        bytes_.resize(static_cast<std::size_t>(size));
        ZARRPOINT_CHECK(file().read(at_, bytes_));
        bytes_at_ = at_;
      }
      ZARRPOINT_TRY(found, read_first_pickle(bytes_, limits_));
      if (found) {
        at_ += found->size;
        bytes_ = {};
        return std::move(found->value);
      }
      if (size == rest) return error{errc::corrupt, "the file ends within a pickle"};
      if (size == limits_.max_bytes)
        return error{errc::resource_limit,
                     "its pickle has more than the limit of " + std::to_string(size) + " bytes"};
    }
  }

  /// Where the storages lie, in the order of their names.
  result<std::map<std::string, legacy_storages::range>> place(const pickle_value& root,
                                                              const pickle_value& names) {
    struct facts {
      std::uint64_t count = 0;
      std::uint64_t size = 0;
    };
    std::map<std::string, facts> known;
    for (std::size_t i = 0; i < root.total(); ++i) {
      const auto id = storage_id_of(root.at(i));
      if (!id) continue;
      const auto size = storage_element_size(id->type);
      if (!size)
        return error{errc::unsupported, "it has a storage of type " +
                                            v0::detail::in_quotes(global_name(id->type)) +
                                            ", whose elements have an unknown size"};
      const auto [at, is_new] = known.try_emplace(id->name, facts{id->count, *size});
      if (!is_new && (at->second.count != id->count || at->second.size != *size))
        return error{errc::corrupt,
                     "the storage " + v0::detail::in_quotes(id->name) + " has two sizes"};
    }
    std::map<std::string, legacy_storages::range> out;
    for (std::size_t i = 0; i < names.element_count(); ++i) {
      const std::string* const name = names.element(i).if_string();
      const auto found = name == nullptr ? known.end() : known.find(*name);
      if (found == known.end())
        return error{errc::corrupt, "it names a storage that no tensor has"};
      const std::string called = "the storage " + v0::detail::in_quotes(*name);
      std::array<std::byte, 8> count{};
      const error short_file{errc::corrupt, called + ": the file ends before it does"};
      if (file().size() - at_ < count.size()) return short_file;
      ZARRPOINT_CHECK(file().read(at_, count));
      at_ += count.size();
      if (load_le<std::uint64_t>(count.data()) != found->second.count)
        return error{errc::corrupt, called + ": it has another size than its tensor says"};
      ZARRPOINT_TRY(bytes,
                    checked_mul<std::uint64_t>(found->second.count, found->second.size).at(called));
      if (bytes > file().size() - at_) return short_file;
      if (!out.try_emplace(*name, legacy_storages::range{at_, bytes}).second)
        return error{errc::corrupt, called + ": it is there twice"};
      at_ += bytes;
    }
    if (at_ != file().size())
      return error{errc::corrupt,
                   std::to_string(file().size() - at_) + " bytes follow its last storage"};
    return out;
  }

  std::shared_ptr<const v0::detail::container_file> file_;
  pickle_limits limits_;
  std::uint64_t at_ = 0;  ///< what is read next
  std::vector<std::byte> bytes_;
  std::uint64_t bytes_at_ = 0;
};

ZARRPOINT_INLINE result<legacy_content> read_legacy(std::unique_ptr<blob> from,
                                                    const pickle_limits& limits) {
  return guarded([&] { return legacy_reader(std::move(from), limits).read(); });
}

}  // namespace detail

// ---------------------------------------------------------------------------------- torch_file.hpp

ZARRPOINT_INLINE result<tensor_info> file::tensor(const pickle_value& value) const {
  ZARRPOINT_TRY(out, describe_tensor(value).at(storages_->describe({})));
  ZARRPOINT_CHECK(open_storage(out));
  return std::move(out);
}

ZARRPOINT_INLINE result<tensor_in_file> file::view(const tensor_info& of) const {
  ZARRPOINT_TRY(storage, open_storage(of));
  if (of.signs.any())
    return error{errc::unsupported,
                 storage->name() + ": its elements are conjugates or negatives of those stored"};
  ZARRPOINT_TRY(mapped, storage->map());
  ZARRPOINT_TRY(elements, elements_of(mapped.bytes(), of).at(storage->name()));
  if (reinterpret_cast<std::uintptr_t>(elements.data) % of.spec.type.scalar_size() != 0)
    return error{errc::unsupported, storage->name() + ": its elements are not aligned"};
  return tensor_in_file{elements, mapped};
}

ZARRPOINT_INLINE result<void> file::read(const tensor_info& of,
                                         const mutable_host_view& into) const {
  if (into.type != of.spec.type)
    return error{errc::dtype_mismatch, "the stored tensor has type " +
                                           std::string(to_string(of.spec.type)) + ", the memory " +
                                           std::string(to_string(into.type))};
  if (into.shape != of.spec.shape)
    return error{errc::shape_mismatch, "the stored tensor has shape " + to_string(of.spec.shape) +
                                           ", the memory " + to_string(into.shape)};
  ZARRPOINT_TRY(storage, open_storage(of));
  // The whole of it, which its checksum covers.
  ZARRPOINT_TRY(scratch, buffer::allocate(static_cast<std::size_t>(of.storage_bytes)));
  ZARRPOINT_CHECK(storage->read(0, scratch.bytes()));
  ZARRPOINT_TRY(elements, elements_of(std::as_const(scratch).bytes(), of).at(storage->name()));
  for (const index_t extent : into.shape)
    if (extent == 0) return {};
  copy_elements(into, elements);
  apply_signs(of.signs, into);
  return {};
}

namespace detail {

/// The members of an archive, in one of its folders.
class archive_storages final : public storage_files {
 public:
  archive_storages(zip_store archive, store_key folder)
      : archive_(std::move(archive)), folder_(std::move(folder)) {}

  result<std::unique_ptr<blob>> open(const std::string& name) const override {
    auto key = folder_.child(name);
    if (!key) return error{errc::corrupt, "storage: " + key.failure().message};
    return archive_.open(*key);
  }
  std::string describe(const std::string& name) const override {
    if (name.empty()) return archive_.describe(store_key::root());
    const auto key = folder_.child(name);
    return archive_.describe(key ? *key : folder_);
  }

 private:
  zip_store archive_;
  store_key folder_;
};

}  // namespace detail

ZARRPOINT_INLINE file::file(std::shared_ptr<const detail::storage_files> storages, content read)
    : storages_(std::move(storages)), root_(std::move(read.root)), order_(read.order) {}

ZARRPOINT_INLINE result<file> file::open(std::unique_ptr<blob> from, const pickle_limits& limits) {
  const std::string name = from->name();
  std::byte first[4]{};
  if (from->size() >= sizeof first) ZARRPOINT_CHECK(from->read(0, first));
  if (as_text(first) == "PK\x03\x04") {
    ZARRPOINT_TRY(archive, zip_store::open(std::move(from)));
    return open_archive(archive, limits).at("open " + name);
  }
  return open_legacy(std::move(from), limits).at("open " + name);
}

ZARRPOINT_INLINE result<file> file::open_archive(const zip_store& archive,
                                                 const pickle_limits& limits) {
  ZARRPOINT_TRY(found, find_prefix(archive));
  if (!found)
    return error{errc::corrupt, "it has no data.pkl, so it was not written by torch.save"};
  const store_key prefix = *std::move(found);
  ZARRPOINT_TRY(order, read_record(archive, prefix, {"byteorder", 16}));
  endian written = endian::little;
  if (order && as_text(*order) != "little") {
    if (as_text(*order) != "big")
      return error{errc::corrupt, "its byte order is neither little nor big"};
    written = endian::big;
  }
  const auto part = [&](const char* pickled, const char* folder) -> result<std::optional<file>> {
    ZARRPOINT_TRY(pickle, read_record(archive, prefix, {pickled, limits.max_bytes}));
    if (!pickle) return std::optional<file>();
    ZARRPOINT_TRY(root, read_pickle(*pickle, limits));
    ZARRPOINT_TRY(key, prefix.child(folder));
    return std::optional(
        file(v0::detail::make_counted<const detail::archive_storages>(archive, std::move(key)),
             {std::move(root), written}));
  };
  ZARRPOINT_TRY(out, part("data.pkl", "data"));
  if (!out) return error{errc::corrupt, "it has no data.pkl"};
  ZARRPOINT_TRY(constants, part("constants.pkl", "constants"));
  if (constants) out->constants_ = v0::detail::make_counted<const file>(*std::move(constants));
  return *std::move(out);
}

ZARRPOINT_INLINE result<file> file::open_legacy(std::unique_ptr<blob> from,
                                                const pickle_limits& limits) {
  ZARRPOINT_TRY(found, detail::read_legacy(std::move(from), limits));
  return file(std::move(found.storages), {std::move(found.root), endian::little});
}

ZARRPOINT_INLINE result<std::optional<store_key>> file::find_prefix(const zip_store& archive) {
  ZARRPOINT_TRY(entries, archive.list(store_key::root()));
  for (const list_entry& entry : entries) {
    if (!entry.is_prefix) continue;
    ZARRPOINT_TRY(prefix, store_key::parse(entry.name));
    ZARRPOINT_TRY(key, prefix.child("data.pkl"));
    ZARRPOINT_TRY(there, archive.open(key));
    if (there != nullptr) return std::optional(std::move(prefix));
  }
  return std::optional<store_key>();
}

ZARRPOINT_INLINE result<std::optional<std::vector<std::byte>>> file::read_record(
    const zip_store& archive, const store_key& prefix, const record& which) {
  ZARRPOINT_TRY(key, prefix.child(which.name));
  return get(archive, key, which.max_bytes);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file::storage(const std::string& name) const {
  ZARRPOINT_TRY(out, storages_->open(name));
  if (out == nullptr)
    return error{errc::corrupt, storages_->describe(name) + ": there is no such storage"};
  return std::move(out);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file::open_storage(const tensor_info& of) const {
  ZARRPOINT_TRY(out, storage(of.storage));
  if (out->size() != of.storage_bytes)
    return error{errc::corrupt, out->name() + ": it has " + std::to_string(out->size()) +
                                    " bytes, its tensor says " + std::to_string(of.storage_bytes)};
  return std::move(out);
}

ZARRPOINT_INLINE result<void> file::check_order(const tensor_info& of) const {
  if (order_ == native_endian || of.spec.type.scalar_size() == 1) return {};
  return error{errc::unsupported, "its elements are of another byte order"};
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file::storage(const tensor_info& of) const {
  ZARRPOINT_CHECK(check_order(of).at(storages_->describe({})));
  return open_storage(of);
}

ZARRPOINT_INLINE result<host_view> file::elements_of(bytes_view storage,
                                                     const tensor_info& of) const {
  if (of.end > storage.size() || of.offset > of.end)
    return error{errc::corrupt, "the tensor lies outside its storage"};
  ZARRPOINT_CHECK(check_order(of));
  if (of.spec.type == dtype(dtype_kind::bool_))
    ZARRPOINT_CHECK(v0::detail::check_bools(storage.subspan(
        static_cast<std::size_t>(of.offset), static_cast<std::size_t>(of.end - of.offset))));
  host_view out = dense_view(storage.data() + of.offset, of.spec);
  out.strides = of.strides;
  return out;
}

ZARRPOINT_INLINE result<file> open(std::unique_ptr<blob> from, const pickle_limits& limits) {
  return file::open(std::move(from), limits);
}

ZARRPOINT_INLINE result<file> open(const any_store& store, const store_key& key,
                                   const pickle_limits& limits) {
  ZARRPOINT_TRY(from, v0::detail::open_existing(store, key));
  return file::open(std::move(from), limits);
}

}  // namespace torch
}}  // namespace zarrpoint::v0

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

// ---------------------------------------------------------------------------------- torch_file.hpp

ZARRPOINT_INLINE bool is_numpy_array(const pickle_value& value) {
  return value.kind() == pickle_kind::call && (is_numpy_call(value, "multiarray", "_reconstruct") ||
                                               is_numpy_call(value, "numeric", "_frombuffer"));
}

ZARRPOINT_INLINE std::vector<bool> find_elements(const pickle_value& root) {
  const std::size_t total = root.total();
  std::vector<std::uint32_t> ends(total + 1, 0);  // of the values that refer to each
  for (std::size_t i = 0; i < total; ++i)
    root.at(i).for_each_part([&](std::size_t part) { ++ends[part]; });
  std::uint32_t sum = 0;
  for (std::uint32_t& end : ends) end = sum += end;
  std::vector<std::uint32_t> above(sum);
  for (std::size_t i = 0; i < total; ++i)
    root.at(i).for_each_part(
        [&](std::size_t part) { above[--ends[part]] = static_cast<std::uint32_t>(i); });
  std::vector<bool> out(total, false);
  std::vector<std::uint32_t> found;
  const auto mark = [&](std::uint32_t at) {
    if (out[at]) return;
    out[at] = true;
    found.push_back(at);
  };
  for (std::size_t i = 0; i < total; ++i) {
    const pickle_value one = root.at(i);
    if (storage_id_of(one) || tensor_call_of(one) || is_numpy_array(one))
      mark(static_cast<std::uint32_t>(i));
  }
  while (!found.empty()) {
    const std::uint32_t at = found.back();
    found.pop_back();
    for (std::uint32_t i = ends[at]; i < ends[at + 1]; ++i) mark(above[i]);
  }
  return out;
}

/// The elements of a tensor as an object: where they lie, or a copy.
ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_elements(
    const std::shared_ptr<const file>& from, const tensor_info& of, std::string name,
    std::uint64_t most_beyond) {
  ZARRPOINT_TRY(bytes, byte_count(of.spec));
  const dims packed = row_major_strides(of.spec.shape, of.spec.type.size());
  bool is_packed = !of.signs.any();
  for (std::size_t d = 0; d < packed.rank(); ++d)
    is_packed = is_packed && (of.spec.shape[d] == 1 || of.strides[d] == packed[d]);
  if (is_packed) {
    ZARRPOINT_TRY(storage, from->storage(of));
    auto whole = v0::detail::make_counted<const v0::detail::container_file>(std::move(storage));
    return v0::detail::make_owned<blob, v0::detail::range_blob>(std::move(whole), of.offset, bytes,
                                                                std::move(name));
  }
  // An expanded tensor may be any number of times what its storage is.
  if (bytes > of.storage_bytes && bytes - of.storage_bytes > most_beyond)
    return error{errc::resource_limit, name + ": it takes " + std::to_string(bytes) +
                                           " bytes, and is spread over a storage of " +
                                           std::to_string(of.storage_bytes)};
  auto gather = [from, of, bytes]() -> result<mapping> {
    ZARRPOINT_TRY(copy, tensor::make(of.spec));
    ZARRPOINT_CHECK(from->read(of, copy.mutable_view()));
    const auto shared = v0::detail::make_counted<const tensor>(std::move(copy));
    return mapping({shared->view().data, static_cast<std::size_t>(bytes)}, shared);
  };
  return v0::detail::make_owned<blob, delayed_blob>(bytes, std::move(gather), std::move(name));
}

/// What could not be made when it was opened: a listing has it, a read fails.
ZARRPOINT_INLINE std::unique_ptr<blob> failed_blob(error why, std::string name) {
  auto fail = [why = std::move(why)]() -> result<mapping> { return why; };
  return v0::detail::make_owned<blob, delayed_blob>(std::uint64_t{1}, std::move(fail),
                                                    std::move(name));
}

/// Names of the arrays in objects, by the numbers of their values.
using array_names = std::unordered_map<std::size_t, std::string>;

class archive_walk {
 public:
  archive_walk(std::shared_ptr<const file> from, const pickle_limits& limits,
               v0::detail::virtual_hierarchy& to)
      : from_(std::move(from)),
        to_(to),
        arrays_(v0::detail::make_counted<array_names>()),
        has_elements_(find_elements(from_->root())),
        above_(has_elements_.size(), false),
        placed_objects_(has_elements_.size(), false) {
    // A value may be there any number of times, and what is made of one takes more than itself.
    most_placed_ = std::min(std::size_t{1} << 21, std::max<std::size_t>(limits.max_values / 2, 64));
    text_left_ = limits.max_bytes / 2;
    most_beyond_ = limits.max_bytes;
    documents_.max_depth = max_depth;
    documents_.max_values = std::min(documents_.max_values, 2 * limits.max_values);
    documents_.max_text = static_cast<std::size_t>(
        std::min<std::uint64_t>(documents_.max_text, 2 * limits.max_bytes));
  }

  result<void> run(const std::string& above) {
    const pickle_value root = from_->root();
    if (!has_elements_[root.index()] || is_leaf(root))
      return place(root, above + (above.empty() ? "value" : "0"), {});
    return within(root, above, {});
  }

 private:
  static constexpr std::size_t max_depth = 48;

  /// Where a value stands.
  struct where {
    std::size_t depth = 0;
    bool in_object = false;     ///< whose document has all that is not an array
    bool is_attribute = false;  ///< or within one: what has been placed need not be again
    where below() const { return {depth + 1, in_object, is_attribute}; }
  };

  /// A dict, or a list, whose members are others' in a hierarchy.
  static bool is_dict(const pickle_value& value) {
    return value.kind() == pickle_kind::dict || value.is_call_of("collections", "OrderedDict") ||
           value.is_call_of("collections", "defaultdict");
  }
  static bool is_list(const pickle_value& value) {
    return value.kind() == pickle_kind::list || value.kind() == pickle_kind::tuple ||
           value.kind() == pickle_kind::set;
  }
  static bool is_leaf(const pickle_value& value) {
    return value.kind() == pickle_kind::persistent || tensor_call_of(value) ||
           is_numpy_array(value);
  }
  /// The value itself of those that TorchScript gives a type.
  static pickle_value plain(pickle_value value) {
    for (int level = 0; level < 4 && value.kind() == pickle_kind::call; ++level) {
      if (value.callable().module() != "torch.jit._pickle") break;
      if (value.arguments().element_count() == 0) break;
      value = value.arguments().element(0);
    }
    return value;
  }

  static error too_much() {
    return {errc::resource_limit, "what it holds is nested too deep, or is too much"};
  }

  /// Names, and attributes of tensors: a small pickle may make many long ones.
  result<void> charge(std::uint64_t size) {
    if (size > text_left_) return names_too_long();
    text_left_ -= size;
    return {};
  }

  /// A dict may be there any number of times, and have one key any number of times.
  result<std::vector<named_member>> members_of(const pickle_value& dict) {
    keys_ += dict.member_count();
    if (keys_ > most_placed_) return too_much();
    return named_members(dict, text_left_);
  }

  /// What is in a key stands beside what is in its value.
  result<void> place_key(const pickle_value& key, const std::string& name, const where& at) {
    return has_elements_[key.index()] ? place(key, name + " (key)", at) : result<void>();
  }

  result<void> place(const pickle_value& given, const std::string& name, const where& at) {
    const pickle_value value = plain(given);
    if (at.depth > max_depth || ++placed_ > most_placed_) return too_much();
    ZARRPOINT_CHECK(charge(name.size()));
    const bool has_elements = has_elements_[value.index()];
    // Of what lies within itself a document tells.
    if (!has_elements || above_[value.index()])
      return at.in_object ? result<void>() : add_document(value, name);
    if (!is_leaf(value)) return within(value, name + '/', at);
    if (at.in_object && !arrays_->try_emplace(value.index(), name).second && at.is_attribute)
      return {};
    return add_leaf(value, name, at).at("the tensor " + v0::detail::in_quotes(name));
  }

  result<void> within(const pickle_value& value, const std::string& above, const where& at) {
    above_[value.index()] = true;
    auto done = is_dict(value)   ? members(value, above, at)
                : is_list(value) ? elements(value, above, at)
                                 : object(value, above, at);
    above_[value.index()] = false;
    return done;
  }

  result<void> members(const pickle_value& dict, const std::string& above, const where& at) {
    ZARRPOINT_CHECK(members_of_object(dict, above, at));
    if (dict.kind() != pickle_kind::call) return {};
    for (std::size_t i = 0; i < dict.state_count(); ++i)  // as torch's `_metadata`
      if (has_elements_[dict.state(i).index()])
        ZARRPOINT_CHECK(place(dict.state(i), above + "@state", at.below()));
    return {};
  }

  result<void> elements(const pickle_value& list, const std::string& above, const where& at) {
    for (std::size_t i = 0; i < list.element_count(); ++i)
      ZARRPOINT_CHECK(place(list.element(i), above + std::to_string(i), at.below()));
    return {};
  }

  /// The arrays of an object, and its document, in which they are told by their names.
  result<void> object(const pickle_value& value, const std::string& above, const where& at) {
    if (at.is_attribute && placed_objects_[value.index()]) return {};
    placed_objects_[value.index()] = true;
    where below{at.depth, true, false};
    const auto part = [&](const pickle_value& one, const char* name) {
      return has_elements_[one.index()] ? place(one, above + name, below.below()) : result<void>();
    };
    if (value.kind() == pickle_kind::call) {
      ZARRPOINT_CHECK(part(value.callable(), "@class"));
      ZARRPOINT_CHECK(part(value.arguments(), "@args"));
      ZARRPOINT_CHECK(part(value.keywords(), "@kwargs"));
      if (value.member_count() != 0)
        ZARRPOINT_CHECK(members_of_object(value, above + "@items/", below));
      if (value.element_count() != 0) ZARRPOINT_CHECK(elements(value, above + "@elements/", below));
      for (std::size_t i = 0; i < value.state_count(); ++i)
        ZARRPOINT_CHECK(state(value.state(i), above, below));
    }
    return at.in_object ? result<void>() : add_document(value, above + "@object");
  }

  result<void> members_of_object(const pickle_value& value, const std::string& above,
                                 const where& at) {
    ZARRPOINT_TRY(all, members_of(value));
    for (const named_member& one : all) {
      ZARRPOINT_CHECK(place(value.member(one.member), above + one.name, at.below()));
      ZARRPOINT_CHECK(place_key(value.key(one.member), above + one.name, at.below()));
    }
    return {};
  }

  /// A dict of attributes, or as objects with slots have it, a pair of them.
  result<void> state(const pickle_value& value, const std::string& above, const where& at) {
    if (!has_elements_[value.index()] || above_[value.index()]) return {};
    if (is_dict(value)) return attributes(value, above, at);
    if (value.kind() == pickle_kind::tuple && value.element_count() == 2 &&
        (is_dict(value.element(0)) || value.element(0).is_none()) && is_dict(value.element(1))) {
      ZARRPOINT_CHECK(state(value.element(0), above, at));
      return state(value.element(1), above, at);
    }
    return place(value, above + "@state", at.below());
  }

  /// Of a `torch.nn.Module` its parameters, buffers and modules stand as its state_dict has them.
  result<void> attributes(const pickle_value& dict, const std::string& above, const where& at) {
    const auto is_part = [](const std::string& name) {
      return name == "_parameters" || name == "_buffers" || name == "_modules";
    };
    ZARRPOINT_TRY(all, members_of(dict));
    const auto parts = std::count_if(all.begin(), all.end(),
                                     [&](const named_member& one) { return is_part(one.name); });
    above_[dict.index()] = true;
    for (const named_member& one : all) {
      const pickle_value value = dict.member(one.member);
      ZARRPOINT_CHECK(place_key(dict.key(one.member), above + one.name, at.below()));
      if (!has_elements_[value.index()]) continue;
      if (parts == 3 && is_part(one.name) && is_dict(value)) {
        ZARRPOINT_CHECK(members(value, above, at));
        continue;
      }
      where below = at.below();
      below.is_attribute = true;
      ZARRPOINT_CHECK(place(value, above + one.name, below));
    }
    above_[dict.index()] = false;
    return {};
  }

  result<void> add_leaf(const pickle_value& value, const std::string& name, const where& at) {
    if (is_numpy_array(value)) return add_numpy(value, value, name);
    const auto call = tensor_call_of(value);
    if (!call) return add_storage(value, name);
    std::string why;
    if (call->is_plain()) {
      const auto info = from_->tensor(value);
      if (info) return add_tensor(*info, value, name, at);
      if (info.failure().code != errc::unsupported) return info.failure();
      const auto described = describe_tensor(value);  // without the name of the file
      why = described ? info.failure().message : described.failure().message;
    } else if ((call->is_of("_rebuild_device_tensor_from_numpy") ||
                call->is_of("_rebuild_xla_tensor")) &&
               call->arguments.element_count() == 4) {
      ZARRPOINT_TRY(array, numpy_spec(call->arguments.element(0)));
      const pickle_value type = call->arguments.element(1);
      if (array && type.module() == "torch" &&
          dtype_named(type.name()) == std::optional(array->type))
        return add_numpy(call->arguments.element(0), value, name);
      why = "its elements are not of the type that it has in PyTorch";
    }
    return add_unread(value, *call, name, why);
  }

  /// The class and the attributes of a tensor of a subclass.
  result<void> add_states(const tensor_call& call, const std::string& name, const where& at,
                          json& attributes) {
    if (call.subclass) attributes.set("python_class", global_name(*call.subclass));
    for (const pickle_value& state : call.states) {
      const bool is_empty =
          state.is_none() || (state.kind() == pickle_kind::dict && state.member_count() == 0);
      if (is_empty) continue;
      if (has_elements_[state.index()]) {
        ZARRPOINT_CHECK(place(state, name + "/@state", at.below()));
        continue;
      }
      constexpr std::size_t most = 4096;
      auto document =
          pickle_to_document(state, {.max_depth = 16, .max_values = most, .max_text = most});
      if (document) {
        ZARRPOINT_CHECK(charge(dump_json(*document).size()));
        attributes.set("python_state", *std::move(document));
      } else {
        ZARRPOINT_CHECK(add_document(state, name + "/@state"));
      }
    }
    return {};
  }

  result<void> add_tensor(const tensor_info& of, const pickle_value& value, const std::string& name,
                          const where& at) {
    array_metadata as = v0::detail::raw_array(of.spec);
    const auto call = tensor_call_of(value);
    ZARRPOINT_CHECK(add_states(*call, name, at, as.attributes));
    return to_.add(name, as,
                   [from = from_, value,
                    most = most_beyond_](std::string called) -> result<std::unique_ptr<blob>> {
                     ZARRPOINT_TRY(info, describe_tensor(value));
                     return open_elements(from, info, std::move(called), most);
                   });
  }

  /// Of an array of numpy that can be read. Its elements are looked at once, and those of all
  /// arrays are no more than a pickle may have twice.
  result<std::optional<tensor_spec>> numpy_spec(const pickle_value& array) {
    const auto [place, is_new] = numpy_specs_.try_emplace(array.index());
    if (!is_new) return place->second;
    std::uint64_t copied = 0;
    if (auto found = read_numpy(array, &copied)) place->second = std::move(found->spec);
    copied_ += copied;
    if (copied_ / 2 > most_beyond_) return too_much();
    return place->second;
  }

  /// The array that a value is, or has; a number of it, where its bytes do not fit, is a document.
  result<void> add_numpy(const pickle_value& array, const pickle_value& value,
                         const std::string& name) {
    ZARRPOINT_TRY(spec, numpy_spec(array));
    if (!spec) return add_document(value, name);
    return to_.add(name, v0::detail::raw_array(*spec, endian::little),
                   [array, spec = *spec](std::string called) -> result<std::unique_ptr<blob>> {
                     ZARRPOINT_TRY(bytes, byte_count(spec));
                     auto make = [array]() -> result<mapping> {
                       auto again = read_numpy(array);
                       const auto shared = v0::detail::make_counted<const std::vector<std::byte>>(
                           std::move(again->elements));
                       return mapping(*shared, shared);
                     };
                     return v0::detail::make_owned<blob, delayed_blob>(bytes, std::move(make),
                                                                       std::move(called));
                   });
  }

  /// A storage by itself: its elements in one row.
  result<void> add_storage(const pickle_value& value, const std::string& name) {
    const auto id = storage_id_of(value);
    if (!id) return add_document(value, name);
    const bool is_untyped = id->type.name() == "UntypedStorage";
    const auto type =
        is_untyped ? dtype(dtype_kind::uint8) : storage_named(id->type.name()).value_or(dtype());
    if (!type.valid() || id->count > INT64_MAX / 16)
      return to_.add(name,
                     v0::detail::unread_entry{
                         global_name(id->type), "a storage of a type that has no array", {}},
                     stored_of(value));
    tensor_info of;
    of.spec = {type, {static_cast<index_t>(id->part)}};
    of.strides = row_major_strides(of.spec.shape, type.size());
    of.storage = id->name;
    of.storage_bytes = id->count * type.size();
    of.offset = id->first * type.size();
    of.end = of.offset + id->part * type.size();
    ZARRPOINT_CHECK(from_->storage(of));
    return to_.add(name, v0::detail::raw_array(of.spec),
                   [from = from_, of, most = most_beyond_](std::string called) {
                     return open_elements(from, of, std::move(called), most);
                   });
  }

  /// The storages within a value, and last the text of all else that is in it.
  std::vector<v0::detail::virtual_hierarchy::chunk_opener> stored_of(const pickle_value& value) {
    std::vector<v0::detail::virtual_hierarchy::chunk_opener> out;
    std::unordered_map<std::size_t, bool> seen;
    std::unordered_map<std::string, bool> names;
    std::vector<std::size_t> open{value.index()};
    while (!open.empty()) {
      const pickle_value one = value.at(open.back());
      open.pop_back();
      ++placed_;
      if (!has_elements_[one.index()] || !seen.try_emplace(one.index(), true).second) continue;
      if (const auto id = storage_id_of(one)) {
        if (names.try_emplace(id->name, true).second)
          out.emplace_back(
              [from = from_, storage = id->name](std::string) { return from->storage(storage); });
        continue;
      }
      const std::size_t first = open.size();
      one.for_each_part([&](std::size_t part) { open.push_back(part); });
      std::reverse(open.begin() + static_cast<std::ptrdiff_t>(first), open.end());
    }
    out.emplace_back([value, limits = documents_](std::string called) {
      return open_text(pickle_to_document(value, limits), std::move(called));
    });
    return out;
  }

  /// What a library call finds under the name is the type, and the reason.
  result<void> add_unread(const pickle_value& value, const tensor_call& call,
                          const std::string& name, const std::string& why) {
    const pickle_value& given = call.arguments;
    const std::size_t count = given.element_count();
    v0::detail::unread_entry out{global_name(call.function), why, {}};
    const auto shape = [&](std::size_t i) {
      if (i < count) out.shape = read_extents(given.element(i), "shape").value_or(dims());
    };
    const auto type = [&](std::size_t i) {
      if (i < count && given.element(i).kind() == pickle_kind::global)
        out.type = global_name(given.element(i));
    };
    if (call.is_plain()) {
      shape(2), type(6);
      const auto id = count == 0 ? std::nullopt : storage_id_of(given.element(0));
      if (id && id->type.name() != "UntypedStorage") out.type = global_name(id->type);
      if (call.dtype) out.type = global_name(*call.dtype);
    } else if (call.is_of("_rebuild_qtensor")) {
      shape(2);
      const auto id = count == 0 ? std::nullopt : storage_id_of(given.element(0));
      if (id) out.type = quantised_name(id->type);
      out.reason = "it is quantised; its integers and its scales are not read";
    } else if (call.is_of("_rebuild_sparse_tensor") && count == 2) {
      const pickle_value layout = given.element(0);
      if (layout.kind() == pickle_kind::call && layout.arguments().element_count() == 1)
        if (const std::string* const text = layout.arguments().element(0).if_string())
          out.type = *text;
      const pickle_value data = given.element(1);  // indices, one list or two; values; size
      const std::size_t at = out.type == "torch.sparse_coo" ? 2 : 3;
      if (at < data.element_count())
        out.shape = read_extents(data.element(at), "shape").value_or(dims());
      out.reason = "it is sparse; its indices and its values are not read";
    } else if (call.is_of("_rebuild_nested_tensor")) {
      out.type = "torch.nested";
      out.reason = "it is a nested tensor, of rows of different shapes";
    } else if (call.is_of("_rebuild_meta_tensor_no_storage")) {
      shape(1), type(0);
      out.type += " (meta)";
      out.reason = "it is on the meta device, which has no elements";
    } else if (call.is_of("_rebuild_wrapper_subclass")) {
      shape(2), type(0);
      out.reason = "its class keeps its elements in a way of its own";
    }
    if (call.subclass) out.type = global_name(*call.subclass);
    if (out.reason.empty())
      out.reason = "it is made by " + global_name(call.function) + ", which is not known";
    return to_.add(name, out, stored_of(value));
  }

  /// `torch.qint8` of a `torch.QInt8Storage`.
  static std::string quantised_name(const pickle_value& storage) {
    std::string_view name = storage.name();
    if (name.ends_with("Storage")) name.remove_suffix(std::string_view("Storage").size());
    std::string out = "torch.";
    for (const char c : name) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
  }

  static result<std::unique_ptr<blob>> open_text(result<json> document, std::string called) {
    if (!document) return failed_blob(std::move(document).failure(), std::move(called));
    const std::string text = dump_json(*document);
    const bytes_view bytes = as_bytes(text);
    return v0::detail::make_owned<blob, v0::detail::memory_blob>(
        std::vector<std::byte>(bytes.begin(), bytes.end()), std::move(called));
  }

  /// An array of one text, which `make` gives when it is read.
  template <class F>
  result<void> add_text(const std::string& name, bool is_json, F make) {
    ZARRPOINT_TRY(none, v0::detail::array_of_texts({}, {""}));
    if (is_json) none.metadata.attributes.set("content_type", "application/json");
    return to_.add(name, none.metadata,
                   [make = std::move(make)](std::string called) -> result<std::unique_ptr<blob>> {
                     result<std::string> text = make();
                     if (!text) return failed_blob(std::move(text).failure().at(called), called);
                     ZARRPOINT_TRY(made, v0::detail::array_of_texts({}, {*text}));
                     return v0::detail::make_owned<blob, v0::detail::memory_blob>(
                         std::move(made.chunk), std::move(called));
                   });
  }

  /// A value that is not an array: a number, a text, or anything else as the text of its document.
  result<void> add_document(const pickle_value& value, const std::string& name) {
    if (auto number = read_number(value))
      return to_.add(name, number->metadata, std::move(number->chunk));
    if (value.kind() == pickle_kind::call && is_numpy_call(value, "multiarray", "scalar")) {
      ZARRPOINT_TRY(spec, numpy_spec(value));
      if (spec) return add_numpy(value, value, name);
    }
    if (value.if_string() != nullptr)
      return add_text(name, false, [value]() -> result<std::string> { return *value.if_string(); });
    return add_text(
        name, true,
        [value, from = from_, arrays = std::shared_ptr<const array_names>(arrays_),
         limits = documents_]() -> result<std::string> {
          ZARRPOINT_TRY(document, pickle_to_document(value, limits, {from.get(), arrays.get()}));
          return dump_json(document);
        });
  }

  std::shared_ptr<const file> from_;
  v0::detail::virtual_hierarchy& to_;
  std::shared_ptr<array_names> arrays_;
  std::vector<bool> has_elements_;
  std::vector<bool> above_;  ///< values that the walk is within
  std::vector<bool> placed_objects_;
  pickle_node_limits documents_;
  std::size_t placed_ = 0;  ///< values that the walk came to
  std::size_t keys_ = 0;    ///< of the dicts that it came to
  std::size_t most_placed_ = 0;
  std::uint64_t text_left_ = 0;    ///< what names may still take
  std::uint64_t most_beyond_ = 0;  ///< what an expanded tensor may take beyond its storage
  std::uint64_t copied_ = 0;
  std::unordered_map<std::size_t, std::optional<tensor_spec>> numpy_specs_;  ///< by their numbers
};

ZARRPOINT_INLINE result<void> add_archive(const std::shared_ptr<const file>& from,
                                          const pickle_limits& limits,
                                          v0::detail::virtual_hierarchy& to) {
  ZARRPOINT_CHECK(archive_walk(from, limits, to).run(""));
  const std::shared_ptr<const file> constants = from->constants();
  if (constants == nullptr || constants->root().element_count() == 0) return {};
  return archive_walk(constants, limits, to).run("constants/");
}

}}}}  // namespace zarrpoint::v0::torch::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/hierarchy/bodies.hpp>
#include <zarrpoint/interop/pickle/bodies.hpp>
#include <zarrpoint/interop/torch/document_bodies.hpp>
#endif
