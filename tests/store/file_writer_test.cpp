// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_writer.hpp>

#include "support/child_process.hpp"
#include "support/open_files.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace file_writer_test {

using namespace zarrpoint;
using detail::file_root;
using detail::file_writer;
namespace fs = std::filesystem;

namespace {

store_key key(std::string_view text) { return store_key::parse(text).value(); }

struct fixture {
  test::temp_directory dir;

  std::shared_ptr<file_root> root(file_store_options how) const {
    return std::make_shared<file_root>(
        detail::unique_fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY)), dir.path().string(),
        how);
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()));
  }
};

result<void> write_all(const std::shared_ptr<file_root>& root, const char* name,
                       std::string_view text) {
  ZARRPOINT_TRY(writer, file_writer::open(root, key(name)));
  ZARRPOINT_CHECK(writer->reserve(text.size()));
  ZARRPOINT_CHECK(writer->write(0, as_bytes(text)));
  return writer->finish();
}

}  // namespace

TEST_CASE("file_writer: a file is there when it is finished, and only then") {
  const std::size_t before = test::open_files();
  for (const bool atomic : {true, false}) {
    const fixture f;
    const auto root = f.root({.atomic = atomic});
    {
      const auto dropped = file_writer::open(root, key("a")).value();
      CHECK(dropped->write(0, as_bytes("x")));
      CHECK(root->writers() == 1);
    }
    CHECK(root->writers() == 0);
    CHECK(f.entries() == 0);
    write_all(root, "a", "first").value();
    CHECK(test::read_file(f.dir / "a") == "first");
    {
      const auto dropped = file_writer::open(root, key("a")).value();
      CHECK(dropped->write(0, as_bytes("x")));
    }
    CHECK(test::read_file(f.dir / "a") == "first");
    write_all(root, "a", "second").value();
    CHECK(test::read_file(f.dir / "a") == "second");
    CHECK(f.entries() == 1);
  }
  CHECK(test::open_files() == before);
}

TEST_CASE("file_writer: dropping one does not remove what another put in its place") {
  const fixture f;
  const auto root = f.root({.atomic = false});
  auto dropped = file_writer::open(root, key("a")).value();
  write_all(root, "a", "theirs").value();
  dropped.reset();
  CHECK(test::read_file(f.dir / "a") == "theirs");
  CHECK(f.entries() == 1);
}

TEST_CASE("file_writer: is spent after finish, and refuses what no file can hold") {
  const fixture f;
  const auto root = f.root({});
  const auto writer = file_writer::open(root, key("a")).value();
  CHECK(writer->write(UINT64_MAX, as_bytes("x")).failure().code == errc::out_of_range);
  CHECK(writer->write(detail::max_file_size, as_bytes("x")).failure().code == errc::out_of_range);
  CHECK(writer->write(3, as_bytes("x")));
  CHECK(writer->finish());
  CHECK(writer->finish().failure().code == errc::invalid_argument);
  CHECK_FALSE(writer->write(0, as_bytes("y")));
  CHECK(test::read_file(f.dir / "a") == std::string("\0\0\0x", 4));
}

TEST_CASE(
    "file_writer: what was reserved and not used is given back, and the size never runs ahead") {
  const fixture f;
  const auto writer = file_writer::open(f.root({.atomic = false}), key("a")).value();
  writer->reserve(8 << 20).value();
  CHECK(fs::file_size(f.dir / "a") == 0);
  writer->write(0, as_bytes("x")).value();
  CHECK(fs::file_size(f.dir / "a") == 1);
  writer->finish().value();
  struct ::stat info {};
  REQUIRE(::stat((f.dir / "a").c_str(), &info) == 0);
  CHECK(info.st_size == 1);
  CHECK(info.st_blocks * 512 < 1 << 20);
}

TEST_CASE("file_writer: nothing is written of no bytes, wherever") {
  const fixture f;
  const auto writer = file_writer::open(f.root({}), key("a")).value();
  CHECK(writer->reserve(1000));
  CHECK(writer->write(0, as_bytes("abc")));
  CHECK(writer->write(100, {}));
  CHECK(writer->write(UINT64_MAX, {}));
  CHECK(writer->finish());
  CHECK(test::read_file(f.dir / "a") == "abc");
}

TEST_CASE("file_writer: what was reserved and cannot be given back is told") {
  if (!ZARRPOINT_LINUX) return;  // nothing is reserved
  const fixture f;
  const auto root = f.root({});
  const std::string said = test::in_child([&] {
    const auto writer = file_writer::open(root, key("a")).value();
    if (!writer->reserve(1000) || !writer->write(0, as_bytes("x"))) return std::string("no write");
    if (!test::deny(SYS_ftruncate, EIO)) return std::string("skipped");
    const auto finished = writer->finish();
    return finished ? std::string("done") : to_string(finished.failure());
  });
  CHECK((said == "skipped" || said == "io: truncate " + (f.dir / "a") + ": Input/output error"));
}

TEST_CASE("file_writer: files get the mode that the process gives its files") {
  const fixture f;
  const mode_t mask = ::umask(0027);
  write_all(f.root({}), "a", "x").value();
  ::umask(mask);
  CHECK(fs::status(f.dir / "a").permissions() == fs::perms(0640));
}

TEST_CASE("file_writer: whatever call fails, the file before stays and nothing is left") {
  struct fault {
    long number;
    int code;
    const char* says;
  };
  for (const fault& each :
       {fault{SYS_pwrite64, ENOSPC, "io: write X/a: No space left on device"},
        {SYS_pwrite64, EDQUOT, "io: write X/a: Disk quota exceeded"},
        {SYS_pwrite64, EIO, "io: write X/a: Input/output error"},
        {SYS_fallocate, ENOSPC, "io: reserve space for X/a: No space left on device"},
        {SYS_fdatasync, EIO, "io: sync X/a: Input/output error"},
        {SYS_close, EIO, "io: close X/a: Input/output error"},
        {SYS_openat, EMFILE, "io: create X/a: Too many open files"},
        {SYS_renameat, EIO, "io: rename X/a: Input/output error"}}) {
    if (!test::makes_call(each.number)) continue;
    CAPTURE(each.number);
    const fixture f;
    test::write_file(f.dir / "a", "before");
    const auto root = f.root({.sync = true});
    std::string said = test::in_child([&] {
      // The way of opening is settled first, so that only the writer meets the fault.
      static_cast<void>(root->parent_of(key("a"), false));
      if (!test::deny(each.number, each.code)) return std::string("skipped");
      const auto refused = write_all(root, "a", "after");
      return refused ? std::string("written") : to_string(refused.failure());
    });
    if (said == "skipped") {
      MESSAGE("skipped: seccomp is not allowed here");
      return;
    }
    const std::string where = f.dir.path().string();
    if (const auto at = said.find(where); at != std::string::npos)
      said.replace(at, where.size(), "X");
    CHECK(said == each.says);
    CHECK(test::read_file(f.dir / "a") == "before");
    CHECK(f.entries() == 1);
  }
}

TEST_CASE("file_writer: file systems that cannot reserve are written to all the same") {
  const fixture f;
  const auto root = f.root({});
  for (const int code : {EOPNOTSUPP, ENOSYS, EINVAL}) {
    const std::string said = test::in_child([&] {
      if (!test::deny(SYS_fallocate, code)) return std::string("skipped");
      return std::string(write_all(root, "a", "after") ? "written" : "refused");
    });
    CHECK((said == "written" || said == "skipped"));
  }
}

TEST_CASE("file_writer: a failed write cannot be finished") {
  const fixture f;
  const auto root = f.root({});
  const std::string said = test::in_child([&] {
    const auto writer = file_writer::open(root, key("a")).value();
    writer->write(0, as_bytes("x")).value();
    if (!test::deny(SYS_pwrite64, ENOSPC)) return std::string("skipped");
    const bool wrote = writer->write(1, as_bytes("y")).has_value();
    // Nor at the second try.
    return std::string(!wrote && !writer->finish() && !writer->finish() ? "refused" : "finished");
  });
  CHECK((said == "refused" || said == "skipped"));
  CHECK_FALSE(fs::exists(f.dir / "a"));
}

TEST_CASE("file_writer: threads that write durably, past the page cache and through it") {
  const fixture f;
  std::string text(5'000'000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * i % 23);
  for (const bool atomic : {true, false}) {
    const auto writer =
        file_writer::open(f.root({.sync = true, .atomic = atomic}), key("a")).value();
    CHECK(writer->reserve(text.size() + 100'000));
    std::vector<std::thread> crew;
    std::atomic<int> failures{0};
    for (std::size_t t = 0; t < 4; ++t) {
      crew.emplace_back([&, t] {
        constexpr std::size_t piece = 333'333;  // neither the offsets nor the memory are aligned
        for (std::size_t at = piece * t; at < text.size(); at += 4 * piece)
          if (!writer->write(at, as_bytes(std::string_view(text).substr(at, piece)))) ++failures;
      });
    }
    for (std::thread& one : crew) one.join();
    CHECK(failures == 0);
    CHECK(writer->finish());
    CHECK(test::read_file(f.dir / "a") == text);
    CHECK(f.entries() == 1);
  }
}

TEST_CASE("file_writer: a write past the page cache that fails is told") {
  if (!ZARRPOINT_LINUX) return;  // there are none
  const fixture f;
  const auto root = f.root({.sync = true});
  if (detail::unique_fd(::open(f.dir.path().c_str(), O_TMPFILE | O_WRONLY | O_DIRECT, 0600)).get() <
      0)
    return;  // no such writes here
  const std::string said = test::in_child([&] {
    const auto writer = file_writer::open(root, key("a")).value();
    // The descriptor of those writes is the next one.
    const int next = ::open("/", O_RDONLY);
    ::close(next);
    if (!test::deny(SYS_pwrite64, EIO, test::with_argument{0, static_cast<std::uint32_t>(next)}))
      return std::string("skipped");
    const auto written = writer->write(0, as_bytes(std::string(1 << 20, 'x')));
    return written ? std::string("written") : to_string(written.failure());
  });
  CHECK((said == "skipped" || said == "io: write " + (f.dir / "a") + ": Input/output error"));
}

TEST_CASE("file_writer: a file that cannot be locked after all is taken by its age") {
  const fixture f;
  const auto root = f.root({});
  if (root->owner_kind() != detail::temporary_kind::locked) return;
  const auto written_when = [&](int code) {
    return test::in_child([&]() -> std::string {
      if (!test::deny(SYS_flock, code)) return "skipped";
      const auto writer = file_writer::open(root, key("a"));
      if (!writer) return to_string(writer.failure());
      if (f.entries() != 1) return std::to_string(f.entries()) + " names";
      const std::string name = fs::directory_iterator(f.dir.path())->path().filename().string();
      if (!detail::is_temporary_name(name, detail::temporary_kind::unlocked))
        return name + " says that it is locked";
      const auto done = (*writer)->finish();
      return done ? "done" : to_string(done.failure());
    });
  };
  for (const int code : {ENOLCK, ENOSYS, EPERM}) {
    const std::string said = written_when(code);
    CHECK((said == "done" || said == "skipped"));
    fs::remove(f.dir / "a");
    CHECK(f.entries() == 0);
  }
  // Of one that another process has locked each time nothing is left.
  const std::string said = written_when(EWOULDBLOCK);
  CHECK((said == "skipped" || said == "io: create " + (f.dir / "a") + ": Device or resource busy"));
  CHECK(f.entries() == 0);
}

TEST_CASE("file_writer: a file is locked until it has its name, and no longer") {
  const fixture f;
  const auto root = f.root({});
  if (root->owner_kind() != detail::temporary_kind::locked) return;
  const auto lock_of = [&] {
    const auto only = fs::directory_iterator(f.dir.path())->path();
    const detail::unique_fd opened(::open(only.c_str(), O_RDONLY));
    return detail::lock_file(opened.get(), LOCK_EX);
  };
  const std::string said = test::in_child([&]() -> std::string {
    const auto writer = file_writer::open(root, key("a")).value();
    if (!test::deny(SYS_renameat, EIO)) return "skipped";
    if (writer->finish()) return "finished";
    return lock_of() == EWOULDBLOCK ? "locked" : "free";
  });
  CHECK((said == "locked" || said == "skipped"));
  const auto writer = file_writer::open(root, key("a")).value();
  CHECK(lock_of() == EWOULDBLOCK);
  CHECK(writer->finish());
  CHECK(lock_of() == 0);
}

TEST_CASE("file_writer: when only the last sync fails, the outcome is unknown") {
  const fixture f;
  const auto root = f.root({.sync = true});
  const std::string said = test::in_child([&] {
    if (!test::deny(SYS_fsync, EIO)) return std::string("skipped");
    return std::string(to_string(write_all(root, "a", "after").failure().code));
  });
  CHECK((said == "outcome_unknown" || said == "skipped"));
}

TEST_CASE("file_writer: a rename that is done and answers with an error is done") {
  const fixture f;
  const auto root = f.root({});
  const std::string said = test::in_child([&] {
    const auto writer = file_writer::open(root, key("a")).value();
    writer->write(0, as_bytes("new")).value();
    // As over NFS: the server has renamed, and its answer was lost.
    fs::create_hard_link(fs::directory_iterator(f.dir.path())->path(), f.dir / "a");
    if (!test::deny(SYS_renameat, EIO)) return std::string("skipped");
    const auto finished = writer->finish();
    return finished ? std::string("done") : to_string(finished.failure());
  });
  CHECK((said == "done" || said == "skipped"));
  CHECK(test::read_file(f.dir / "a") == "new");
}

TEST_CASE("file_writer: what takes the name meanwhile is not written to, nor waited for") {
  const std::string text(1 << 20, 'x');
  for (const bool pipe : {false, true}) {
    const fixture f;
    const auto root = f.root({.sync = true, .atomic = false});
    const auto writer = file_writer::open(root, key("a")).value();
    fs::remove(f.dir / "a");
    if (pipe) {
      REQUIRE(::mkfifo((f.dir / "a").c_str(), 0600) == 0);
    } else {
      test::write_file(f.dir / "a", "theirs");
    }
    CHECK(writer->write(0, as_bytes(text)));
    CHECK(writer->finish());
    if (!pipe) CHECK(test::read_file(f.dir / "a") == "theirs");
  }
}

}  // namespace file_writer_test
