// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/progress.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace zarrpoint { inline namespace v0 {

/// An observer that writes what it is told to a file, which chrome://tracing and
/// https://ui.perfetto.dev show: the Trace Event Format of Chrome, as an array of `B` and `E`
/// events. Times are those of the steady clock, so that files of several processes of one machine
/// fit together. A file that was never closed, as that of a program that was killed, lacks its last
/// bracket; both viewers open it.
class trace_file final : public phase_observer {
 public:
  /// Begins a file; one that is there is replaced. `process` names the lanes in the viewer: the
  /// rank, where there are several. Errors: `io`.
  static result<std::unique_ptr<trace_file>> create(const std::string& path,
                                                    std::int64_t process = 0);

  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;
  /// What `close` would have said is lost.
  ~trace_file();

  void begin(const phase_event& what) noexcept override;
  void end(const phase_event& what) noexcept override;

  /// Ends the file; what is told later is left out. Nobody must be waiting for an `end`. Errors:
  /// `io`, where not all could be written: a full disk loses the trace, and not the checkpoint.
  result<void> close();

 private:
  struct closing {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  trace_file(std::FILE* file, std::string path, std::int64_t process);
  void tell(char kind, const phase_event& what) noexcept;

  std::mutex mutex_;
  std::unique_ptr<std::FILE, closing> file_;
  const std::string path_;
  const std::int64_t process_;
  std::map<std::thread::id, unsigned> threads_;
  std::string line_;
  result<void> status_{};
};

}}  // namespace zarrpoint::v0
