// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// For a static program without exceptions: what libstdc++ and libgcc bring only to throw, unwind
// and describe an exception, 60 KiB of a small loader. Nothing of such a program throws but the
// libraries' own last resorts (memory that is not there, an index out of range), which end it here
// as they would have: by abort, after a line that says so. See docs/embedding.md.

#include <cstdarg>
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

[[noreturn]] void end_throwing(const char* what) {
  std::fputs(what, stderr);
  std::fputc('\n', stderr);
  end("an exception was to be thrown");
}

}  // namespace

// In place of the handler that takes the name of an exception's type apart.
namespace __gnu_cxx {
void __verbose_terminate_handler() { end("std::terminate"); }
}  // namespace __gnu_cxx

// In place of what makes the exceptions of libstdc++, with their texts. They are declared in
// <bits/functexcept.h>; the linker takes these, since it looks into the library last.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl50-cpp,cert-dcl58-cpp)
namespace std {
void __throw_bad_alloc() { end_throwing("std::bad_alloc"); }
void __throw_bad_array_new_length() { end_throwing("std::bad_array_new_length"); }
void __throw_bad_function_call() { end_throwing("std::bad_function_call"); }
void __throw_system_error(int) { end_throwing("std::system_error"); }
void __throw_length_error(const char* what) { end_throwing(what); }
void __throw_logic_error(const char* what) { end_throwing(what); }
void __throw_invalid_argument(const char* what) { end_throwing(what); }
void __throw_out_of_range(const char* what) { end_throwing(what); }
void __throw_out_of_range_fmt(const char* what, ...) {
  va_list numbers;
  va_start(numbers, what);
  std::vfprintf(stderr, what, numbers);
  va_end(numbers);
  end_throwing("");
}
void __throw_runtime_error(const char* what) { end_throwing(what); }
}  // namespace std
// NOLINTEND(bugprone-reserved-identifier,cert-dcl50-cpp,cert-dcl58-cpp)

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
