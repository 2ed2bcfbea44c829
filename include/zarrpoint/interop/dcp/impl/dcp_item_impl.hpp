// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/dcp/dcp_item.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/store/base/range_blob.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// An item that is as small is read at once: its directory, its pickle and its elements.
inline constexpr std::uint64_t small_item = std::uint64_t{64} << 10;

class memory_blob final : public blob {
 public:
  using blob::read;
  memory_blob(std::vector<std::byte> bytes, std::string name)
      : bytes_(std::move(bytes)), name_(std::move(name)) {}

  std::uint64_t size() const noexcept override { return bytes_.size(); }
  std::string name() const override { return name_; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }

 private:
  std::vector<std::byte> bytes_;
  std::string name_;
};

/// An item whose ends are kept: all that tells of its elements lies there, in some ten places.
class described_item final : public v0::detail::range_blob {
 public:
  using blob::read;
  using range_blob::range_blob;

  /// Reads the ends of an item that is larger than both.
  result<void> keep_ends() {
    ZARRPOINT_CHECK(range_blob::read(0, first_));
    return range_blob::read(size() - last_.size(), last_);
  }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    const std::byte* from = nullptr;
    if (offset + into.size() <= first_.size()) {
      from = first_.data() + offset;
    } else if (offset >= size() - last_.size()) {
      from = last_.data() + (offset - (size() - last_.size()));
    } else {
      return range_blob::read(offset, into);
    }
    std::copy_n(from, into.size(), into.data());
    return {};
  }

 protected:
  /// One by one: of several in one operation none would be of the ends that are kept.
  result<void> read_vectored(std::span<const read_request> requests) const override {
    for (const read_request& one : requests) ZARRPOINT_CHECK(read(one.offset, one.into));
    return {};
  }

 private:
  static constexpr std::size_t end_bytes = 1024;  // PyTorch's are 0.7 KB each
  std::array<std::byte, end_bytes> first_{};
  std::array<std::byte, end_bytes> last_{};
};

/// Frames of zstd in a row, which need not tell their sizes.
ZARRPOINT_INLINE result<std::vector<std::byte>> decompress(bytes_view frames, std::uint64_t limit) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        ZSTD_freeDCtx);
  if (context == nullptr) return error{errc::resource_limit, "zstd cannot allocate a decompressor"};
  std::vector<std::byte> out(
      static_cast<std::size_t>(std::min(limit, std::uint64_t{4} * frames.size() + 64)));
  ZSTD_inBuffer from{frames.data(), frames.size(), 0};
  std::size_t made = 0;
  std::size_t left = 0;  // what zstd says of the rest of a frame
  while (from.pos < from.size || left != 0) {
    if (made == out.size()) {
      if (made >= limit)
        return error{errc::resource_limit, "it has more than the " + std::to_string(limit) +
                                               " bytes that are expected of it"};
      out.resize(static_cast<std::size_t>(std::min<std::uint64_t>(limit, out.size() * 2)));
    }
    ZSTD_outBuffer to{out.data(), out.size(), made};
    const std::size_t before = from.pos;
    left = ZSTD_decompressStream(context.get(), &to, &from);
    if (ZSTD_isError(left) != 0)
      return error{errc::corrupt,
                   std::string("its zstd frame is damaged: ") + ZSTD_getErrorName(left)};
    if (from.pos == before && to.pos == made)
      return error{errc::corrupt, "its zstd frame is cut short"};
    made = to.pos;
  }
  out.resize(made);
  return out;
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_item(const any_store& base,
                                                         const stored_item& item,
                                                         std::uint64_t max_bytes) {
  ZARRPOINT_TRY(key, store_key::parse(item.file));
  const std::string name = base.describe(key) + " at " + std::to_string(item.offset);
  const bool is_compressed = !item.transforms.empty();
  if (is_compressed && (item.transforms.size() > 1 || item.transforms[0] != "stream.zstd/1"))
    return error{errc::unsupported, name + ": the transform " +
                                        v0::detail::in_quotes(item.transforms.back()) +
                                        " is not known"};
  ZARRPOINT_TRY(file, base.open(key));
  if (file == nullptr) return error{errc::not_found, base.describe(key) + ": the file is missing"};
  if (item.offset > file->size() || item.length > file->size() - item.offset)
    return error{errc::corrupt, name + ": its " + std::to_string(item.length) +
                                    " bytes run past the end of the file, which has " +
                                    std::to_string(file->size())};
  if (item.length > (is_compressed ? max_bytes : small_item)) {
    if (is_compressed)
      return error{errc::resource_limit, name + ": its " + std::to_string(item.length) +
                                             " compressed bytes are more than the " +
                                             std::to_string(max_bytes) + " that it may have"};
    auto of = v0::detail::make_counted<const v0::detail::container_file>(std::move(file));
    if (item.is_raw)
      return v0::detail::make_owned<blob, v0::detail::range_blob>(std::move(of), item.offset,
                                                                  item.length, name);
    auto out = std::make_unique<described_item>(std::move(of), item.offset, item.length, name);
    ZARRPOINT_CHECK(out->keep_ends());
    return std::unique_ptr<blob>(std::move(out));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(item.length));
  ZARRPOINT_CHECK(file->read(item.offset, bytes));
  if (is_compressed) {
    ZARRPOINT_TRY(plain, decompress(bytes, max_bytes).at(name));
    bytes = std::move(plain);
  }
  return v0::detail::make_owned<blob, memory_blob>(std::move(bytes), name);
}

/// The strides of a tensor as those of a box whose shape has extents of 1 in other places; false
/// where it is not of that shape.
ZARRPOINT_INLINE bool fit_strides(const torch::tensor_info& from, const dims& shape,
                                  dims& strides) {
  std::size_t at = 0;
  strides = dims(shape.rank(), 0);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    while (at < from.spec.shape.rank() && from.spec.shape[at] == 1) ++at;
    if (at == from.spec.shape.rank() || from.spec.shape[at] != shape[d]) return false;
    strides[d] = from.strides[at++];
  }
  while (at < from.spec.shape.rank() && from.spec.shape[at] == 1) ++at;
  return at == from.spec.shape.rank();
}

ZARRPOINT_INLINE result<box_source> open_box(const any_store& base, const tensor_entry& of,
                                             const tensor_chunk& chunk) {
  const auto open = [&]() -> result<box_source> {
    // PyTorch saves the elements of a box and no more of their storage.
    constexpr std::uint64_t most_description = std::uint64_t{1} << 20;
    ZARRPOINT_TRY(bytes, byte_count(tensor_spec{of.spec.type, chunk.at.shape}));
    const std::uint64_t most = std::min(std::uint64_t{bytes}, std::uint64_t{2} << 30);
    ZARRPOINT_TRY(item, open_item(base, chunk.from, 2 * most + most_description));
    const std::string name = item->name();
    if (chunk.from.is_raw) {
      if (item->size() != bytes)
        return error{errc::corrupt, name + ": it is not as long as its elements"};
      return box_source{
          std::move(item), 0, row_major_strides(chunk.at.shape, of.spec.type.size()), {}};
    }
    // The description of a tensor is a few hundred bytes.
    ZARRPOINT_TRY(
        file, torch::open(std::move(item), {.max_bytes = most_description, .max_values = 1 << 14}));
    if (!torch::is_tensor(file.root()))
      return error{errc::corrupt, name + ": its item holds no tensor of a kind that is known"};
    ZARRPOINT_TRY(info, file.tensor(file.root()));
    box_source out{nullptr, info.offset, {}, info.signs};
    if (info.spec.type != of.spec.type || !fit_strides(info, chunk.at.shape, out.strides))
      return error{errc::corrupt, name + ": its item holds " + to_string(info.spec) +
                                      ", the metadata say " +
                                      to_string(tensor_spec{of.spec.type, chunk.at.shape})};
    ZARRPOINT_TRY(storage, file.storage(info));
    out.storage = std::move(storage);
    return out;
  };
  return open().at("the box " + to_string(chunk.at));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> chunk_blob::open(chunk_plan plan) {
  ZARRPOINT_TRY(size, byte_count(tensor_spec{plan.tensor->spec.type, plan.at.shape}));
  return std::unique_ptr<blob>(new chunk_blob(std::move(plan), size));
}

ZARRPOINT_INLINE result<void> chunk_blob::read(std::uint64_t offset, mutable_bytes into) const {
  ZARRPOINT_CHECK(check_range(offset, into.size()));
  if (into.empty()) return {};
  return guarded([&]() -> result<void> {
    const std::uint64_t size = element_size();
    const std::uint64_t first = offset / size;
    const std::uint64_t last = (offset + into.size() - 1) / size;
    const auto count = static_cast<index_t>(last - first + 1);
    if (offset % size == 0 && into.size() % size == 0)
      return read_elements(static_cast<index_t>(first), count, into.data());
    ZARRPOINT_TRY(whole, buffer::allocate(static_cast<std::size_t>(count) * element_size()));
    ZARRPOINT_CHECK(read_elements(static_cast<index_t>(first), count, whole.bytes().data()));
    std::memcpy(into.data(), whole.bytes().data() + offset % size, into.size());
    return {};
  });
}

ZARRPOINT_INLINE result<void> chunk_blob::read_elements(index_t first, index_t count,
                                                        std::byte* to) const {
  const dims& shape = plan_.at.shape;
  const std::size_t rank = shape.rank();
  // The largest boxes that lie in one piece in the chunk: rows to the end of a block, blocks, rows.
  while (count > 0) {
    index_t volume = 1;  // of what lies behind axis `axis`
    for (const index_t extent : shape) volume *= extent;
    std::size_t axis = 0;
    for (; axis < rank; ++axis) {
      volume /= shape[axis];
      if (first % volume == 0 && count >= volume) break;
    }
    box part = plan_.at;
    index_t rest = first;
    index_t done = 1;
    if (rank != 0) {
      dims index(rank, 0);
      for (std::size_t d = rank; d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
      const index_t blocks = std::min(count / volume, shape[axis] - index[axis]);
      for (std::size_t d = 0; d <= axis; ++d) {
        part.offset[d] += index[d];
        part.shape[d] = d == axis ? blocks : 1;
      }
      done = blocks * volume;
    }
    ZARRPOINT_CHECK(read_part(part, to));
    first += done;
    count -= done;
    to += done * static_cast<index_t>(element_size());
  }
  return {};
}

ZARRPOINT_INLINE result<void> chunk_blob::read_part(const box& part, std::byte* to) const {
  const tensor_spec spec{plan_.tensor->spec.type, part.shape};
  const dims strides = row_major_strides(part.shape, element_size());
  for (std::size_t d = 0; d < part.rank(); ++d)
    if (part.offset[d] + part.shape[d] > plan_.tensor->spec.shape[d]) {
      ZARRPOINT_TRY(bytes, byte_count(spec));
      std::memset(to, 0, bytes);
      break;
    }
  for (std::size_t i = 0; i < plan_.boxes.size(); ++i) {
    const box& from = plan_.boxes[i]->at;
    transfer what{0, {}, to, strides, part.shape};
    dims skipped(part.rank(), 0);
    for (std::size_t d = 0; d < part.rank(); ++d) {
      const index_t begin = std::max(part.offset[d], from.offset[d]);
      const index_t end = std::min(part.offset[d] + part.shape[d], from.offset[d] + from.shape[d]);
      what.shape[d] = std::max<index_t>(end - begin, 0);
      what.to += (begin - part.offset[d]) * (end > begin ? strides[d] : 0);
      skipped[d] = begin - from.offset[d];
    }
    if (box::whole(what.shape).empty()) continue;
    ZARRPOINT_TRY(opened, source(i));
    what.from = opened->offset;
    what.from_strides = opened->strides;
    for (std::size_t d = 0; d < part.rank(); ++d)
      what.from += static_cast<std::uint64_t>(skipped[d] * opened->strides[d]);
    ZARRPOINT_CHECK(copy(*opened->storage, what));
    torch::apply_signs(opened->signs, {what.to, spec.type, what.shape, strides, {}, {}});
  }
  return {};
}

ZARRPOINT_INLINE result<void> chunk_blob::copy(const blob& storage, const transfer& what) const {
  constexpr index_t most_scratch = index_t{1} << 20;
  constexpr index_t always_worth = 16 << 10;
  const auto size = static_cast<index_t>(element_size());
  const dtype type = plan_.tensor->spec.type;
  const host_view from{nullptr, type, what.shape, what.from_strides, {}, {}};
  const mutable_host_view to{what.to, type, what.shape, what.to_strides, {}, {}};
  index_t wanted = size;
  index_t span = size;
  std::size_t widest = 0;
  for (std::size_t d = 0; d < what.shape.rank(); ++d) {
    wanted *= what.shape[d];
    span += (what.shape[d] - 1) * what.from_strides[d];
    if (what.shape[d] > 1 &&
        (what.shape[widest] == 1 || what.from_strides[d] > what.from_strides[widest]))
      widest = d;
  }
  if (is_dense(from) && is_dense(to))
    return storage.read(what.from, {what.to, static_cast<std::size_t>(wanted)});
  if (span <= most_scratch && span <= std::max(2 * wanted, always_worth)) {
    ZARRPOINT_TRY(scratch, buffer::allocate(static_cast<std::size_t>(span)));
    ZARRPOINT_CHECK(storage.read(what.from, scratch.bytes()));
    copy_elements(to, {scratch.bytes().data(), type, what.shape, what.from_strides, {}, {}});
    return {};
  }
  // Halves of the axis along which the source reaches farthest; elements in the end.
  transfer half = what;
  half.shape[widest] = what.shape[widest] / 2;
  ZARRPOINT_CHECK(copy(storage, half));
  half.from += static_cast<std::uint64_t>(half.shape[widest] * what.from_strides[widest]);
  half.to += half.shape[widest] * what.to_strides[widest];
  half.shape[widest] = what.shape[widest] - half.shape[widest];
  return copy(storage, half);
}

ZARRPOINT_INLINE result<std::shared_ptr<const box_source>> chunk_blob::source(
    std::size_t box) const {
  constexpr std::size_t most_opened = 16;
  // The threads that read parts of one box need it opened once; different boxes, as they come.
  std::unique_lock opening(opening_, std::defer_lock);
  if (plan_.boxes.size() == 1) opening.lock();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [at, one] : opened_)
      if (at == box) return one;
  }
  ZARRPOINT_TRY(made, open_box(plan_.base, *plan_.tensor, *plan_.boxes[box]));
  auto shared = v0::detail::make_counted<const box_source>(std::move(made));
  const std::lock_guard lock(mutex_);
  if (opened_.size() < most_opened) {
    opened_.emplace_back(box, shared);
  } else {
    opened_[next_++ % most_opened] = {box, shared};
  }
  return shared;
}

ZARRPOINT_INLINE result<mapping> chunk_blob::map() const {
  const error refusal{errc::unsupported, name() + ": it does not lie in one piece"};
  if (plan_.boxes.size() != 1 || plan_.boxes[0]->at != plan_.at) return refusal;
  ZARRPOINT_TRY(opened, source(0));
  const tensor_spec spec{plan_.tensor->spec.type, plan_.at.shape};
  if (opened->signs.any() ||
      !is_dense(host_view{nullptr, spec.type, spec.shape, opened->strides, {}, {}}))
    return refusal;
  ZARRPOINT_TRY(whole, opened->storage->map());
  const auto begin = static_cast<std::size_t>(opened->offset);
  const auto bytes = static_cast<std::size_t>(size_);
  if (begin > whole.bytes().size() || bytes > whole.bytes().size() - begin)
    return error{errc::corrupt, name() + ": its storage became shorter"};
  return mapping(whole.bytes().subspan(begin, bytes),
                 v0::detail::make_counted<const mapping>(whole));
}

}}}}  // namespace zarrpoint::v0::dcp::detail
