// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/trace/trace_file.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cinttypes>

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------- trace_file.hpp

ZARRPOINT_INLINE trace_file::trace_file(std::FILE* file, std::string path, std::int64_t process)
    : file_(file), path_(std::move(path)), process_(process) {}

ZARRPOINT_INLINE result<std::unique_ptr<trace_file>> trace_file::create(const std::string& path,
                                                                        std::int64_t process) {
  return guarded([&]() -> result<std::unique_ptr<trace_file>> {
    std::FILE* const file = std::fopen(path.c_str(), "we");
    if (file == nullptr) return detail::system_error("create", path, errno);
    std::unique_ptr<trace_file> out(new trace_file(file, path, process));
    if (std::fputs("[\n", file) < 0) return detail::system_error("write", path, errno);
    return out;
  });
}

ZARRPOINT_INLINE trace_file::~trace_file() { static_cast<void>(close()); }

ZARRPOINT_INLINE void trace_file::begin(const phase_event& what) noexcept { tell('B', what); }

ZARRPOINT_INLINE void trace_file::end(const phase_event& what) noexcept { tell('E', what); }

ZARRPOINT_INLINE void trace_file::tell(char kind, const phase_event& what) noexcept {
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr || !status_) return;
  // Under the lock, so that the file is in the order of time.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::int64_t time = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  status_ = guarded([&]() -> result<void> {
    const auto [thread, is_new] = threads_.try_emplace(std::this_thread::get_id(),
                                                       static_cast<unsigned>(threads_.size() + 1));
    std::array<char, 160> text{};
    const auto number = [&](const char* form, auto... values) {
      line_.append(text.data(), static_cast<std::size_t>(
                                    std::snprintf(text.data(), text.size(), form, values...)));
    };
    line_.clear();
    number(R"({"ph":"%c","pid":%)" PRId64 R"(,"tid":%u,"ts":%)" PRId64 ".%03d", kind, process_,
           thread->second, time / 1000, static_cast<int>(time % 1000));
    line_.append(R"(,"cat":"zarrpoint","name":")").append(name_of(what.what)).append("\"");
    if (kind == 'B') {
      line_ += R"(,"args":{"item":)";
      detail::write_json_string(line_, what.item);
      number(R"(,"bytes":%)" PRIu64 R"(,"count":%)" PRIu64 "}", what.bytes, what.count);
    }
    line_ += "},\n";
    if (std::fwrite(line_.data(), 1, line_.size(), file_.get()) == line_.size()) return {};
    return detail::system_error("write", path_, errno);
  });
}

ZARRPOINT_INLINE result<void> trace_file::close() {
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) return status_;
  // The last member has no comma behind it.
  char text[128];
  const int size = std::snprintf(text, sizeof text,
                                 R"({"ph":"M","pid":%)" PRId64
                                 R"(,"name":"process_name","args":{"name":"zarrpoint"}})"
                                 "\n]\n",
                                 process_);
  errno = 0;
  const bool is_written = std::fwrite(text, 1, static_cast<std::size_t>(size), file_.get()) ==
                          static_cast<std::size_t>(size);
  const bool is_closed = std::fclose(file_.release()) == 0;
  if (status_ && (!is_written || !is_closed))
    status_ = detail::system_error("write", path_, errno == 0 ? EIO : errno);
  return status_;
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/file_bodies.hpp>
#include <zarrpoint/zarr/json/bodies.hpp>
#endif
