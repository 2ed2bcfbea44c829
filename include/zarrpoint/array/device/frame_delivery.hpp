// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/device/device_decoding.hpp>
#include <zarrpoint/array/device/stored_read.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/codec/blosc/frame_plan.hpp>
#include <zarrpoint/memory/device/device_delivery.hpp>
#include <zarrpoint/memory/device/device_lanes.hpp>

#include <atomic>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What became of frames so far, of all loads that share scratch memory: files of other writers may
/// have none that kernels know.
struct frame_outcomes {
  std::atomic<std::size_t> planned{0};  ///< that a lane was asked for
  std::atomic<std::size_t> refused{0};  ///< that are none that kernels know

  bool are_bad() const { return refused.load() > planned.load(); }
};

/// Inner chunks of an array that go to a device as they are stored, in slots of a ring, where lanes
/// decode them and bring their elements to a target. Thread-safe but for `begin`.
template <device_space Space>
class frame_delivery {
 public:
  /// Both must outlive it.
  frame_delivery(const array& from, const device_delivery<Space>& to,
                 std::shared_ptr<frame_outcomes> outcomes)
      : from_(from), delivery_(to), stored_(from.spec().type), outcomes_(std::move(outcomes)) {}

  const dims& chunk() const { return from_.layout().grid().inner_shape; }

  /// Before the pieces of a selection that suits (`frames_suit`). Waits for what the target waits
  /// for. Errors: those of the space.
  result<void> begin(const selection& part, device_lanes<Space>& lanes) {
    part_ = part;
    lanes_ = &lanes;
    ZARRPOINT_CHECK(named(lanes.settle(delivery_.target())));
    ZARRPOINT_TRY(begun, named(delivery_.target().space.record()));
    begun_ = begun;
    return {};
  }

  /// Reads the chunks that hold `elements`, a box of the target, and asks a lane for what it can
  /// decode of them. The others are left to the host: the boxes of the target that they are for.
  /// Errors: those of `array::read`, of the ring and of the space; lanes may still be at work then.
  result<std::vector<box>> deliver(const box& elements, const read_options& options) {
    if constexpr (kernel_space<Space>) {
      ZARRPOINT_TRY(slot, named(delivery_.ring().acquire()));
      // Behind them there is room for the table of what kernels do.
      const mutable_bytes bytes = slot.bytes();
      auto stored = stored_read::run(from_, part_of(part_, elements),
                                     bytes.first(bytes.size() - bytes.size() / 32), options);
      // The host's way can do with less memory.
      if (!stored && stored.failure().code == errc::resource_limit)
        return std::vector<box>(1, elements);
      if (!stored) return std::move(stored).failure();
      piece work = place(*stored);
      if (work.frames.empty()) return std::move(work.others);
      ZARRPOINT_TRY(lane, named(lanes_->take(elements_at() + work.elements)));
      if (lane) plan(work, *lane);
      if (!lane) gave_up_.store(true);
      if (!lane || work.frames.empty()) return std::vector<box>(1, elements);
      result<void> asked = decode(slot, work, *lane);
      if (asked) return std::move(work.others);
      const errc why = asked.failure().code;
      if (why != errc::unsupported && why != errc::resource_limit)
        return named(std::move(asked).at(chunks_of_piece(from_, part_, elements))).failure();
      static_cast<void>(wait_for_stream(lane->space()));
    }
    gave_up_.store(true);  // there is no such kernel
    return std::vector<box>(1, elements);
  }

  /// Whether there is no more that lanes can do: the host is to do the rest.
  bool gave_up() const { return gave_up_.load() || outcomes_->are_bad(); }
  bool has_used_lanes() const { return lanes_used_.load() != 0; }

  /// Has the stream of the target wait for what lanes were asked for. Errors: those of the space.
  result<void> join() const {
    return named(lanes_->join(delivery_.target().space, lanes_used_.load()));
  }

 private:
  /// An inner chunk in a slot, and where its elements go.
  struct frame {
    stored_chunk stored;
    box wanted;                              ///< of the chunk
    box destination;                         ///< of the target
    mutable_tensor_view<Space> to;           ///< soon by the stream of a lane
    std::optional<std::size_t> elements_at;  ///< in the memory of a lane; none if they lie in `to`
  };

  /// What is asked of a lane.
  struct piece {
    std::vector<frame> frames{};
    std::vector<box> others{};  ///< elements that are left to the host
    std::size_t elements = 0;   ///< bytes of all that do not lie in the target
    std::size_t used = 0;       ///< bytes of the slot, before the table of the work
    frame_work work{};
  };

  template <class T>
  result<T> named(result<T> status) const {
    return status ? std::move(status)
                  : std::move(status).at("array " + from_.store().describe(from_.key()));
  }

  // A lane's memory: a slot as it was copied there, then the decoded planes of all chunks, then the
  // elements of those that do not lie in the target so.
  static std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
  std::size_t slot_bytes() const { return delivery_.ring().slot_bytes(); }
  std::size_t chunks_bytes() const { return aligned(slot_bytes() + slot_bytes() / 64); }
  std::size_t decoded_at() const { return aligned(slot_bytes()); }
  std::size_t elements_at() const { return decoded_at() + chunks_bytes(); }
  std::size_t chunk_bytes() const { return byte_count(chunk(), stored_.size()).value_or(0); }

  static std::uint64_t address(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }

  /// Where the elements of what is stored go.
  piece place(const std::vector<stored_chunk>& stored) const {
    piece out;
    for (const stored_chunk& one : stored) {
      const box index{one.index, dims(one.index.rank(), 1)};
      const auto [wanted, destination] = byte_planes::place_of(index, chunk(), part_);
      if (one.bytes.empty()) {
        out.others.push_back(destination);
        continue;
      }
      frame made{one, wanted, destination, subview(delivery_.target(), destination), {}};
      const bool in_place = delivery_.is_straight(made.to, chunk()) && made.to.type == stored_ &&
                            address(made.to.data) % 16 == 0;
      if (!in_place) {
        made.elements_at = elements_at() + out.elements;
        out.elements += aligned(chunk_bytes());
      }
      out.frames.push_back(std::move(made));
    }
    return out;
  }

  /// What kernels do with them. Frames that they do not know are left to the host.
  void plan(piece& of, const typename device_lanes<Space>::loan& lane) {
    std::vector<frame> known;
    std::uint64_t room = address(lane.memory() + decoded_at());
    const frame& last = of.frames.back();
    of.used = last.stored.offset + aligned(last.stored.bytes.size() + 4);
    of.work.room_left = slot_bytes() - std::min(of.used, slot_bytes());
    for (frame& one : of.frames) {
      const std::byte* const to = one.elements_at ? lane.memory() + *one.elements_at : one.to.data;
      const frame_place at{address(lane.memory() + one.stored.offset), room, address(to),
                           chunk_bytes(), one.stored.crc32c};
      if (!plan_blosc_frame(one.stored.bytes, at, of.work)) {
        of.others.push_back(one.destination);
        continue;
      }
      room += aligned(chunk_bytes());
      one.to.space = lane.space();
      known.push_back(std::move(one));
    }
    outcomes_->planned += known.size();
    outcomes_->refused += of.frames.size() - known.size();
    of.frames = std::move(known);
  }

  /// Asks a lane for the elements of all frames of a slot.
  result<void> decode(typename staging_ring<Space>::slot& slot, piece& of,
                      const typename device_lanes<Space>::loan& lane) requires kernel_space<Space> {
    const Space& by = lane.space();
    frame_work& work = of.work;
    std::uint64_t marks = 0;
    for (device_checksum& one : work.checksums) marks += one.mark = lanes_->new_mark();
    std::byte* const host = slot.bytes().data();
    std::size_t end = of.used;
    // Where on the device a table will be.
    const auto put = [&]<class T>(const std::vector<T>& table) {
      const bytes_view bytes = std::as_bytes(std::span(table));
      std::copy(bytes.begin(), bytes.end(), host + end);
      return reinterpret_cast<const T*>(lane.memory() + std::exchange(end, end + bytes.size()));
    };
    const device_literals* const literals = put(work.literals);
    const device_planes* const planes = put(work.planes);
    const device_checksum* const checksums = put(work.checksums);
    lanes_used_ |= std::uint64_t{1} << lane.number();
    ZARRPOINT_CHECK(by.follow(begun_));
    slot.used_by(by);
    ZARRPOINT_CHECK(by.copy_from_host(lane.memory(), host, {.width = end}));
    ZARRPOINT_TRY(copied, by.record());
    slot.release(copied);
    if (!work.checksums.empty()) {
      ZARRPOINT_CHECK(by.compare_crc32c(checksums, work.checksums.size(), lanes_->marks()));
      lanes_->expect(marks);
    }
    if (!work.literals.empty())
      ZARRPOINT_CHECK(by.decode_literals(literals, work.literals.size(), lanes_->verdict()));
    ZARRPOINT_CHECK(by.join_planes(planes, work.planes.size(), work.most_bytes));
    // What was decoded is not needed any more: there is room for elements that are cast.
    std::byte* const room = lane.memory() + decoded_at();
    for (const frame& one : of.frames) {
      std::byte* const elements = one.elements_at ? lane.memory() + *one.elements_at : one.to.data;
      ZARRPOINT_CHECK(delivery_.place(one.to, {elements, chunk(), one.wanted}, {stored_}, room));
    }
    return {};
  }

  const array& from_;
  const device_delivery<Space>& delivery_;
  const dtype stored_;
  selection part_;
  device_lanes<Space>* lanes_ = nullptr;
  typename Space::event begun_{};  ///< lanes come after it
  std::atomic<bool> gave_up_{false};
  std::atomic<std::uint64_t> lanes_used_{0};  ///< a bit for each
  const std::shared_ptr<frame_outcomes> outcomes_;
};

}}}  // namespace zarrpoint::v0::detail
