// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What one process sends another.
using message = std::vector<std::byte>;

/// What all processes of a group do together.
enum class collective : std::uint8_t {
  exchange,
  gather,
  scatter,
  broadcast,
  barrier,
  all_gather,
  agree,
};

/// The enumerator's name, e.g. `"gather"`.
constexpr std::string_view to_string(collective what) noexcept {
  switch (what) {
    case collective::exchange: return "exchange";
    case collective::gather: return "gather";
    case collective::scatter: return "scatter";
    case collective::broadcast: return "broadcast";
    case collective::barrier: return "barrier";
    case collective::all_gather: return "all_gather";
    case collective::agree: return "agree";
  }
  return "unknown";
}

/// A collective and the rank that has a part of its own in it (0 where none has). All processes
/// must be in the same one.
struct collective_step {
  collective what = collective::exchange;
  int root = 0;
  friend bool operator==(const collective_step&, const collective_step&) = default;
};

/// `"barrier"`, or with the root where it matters `"gather to rank 2"`.
std::string to_string(const collective_step& step);

/// One process of a group of `size()`: a small copyable handle. `exchange` is collective: entry `r`
/// goes to rank `r`, and entry `r` of the answer came from rank `r`. A process that does not take
/// part until a deadline is named in an error, `unavailable`; after an error every use is refused.
/// One thread of a process uses it at a time.
template <class C>
concept communicator = std::copy_constructible<C> && requires(const C& c, std::vector<message> m) {
  { c.rank() } -> std::convertible_to<int>;
  { c.size() } -> std::convertible_to<int>;
  { c.exchange(std::move(m)) } -> std::same_as<result<std::vector<message>>>;
};

/// A communicator with ways of its own to the other collectives, with fewer messages than an
/// `exchange` has. Where they serve another collective, `step.what` tells which.
template <class C>
concept native_communicator = communicator<C> &&
    requires(const C& c, collective_step step, message m) {
  { c.gather(step, std::move(m)) } -> std::same_as<result<std::vector<message>>>;
  { c.scatter(step, std::vector<message>{}) } -> std::same_as<result<message>>;
  { c.broadcast(step, std::move(m)) } -> std::same_as<result<message>>;
};

namespace detail {

/// What every communicator checks of a call before anything is sent.
result<void> check_step(const collective_step& step, int size);
result<void> check_messages(const collective_step& step, std::size_t count, int size);

/// `"rank 3 is in broadcast from rank 0, rank 0 in exchange"`; the text before it says what is
/// wrong with that.
error unmatched(int other, const std::string& its, int mine, const std::string& ours);

/// An exchange in which each message ends with the sender's step, so that ranks in different
/// collectives find out. All get the same error, since each sees the step of each.
template <class C>
result<std::vector<message>> marked_exchange(const C& c, const collective_step& step,
                                             std::vector<message> to_each) {
  constexpr std::size_t mark_size = 5;
  ZARRPOINT_CHECK(check_step(step, c.size()));
  ZARRPOINT_CHECK(check_messages(step, to_each.size(), c.size()));
  if (c.size() == 1) return c.exchange(std::move(to_each));
  for (message& to : to_each) {
    to.resize(to.size() + mark_size);
    std::byte* const mark = to.data() + to.size() - mark_size;
    mark[0] = static_cast<std::byte>(step.what);
    store_le<std::uint32_t>(mark + 1, static_cast<std::uint32_t>(step.root));
  }
  ZARRPOINT_TRY(answer, c.exchange(std::move(to_each)));
  ZARRPOINT_CHECK(check_messages(step, answer.size(), c.size()));
  collective_step first;
  for (std::size_t r = 0; r < answer.size(); ++r) {
    message& from = answer[r];
    if (from.size() < mark_size)
      return error{errc::corrupt, "a message of rank " + std::to_string(r) + " is cut off"};
    const std::byte* const mark = from.data() + from.size() - mark_size;
    const collective_step its{static_cast<collective>(mark[0]),
                              static_cast<int>(load_le<std::uint32_t>(mark + 1))};
    if (r == 0) first = its;
    if (its != first) return unmatched(static_cast<int>(r), to_string(its), 0, to_string(first));
    from.resize(from.size() - mark_size);
  }
  return std::move(answer);
}

}  // namespace detail

/// A group of one process.
class single_process {
 public:
  int rank() const noexcept { return 0; }
  int size() const noexcept { return 1; }

  result<std::vector<message>> exchange(std::vector<message> to_each) const { return to_each; }
};
static_assert(communicator<single_process>);

/// Any communicator behind one type: a shared handle, `single_process` by default. The functions of
/// `collectives.hpp` are made of its members.
class any_communicator {
 public:
  any_communicator() : any_communicator(single_process()) {}

  template <class C>
    requires(!std::same_as<C, any_communicator> && communicator<C>)
  any_communicator(C handle)  // NOLINT(google-explicit-constructor)
      : model_(detail::make_counted<const model<C>>(std::move(handle))) {}

  int rank() const { return model_->rank(); }
  int size() const { return model_->size(); }
  /// Entry `r` goes to rank `r`; entry `r` of the answer came from it.
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    return model_->exchange(std::move(to_each));
  }
  /// On the root the messages of all ranks, elsewhere nothing.
  result<std::vector<message>> gather(collective_step step, message mine) const {
    return model_->gather(step, std::move(mine));
  }
  /// The entry that the root, which alone gives `to_each`, has for this rank.
  result<message> scatter(collective_step step, std::vector<message> to_each) const {
    return model_->scatter(step, std::move(to_each));
  }
  /// The root's message; what the others give is not looked at.
  result<message> broadcast(collective_step step, message mine) const {
    return model_->broadcast(step, std::move(mine));
  }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual result<std::vector<message>> exchange(std::vector<message> to_each) const = 0;
    virtual result<std::vector<message>> gather(collective_step step, message mine) const = 0;
    virtual result<message> scatter(collective_step step, std::vector<message> to_each) const = 0;
    virtual result<message> broadcast(collective_step step, message mine) const = 0;
  };

  template <class C>
  struct model final : interface {
    explicit model(C wrapped) : handle(std::move(wrapped)) {}
    int rank() const override { return handle.rank(); }
    int size() const override { return handle.size(); }
    result<std::vector<message>> exchange(std::vector<message> to_each) const override {
      if constexpr (native_communicator<C>) {
        return handle.exchange(std::move(to_each));
      } else {
        return detail::marked_exchange(handle, {collective::exchange}, std::move(to_each));
      }
    }
    result<std::vector<message>> gather(collective_step step, message mine) const override {
      if constexpr (native_communicator<C>) {
        return handle.gather(step, std::move(mine));
      } else {
        ZARRPOINT_CHECK(detail::check_step(step, size()));
        std::vector<message> to_each(ranks());
        to_each[static_cast<std::size_t>(step.root)] = std::move(mine);
        ZARRPOINT_TRY(all, detail::marked_exchange(handle, step, std::move(to_each)));
        if (rank() != step.root) all.clear();
        return std::move(all);
      }
    }
    result<message> scatter(collective_step step, std::vector<message> to_each) const override {
      if constexpr (native_communicator<C>) {
        return handle.scatter(step, std::move(to_each));
      } else {
        if (rank() != step.root) to_each = std::vector<message>(ranks());
        ZARRPOINT_TRY(all, detail::marked_exchange(handle, step, std::move(to_each)));
        return std::move(all[static_cast<std::size_t>(step.root)]);
      }
    }
    result<message> broadcast(collective_step step, message mine) const override {
      if constexpr (native_communicator<C>) {
        return handle.broadcast(step, std::move(mine));
      } else {
        std::vector<message> to_each(ranks());
        if (rank() == step.root) {
          for (std::size_t r = 1; r < to_each.size(); ++r) to_each[r] = mine;
          to_each[0] = std::move(mine);
        }
        ZARRPOINT_TRY(all, detail::marked_exchange(handle, step, std::move(to_each)));
        return std::move(all[static_cast<std::size_t>(step.root)]);
      }
    }
    std::size_t ranks() const { return static_cast<std::size_t>(size()); }
    C handle;
  };

  std::shared_ptr<const interface> model_;
};
static_assert(native_communicator<any_communicator>);

}}  // namespace zarrpoint::v0
