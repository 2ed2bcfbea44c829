// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/blosc/encode_plan.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/memory/device/device_source.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How inner chunks become Blosc frames that kernels make.
struct frame_form {
  blosc_encode_plan plan;
  bool has_trailer = false;  ///< a crc32c behind each

  /// For the codecs `bytes` in this machine's order, `blosc` and perhaps `crc32c`, of numbers of up
  /// to 8 bytes and chunks of 64 KiB or more. Else nothing: kernels cannot make such frames.
  static std::optional<frame_form> of(const std::vector<codec_spec>& codecs,
                                      const tensor_spec& chunk);
};

/// A tensor on a device whose kernels also encode inner chunks, so that only what will be stored
/// goes to the host. The counts of all bytes come first. From them the host makes the codes, and
/// lays out the frames of all chunks of a part. What the device has no memory for, what does not
/// fit into a slot and what kernels do not know comes as elements.
template <device_space Space>
class encoding_source final : public device_source<Space> {
 public:
  using device_source<Space>::device_source;

  result<std::unique_ptr<source_part>> begin_stored(const chunk_request& of, bool wait) override {
    if constexpr (kernel_space<Space>) {
      const tensor_spec chunk{this->elements().type, of.chunks.front().shape};
      const std::optional<frame_form> form =
          has_kernels(this->elements().space) ? frame_form::of(*of.codecs, chunk) : std::nullopt;
      if (form) {
        ZARRPOINT_TRY(out, this->template new_part<frames>(wait, *this, of, *form));
        if (out != nullptr) ZARRPOINT_CHECK(out->begin());
        return std::unique_ptr<source_part>(std::move(out));
      }
    }
    return this->begin(of.part, wait);
  }

 private:
  static std::uint64_t address(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }
  static std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

  /// Chunks that become frames in a slot.
  class frames final : public device_part<Space> {
    using part = device_part<Space>;

   public:
    frames(const Space& space, typename part::slot held, const encoding_source& from,
           const chunk_request& of, const frame_form& form)
        : part(space, std::move(held)), from_(from), of_(of), form_(form) {}

    /// Asks for the counts, or for the elements.
    result<void> begin() {
      result<void> asked = ask_for_counts();
      if (is_impossible(asked)) return ask_for_elements();
      ZARRPOINT_CHECK(std::move(asked));
      is_counted_ = true;
      return this->begun({});
    }

    /// The first of those who wait does what is to be done.
    result<host_view> wait() override {
      const std::lock_guard lock(mutex_);
      if (!outcome_) {
        outcome_.emplace(error{errc::resource_limit, "no memory"});  // unless it gets further
        outcome_ = bring();
      }
      return *outcome_;
    }

    std::optional<bytes_view> stored(std::size_t i) override {
      if (frames_.empty()) return std::nullopt;
      const frame& one = frames_[i];
      if (one.is_fill) return bytes_view();
      const mutable_bytes made = this->bytes().subspan(one.at, one.size + trailer());
      if (form_.has_trailer)
        store_le<std::uint32_t>(made.data() + one.size, crc32c(made.first(one.size)));
      return bytes_view(made);
    }

   private:
    struct frame {
      std::size_t at = 0;  ///< in the slot
      std::size_t size = 0;
      bool is_fill = false;
    };
    static constexpr std::size_t head = 16;  ///< of a slot: whether a kernel found damage

    std::size_t trailer() const { return form_.has_trailer ? sizeof(std::uint32_t) : 0; }

    /// Whether it goes another way.
    static bool is_impossible(const result<void>& asked) {
      return !asked && (asked.failure().code == errc::resource_limit ||
                        asked.failure().code == errc::unsupported);
    }

    result<void> ask_for_elements() {
      gathered_ = {};
      this->go_on();
      ZARRPOINT_TRY(view, from_.copy_part(subview(from_.elements(), of_.part), this->bytes()));
      return this->begun(view);
    }

    /// Elements of a chunk in row-major order lie as they are counted; others are gathered.
    result<void> find_elements() {
      std::vector<std::size_t> apart;
      const std::size_t size = from_.elements().type.size();
      for (std::size_t i = 0; i < of_.chunks.size(); ++i) {
        const tensor_view<Space> one = subview(from_.elements(), of_.chunks[i]);
        chunks_.push_back(address(one.data));
        if (!is_row_major(one)) apart.push_back(i);
      }
      if (apart.empty()) return {};
      ZARRPOINT_TRY(bytes, byte_count(of_.chunks.front().shape, size));
      ZARRPOINT_TRY(room,
                    device_buffer<Space>::allocate(this->space_, apart.size() * aligned(bytes)));
      gathered_ = std::move(room);
      std::byte* to = gathered_.data();
      for (const std::size_t i : apart) {
        const tensor_view<Space> one = subview(from_.elements(), of_.chunks[i]);
        ZARRPOINT_CHECK(this->space_.move(
            {to, one.data, size, one.shape, row_major_strides(one.shape, size), one.strides}));
        chunks_[i] = address(to);
        to += aligned(bytes);
      }
      return {};
    }
    static bool is_row_major(const tensor_view<Space>& one) {
      const dims wanted = row_major_strides(one.shape, one.type.size());
      for (std::size_t d = 0; d < one.rank(); ++d)
        if (one.shape[d] > 1 && one.strides[d] != wanted[d]) return false;
      return true;
    }

    /// Sends a table, which is in the slot until then.
    result<void> send(const std::vector<device_symbols>& table, std::byte* to) {
      const bytes_view from = std::as_bytes(std::span(table));
      std::copy(from.begin(), from.end(), this->bytes().begin());
      return this->space_.copy_from_host(to, this->bytes().data(), {.width = from.size()});
    }

    /// A slot gets the counts of each chunk in turn.
    result<void> ask_for_counts() {
      const std::size_t each = form_.plan.counts_bytes();
      const std::size_t all = each * of_.chunks.size();
      std::vector<device_symbols> table;
      form_.plan.count(0, 0, table);
      const std::size_t table_bytes = table.size() * of_.chunks.size() * sizeof table[0];
      if (std::max(all, table_bytes) > this->bytes().size())
        return error{errc::resource_limit, "the counts take more than a slot"};
      ZARRPOINT_CHECK(find_elements());
      ZARRPOINT_TRY(room, device_buffer<Space>::allocate(this->space_, all + table_bytes));
      table.clear();
      for (std::size_t i = 0; i < chunks_.size(); ++i)
        form_.plan.count(chunks_[i], address(room.data() + i * each), table);
      ZARRPOINT_CHECK(send(table, room.data() + all));
      ZARRPOINT_CHECK(this->space_.count_symbols(
          reinterpret_cast<const device_symbols*>(room.data() + all), table.size()));
      return this->space_.copy_to_host(this->bytes().data(), room.data(), {.width = all});
    }

    result<host_view> bring() {
      ZARRPOINT_TRY(elements, part::wait());
      if (!is_counted_) return elements;
      encode_work work;
      const std::size_t end = lay_out(work);
      if (end != 0) {
        ZARRPOINT_TRY(encoded, encode(work, end));
        if (encoded) return host_view{};
      }
      frames_.clear();
      ZARRPOINT_CHECK(ask_for_elements());
      return part::wait();
    }

    /// The frames one after another. Returns where the last of them ends; 0 where they do not fit.
    std::size_t lay_out(encode_work& work) {
      const std::size_t each = form_.plan.counts_bytes();
      const std::size_t room = this->bytes().size();
      std::size_t at = head;
      for (std::size_t i = 0; i < chunks_.size(); ++i) {
        const auto made =
            form_.plan.plan(this->bytes().subspan(i * each, each), chunks_[i], at, work);
        if (!made) return 0;
        const bool is_fill = !of_.fill.empty() && made->repeated &&
                             of_.fill.size() <= made->repeated->size() &&
                             std::equal(of_.fill.begin(), of_.fill.end(), made->repeated->begin());
        frames_.push_back({at, made->size, is_fill});
        at = aligned(at + made->size + trailer());
        if (at > room) return 0;
      }
      return work.symbols.size() * sizeof(device_symbols) <= room ? at : 0;
    }

    /// False where the device cannot, or found other elements than it had counted.
    result<bool> encode(encode_work& work, std::size_t end) {
      const std::size_t table_bytes = work.symbols.size() * sizeof(device_symbols);
      auto room = device_buffer<Space>::allocate(this->space_, end + table_bytes);
      if (!room && room.failure().code == errc::resource_limit) return false;
      if (!room) return std::move(room).failure();
      for (device_symbols& one : work.symbols) one.to += address(room->data());
      this->go_on();
      result<void> asked = ask_for_frames(work, *room, end);
      if (is_impossible(asked)) return false;
      ZARRPOINT_CHECK(std::move(asked));
      ZARRPOINT_CHECK(this->begun({}));
      ZARRPOINT_CHECK(part::wait());
      gathered_ = {};
      if (load_le<std::uint32_t>(this->bytes().data()) != 0) return false;
      work.complete(this->bytes());
      return true;
    }
    result<void> ask_for_frames(const encode_work& work, device_buffer<Space>& room,
                                std::size_t end) {
      const Space& space = this->space_;
      ZARRPOINT_CHECK(send(work.symbols, room.data() + end));
      ZARRPOINT_CHECK(space.fill(room.data(), std::byte{}, end));
      ZARRPOINT_CHECK(
          space.encode_symbols(reinterpret_cast<const device_symbols*>(room.data() + end),
                               work.symbols.size(), room.data()));
      return space.copy_to_host(this->bytes().data(), room.data(), {.width = end});
    }

    const encoding_source& from_;
    const chunk_request of_;
    const frame_form form_;
    std::vector<std::uint64_t> chunks_{};  ///< addresses of their elements
    device_buffer<Space> gathered_{};      ///< those that do not lie in the tensor so
    bool is_counted_ = false;
    std::mutex mutex_{};
    std::optional<result<host_view>> outcome_{};
    std::vector<frame> frames_{};  ///< once they are there
  };
};

}}}  // namespace zarrpoint::v0::detail
