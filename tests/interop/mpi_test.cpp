// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What each of several processes does for tests/interop/mpi.sh, which starts them by mpirun:
//
//     mpi_test all              every collective, with messages of any size; exit status 0 if right
//     mpi_test large            a message of more than 2 GiB (needs 9 GB of memory)
//     mpi_test single           MPI is initialized without threads
//     mpi_test unmatched        rank 1 is in another collective
//     mpi_test late R           rank R comes when the others have given up
//     mpi_test killed R         rank R is killed between two collectives
//     mpi_test killed_amid R    rank R is killed while large messages are on their way
//
// In all but the first two each rank prints the error that it has, and ends without MPI_Finalize.

#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/interop/mpi.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace zarrpoint;
using namespace std::chrono_literals;

namespace {

/// What rank `from` sends rank `to` in round `round`: of a size that both know, often none.
message sent(int from, int to, int round) {
  std::minstd_rand random(static_cast<unsigned>(1 + from + 100 * to + 10000 * round));
  const std::size_t sizes[] = {0, 1, 1000 + random() % 50, random() % 300'000};
  message bytes(sizes[random() % 4]);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + bytes.size());
  return bytes;
}

std::vector<message> sent_to_each(int from, int size, int round) {
  std::vector<message> all;
  for (int to = 0; to < size; ++to) all.push_back(sent(from, to, round));
  return all;
}

result<void> check(bool good, const char* what) {
  if (good) return {};
  return error{errc::corrupt, std::string(what) + " brought other bytes"};
}

result<void> one_round(const any_communicator& group, int round) {
  const int rank = group.rank(), size = group.size(), root = (round * 7) % size;
  const auto mine = static_cast<std::size_t>(rank);
  ZARRPOINT_TRY(exchanged, group.exchange(sent_to_each(rank, size, round)));
  for (int from = 0; from < size; ++from)
    ZARRPOINT_CHECK(
        check(exchanged.at(static_cast<std::size_t>(from)) == sent(from, rank, round), "exchange"));
  ZARRPOINT_TRY(gathered, gather(group, sent(rank, root, round), root));
  std::vector<message> wanted;
  for (int from = 0; from < size; ++from) wanted.push_back(sent(from, root, round));
  ZARRPOINT_CHECK(check(gathered == (rank == root ? wanted : std::vector<message>()), "gather"));
  ZARRPOINT_TRY(scattered, scatter(group, std::move(gathered), root));
  ZARRPOINT_CHECK(check(scattered == wanted[mine], "scatter"));
  ZARRPOINT_TRY(told, broadcast(group, sent(rank, 0, round), root));
  ZARRPOINT_CHECK(check(told == sent(root, 0, round), "broadcast"));
  ZARRPOINT_TRY(all, all_gather(group, sent(rank, root, round)));
  ZARRPOINT_CHECK(check(all == wanted, "all_gather"));
  return barrier(group);
}

result<void> every_collective() {
  // Parts so small that large messages are many.
  ZARRPOINT_TRY(split, mpi_communicator::create(MPI_COMM_WORLD, {.part_bytes = 5000}));
  ZARRPOINT_TRY(plain, mpi_communicator::create());
  for (int round = 0; round < 12; ++round) {
    ZARRPOINT_CHECK(one_round(split, round));
    ZARRPOINT_CHECK(one_round(plain, round));  // two of them do not disturb each other
  }
  const int last = plain.size() - 1;
  const result<void> mine =
      plain.rank() == last ? result<void>(error{errc::io, "disk full"}) : result<void>();
  const result<void> joint = agree(plain, mine);
  const std::string wanted =
      (last == 0 ? "io: " : "io: rank " + std::to_string(last) + ": ") + "disk full";
  ZARRPOINT_CHECK(check(!joint && to_string(joint.failure()) == wanted, "agree"));
  result<void> elsewhere;
  std::thread([&] { elsewhere = barrier(plain); }).join();
  ZARRPOINT_CHECK(
      check(!elsewhere && elsewhere.failure().code == errc::invalid_argument, "another thread"));
  ZARRPOINT_CHECK(check(!mpi_communicator::create(MPI_COMM_NULL), "no MPI communicator"));
  return barrier(plain);
}

result<void> more_than_2_gib() {
  ZARRPOINT_TRY(group, mpi_communicator::create());
  const std::size_t size = (std::size_t{1} << 31) + 5;
  message mine;
  if (group.rank() == 0) mine.resize(size, std::byte{7});
  if (group.rank() == 0) mine.back() = std::byte{9};
  ZARRPOINT_TRY(told, broadcast(group, std::move(mine)));
  return check(told.size() == size && told[size - 2] == std::byte{7} && told.back() == std::byte{9},
               "a large broadcast");
}

/// What a rank that waits in vain is told.
result<void> in_vain(std::string_view mode, int culprit) {
  ZARRPOINT_TRY(group, mpi_communicator::create(MPI_COMM_WORLD, {.deadline = 5s}));
  const bool it_is_me = group.rank() == culprit;
  ZARRPOINT_CHECK(barrier(group));
  if (mode == "unmatched") {
    if (it_is_me) {
      ZARRPOINT_CHECK(gather(group, {}));
    } else {
      ZARRPOINT_CHECK(broadcast(group, {}));
    }
    return barrier(group);
  }
  if (mode == "late" && it_is_me) std::this_thread::sleep_for(12s);
  if (mode == "killed" && it_is_me) std::raise(SIGKILL);
  if (mode != "killed_amid") return barrier(group);
  std::thread killer;
  for (int round = 0;; ++round) {
    if (it_is_me && round == 3)
      killer = std::thread([] {
        std::this_thread::sleep_for(1ms);
        std::raise(SIGKILL);
      });
    ZARRPOINT_CHECK(group.exchange(std::vector<message>(static_cast<std::size_t>(group.size()),
                                                        message(std::size_t{16} << 20))));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "";
  const result<mpi_communicator> early = mpi_communicator::create();
  int level = 0, rank = 0;
  MPI_Init_thread(&count, &arguments, mode == "single" ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  result<void> outcome;
  if (early) outcome = error{errc::corrupt, "a communicator before MPI_Init"};
  const bool to_the_end = mode == "all" || mode == "large";
  if (to_the_end) {
    if (outcome) outcome = mode == "all" ? every_collective() : more_than_2_gib();
    const any_communicator kept = mpi_communicator::create().value();  // ASY-4: beyond the end
    MPI_Finalize();
    if (barrier(kept)) outcome = error{errc::corrupt, "a barrier after MPI_Finalize"};
  } else {
    outcome = in_vain(mode, count > 2 ? std::atoi(arguments[2]) : 1);
  }
  // One write, so that the lines of several ranks do not mix.
  const std::string text = "rank " + std::to_string(rank) + " has " +
                           (outcome ? "done" : to_string(outcome.failure())) + "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  if (to_the_end) return outcome ? 0 : 1;
  std::_Exit(0);
}
