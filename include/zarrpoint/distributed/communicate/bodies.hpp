// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/communicate/point_to_point.hpp>
#include <zarrpoint/distributed/communicate/rank_mesh.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------- communicator.hpp

ZARRPOINT_INLINE std::string to_string(const collective_step& step) {
  std::string text(to_string(step.what));
  if (step.what == collective::gather) text += " to rank " + std::to_string(step.root);
  if (step.what == collective::scatter || step.what == collective::broadcast)
    text += " from rank " + std::to_string(step.root);
  return text;
}

namespace detail {

ZARRPOINT_INLINE result<void> check_step(const collective_step& step, int size) {
  if (step.root >= 0 && step.root < size) return {};
  return error{errc::invalid_argument, std::string(to_string(step.what)) + ": there is no rank " +
                                           std::to_string(step.root) + "; the number of ranks is " +
                                           std::to_string(size)};
}

ZARRPOINT_INLINE result<void> check_messages(const collective_step& step, std::size_t count,
                                             int size) {
  if (count == static_cast<std::size_t>(size)) return {};
  return error{errc::invalid_argument, std::string(to_string(step.what)) + ": " +
                                           std::to_string(count) + " messages were given for " +
                                           std::to_string(size) + " ranks; give one for each"};
}

ZARRPOINT_INLINE error unmatched(int other, const std::string& its, int mine,
                                 const std::string& ours) {
  return {errc::invalid_argument, "Unmatched collectives: rank " + std::to_string(other) +
                                      " is in " + its + ", rank " + std::to_string(mine) + " in " +
                                      ours};
}

}  // namespace detail

// --------------------------------------------------------------------------------- collectives.hpp

namespace detail {

ZARRPOINT_INLINE std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i != 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (last == i + 1) text += ", " + std::to_string(ranks[last]);
    if (last > i + 1) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<message>> gather(const any_communicator& group, message mine,
                                                     int root) {
  return group.gather({collective::gather, root}, std::move(mine));
}

ZARRPOINT_INLINE result<message> scatter(const any_communicator& group,
                                         std::vector<message> to_each, int root) {
  return group.scatter({collective::scatter, root}, std::move(to_each));
}

ZARRPOINT_INLINE result<message> broadcast(const any_communicator& group, message mine, int root) {
  return group.broadcast({collective::broadcast, root}, std::move(mine));
}

ZARRPOINT_INLINE result<void> barrier(const any_communicator& group) {
  ZARRPOINT_CHECK(group.gather({collective::barrier}, {}));
  ZARRPOINT_CHECK(group.broadcast({collective::barrier}, {}));
  return {};
}

namespace detail {

ZARRPOINT_INLINE message pack(std::vector<message> parts) {
  std::size_t total = 8 * parts.size();
  for (const message& part : parts) total += part.size();
  message packed(total);
  std::byte* at = packed.data() + 8 * parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    store_le<std::uint64_t>(packed.data() + 8 * i, parts[i].size());
    at = std::copy(parts[i].begin(), parts[i].end(), at);
    parts[i] = {};
  }
  return packed;
}

ZARRPOINT_INLINE result<std::vector<message>> unpack(bytes_view packed, std::size_t parts) {
  const auto cut_off = [] { return error{errc::corrupt, "packed messages are cut off"}; };
  if (packed.size() / 8 < parts) return cut_off();
  const std::byte* const sizes = packed.data();
  packed = packed.subspan(8 * parts);
  std::vector<message> all(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    const auto size = load_le<std::uint64_t>(sizes + 8 * i);
    if (size > packed.size()) return cut_off();
    const bytes_view part = packed.first(static_cast<std::size_t>(size));
    all[i].assign(part.begin(), part.end());
    packed = packed.subspan(part.size());
  }
  if (!packed.empty()) return cut_off();
  return all;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<message>> all_gather(const any_communicator& group,
                                                         message mine) {
  const collective_step step{collective::all_gather};
  ZARRPOINT_TRY(gathered, group.gather(step, std::move(mine)));
  message packed;
  if (group.rank() == 0) packed = detail::pack(std::move(gathered));
  ZARRPOINT_TRY(all, group.broadcast(step, std::move(packed)));
  return detail::unpack(all, static_cast<std::size_t>(group.size()));
}

namespace detail {

inline constexpr std::size_t max_joint_error_bytes = 16384;

ZARRPOINT_INLINE std::string_view whole_characters(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  // Backwards over the bytes that continue a character.
  while (end != 0 && max_bytes - end < 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end);
}

ZARRPOINT_INLINE message pack_status(const result<void>& status, std::size_t max_bytes) {
  if (status) return {};
  const std::string_view text = whole_characters(status.failure().message, max_bytes);
  message packed{static_cast<std::byte>(status.failure().code)};
  const bytes_view bytes = as_bytes(text);
  packed.insert(packed.end(), bytes.begin(), bytes.end());
  if (text.size() != status.failure().message.size())
    packed.insert(packed.end(), 3, std::byte{'.'});
  return packed;
}

ZARRPOINT_INLINE result<void> unpack_status(bytes_view packed) {
  if (packed.empty()) return {};
  const auto code = static_cast<errc>(packed[0]);
  if (to_string(code) == "unknown") return error{errc::corrupt, "a rank's error has no code"};
  return error{code, std::string(as_text(packed.subspan(1)))};
}

/// Whether an error says what went wrong, and not only that this rank was told to give up.
ZARRPOINT_INLINE bool is_cause(errc code) {
  return code != errc::cancelled && code != errc::unavailable;
}

/// The statuses of all ranks as one: equal errors once, with the ranks that have them.
ZARRPOINT_INLINE result<void> join_statuses(const std::vector<message>& packed) {
  struct group {
    error what;
    std::vector<int> ranks;
  };
  std::vector<group> groups;
  for (std::size_t r = 0; r < packed.size(); ++r) {
    result<void> status = unpack_status(packed[r]);
    if (status) continue;
    // The same text is searched for among a few: beyond them ranks are only counted.
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const group& known) {
      return known.what.code == status.failure().code &&
             known.what.message == status.failure().message;
    });
    if (same != groups.end()) {
      same->ranks.push_back(static_cast<int>(r));
    } else {
      groups.push_back({std::move(status).failure(), {static_cast<int>(r)}});
    }
  }
  if (groups.empty()) return {};
  const auto cause = std::find_if(groups.begin(), groups.end(),
                                  [](const group& g) { return is_cause(g.what.code); });
  error joint{cause == groups.end() ? groups.front().what.code : cause->what.code, {}};
  std::vector<int> left_out;
  for (const group& g : groups) {
    std::string text = rank_list(g.ranks) + ": ";
    text += g.what.code == joint.code ? g.what.message : to_string(g.what);
    if (joint.message.size() + text.size() > max_joint_error_bytes) {
      left_out.insert(left_out.end(), g.ranks.begin(), g.ranks.end());
      continue;
    }
    if (!joint.message.empty()) joint.message += "; ";
    joint.message += text;
  }
  if (!left_out.empty()) {
    std::sort(left_out.begin(), left_out.end());
    joint.message += "; and others on " + rank_list(left_out);
  }
  return joint;
}

}  // namespace detail

ZARRPOINT_INLINE result<void> agree(const any_communicator& group, result<void> mine) {
  if (group.size() == 1) return mine;
  const collective_step step{collective::agree};
  const auto talk = [&]() -> result<message> {
    ZARRPOINT_TRY(all, group.gather(step, detail::pack_status(mine)));
    return group.broadcast(step, detail::pack_status(detail::join_statuses(all), SIZE_MAX));
  };
  const result<message> joint = talk();
  if (joint) return detail::unpack_status(*joint);
  error lost = joint.failure();
  if (!mine) lost.message += "; and here: " + to_string(mine.failure());
  return lost;
}

namespace detail {

ZARRPOINT_INLINE result<message> broadcast_result(const any_communicator& group,
                                                  result<message> mine, int root) {
  message packed;
  if (group.rank() == root && mine) {
    packed = std::move(*mine);
    packed.push_back(std::byte{0});
  } else if (group.rank() == root) {
    packed = detail::pack_status(mine.failure());
    packed.push_back(std::byte{1});
  }
  ZARRPOINT_TRY(all, broadcast(group, std::move(packed), root));
  if (all.empty()) return error{errc::corrupt, "a broadcast result is cut off"};
  const bool failed = all.back() != std::byte{0};
  all.pop_back();
  if (!failed) return std::move(all);
  if (result<void> status = detail::unpack_status(all); !status) {
    if (group.size() == 1) return mine.failure();
    return std::move(status).failure().at(rank_list({root}));
  }
  return error{errc::corrupt, "a broadcast result is cut off"};
}

}  // namespace detail

// ----------------------------------------------------------------------------------- rank_mesh.hpp

ZARRPOINT_INLINE result<rank_mesh> rank_mesh::make(std::vector<axis> axes, mesh_order order) {
  rank_mesh out;
  std::int64_t ranks = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].extent < 1)
      return error{errc::invalid_argument, "axis \"" + axes[i].name + "\" of a mesh has extent " +
                                               std::to_string(axes[i].extent)};
    for (std::size_t j = 0; j < i; ++j) {
      if (axes[j].name == axes[i].name)
        return error{errc::invalid_argument, "a mesh has axis \"" + axes[i].name + "\" twice"};
    }
    ZARRPOINT_TRY(more, checked_mul(ranks, axes[i].extent));
    if (more > INT32_MAX) return error{errc::out_of_range, "the mesh has more than 2^31 ranks"};
    ranks = more;
  }
  if (order == mesh_order::last_fastest) std::reverse(axes.begin(), axes.end());
  out.axes_ = std::move(axes);
  out.size_ = static_cast<int>(ranks);
  return out;
}

ZARRPOINT_INLINE int rank_mesh::extent(std::string_view name) const {
  for (const axis& one : axes_) {
    if (one.name == name) return one.extent;
  }
  return 1;
}

ZARRPOINT_INLINE int rank_mesh::coordinate(int rank, std::string_view name) const {
  for (const axis& one : axes_) {
    if (one.name == name) return rank % one.extent;
    rank /= one.extent;
  }
  return 0;
}

ZARRPOINT_INLINE int rank_mesh::group_of(int rank, std::string_view name) const {
  int number = 0;
  int step = 1;
  for (const axis& one : axes_) {
    if (one.name != name) {
      number += rank % one.extent * step;
      step *= one.extent;
    }
    rank /= one.extent;
  }
  return number;
}

namespace detail {

// ------------------------------------------------------------------------------ point_to_point.hpp

ZARRPOINT_INLINE message message_header::pack() const {
  message out(bytes);
  store_le<std::uint32_t>(out.data(), magic);
  store_le<std::uint32_t>(out.data() + 4, static_cast<std::uint32_t>(call.step.what));
  store_le<std::uint32_t>(out.data() + 8, static_cast<std::uint32_t>(call.step.root));
  store_le<std::uint64_t>(out.data() + 12, call.number);
  store_le<std::uint64_t>(out.data() + 20, body);
  return out;
}

ZARRPOINT_INLINE result<message_header> message_header::unpack(bytes_view packed) {
  if (packed.size() < bytes || load_le<std::uint32_t>(packed.data()) != magic)
    return error{errc::corrupt, "a packet was not sent by a communicator"};
  const auto what = load_le<std::uint32_t>(packed.data() + 4);
  if (what > static_cast<std::uint32_t>(collective::agree))
    return error{errc::corrupt, "a packet belongs to an unknown collective"};
  message_header header;
  header.call.step.what = static_cast<collective>(what);
  header.call.step.root = static_cast<int>(load_le<std::uint32_t>(packed.data() + 8));
  header.call.number = load_le<std::uint64_t>(packed.data() + 12);
  header.body = load_le<std::uint64_t>(packed.data() + 20);
  const std::uint64_t here = packed.size() - bytes;
  if (here != (header.body <= max_inline_body ? header.body : 0))
    return error{errc::corrupt, "the length of a packet is not the one in its header"};
  return header;
}

ZARRPOINT_INLINE error unmatched(int other, const collective_call& its, int mine,
                                 const collective_call& ours) {
  const bool same_step = its.step == ours.step;
  const auto text = [same_step](const collective_call& call) {
    const std::string number = same_step ? " (number " + std::to_string(call.number) + ")" : "";
    return to_string(call.step) + number;
  };
  return unmatched(other, text(its), mine, text(ours));
}

ZARRPOINT_INLINE std::string deadline_text(std::chrono::milliseconds deadline) {
  const auto count = deadline.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

ZARRPOINT_INLINE void patience::wait() {
  if (++rounds_ < 50) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(rounds_, 1000U)));
  }
}

ZARRPOINT_INLINE error missed(int rank, const collective_call& call,
                              std::chrono::milliseconds deadline,
                              const std::vector<std::optional<rank_status>>& all) {
  std::vector<int> missing;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const bool here = static_cast<int>(r) == rank;
    const auto& it = all[r];
    if (!here && (!it || (!it->inside && it->call.number < call.number)))
      missing.push_back(static_cast<int>(r));
  }
  if (!missing.empty())
    return {errc::unavailable, rank_list(missing) + " did not come to " + to_string(call.step) +
                                   " within " + deadline_text(deadline)};
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r] && all[r]->inside && all[r]->call != call && static_cast<int>(r) != rank)
      return unmatched(static_cast<int>(r), all[r]->call, rank, call);
  return {errc::unavailable, "all ranks are in " + to_string(call.step) +
                                 ", but not all messages came within " + deadline_text(deadline)};
}

/// Calls `f(call)` as the rank's next call. An error of it is told to all ranks.
template <class F>
auto collectively(transport& over, const collective_step& step, F&& f)
    -> std::invoke_result_t<F, const collective_call&> {
  ZARRPOINT_TRY(call, over.begin(step));
  if (result<void> status = check_step(step, over.size()); !status)
    return over.fail(std::move(status).failure().at(rank_list({over.rank()})));
  auto done = std::forward<F>(f)(call);
  if (!done) return over.fail(std::move(done).failure());
  if (result<void> sent = over.end(); !sent) return over.fail(std::move(sent).failure());
  return done;
}

/// The next message of a rank, which must be of the same call.
ZARRPOINT_INLINE result<message> receive_in(transport& over, int from,
                                            const collective_call& call) {
  ZARRPOINT_TRY(got, over.receive(from, call));
  if (got.call != call) return unmatched(from, got.call, over.rank(), call);
  return std::move(got.body);
}

ZARRPOINT_INLINE result<std::vector<message>> transport_communicator::exchange(
    std::vector<message> to_each) const {
  const collective_step step{collective::exchange};
  const auto talk = [&](const collective_call& call) -> result<std::vector<message>> {
    const int size = over_->size(), rank = over_->rank();
    ZARRPOINT_CHECK(check_messages(step, to_each.size(), size).at(rank_list({rank})));
    // Each begins at its right-hand neighbour, so that not all send to the same rank at first.
    for (int i = 1; i < size; ++i) {
      const int to = (rank + i) % size;
      ZARRPOINT_CHECK(over_->send(to, call, std::move(to_each[static_cast<std::size_t>(to)])));
    }
    for (int i = 1; i < size; ++i) {
      const int from = (rank + size - i) % size;
      ZARRPOINT_TRY(body, receive_in(*over_, from, call));
      to_each[static_cast<std::size_t>(from)] = std::move(body);
    }
    return std::move(to_each);
  };
  return collectively(*over_, step, talk);
}

ZARRPOINT_INLINE result<std::vector<message>> transport_communicator::gather(collective_step step,
                                                                             message mine) const {
  const auto talk = [&](const collective_call& call) -> result<std::vector<message>> {
    std::vector<message> all;
    if (over_->rank() != step.root) {
      ZARRPOINT_CHECK(over_->send(step.root, call, std::move(mine)));
      return all;
    }
    all.resize(static_cast<std::size_t>(over_->size()));
    for (int from = 0; from < over_->size(); ++from) {
      if (from == step.root) continue;
      ZARRPOINT_TRY(body, receive_in(*over_, from, call));
      all[static_cast<std::size_t>(from)] = std::move(body);
    }
    all[static_cast<std::size_t>(step.root)] = std::move(mine);
    return all;
  };
  return collectively(*over_, step, talk);
}

ZARRPOINT_INLINE result<message> transport_communicator::scatter(
    collective_step step, std::vector<message> to_each) const {
  const auto talk = [&](const collective_call& call) -> result<message> {
    const int rank = over_->rank();
    if (rank != step.root) return receive_in(*over_, step.root, call);
    ZARRPOINT_CHECK(check_messages(step, to_each.size(), over_->size()).at(rank_list({rank})));
    for (int to = 0; to < over_->size(); ++to)
      if (to != step.root)
        ZARRPOINT_CHECK(over_->send(to, call, std::move(to_each[static_cast<std::size_t>(to)])));
    return std::move(to_each[static_cast<std::size_t>(step.root)]);
  };
  return collectively(*over_, step, talk);
}

ZARRPOINT_INLINE result<message> transport_communicator::broadcast(collective_step step,
                                                                   message mine) const {
  const auto size = static_cast<unsigned>(over_->size());
  const auto talk = [&](const collective_call& call) -> result<message> {
    const auto root = static_cast<unsigned>(step.root);
    const unsigned place = (static_cast<unsigned>(over_->rank()) + size - root) % size;
    const auto rank_at = [&](unsigned at) { return static_cast<int>((at + root) % size); };
    unsigned below = std::bit_ceil(size);
    if (place != 0) {
      below = place & (~place + 1);
      ZARRPOINT_TRY(body, receive_in(*over_, rank_at(place - below), call));
      mine = std::move(body);
    }
    // Shared, since a transport may send from where it is, and still be at it after a failure.
    const auto shared = make_counted<message>(std::move(mine));
    for (below /= 2; below != 0; below /= 2)
      if (place + below < size)
        ZARRPOINT_CHECK(over_->send_shared(rank_at(place + below), call, shared));
    ZARRPOINT_CHECK(over_->end());
    return std::move(*shared);
  };
  return collectively(*over_, step, talk);
}

// ------------------------------------------------------------------------- thread_communicator.hpp

/// What the threads of a `thread_world` share. A message is moved from the sender to the receiver.
class thread_group {
 public:
  thread_group(int size, std::chrono::milliseconds deadline)
      : deadline_(deadline), seats_(static_cast<std::size_t>(size)) {}

  void leave(int rank, std::string how) {
    const std::lock_guard lock(mutex_);
    seat& mine = seats_[static_cast<std::size_t>(rank)];
    mine.left = true;
    mine.how_left = std::move(how);
    wake_all();
  }

 private:
  friend class thread_transport;

  struct addressed_letter {
    int from;
    letter what;
  };
  struct seat {
    std::condition_variable changed;
    std::deque<addressed_letter> letters;  // in the order in which they came
    rank_status status;
    std::chrono::steady_clock::time_point give_up;
    bool left = false;
    std::string how_left;
  };

  void wake_all() {
    for (seat& each : seats_) each.changed.notify_all();
  }
  error gone(int rank, const collective_call& call) const {
    return {errc::unavailable, rank_list({rank}) + " is gone and will not come to " +
                                   to_string(call.step) + ": it " +
                                   seats_[static_cast<std::size_t>(rank)].how_left};
  }

  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::vector<seat> seats_;
  std::optional<error> failure_;  // the first one is that of all ranks from then on
};

/// The seat of one thread.
class thread_transport final : public transport {
 public:
  thread_transport(std::shared_ptr<thread_group> group, int self)
      : group_(std::move(group)), mine_(seat_of(self)), self_(self) {}

  int rank() const override { return self_; }
  int size() const override { return static_cast<int>(group_->seats_.size()); }

  result<collective_call> begin(const collective_step& step) override {
    const std::lock_guard lock(group_->mutex_);
    if (group_->failure_) return *group_->failure_;
    mine_.status.call = {step, mine_.status.call.number + 1};
    mine_.status.inside = true;
    mine_.give_up = std::chrono::steady_clock::now() + group_->deadline_;
    return mine_.status.call;
  }

  result<void> send(int to, const collective_call& call, message body) override {
    const std::lock_guard lock(group_->mutex_);
    if (group_->failure_) return *group_->failure_;
    thread_group::seat& other = seat_of(to);
    if (other.left) return group_->gone(to, call);
    other.letters.push_back({self_, {call, std::move(body)}});
    other.changed.notify_all();
    return {};
  }

  result<void> send_shared(int to, const collective_call& call,
                           const std::shared_ptr<const message>& body) override {
    return send(to, call, *body);
  }

  result<letter> receive(int from, const collective_call& call) override {
    std::unique_lock lock(group_->mutex_);
    for (;;) {
      if (group_->failure_) return *group_->failure_;
      const auto found = std::find_if(mine_.letters.begin(), mine_.letters.end(),
                                      [from](const auto& it) { return it.from == from; });
      if (found != mine_.letters.end()) {
        letter got = std::move(found->what);
        mine_.letters.erase(found);
        return got;
      }
      if (seat_of(from).left) return group_->gone(from, call);
      if (std::chrono::steady_clock::now() >= mine_.give_up) break;
      mine_.changed.wait_until(lock, mine_.give_up);
    }
    std::vector<std::optional<rank_status>> all;
    all.reserve(group_->seats_.size());
    for (const auto& each : group_->seats_) all.emplace_back(each.status);
    return missed(self_, call, group_->deadline_, all);
  }

  result<void> end() override {
    const std::lock_guard lock(group_->mutex_);
    mine_.status.inside = false;
    return {};
  }

  error fail(error failure) override {
    const std::lock_guard lock(group_->mutex_);
    mine_.status.inside = false;
    if (!group_->failure_) group_->failure_ = std::move(failure);
    group_->wake_all();
    return *group_->failure_;
  }

 private:
  thread_group::seat& seat_of(int rank) const {
    return group_->seats_[static_cast<std::size_t>(rank)];
  }

  std::shared_ptr<thread_group> group_;
  thread_group::seat& mine_;
  int self_;
};

}  // namespace detail

ZARRPOINT_INLINE std::vector<std::optional<error>> thread_world::run_all(
    int size, const thread_world_options& options, const work& each) {
  const auto group = detail::make_counted<detail::thread_group>(size, options.deadline);
  const auto run = [&](int rank) {
    thread_communicator self(detail::make_counted<detail::thread_transport>(group, rank));
    const result<void> outcome = each(self);
    group->leave(rank, outcome ? "returned" : "failed: " + to_string(outcome.failure()));
  };
  std::vector<std::optional<error>> not_started(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    const result<void> started = guarded([&]() -> result<void> {
      threads.emplace_back(run, rank);
      return {};
    });
    if (started) continue;
    not_started[static_cast<std::size_t>(rank)] = started.failure();
    group->leave(rank, "could not be started");
  }
  for (std::thread& thread : threads) thread.join();
  return not_started;
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/exec/bodies.hpp>
#endif
