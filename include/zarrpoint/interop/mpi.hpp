// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/point_to_point.hpp>
#include <zarrpoint/exec/guarded.hpp>

// The bindings to C++, which MPI 3 has removed, are not wanted; they bring warnings of their own.
#if !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX
#include <mpi.h>
#undef OMPI_SKIP_MPICXX
#else
#include <mpi.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// How an `mpi_communicator` waits and sends.
struct mpi_options {
  /// From when a rank comes to a collective; each large part that arrives begins it anew. Longer
  /// than any rank works between two collectives.
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
  /// The most bytes that one MPI message takes, at most `INT_MAX`: larger ones are split.
  std::size_t part_bytes = std::size_t{1} << 30;
};

namespace detail {

/// One rank of a duplicated MPI communicator. Nothing here blocks: all is asked for again and again
/// until the deadline. A second tag is for what ranks tell each other at failures; it is looked at
/// whenever this rank waits.
class mpi_transport final : public transport {
 public:
  mpi_transport(MPI_Comm comm, const mpi_options& options) : comm_(comm), options_(options) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    options_.part_bytes = std::clamp(options.part_bytes, std::size_t{1}, std::size_t{INT_MAX});
  }
  mpi_transport(const mpi_transport&) = delete;
  mpi_transport& operator=(const mpi_transport&) = delete;
  /// Never waits: after a failure, or from another thread, the MPI communicator is left as it is.
  ~mpi_transport() override {
    if (!failure_ && usable()) MPI_Comm_free(&comm_);
    for (posted& each : posted_) left_alone().push_back(std::move(each.body));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  /// Whether MPI may be called, here and now.
  static result<void> usable() {
    int flag = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&flag);
    if (flag == 0) return error{errc::invalid_argument, "MPI is not initialized"};
    MPI_Finalized(&flag);
    if (flag != 0) return error{errc::invalid_argument, "MPI is finalized"};
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_FUNNELED)
      return error{errc::invalid_argument,
                   "MPI has no threads: initialize it by MPI_Init_thread with MPI_THREAD_FUNNELED"};
    MPI_Is_thread_main(&flag);
    if (level == MPI_THREAD_FUNNELED && flag == 0)
      return error{errc::invalid_argument,
                   "MPI_THREAD_FUNNELED: only the thread that initialized MPI may use it"};
    return {};
  }

  static result<void> check(int code, std::string_view what) {
    if (code == MPI_SUCCESS) return {};
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return error{errc::unavailable, std::string(what) + ": " +
                                        std::string(text.data(), static_cast<std::size_t>(length))};
  }

  result<collective_call> begin(const collective_step& step) override {
    if (failure_) return *failure_;
    ZARRPOINT_CHECK(usable());
    status_.call = {step, status_.call.number + 1};
    status_.inside = true;
    give_up_ = clock::now() + options_.deadline;
    if (result<void> told = listen(); !told) return fail(std::move(told).failure());
    return status_.call;
  }

  result<void> send(int to, const collective_call& call, message body) override {
    return send_shared(to, call, std::make_shared<const message>(std::move(body)));
  }

  result<void> send_shared(int to, const collective_call& call,
                           const std::shared_ptr<const message>& body) override {
    message head = message_header{call, body->size()}.pack();
    if (body->size() <= message_header::max_inline_body) {
      head.insert(head.end(), body->begin(), body->end());
      return post(to, data_tag, std::make_shared<const message>(std::move(head)), {});
    }
    ZARRPOINT_CHECK(post(to, data_tag, std::make_shared<const message>(std::move(head)), {}));
    for (std::size_t at = 0; at < body->size(); at += options_.part_bytes)
      ZARRPOINT_CHECK(
          post(to, data_tag, body, {at, std::min(options_.part_bytes, body->size() - at)}));
    return {};
  }

  result<letter> receive(int from, const collective_call& call) override {
    ZARRPOINT_TRY(head, receive_head(from, call));
    ZARRPOINT_TRY(header, message_header::unpack(head));
    letter got{header.call, {}};
    if (header.body <= message_header::max_inline_body) {
      got.body.assign(head.begin() + message_header::bytes, head.end());
      return got;
    }
    if (got.call != call) return got;  // it will be refused: its body can stay where it is
    const result<void> room = guarded([&]() -> result<void> {
      got.body.resize(header.body);
      return {};
    });
    if (!room)
      return error{errc::resource_limit, "rank " + std::to_string(from) + " sends " +
                                             std::to_string(header.body) +
                                             " bytes, but there is not enough memory for them"};
    for (std::size_t at = 0; at < got.body.size(); at += options_.part_bytes) {
      const std::size_t count = std::min(options_.part_bytes, got.body.size() - at);
      MPI_Request request = MPI_REQUEST_NULL;
      ZARRPOINT_CHECK(check(MPI_Irecv(got.body.data() + at, static_cast<int>(count), MPI_BYTE, from,
                                      data_tag, comm_, &request),
                            "MPI_Irecv"));
      if (result<void> done = complete(request, call); !done) {
        left_alone().push_back(std::make_shared<const message>(std::move(got.body)));
        return std::move(done).failure();
      }
    }
    return got;
  }

  result<void> end() override {
    while (!posted_.empty()) {
      ZARRPOINT_CHECK(complete(posted_.front().request, status_.call));
      posted_.pop_front();
    }
    status_.inside = false;
    return {};
  }

  /// The first failure is that of all ranks from now on. Those that do not listen learn it when
  /// they come to a collective, as long as this process lives.
  error fail(error failure) override {
    status_.inside = false;
    if (failure_) return *failure_;
    if (result<void> told = listen(); !told) failure = std::move(told).failure();
    if (failure_) return *failure_;  // of another rank, which has told all
    failure_ = std::move(failure);
    message text{static_cast<std::byte>(news::failure)};
    const message what = pack_status(*failure_);
    text.insert(text.end(), what.begin(), what.end());
    tell_others(std::make_shared<const message>(std::move(text)));
    return *failure_;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr int data_tag = 1, news_tag = 2;
  enum class news : std::uint8_t { question, answer, failure };

  struct part {
    std::size_t at = 0;
    std::size_t count = SIZE_MAX;  // all
  };
  struct posted {
    MPI_Request request;
    std::shared_ptr<const message> body;
  };

  /// What MPI may still read or write after a failure: kept for good.
  static std::vector<std::shared_ptr<const message>>& left_alone() {
    static auto* const all = new std::vector<std::shared_ptr<const message>>();
    return *all;
  }

  result<void> post(int to, int tag, std::shared_ptr<const message> body, part of) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(std::min(of.count, body->size()));
    ZARRPOINT_CHECK(check(
        MPI_Isend(body->data() + of.at, count, MPI_BYTE, to, tag, comm_, &request), "MPI_Isend"));
    posted_.push_back({request, std::move(body)});
    return {};
  }

  /// Waits until a request is done; what is done begins the deadline anew.
  result<void> complete(MPI_Request& request, const collective_call& call) {
    for (patience pause;; pause.wait()) {
      int done = 0;
      ZARRPOINT_CHECK(check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test"));
      if (done != 0) break;
      ZARRPOINT_CHECK(listen());
      if (clock::now() >= give_up_) return inquire(call);
    }
    give_up_ = std::max(give_up_, clock::now() + options_.deadline);
    return {};
  }

  result<message> receive_head(int from, const collective_call& call) {
    for (patience pause;; pause.wait()) {
      ZARRPOINT_TRY(found, take(from, data_tag, call));
      if (found) return std::move(found->second);
      ZARRPOINT_CHECK(listen());
      if (clock::now() >= give_up_) return inquire(call);
    }
  }

  using taken = std::optional<std::pair<int, message>>;  // from whom, and what

  /// The next message of a rank or of any, if one is there.
  result<taken> take(int from, int tag, const collective_call& call) {
    int there = 0, count = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    ZARRPOINT_CHECK(check(MPI_Improbe(from, tag, comm_, &there, &handle, &status), "MPI_Improbe"));
    if (there == 0) return taken();
    MPI_Get_count(&status, MPI_BYTE, &count);
    const int sender = status.MPI_SOURCE;
    message body(static_cast<std::size_t>(std::max(count, 0)));
    MPI_Request request = MPI_REQUEST_NULL;
    ZARRPOINT_CHECK(
        check(MPI_Imrecv(body.data(), count, MPI_BYTE, &handle, &request), "MPI_Imrecv"));
    // Small, so it is with us already, or its sender is at it.
    for (patience pause;; pause.wait()) {
      int done = 0;
      ZARRPOINT_CHECK(check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test"));
      if (done != 0) return taken({sender, std::move(body)});
      if (clock::now() < give_up_ + grace()) continue;
      left_alone().push_back(std::make_shared<const message>(std::move(body)));
      return error{errc::unavailable,
                   rank_list({sender}) + " went away within a message, in " + to_string(call.step)};
    }
  }

  /// Reads what other ranks tell, and answers those that ask.
  result<void> listen() {
    for (;;) {
      ZARRPOINT_TRY(told, take(MPI_ANY_SOURCE, news_tag, status_.call));
      if (!told) return {};
      const auto& [from, text] = *told;
      if (text.empty()) continue;
      const auto kind = static_cast<news>(text.front());
      const bytes_view rest = bytes_view(text).subspan(1);
      if (kind == news::failure) {
        result<void> status = unpack_status(rest);
        if (!status) return *(failure_ = std::move(status).failure());
      } else if (kind == news::question) {
        message answer{static_cast<std::byte>(news::answer), std::byte{status_.inside}};
        const message call = message_header{status_.call, 0}.pack();
        answer.insert(answer.end(), call.begin(), call.end());
        ZARRPOINT_CHECK(
            post(from, news_tag, std::make_shared<const message>(std::move(answer)), {}));
      } else if (kind == news::answer && !rest.empty()) {
        ZARRPOINT_TRY(header, message_header::unpack(rest.subspan(1)));
        answers_.resize(static_cast<std::size_t>(size_));
        answers_[static_cast<std::size_t>(from)] =
            rank_status{rest.front() != std::byte{0}, header.call};
      }
    }
  }

  /// Long enough for those that are in a collective to answer.
  std::chrono::milliseconds grace() const {
    return std::clamp<std::chrono::milliseconds>(options_.deadline / 4, std::chrono::seconds(1),
                                                 std::chrono::seconds(10));
  }

  /// Who is missing: those that do not say that they wait too.
  error inquire(const collective_call& call) {
    answers_.assign(static_cast<std::size_t>(size_), {});
    answers_[static_cast<std::size_t>(rank_)] = status_;
    tell_others(std::make_shared<const message>(1, static_cast<std::byte>(news::question)));
    const auto until = clock::now() + grace();
    patience pause;
    while (clock::now() < until && !std::all_of(answers_.begin(), answers_.end(),
                                                [](const auto& it) { return bool(it); })) {
      if (result<void> told = listen(); !told) return std::move(told).failure();
      pause.wait();
    }
    return missed(rank_, call, options_.deadline, answers_);
  }

  /// As far as it goes: some may be gone.
  void tell_others(const std::shared_ptr<const message>& text) {
    std::vector<MPI_Request> requests;
    for (int to = 0; to < size_; ++to) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (to != rank_ && MPI_Isend(text->data(), static_cast<int>(text->size()), MPI_BYTE, to,
                                   news_tag, comm_, &request) == MPI_SUCCESS)
        requests.push_back(request);
    }
    const auto until = clock::now() + grace();
    patience pause;
    int done = 0;
    while (MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                       MPI_STATUSES_IGNORE) == MPI_SUCCESS &&
           done == 0 && clock::now() < until)
      pause.wait();
    if (done == 0) left_alone().push_back(text);
  }

  MPI_Comm comm_;
  mpi_options options_;
  int rank_ = 0, size_ = 1;
  rank_status status_;
  clock::time_point give_up_;
  std::deque<posted> posted_;
  std::vector<std::optional<rank_status>> answers_;
  std::optional<error> failure_;
};

}  // namespace detail

/// The processes of an MPI communicator as a group: a small handle. MPI must have been initialized
/// with threads (`MPI_THREAD_FUNNELED` at least), and the handle be gone, or not be used, before
/// `MPI_Finalize`. Nothing waits longer than the deadline: a rank that has died or does not come is
/// named on all others, `unavailable`. From then on every use is refused by the same error. (Ranks
/// that find different failures in the same moment keep each its own.) What a process does then
/// should not be `MPI_Finalize`, which would wait for the missing rank, but `MPI_Abort` or
/// `std::_Exit`. By default Open MPI ends all processes as soon as one dies; `mpirun
/// --enable-recovery` leaves them alive.
class mpi_communicator : public detail::transport_communicator {
 public:
  /// Collective over `group`, of which it makes a duplicate of its own. Errors: `invalid_argument`
  /// when MPI cannot be used from here, `unavailable` when not all ranks come until the deadline.
  static result<mpi_communicator> create(MPI_Comm group = MPI_COMM_WORLD,
                                         const mpi_options& options = {}) {
    ZARRPOINT_CHECK(detail::mpi_transport::usable());
    int between_two_groups = 0;
    if (group == MPI_COMM_NULL || MPI_Comm_test_inter(group, &between_two_groups) != MPI_SUCCESS ||
        between_two_groups != 0)
      return error{errc::invalid_argument, "an mpi_communicator needs an intra-communicator"};
    auto own = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
    MPI_Request request = MPI_REQUEST_NULL;
    ZARRPOINT_CHECK(
        detail::mpi_transport::check(MPI_Comm_idup(group, own.get(), &request), "MPI_Comm_idup"));
    const auto give_up = std::chrono::steady_clock::now() + options.deadline;
    detail::patience pause;
    for (int done = 0; done == 0; pause.wait()) {
      ZARRPOINT_CHECK(detail::mpi_transport::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE),
                                                   "MPI_Comm_idup"));
      if (done != 0 || std::chrono::steady_clock::now() < give_up) continue;
      static_cast<void>(own.release());  // MPI may still write it
      return error{errc::unavailable, "not all ranks came to mpi_communicator::create within " +
                                          detail::deadline_text(options.deadline)};
    }
    return mpi_communicator(std::make_shared<detail::mpi_transport>(*own, options));
  }

 private:
  explicit mpi_communicator(std::shared_ptr<detail::transport> transport)
      : transport_communicator(std::move(transport)) {}
};
static_assert(native_communicator<mpi_communicator>);

}}  // namespace zarrpoint::v0
