// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// For a static program without exceptions: what libstdc++ and libgcc bring only to throw, unwind
// and describe an exception, 60 KiB of a small loader. Nothing of such a program throws but the
// libraries' own last resorts (memory that is not there, an index out of range), which end it here
// as they would have: by abort, after a line that says so. See docs/embedding.md.

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

[[noreturn]] void end(const char* why) {
  std::fputs("zarrpoint: ended, since it has no exceptions: ", stderr);
  std::fputs(why, stderr);
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace

// In place of the handler that takes the name of an exception's type apart.
namespace __gnu_cxx {
void __verbose_terminate_handler() { end("std::terminate"); }
}  // namespace __gnu_cxx

// The entry points of the Itanium C++ ABI by which an exception is thrown, caught and passed on.
// The ABI chose their names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void* __cxa_allocate_exception(std::size_t) noexcept { end("an exception was to be thrown"); }
void __cxa_free_exception(void*) noexcept {}
void __cxa_throw(void*, void*, void (*)(void*)) { end("an exception was thrown"); }
void __cxa_rethrow() { end("an exception was thrown again"); }
void* __cxa_begin_catch(void*) noexcept { end("an exception was caught"); }
void __cxa_end_catch() {}
int __gxx_personality_v0(...) { end("an exception came by"); }
// Those that libc itself has for the cancellation of threads.
int __gcc_personality_v0(...) { end("a thread was cancelled"); }
void _Unwind_Resume(void*) { end("a thread was cancelled"); }
}
// NOLINTEND(bugprone-reserved-identifier)
