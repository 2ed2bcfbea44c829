// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Real processes as a group, without MPI: forked children and a socket between each two of them.

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>

#include <poll.h>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint_test {

namespace zp = zarrpoint;

/// One of the processes of `fork_world`. A process whose sockets are closed is gone, and named; who
/// finds out tells the others, so that all have the same error.
class fork_communicator {
 public:
  /// Called with the number of each exchange before it.
  using hook = std::function<void(int number)>;

  fork_communicator(int rank, std::vector<int> sockets)
      : state_(std::make_shared<state>(state{rank, std::move(sockets)})) {}

  int rank() const { return state_->rank; }
  int size() const { return static_cast<int>(state_->sockets.size()); }
  /// How many exchanges there were.
  int exchanges() const { return state_->exchanges; }
  void before_each(hook call) const { state_->before = std::move(call); }

  zp::result<std::vector<zp::message>> exchange(std::vector<zp::message> to_each) const {
    if (state_->failure) return *state_->failure;
    if (state_->before) state_->before(state_->exchanges);
    ++state_->exchanges;
    auto done = talk(std::move(to_each));
    if (done) return done;
    state_->failure = done.failure();
    tell(done.failure());
    return done;
  }

 private:
  static constexpr std::chrono::seconds deadline{60};
  static constexpr std::size_t head_bytes = 9;  // what it is, and the size of what follows
  enum class kind : std::uint8_t { data, failure };

  struct state {
    int rank;
    std::vector<int> sockets;  // one for each rank; -1: this one
    hook before{};
    int exchanges = 0;
    std::optional<zp::error> failure{};
  };

  static zp::message packed(kind what, zp::bytes_view body) {
    zp::message out(head_bytes);
    out[0] = static_cast<std::byte>(what);
    zp::store_le<std::uint64_t>(out.data() + 1, body.size());
    out.insert(out.end(), body.begin(), body.end());
    return out;
  }

  struct peer {
    int rank;
    int socket;
    zp::message out;
    std::size_t sent = 0;
    zp::message in = zp::message(head_bytes);
    std::size_t received = 0;

    bool is_sent() const { return sent == out.size(); }
    bool has_head() const { return received >= head_bytes; }
    bool is_received() const { return has_head() && received == in.size(); }
    short events() const {
      return static_cast<short>((is_sent() ? 0 : POLLOUT) | (is_received() ? 0 : POLLIN));
    }

    void send_some() {
      const ssize_t count =
          ::send(socket, out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) sent += static_cast<std::size_t>(count);
      // What it said before it went can still be read.
      if (count < 0 && errno != EAGAIN && errno != EINTR) sent = out.size();
    }
    zp::result<void> receive_some() {
      const ssize_t count =
          ::recv(socket, in.data() + received, in.size() - received, MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
      if (count <= 0)
        return zp::error{zp::errc::unavailable, "rank " + std::to_string(rank) + " is gone"};
      const bool had_head = has_head();
      received += static_cast<std::size_t>(count);
      if (!had_head && has_head()) in.resize(head_bytes + zp::load_le<std::uint64_t>(&in[1]));
      if (!is_received() || in[0] == std::byte{static_cast<unsigned char>(kind::data)}) return {};
      return zp::error{zp::errc::unavailable,
                       std::string(zp::as_text(zp::bytes_view(in).subspan(head_bytes)))};
    }
  };

  zp::result<std::vector<zp::message>> talk(std::vector<zp::message> to_each) const {
    std::vector<peer> peers;
    for (int other = 0; other < size(); ++other) {
      const auto at = static_cast<std::size_t>(other);
      if (other != rank())
        peers.push_back({other, state_->sockets[at], packed(kind::data, to_each[at])});
    }
    const auto give_up = std::chrono::steady_clock::now() + deadline;
    for (;;) {
      std::vector<pollfd> waiting;
      for (const peer& one : peers) waiting.push_back({one.socket, one.events(), 0});
      bool done = true;
      for (pollfd& one : waiting) {
        done = done && one.events == 0;
        if (one.events == 0) one.fd = -1;  // or its end would wake us again and again
      }
      if (done) break;
      if (std::chrono::steady_clock::now() > give_up)
        return zp::error{zp::errc::unavailable, "a rank did not come to the exchange"};
      ::poll(waiting.data(), waiting.size(), 100);
      for (peer& one : peers) {
        if (!one.is_sent()) one.send_some();
        if (!one.is_received()) ZARRPOINT_CHECK(one.receive_some());
      }
    }
    for (peer& one : peers)
      to_each[static_cast<std::size_t>(one.rank)].assign(one.in.begin() + head_bytes, one.in.end());
    return to_each;
  }

  /// The sockets' buffers have room for what a test sends, so that nobody has half a message.
  void tell(const zp::error& failure) const {
    const zp::message text = packed(kind::failure, zp::as_bytes(failure.message));
    for (const int socket : state_->sockets)
      static_cast<void>(::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }

  std::shared_ptr<state> state_;
};
static_assert(zp::communicator<fork_communicator>);

/// Ends this process as the kernel ends one for which there is no memory.
[[noreturn]] inline void kill_this_process() {
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

/// What `work(fork_communicator)` returned in each of `size` child processes, by rank; for one that
/// did not return, `"died of signal 9"`.
inline std::vector<std::string> fork_world(
    int size, const std::function<std::string(fork_communicator)>& work) {
  const auto count = static_cast<std::size_t>(size);
  std::vector<std::vector<int>> sockets(count, std::vector<int>(count, -1));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      std::array<int, 2> ends{};
      if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return {"no sockets"};
      sockets[i][j] = ends[0];
      sockets[j][i] = ends[1];
    }
  }
  const auto close_all = [&](std::size_t but) {
    for (std::size_t i = 0; i < count; ++i) {
      for (const int socket : sockets[i])
        if (i != but && socket >= 0) ::close(socket);
    }
  };
  struct child {
    pid_t id;
    int output;
  };
  std::vector<child> children;
  std::fflush(nullptr);  // or the children say it again
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return {"no pipe"};
    const pid_t id = ::fork();
    if (id == 0) {
      ::alarm(120);  // nothing here lasts that long
      close_all(rank);
      const std::string text = work(fork_communicator(static_cast<int>(rank), sockets[rank]));
      const ssize_t written = ::write(ends[1], text.data(), text.size());
      ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    children.push_back({id, ends[0]});
  }
  close_all(count);
  std::vector<std::string> said;
  for (const child& one : children) {
    std::string text;
    std::array<char, 1000> part{};
    for (ssize_t got; (got = ::read(one.output, part.data(), part.size())) > 0;)
      text.append(part.data(), static_cast<std::size_t>(got));
    ::close(one.output);
    int status = 0;
    ::waitpid(one.id, &status, 0);
    if (WIFSIGNALED(status)) text = "died of signal " + std::to_string(WTERMSIG(status));
    said.push_back(std::move(text));
  }
  return said;
}

}  // namespace zarrpoint_test
