// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/communicate/collectives.hpp>

#include <bit>
#include <chrono>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

// The collectives of a transport, which brings messages from one rank to another. A transport has:
//   int rank(), int size()
//   result<collective_call> begin(collective_step)
//       This rank's next call; refused after a failure.
//   result<void> send(int to, collective_call, message)
//       Never waits for the receiver.
//   result<void> send_shared(int to, collective_call, std::shared_ptr<const message>)
//       The same of a message that several get; `end` lets go of it.
//   result<letter> receive(int from, collective_call)
//       Waits until the deadline.
//   result<void> end()
//       Waits until what was sent is out of hand.
//   error fail(error)
//       Tells all ranks; returns what all get, which is the first failure.

/// The step that a rank is in, and its number among the rank's steps.
struct collective_call {
  collective_step step;
  std::uint64_t number = 0;
  friend bool operator==(const collective_call&, const collective_call&) = default;
};

/// The error of two ranks that are in different calls; the number is told where nothing else is.
error unmatched(int other, const collective_call& its, int mine, const collective_call& ours);

/// A message and the call it was sent in.
struct letter {
  collective_call call;
  message body;
};

std::string deadline_text(std::chrono::milliseconds deadline);

/// Waits shortly at first, then longer: processes may be more than processors. For transports that
/// have to ask whether something came.
class patience {
 public:
  void wait();

 private:
  unsigned rounds_ = 0;
};

/// What a rank was doing when another one waited for it in vain.
struct rank_status {
  bool inside = false;  ///< in `call`; else `call` is the last that it was in
  collective_call call;
};

/// Why a rank that is in `call` got no answer until the deadline: the ranks that have not come
/// that far and are in no collective (nothing: they do not even say so); else those in another one.
error missed(int rank, const collective_call& call, std::chrono::milliseconds deadline,
             const std::vector<std::optional<rank_status>>& all);

/// Calls `f(call)` as the rank's next call. An error of it is told to all ranks.
template <class T, class F>
auto collectively(T& transport, const collective_step& step, F&& f)
    -> std::invoke_result_t<F, const collective_call&> {
  ZARRPOINT_TRY(call, transport.begin(step));
  if (result<void> status = check_step(step, transport.size()); !status)
    return transport.fail(std::move(status).failure().at(rank_list({transport.rank()})));
  auto done = std::forward<F>(f)(call);
  if (!done) return transport.fail(std::move(done).failure());
  if (result<void> sent = transport.end(); !sent) return transport.fail(std::move(sent).failure());
  return done;
}

/// The next message of a rank, which must be of the same call.
template <class T>
result<message> receive_in(T& transport, int from, const collective_call& call) {
  ZARRPOINT_TRY(got, transport.receive(from, call));
  if (got.call != call) return unmatched(from, got.call, transport.rank(), call);
  return std::move(got.body);
}

/// P - 1 messages out and as many in; none waits for another.
template <class T>
result<std::vector<message>> exchange_over(T& transport, std::vector<message> to_each) {
  const int size = transport.size(), rank = transport.rank();
  const collective_step step{collective::exchange};
  const auto talk = [&](const collective_call& call) -> result<std::vector<message>> {
    if (result<void> status = check_messages(step, to_each.size(), size); !status)
      return std::move(status).failure().at(rank_list({rank}));
    // Each begins at its right-hand neighbour, so that not all send to the same rank at first.
    for (int i = 1; i < size; ++i) {
      const int to = (rank + i) % size;
      ZARRPOINT_CHECK(transport.send(to, call, std::move(to_each[static_cast<std::size_t>(to)])));
    }
    for (int i = 1; i < size; ++i) {
      const int from = (rank + size - i) % size;
      ZARRPOINT_TRY(body, receive_in(transport, from, call));
      to_each[static_cast<std::size_t>(from)] = std::move(body);
    }
    return std::move(to_each);
  };
  return collectively(transport, step, talk);
}

/// One message of each rank but the root.
template <class T>
result<std::vector<message>> gather_over(T& transport, const collective_step& step, message mine) {
  const auto talk = [&](const collective_call& call) -> result<std::vector<message>> {
    std::vector<message> all;
    if (transport.rank() != step.root) {
      ZARRPOINT_CHECK(transport.send(step.root, call, std::move(mine)));
      return all;
    }
    all.resize(static_cast<std::size_t>(transport.size()));
    for (int from = 0; from < transport.size(); ++from) {
      if (from == step.root) continue;
      ZARRPOINT_TRY(body, receive_in(transport, from, call));
      all[static_cast<std::size_t>(from)] = std::move(body);
    }
    all[static_cast<std::size_t>(step.root)] = std::move(mine);
    return all;
  };
  return collectively(transport, step, talk);
}

/// One message of the root to each other rank.
template <class T>
result<message> scatter_over(T& transport, const collective_step& step,
                             std::vector<message> to_each) {
  const auto talk = [&](const collective_call& call) -> result<message> {
    if (transport.rank() != step.root) return receive_in(transport, step.root, call);
    if (result<void> status = check_messages(step, to_each.size(), transport.size()); !status)
      return std::move(status).failure().at(rank_list({transport.rank()}));
    for (int to = 0; to < transport.size(); ++to)
      if (to != step.root)
        ZARRPOINT_CHECK(transport.send(to, call, std::move(to_each[static_cast<std::size_t>(to)])));
    return std::move(to_each[static_cast<std::size_t>(step.root)]);
  };
  return collectively(transport, step, talk);
}

/// Down a binomial tree: counted from the root, rank r gets the message from r without its lowest
/// bit, and passes it on to r plus each lower power of two.
template <class T>
result<message> broadcast_over(T& transport, const collective_step& step, message mine) {
  const auto size = static_cast<unsigned>(transport.size());
  const auto talk = [&](const collective_call& call) -> result<message> {
    const auto root = static_cast<unsigned>(step.root);
    const unsigned place = (static_cast<unsigned>(transport.rank()) + size - root) % size;
    const auto rank_at = [&](unsigned at) { return static_cast<int>((at + root) % size); };
    unsigned below = std::bit_ceil(size);
    if (place != 0) {
      below = place & (~place + 1);
      ZARRPOINT_TRY(body, receive_in(transport, rank_at(place - below), call));
      mine = std::move(body);
    }
    // Shared, since a transport may send from where it is, and still be at it after a failure.
    const auto shared = detail::make_counted<message>(std::move(mine));
    for (below /= 2; below != 0; below /= 2)
      if (place + below < size)
        ZARRPOINT_CHECK(transport.send_shared(rank_at(place + below), call, shared));
    ZARRPOINT_CHECK(transport.end());
    return std::move(*shared);
  };
  return collectively(transport, step, talk);
}

/// What a transport of bytes puts in front of each message: 28 bytes, and in the same packet the
/// body when small.
struct message_header {
  static constexpr std::size_t bytes = 28;
  static constexpr std::size_t max_inline_body = 1024;
  static constexpr std::uint32_t magic = 0x31435a50;  // "PZC1"

  collective_call call;
  std::uint64_t body = 0;

  message pack() const;
  /// Errors: `corrupt` for what is not a header, or not followed by what it tells.
  static result<message_header> unpack(bytes_view packed);
};

}}}  // namespace zarrpoint::v0::detail
