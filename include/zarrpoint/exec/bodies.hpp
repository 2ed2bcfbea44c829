// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/pending.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include <sched.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdio>
#include <exception>
#include <list>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------ progress_meter.hpp

ZARRPOINT_INLINE void detail::count_progress(progress_meter& of, std::string_view item,
                                             std::uint64_t bytes) {
  const std::lock_guard lock(of.mutex_);
  const bool was_complete = of.done_ >= of.total_;
  of.done_ += bytes;
  const bool completes = of.done_ >= of.total_ && (!was_complete || !of.begun_);
  const auto now = std::chrono::steady_clock::now();
  if (of.begun_ && !completes &&
      of.done_ - of.told_ < std::max<std::uint64_t>(of.total_ / 100, 1) &&
      now - of.told_at_ < std::chrono::milliseconds(50))
    return;
  of.begun_ = true;
  of.told_ = of.done_;
  of.told_at_ = now;
  (*of.callback_)({of.phase_, item, of.done_, of.total_});
}

// ------------------------------------------------------------------------------------ executor.hpp

namespace detail {

/// The processors' worth of time that a `cpu.max` of cgroup v2 leaves, rounded up: its text is
/// `<quota> <period>` in microseconds, or `max <period>`. UINT_MAX: no limit, or not understood.
inline unsigned processors_of_quota(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  std::uint64_t quota = 0, period = 0;
  const auto first = std::from_chars(text.data(), end, quota);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return UINT_MAX;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  const bool complete = second.ptr == end || *second.ptr == '\n';
  if (second.ec != std::errc() || !complete || quota == 0 || period == 0) return UINT_MAX;
  return static_cast<unsigned>(std::min<std::uint64_t>(ceil_div(quota, period), UINT_MAX));
}

/// What the container that we are in, if any, leaves to us: more threads would only be throttled.
inline unsigned processors_of_container() noexcept {
#if ZARRPOINT_LINUX
  std::FILE* const file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (file == nullptr) return UINT_MAX;
  char text[64];
  const std::size_t size = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  return processors_of_quota({text, size});
#else
  return UINT_MAX;
#endif
}

inline unsigned processors_of_process() noexcept {
#if ZARRPOINT_LINUX
  cpu_set_t allowed;  // what a container or taskset leaves to us; fails beyond 1024 processors
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return static_cast<unsigned>(CPU_COUNT(&allowed));
#endif
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<unsigned>(online) : 1;
}

}  // namespace detail

ZARRPOINT_INLINE unsigned hardware_concurrency() noexcept {
  static const unsigned quota = detail::processors_of_container();
  return std::min(quota, detail::processors_of_process());
}

ZARRPOINT_INLINE task::task(task&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {
  if (table_ != nullptr) table_->relocate(storage_, other.storage_);
}

ZARRPOINT_INLINE task& task::operator=(task&& other) noexcept {
  if (this != &other) {
    reset();
    table_ = std::exchange(other.table_, nullptr);
    if (table_ != nullptr) table_->relocate(storage_, other.storage_);
  }
  return *this;
}

ZARRPOINT_INLINE void task::operator()() noexcept {
  ZARRPOINT_ASSERT(table_ != nullptr);
  table_->run(storage_);
}

ZARRPOINT_INLINE void task::reset() noexcept {
  if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(storage_);
}

namespace detail {

// ------------------------------------------------------------------------------------- guarded.hpp

// The short text needs no memory: it is that of a failure for which there was none.
ZARRPOINT_INLINE error caught_error() noexcept {
#if ZARRPOINT_EXCEPTIONS
  try {
    try {
      throw;
    } catch (const exception& thrown) {
      return thrown.failure();
    } catch (const std::bad_alloc&) {
      return error{errc::resource_limit, "memory is exhausted"};
    } catch (const std::exception& thrown) {
      return error{errc::invalid_argument, std::string("exception: ") + thrown.what()};
    } catch (...) {
      return error{errc::invalid_argument, "an exception of an unknown type was thrown"};
    }
  } catch (...) {
  }
#endif
  return error{errc::resource_limit, "no memory"};
}

// ------------------------------------------------------------------------------------- pending.hpp

struct pending_state::sync {
  enum class phase { waiting, running, done };
  std::mutex mutex;
  std::condition_variable changed;
  phase at = phase::waiting;
};

ZARRPOINT_INLINE std::shared_ptr<pending_state::sync> pending_state::make_sync() {
  return detail::make_counted<sync>();
}

ZARRPOINT_INLINE void pending_state::start() {
  {
    const std::lock_guard lock(sync_->mutex);
    if (sync_->at != sync::phase::waiting) return;
    sync_->at = sync::phase::running;
  }
  run();
  const std::lock_guard lock(sync_->mutex);
  sync_->at = sync::phase::done;
  sync_->changed.notify_all();
}

ZARRPOINT_INLINE void pending_state::wait() {
  start();
  std::unique_lock lock(sync_->mutex);
  sync_->changed.wait(lock, [this] { return sync_->at == sync::phase::done; });
}

ZARRPOINT_INLINE bool pending_state::done() const {
  const std::lock_guard lock(sync_->mutex);
  return sync_->at == sync::phase::done;
}

}  // namespace detail

// -------------------------------------------------------------------------------- byte_limiter.hpp

ZARRPOINT_INLINE byte_limiter::reservation::reservation(reservation&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ZARRPOINT_INLINE byte_limiter::reservation& byte_limiter::reservation::operator=(
    reservation&& other) noexcept {
  if (this != &other) {
    release();
    owner_ = std::exchange(other.owner_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

ZARRPOINT_INLINE void byte_limiter::reservation::release() noexcept {
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->give_back(std::exchange(bytes_, 0));
}

ZARRPOINT_INLINE result<byte_limiter::reservation> byte_limiter::acquire(std::size_t bytes,
                                                                         const stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!waiting_.empty() || !fits(bytes)) {
    const std::uint64_t ticket = next_ticket_++;
    waiting_.push_back(ticket);
    while (waiting_.front() != ticket || !fits(bytes)) {
      if (stop.stop_requested()) {
        waiting_.erase(std::find(waiting_.begin(), waiting_.end(), ticket));
        changed_.notify_all();
        return error{errc::cancelled, "stop was requested"};
      }
      if (stop.stop_possible()) {
        // A token cannot wake anyone, so waiters look at it: 10 ms is soon for a person.
        changed_.wait_for(lock, std::chrono::milliseconds(10));
      } else {
        changed_.wait(lock);
      }
    }
    waiting_.erase(waiting_.begin());
    changed_.notify_all();  // the next in the line may fit too
  }
  in_flight_ += bytes;
  peak_ = std::max(peak_, in_flight_);
  return reservation(this, bytes);
}

ZARRPOINT_INLINE std::optional<byte_limiter::reservation> byte_limiter::try_acquire(
    std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty() || !fits(bytes)) return std::nullopt;
  in_flight_ += bytes;
  peak_ = std::max(peak_, in_flight_);
  return reservation(this, bytes);
}

ZARRPOINT_INLINE std::size_t byte_limiter::in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_;
}

ZARRPOINT_INLINE std::size_t byte_limiter::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

ZARRPOINT_INLINE bool byte_limiter::fits(std::size_t bytes) const noexcept {
  if (in_flight_ == 0) return true;
  if (bytes > SIZE_MAX - in_flight_) return false;
  return limit_ == 0 || in_flight_ + bytes <= limit_;
}

ZARRPOINT_INLINE void byte_limiter::give_back(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  in_flight_ -= bytes;
  changed_.notify_all();  // under the lock: a waiter that goes on may destroy the limiter
}

namespace detail {

// -------------------------------------------------------------------------------- parallel_for.hpp

ZARRPOINT_INLINE memory_bound_for::memory_bound_for(const any_executor& executor, std::size_t n,
                                                    parallel_options options)
    : executor_(executor),
      n_(n),
      options_(std::move(options)),
      workers_(parallel_workers(executor_, n_, options_)) {}

ZARRPOINT_INLINE void memory_bound_for::note(std::size_t i, errc code) {
  if (code != errc::resource_limit) return;
  std::size_t lowest = failed_.load();
  while (i < lowest && !failed_.compare_exchange_weak(lowest, i)) {
  }
}

ZARRPOINT_INLINE bool memory_bound_for::may_go_on(errc code) const noexcept {
  return code == errc::resource_limit && failed_ != none &&
         (workers_ > 1 || failed_ != failed_alone_);
}

ZARRPOINT_INLINE void memory_bound_for::go_on(std::size_t from) noexcept {
  if (workers_ == 1) failed_alone_ = failed_.load();
  workers_ = std::max(workers_ / 2, 1U);
  options_.max_workers = workers_;
  first_ = from;
  failed_ = none;
}

}  // namespace detail

ZARRPOINT_INLINE unsigned parallel_workers(const any_executor& executor, std::size_t n,
                                           const parallel_options& options) {
  std::size_t workers = n;
  if (options.max_workers != 0) workers = std::min<std::size_t>(workers, options.max_workers);
  // What one does alone asks no executor: a pool of threads needs a system call to answer.
  if (workers > 1) workers = std::min<std::size_t>(workers, executor.concurrency());
  return static_cast<unsigned>(std::max<std::size_t>(workers, 1));
}

namespace detail {

/// One `parallel_for`. Helpers hold it by a shared pointer, because one that an executor starts
/// late, or never, outlives the call; it then finds the work closed and touches nothing else.
class parallel_work {
 public:
  parallel_work(std::size_t n, parallel_body body, unsigned workers,
                const parallel_options& options)
      : n_(n),
        body_(body),
        workers_(workers),
        grain_(std::max<std::size_t>(options.grain, 1)),
        stop_(options.stop) {}

  /// Takes items until none is left, one fails, or stop is requested.
  void run(unsigned worker) {
    std::size_t first = 0;
    while (const std::size_t count = claim(first)) {
      if (!run_row(first, first + count, worker)) return;
    }
  }

  /// What an executor runs: nothing when the caller has already left.
  void help(unsigned worker) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      ++helping_;
    }
    run(worker);
    const std::lock_guard lock(mutex_);
    if (--helping_ == 0) left_.notify_all();
  }

  /// Waits for the helpers that began, and only for them: so a call nested in a task of the same
  /// pool never waits for a thread that waits for it.
  result<void> finish(const any_executor& executor) {
    std::unique_lock lock(mutex_);
    closed_ = true;
    if (helping_ != 0) {
      lock.unlock();
      executor.rest(true);
      lock.lock();
      left_.wait(lock, [this] { return helping_ == 0; });
      executor.rest(false);
    }
    if (failure_) return *std::move(failure_);
    if (cut_.load(std::memory_order_relaxed) ||
        (stopped_.load(std::memory_order_relaxed) && next_.load(std::memory_order_relaxed) < n_))
      return error{errc::cancelled, "stop was requested"};
    return {};
  }

 private:
  /// How many items are taken now, from `first` on; none after a failure or a stop. They are
  /// claimed in increasing order, and those below a failure are always finished. So when item i
  /// fails, every item before it is or will be done, and the lowest failure is the same each time.
  std::size_t claim(std::size_t& first) {
    if (stop_.stop_requested()) {
      stopped_.store(true, std::memory_order_relaxed);
      return 0;
    }
    first = next_.load(std::memory_order_relaxed);
    std::size_t count = 0;
    do {
      if (first == n_ || failed_at_.load(std::memory_order_relaxed) != none) return 0;
      count = std::clamp<std::size_t>((n_ - first) / workers_, 1, grain_);
    } while (!next_.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
    return count;
  }

  /// Whether to go on. The first is done whatever happens: where rows have one item, an item that
  /// is claimed is always finished, and others may wait for it.
  bool run_row(std::size_t i, std::size_t end, unsigned worker) {
    while (true) {
      result<void> status = guarded([&] { return body_.call(body_.context, i, worker); });
      if (!status) {
        record(i, std::move(status).failure());
        return false;
      }
      if (++i == end) return true;
      if (i > failed_at_.load(std::memory_order_relaxed)) return false;
      if (stop_.stop_requested()) {
        cut_.store(true, std::memory_order_relaxed);
        return false;
      }
    }
  }

  void record(std::size_t i, error failure) {
    const std::lock_guard lock(mutex_);
    if (failed_at_.load(std::memory_order_relaxed) < i) return;
    failed_at_.store(i, std::memory_order_relaxed);
    failure_ = std::move(failure);
  }

  static constexpr std::size_t none = SIZE_MAX;

  const std::size_t n_;
  const parallel_body body_;
  const std::size_t workers_;
  const std::size_t grain_;
  const stop_token stop_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> failed_at_{none};  // the lowest
  std::atomic<bool> stopped_{false};
  std::atomic<bool> cut_{false};  // items that were claimed are left, by a stop
  std::mutex mutex_;
  std::condition_variable left_;
  unsigned helping_ = 0;
  bool closed_ = false;
  std::optional<error> failure_;
};

ZARRPOINT_INLINE result<void> run_parallel(const any_executor& executor, std::size_t n,
                                           parallel_body body, const parallel_options& options) {
  const unsigned workers = parallel_workers(executor, n, options);
  if (workers == 1) {
    parallel_work alone(n, body, 1, options);
    alone.run(0);
    return alone.finish(executor);
  }
  const auto work = detail::make_counted<parallel_work>(n, body, workers, options);
  for (unsigned worker = 1; worker < workers; ++worker) {
    // An executor that refuses is not a failure: the caller does the work.
    const result<void> asked = guarded([&]() -> result<void> {
      executor.help([work, worker] { work->help(worker); });
      return {};
    });
    if (!asked) break;
  }
  work->run(0);
  return work->finish(executor);
}

}  // namespace detail

// --------------------------------------------------------------------------------- thread_pool.hpp

struct thread_pool::state {
  std::mutex mutex;
  std::condition_variable changed;
  std::list<task> queue;
  std::list<task> helpers;  // of callers that work too
  unsigned threads = 1;     // constant once the pool is made
  unsigned alive = 0;       // threads that will look at the queues again
  unsigned helping = 0;     // of them, those that help a caller
  unsigned resting = 0;     // callers that wait for those
  bool closed = false;
  std::vector<std::thread> running;  // the pool's own, not its executors'
  const ::pid_t process = ::getpid();
  // These keep a state that must never be destroyed.
  std::shared_ptr<state> self;
  state* kept_before = nullptr;

  // A child of fork has none of the threads. Nothing of them may be touched there: one may have
  // held the lock, and a condition variable waits for those it woke.
  bool is_forked() const noexcept { return ::getpid() != process; }

  void push(task work) {
    if (is_forked()) return work();
    {
      const std::lock_guard lock(mutex);
      if (alive != 0) {
        queue.push_back(std::move(work));
        changed.notify_one();
        return;
      }
    }
    work();
  }

  void push_helper(task work) {
    if (is_forked()) return;
    const std::lock_guard lock(mutex);
    if (alive == 0) return;
    helpers.push_back(std::move(work));
    if (may_help()) changed.notify_one();
  }

  void rest(bool begins) {
    if (is_forked()) return;
    const std::lock_guard lock(mutex);
    resting += begins ? 1U : -1U;
    if (may_help()) changed.notify_one();
  }

  bool may_help() const noexcept { return !helpers.empty() && helping + 1 < alive + resting; }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return closed || !queue.empty() || may_help(); });
      const bool helps = queue.empty();
      std::list<task>& from = helps ? helpers : queue;
      if (from.empty()) break;
      helping += helps ? 1U : 0U;
      {
        task work = std::move(from.front());
        from.pop_front();
        if (may_help()) changed.notify_one();  // one that helped before may do this instead
        lock.unlock();
        work();
      }  // what the task held goes before the lock is taken again
      lock.lock();
      helping -= helps ? 1U : 0U;
    }
    --alive;
  }
};

ZARRPOINT_INLINE void thread_pool::executor_type::execute(task work) const {
  state_->push(std::move(work));
}

ZARRPOINT_INLINE void thread_pool::executor_type::help(task work) const {
  state_->push_helper(std::move(work));
}

ZARRPOINT_INLINE void thread_pool::executor_type::rest(bool begins) const { state_->rest(begins); }

ZARRPOINT_INLINE unsigned thread_pool::executor_type::concurrency() const noexcept {
  return state_->is_forked() ? 1 : state_->threads;
}

ZARRPOINT_INLINE thread_pool::thread_pool(unsigned threads)
    : state_(detail::make_counted<state>()) {
  if (threads == 0) threads = hardware_concurrency();
  state_->running.reserve(threads);
  while (state_->running.size() < threads && start()) {
  }
  state_->threads = state_->running.empty() ? 1 : static_cast<unsigned>(state_->running.size());
}

ZARRPOINT_INLINE thread_pool::~thread_pool() {
  if (state_->is_forked()) {
    // Threads that are not there can be neither joined nor detached: their handles stay for ever,
    // where a leak checker finds them.
    static std::atomic<state*> kept = nullptr;
    state_->self = state_;
    state_->kept_before = kept.exchange(state_.get());
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->running) thread.join();
  state_->running.clear();
}

ZARRPOINT_INLINE bool thread_pool::start() {
  // Counted before it runs, so that no task is ever handed to a pool whose last thread is gone.
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->alive;
  }
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    state_->running.emplace_back([shared = state_] { shared->run(); });
    return true;
#if ZARRPOINT_EXCEPTIONS
  } catch (...) {
    const std::lock_guard lock(state_->mutex);
    --state_->alive;
    return false;
  }
#endif
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#endif
