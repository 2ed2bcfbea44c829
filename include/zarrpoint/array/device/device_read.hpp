// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/device/device_decoding.hpp>
#include <zarrpoint/array/device/frame_delivery.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/device/device_delivery.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <atomic>
#include <climits>
#include <memory>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The staging ring of a device that all operations with this context share. The context has
/// scratch memory (`with_scratch`).
template <device_space Space>
std::shared_ptr<staging_ring<Space>> ring_of(const context& how, const Space& space) {
  return ring_of(how.scratch->kept(), space, how.scratch->resource(), how.limit.memory);
}

/// What reads to a device share with each other.
template <device_space Space>
struct device_share {
  unsigned workers = UINT_MAX;  ///< at most so many pieces of each at a time
  /// By these the device decodes frames that it can; null: the host does. The one that waits for a
  /// read then asks them for damage, and has the host read again what `decoded` on the device.
  device_lanes<Space>* lanes = nullptr;
  bool decoded = false;
};

/// A read of an array to a device. Pieces of whole inner chunks are read and decoded into pinned
/// host memory, and copied from there while the next ones are read. All work of the device goes on
/// the stream of the target's space, or on lanes that this stream then waits for.
///
/// Elements are rearranged and cast by the device's kernels, if it has some and that sends no more
/// bytes; numbers of the other byte order become this machine's there. Inner chunks whose bytes
/// were shuffled are put together there, too, if they are large and most of them is wanted. Frames
/// of Blosc that kernels know are decoded there under the same conditions. Else the host does it on
/// the way. A piece of one inner chunk that is larger than a slot of the ring takes host memory of
/// its size. Checksums are verified on the host, or of frames on the device with
/// `read_options::device_verify`.
template <device_space Space>
class device_read {
 public:
  /// The array must outlive it.
  device_read(const array& from, const mutable_tensor_view<Space>& into,
              const read_options& options = {})
      : from_(from),
        options_(options),
        how_(with_scratch(options.how != nullptr ? *options.how : from.default_context())),
        delivery_(into, ring_of(how_, into.space)),
        stored_(from.spec().type),
        indexes_(shard_index_cache::share_of(how_.limit.memory), most_open) {
    options_.how = &how_;
    if (options_.expected == nullptr) options_.expected = from.expected();
    if (options_.indexes == nullptr) options_.indexes = &indexes_;
    const bool casts = options.cast && stored_.size() <= into.type.size();
    if (!has_kernels(into.space) || (stored_ != into.type && !casts)) return;
    flipped_ = detail::in_flipped_order(from);
    may_have_planes_ = flipped_ || !detail::has_flipped_order(from);
    may_have_frames_ = true;
    flips_at_end_ = flipped_ && stored_ == into.type && delivery_.is_run();
    computes_ = stored_ != into.type || (flipped_ && !flips_at_end_);
  }
  device_read(const device_read&) = delete;
  device_read& operator=(const device_read&) = delete;

  /// Whether the device itself has work with all of such an array, once its bytes are there.
  static bool computes(const array& from, const mutable_tensor_view<Space>& into) {
    if (!has_kernels(into.space)) return false;
    const dtype& stored = from.spec().type;
    if (stored != into.type) return stored.size() <= into.type.size();
    return detail::has_flipped_order(from) ||
           detail::planes_suit(from, box::whole(from.metadata().shape)) ||
           detail::frames_suit(from, box::whole(from.metadata().shape));
  }

  /// What the read shares with others, which outlives it.
  void share(device_share<Space>& with) noexcept { share_ = &with; }

  /// Reads `part`, whose shape is the target's. When it returns, all has been read and its copies
  /// are asked for: they are done when the event has happened. After an error nothing of it is
  /// under way, and the target's contents are unspecified. Errors: those of `array::read`; those of
  /// the space, naming the chunks; `unsupported` for strings.
  result<typename Space::event> start(const selection& part) {
    ZARRPOINT_CHECK(named(check(part, from_.spec().shape)));
    progress_meter own(options_.meter != nullptr ? nullptr : &how_.progress, "read",
                       byte_count(part.shape, stored_.size()).value_or(0), how_.observer);
    progress_meter unseen(nullptr, "read", 0);
    progress_meter* const callers = options_.meter;
    indexes_.clear();  // what was stored may have changed since
    if (callers == nullptr) options_.meter = &own;
    part_ = part;
    auto started = run_pieces();
    if (!started && flip_refused_) {  // by kernels that do not know the size: the host does it
      flipped_.reset();
      may_have_planes_ = flips_at_end_ = flip_refused_ = false;
      options_.meter = &unseen;
      started = run_pieces();
    }
    options_.meter = callers;
    return started;
  }

  /// Zero in each element of the target, made on the device where it has no gaps.
  result<typename Space::event> start_zero() {
    const selection whole(box::whole(target().shape));
    ZARRPOINT_CHECK(named(check(whole, target().shape)));
    ZARRPOINT_TRY(done, named(delivery_.zero_at_once()));
    const piece_grid pieces = single_elements(whole.shape);
    const std::vector<std::byte> zero(target().type.size());
    const auto make = [&](std::size_t i) {
      return deliver(pieces.at(i), {target().type}, [&](const auto& to, auto) -> result<void> {
        fill_elements(to, zero);
        return {};
      });
    };
    return run(done ? 0 : pieces.size(), make, [] { return result<void>(); });
  }

 private:
  /// Shards that a read keeps open: a load has many reads at a time, and files are few.
  static constexpr std::size_t most_open = 16;
  static constexpr std::size_t least_piece = std::size_t{1} << 20;

  const mutable_tensor_view<Space>& target() const noexcept { return delivery_.target(); }
  std::size_t slot_bytes() const noexcept { return delivery_.ring().slot_bytes(); }
  unsigned most_workers() const noexcept {
    return share_ == nullptr ? UINT_MAX : std::max(share_->workers, 1U);
  }
  std::size_t element_bytes() const { return std::max(stored_.size(), target().type.size()); }

  template <class T>
  result<T> named(result<T> status) const {
    return status ? std::move(status)
                  : std::move(status).at("array " + from_.store().describe(from_.key()));
  }

  result<void> check(const selection& part, const dims& bounds) const {
    ZARRPOINT_CHECK(part.check(bounds));
    if (target().type.is_variable() || stored_.is_variable())
      return error{errc::unsupported,
                   "strings live in host memory only; load or save them without a device"};
    if (!(options_.cast ? stored_.castable_to(target().type) : stored_ == target().type))
      return error{errc::dtype_mismatch, "the array is of type " + std::string(to_string(stored_)) +
                                             ", not " + std::string(to_string(target().type))};
    if (target().shape != part.shape)
      return error{errc::shape_mismatch, "the selection has shape " + to_string(part.shape) +
                                             ", the memory " + to_string(target().shape)};
    ZARRPOINT_CHECK(byte_count(part.shape, element_bytes()));
    if (element_bytes() > slot_bytes())
      return error{errc::resource_limit, "an element has " + std::to_string(element_bytes()) +
                                             " bytes, more than a staging slot of " +
                                             std::to_string(slot_bytes())};
    ZARRPOINT_CHECK(delivery_.check());
    return target().space.follow(target().ready);
  }

  /// Reads all pieces; what they are is decided here.
  result<typename Space::event> run_pieces() {
    if (cut_frames()) return run_frames();
    const bool by_planes = cut_planes();
    if (!by_planes) cut();
    const auto read = [&](std::size_t i) {
      return by_planes ? read_planes(pieces_.at(i)) : read_piece(pieces_.at(i));
    };
    return run(pieces_.size(), read, [this] { return flip(); });
  }

  /// The same where lanes of the device decode them.
  result<typename Space::event> run_frames() {
    ZARRPOINT_CHECK(frames_.begin(part_, *share_->lanes));
    const auto read = [&](std::size_t i) { return read_frames(pieces_.at(i)); };
    auto last = run(pieces_.size(), read, [this] { return frames_.join(); });
    if (!last) share_->lanes->wait();
    share_->decoded |= frames_.has_used_lanes();
    return last;
  }

  /// Decides what is read at a time. Pieces share no inner chunk where that must be read whole.
  void cut() {
    const array_layout& layout = (flipped_ ? *flipped_ : from_).layout();
    const bool whole_chunks =
        !layout.chain().is_raw() || (options_.checksums && options_.expected != nullptr);
    const dims unit = layout.grid().inner_shape;
    const std::size_t chunk =
        std::min(byte_count(unit, element_bytes()).value_or(SIZE_MAX), slot_bytes());
    pieces_ = piece_grid::make(part_, unit, element_bytes(), wanted_bytes(chunk));
    piece_bytes_ = byte_count(pieces_.largest(), element_bytes()).value_or(SIZE_MAX);
    if (piece_bytes_ <= slot_bytes() || whole_chunks) return;
    pieces_ = piece_grid::make(part_, dims(unit.rank(), 1), element_bytes(), slot_bytes());
    piece_bytes_ = slot_bytes();
  }

  /// The same for pieces that come as planes of bytes: boxes of inner chunks. False when none do.
  bool cut_planes() {
    if (!may_have_planes_ || !detail::planes_suit(from_, part_, slot_bytes())) return false;
    if (!planes_) planes_ = detail::planes_of(from_);
    may_have_planes_ = planes_.has_value();
    if (!planes_) return false;
    cut_chunks(planes_->chunk, wanted_bytes(planes_->chunk_bytes()));
    return true;
  }

  /// The same for pieces that come as they are stored.
  bool cut_frames() {
    const bool may = may_have_frames_ && share_ != nullptr && share_->lanes != nullptr;
    if (!may || !detail::frames_suit(from_, part_, slot_bytes(), element_bytes())) return false;
    // A kernel takes as long for one chunk as for many: large pieces, but one for each thread.
    const std::size_t bytes = byte_count(part_.shape, stored_.size()).value_or(SIZE_MAX);
    const std::size_t threads = std::min<std::size_t>(how_.executor.concurrency(), most_workers());
    cut_chunks(frames_.chunk(),
               std::clamp(bytes / threads, std::min(least_piece, slot_bytes()), slot_bytes()));
    return true;
  }

  void cut_chunks(const dims& chunk, std::size_t wanted) {
    chunks_ = selection(byte_planes::chunks_of({part_.offset, part_.shape}, chunk));
    pieces_ = piece_grid::make(chunks_, dims(chunks_.rank(), 1),
                               byte_count(chunk, stored_.size()).value_or(SIZE_MAX), wanted);
    piece_bytes_ = slot_bytes();
  }

  /// Some pieces for each slot, so that reading and copying overlap, but none too small. Those that
  /// are read at a time have a chunk of so many bytes for each thread.
  std::size_t wanted_bytes(std::size_t chunk) const {
    const std::size_t slots = delivery_.ring().slots();
    const std::size_t bytes = byte_count(part_.shape, element_bytes()).value_or(SIZE_MAX);
    const std::size_t chunks = (how_.executor.concurrency() + slots - 1) / slots;
    const std::size_t least =
        std::max(least_piece, chunk * std::min<std::size_t>(chunks, slot_bytes() / chunk));
    return std::min(std::max(bytes / (2 * slots), least), slot_bytes());
  }

  /// As much as fits a slot, whatever inner chunks there are.
  piece_grid single_elements(const dims& shape) const {
    return piece_grid::make(box::whole(shape), dims(shape.rank(), 1), element_bytes(),
                            slot_bytes());
  }

  /// What elements are read by that the device is to reverse the bytes of, or not.
  const array& source(bool reversed) const noexcept {
    return flips_at_end_ || reversed ? *flipped_ : from_;
  }

  /// Numbers that were read in the other byte order become what they are.
  result<void> flip() {
    if constexpr (kernel_space<Space>) {
      if (!flips_at_end_) return {};
      result<void> swapped = named(delivery_.swap_bytes());
      flip_refused_ = !swapped && swapped.failure().code == errc::unsupported;
      return swapped;
    } else {
      return {};
    }
  }

  /// Calls `f` for each piece, at last `finish`, and records the event that stands for all of it.
  template <class F, class Finish>
  result<typename Space::event> run(std::size_t count, F&& f, Finish&& finish) {
    parallel_options how{.max_workers = static_cast<unsigned>(delivery_.ring().slots()),
                         .stop = how_.stop};
    if (piece_bytes_ > slot_bytes()) {  // each takes memory of its own
      const std::size_t in_flight = how_.scratch->limiter().limit();
      how.max_workers = static_cast<unsigned>(
          std::clamp<std::size_t>(in_flight / piece_bytes_, 1, how.max_workers));
    }
    how.max_workers = std::min(how.max_workers, most_workers());
    result<void> status = parallel_for(how_.executor, count, f, how);
    if (status) status = finish();
    if (status) {
      auto last = target().space.record();
      if (last) return last;
      status = named(result<void>(std::move(last).failure()));
    }
    static_cast<void>(wait_for_stream(target().space));
    return std::move(status).failure();
  }

  /// Elements as the device gets them while it has work with each piece.
  detail::device_form stored_form() const { return {stored_, flipped_ && !flips_at_end_}; }

  result<void> read_piece(const box& piece) {
    if (computes_.load(std::memory_order_relaxed)) {
      result<void> status = read_piece(piece, stored_form());
      if (status || status.failure().code != errc::unsupported) return status;
      computes_.store(false, std::memory_order_relaxed);  // no such kernel: the host does it
    }
    return read_piece(piece, {target().type});
  }

  /// Reads a piece of inner chunks as planes of bytes.
  result<void> read_planes(const box& piece) {
    const selection wanted = part_of(chunks_, piece);
    const box chunks{wanted.offset, wanted.shape};
    const box elements = planes_->place_of(chunks, part_).second;
    if (has_unshuffle_.load(std::memory_order_relaxed)) {
      const std::uint64_t bytes = byte_count(elements.shape, stored_.size()).value_or(0);
      const detail::phase_scope placed(options_.meter->observer(), phase::place, from_.key().str(),
                                       bytes);
      result<bool> done = deliver_planes(chunks, elements);
      if (done && *done) {
        options_.meter->add(from_.key().str(), bytes);
        return {};
      }
      if (!done && done.failure().code != errc::unsupported) return std::move(done).failure();
      if (!done) has_unshuffle_.store(false, std::memory_order_relaxed);
    }
    return read_again(elements, planes_->chunk);
  }

  /// Reads whole chunks of which kernels do not make elements after all.
  result<void> read_again(const box& elements, const dims& chunk) {
    // Elements of the target may be larger than what is stored.
    const auto again =
        piece_grid::make(part_of(part_, elements), chunk, element_bytes(), slot_bytes());
    for (std::size_t i = 0; i < again.size(); ++i)
      ZARRPOINT_CHECK(read_piece(within(elements, again.at(i))));
    return {};
  }

  /// Reads a piece of inner chunks as they are stored, and the elements of those that kernels do
  /// not decode.
  result<void> read_frames(const box& piece) {
    const selection chunks = part_of(chunks_, piece);
    const dims& chunk = frames_.chunk();
    const box elements = byte_planes::place_of({chunks.offset, chunks.shape}, chunk, part_).second;
    std::vector<box> others(1, elements);
    if (!frames_.gave_up()) {
      std::uint64_t bytes = byte_count(elements.shape, stored_.size()).value_or(0);
      ZARRPOINT_TRY(left, frames_.deliver(elements, options_));
      for (const box& one : left) bytes -= byte_count(one.shape, stored_.size()).value_or(0);
      const detail::phase_scope placed(options_.meter->observer(), phase::place, from_.key().str(),
                                       bytes);
      options_.meter->add(from_.key().str(), bytes);
      others = std::move(left);
    }
    for (const box& one : others) ZARRPOINT_CHECK(read_again(one, chunk));
    return {};
  }

  /// A box of a piece, as one of all that is read.
  static box within(const box& piece, box part) {
    for (std::size_t d = 0; d < part.rank(); ++d) part.offset[d] += piece.offset[d];
    return part;
  }

  /// False when the device has no memory for it.
  result<bool> deliver_planes(const box& chunks, const box& elements) {
    progress_meter unseen(nullptr, "read", 0);
    read_options options = options_;
    options.meter = &unseen;  // it would be told of what is past the edge, too
    const selection rows(planes_->rows_of(chunks));
    const auto count = static_cast<std::size_t>(element_count(chunks.shape).value_or(0));
    bool filled = true;
    const auto fill = [&](mutable_bytes to) -> result<void> {
      auto status =
          planes_->source.read(rows, dense_view(to.data(), {stored_, rows.shape}), options);
      filled = status.has_value();
      return status;
    };
    const auto at = [&](std::size_t i) {
      return planes_->place_of(detail::byte_planes::one_of(chunks, i), part_);
    };
    result<bool> done =
        delivery_.deliver_planes({planes_->chunk, stored_form(), planes_->width, count}, fill, at);
    if (done || !filled) return done;
    return named(std::move(done).at(chunks_of_piece(from_, part_, elements)));
  }

  /// Reads a piece as elements of this form.
  result<void> read_piece(const box& piece, const detail::device_form& form) {
    const selection wanted = part_of(part_, piece);
    ZARRPOINT_TRY(bytes, byte_count(piece.shape, element_bytes()));
    if (bytes <= slot_bytes())
      return deliver(piece, form, [&](const auto& to, const detail::device_form& made) {
        return source(made.is_reversed).read(wanted, to, options_);
      });
    // Others that need as much wait; what waits for this holds nothing that this waits for.
    const auto limiter = large_pieces();
    ZARRPOINT_TRY(granted, named(limiter->acquire(bytes, how_.stop)));
    const byte_limiter::reservation held = std::move(granted);
    ZARRPOINT_TRY(whole, named(tensor::make({form.type, piece.shape}, how_.scratch->resource())));
    ZARRPOINT_CHECK(source(false).read(wanted, whole.mutable_view(), options_));
    const piece_grid slots = single_elements(piece.shape);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const box part = slots.at(i);
      ZARRPOINT_CHECK(deliver(within(piece, part), {form.type}, [&](const auto& to, auto) {
        return cast_elements(to, subview(whole.view(), part));
      }));
    }
    return {};
  }

  /// Bounds the memory of chunks larger than a slot, of all reads that share scratch memory.
  struct large_piece_limiter : byte_limiter {
    using byte_limiter::byte_limiter;
  };
  std::shared_ptr<large_piece_limiter> large_pieces() const {
    const std::size_t most =
        std::min(how_.scratch->limiter().limit(), std::max<std::size_t>(how_.limit.memory / 4, 1));
    return how_.scratch->kept().template get<large_piece_limiter>(
        0, [&] { return detail::make_counted<large_piece_limiter>(most); });
  }

  /// Errors of `fill` name the array themselves.
  template <class F>
  result<void> deliver(const box& piece, const detail::device_form& form, F&& fill) const {
    bool filled = true;
    result<void> status = delivery_.deliver(piece, form, [&](const auto& to, const auto& made) {
      result<void> done = fill(to, made);
      filled = done.has_value();
      return done;
    });
    if (status || !filled) return status;
    return named(std::move(status).at(chunks_of_piece(from_, part_, piece)));
  }

  const array& from_;
  read_options options_;
  const context how_;
  detail::device_delivery<Space> delivery_;
  const dtype stored_;
  shard_index_cache indexes_;
  std::optional<array> flipped_;  // when the device is to reverse bytes of numbers
  bool flips_at_end_ = false;     // of the whole target, by one kernel
  bool flip_refused_ = false;
  bool may_have_planes_ = false;
  std::optional<detail::byte_planes> planes_;  // when the device may put them together; else unmade
  selection chunks_;                           // those of which that is so
  std::atomic<bool> has_unshuffle_{true};
  std::atomic<bool> computes_{false};  // whether it has other work with each piece
  device_share<Space>* share_ = nullptr;
  bool may_have_frames_ = false;
  frame_delivery<Space> frames_{from_, delivery_,
                                how_.scratch->kept().template get<frame_outcomes>(
                                    0, [] { return detail::make_counted<frame_outcomes>(); })};
  selection part_;
  piece_grid pieces_;
  std::size_t piece_bytes_ = 0;  ///< the most that a piece has
};

/// Waits for a read that `start(options, share)` begins, and has the host do it again where kernels
/// found damage: the error is the host's. Errors: as `device_read::start`.
template <device_space Space, class Start>
result<void> read_and_wait(const array& from, const Space& space, const read_options& options,
                           Start&& start) {
  const std::string name = "array " + from.store().describe(from.key());
  device_lanes<Space> lanes(space);
  device_share<Space> share{.lanes = &lanes};
  ZARRPOINT_TRY(last, start(options, share));
  ZARRPOINT_CHECK(space.wait(last).at(name));
  if (!share.decoded) return {};
  ZARRPOINT_TRY(damaged, lanes.found_damage().at(name));
  if (!damaged) return {};
  progress_meter unseen(nullptr, "read", 0);
  read_options again = options;
  again.meter = &unseen;
  device_share<Space> by_the_host;
  ZARRPOINT_TRY(second, start(again, by_the_host));
  return space.wait(second).at(name);
}

/// Reads the elements of `part` to a device, and waits until they are there. Errors: as
/// `device_read::start`.
template <device_space Space>
result<void> read_to_device(const array& from, const selection& part,
                            const mutable_tensor_view<Space>& into,
                            const read_options& options = {}) {
  const auto start = [&](const read_options& how, device_share<Space>& share) {
    device_read<Space> operation(from, into, how);
    operation.share(share);
    return operation.start(part);
  };
  return read_and_wait(from, into.space, options, start);
}

}}}  // namespace zarrpoint::v0::detail
