// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/communicate/collectives.hpp>

#include <chrono>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

/// Why a rank that is in `call` got no answer until the deadline. It names the ranks that have not
/// come that far and are in no collective (nothing: they do not even say so), else those in another
/// one.
error missed(int rank, const collective_call& call, std::chrono::milliseconds deadline,
             const std::vector<std::optional<rank_status>>& all);

/// Brings messages from one rank to another.
class transport {
 public:
  virtual ~transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// This rank's next call; refused after a failure.
  virtual result<collective_call> begin(const collective_step& step) = 0;
  /// Never waits for the receiver.
  virtual result<void> send(int to, const collective_call& call, message body) = 0;
  /// The same of a message that several get; `end` lets go of it.
  virtual result<void> send_shared(int to, const collective_call& call,
                                   const std::shared_ptr<const message>& body) = 0;
  /// Waits until the deadline.
  virtual result<letter> receive(int from, const collective_call& call) = 0;
  /// Waits until what was sent is out of hand.
  virtual result<void> end() = 0;
  /// Tells all ranks; returns what all get, which is the first failure.
  virtual error fail(error failure) = 0;
};

/// The collectives over a transport. A small handle: copies share it.
class transport_communicator {
 public:
  explicit transport_communicator(std::shared_ptr<transport> over) : over_(std::move(over)) {}

  int rank() const { return over_->rank(); }
  int size() const { return over_->size(); }

  /// P - 1 messages out and as many in; none waits for another.
  result<std::vector<message>> exchange(std::vector<message> to_each) const;
  /// One message of each rank but the root.
  result<std::vector<message>> gather(collective_step step, message mine) const;
  /// One message of the root to each other rank.
  result<message> scatter(collective_step step, std::vector<message> to_each) const;
  /// Down a binomial tree. Counted from the root, rank r gets the message from r without its lowest
  /// bit, and passes it on to r plus each lower power of two.
  result<message> broadcast(collective_step step, message mine) const;

 private:
  std::shared_ptr<transport> over_;
};
static_assert(native_communicator<transport_communicator>);

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
